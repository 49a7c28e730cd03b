// What the tests of every kernel family share: a family on a device, and its gradients against the fp64
// reference.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "reference/inputs.h"
#include "reference/verify.h"
#include "tests/kernels/devices.h"

namespace fmha_bwd {

struct Extents {
  std::int64_t batch, nhead_q, nhead_k, seqlen_q, seqlen_k, hdim_q, hdim_v;
};

/// The problem of that shape and type with the default scale, in layout bhsd.
inline Problem problem_of(const Extents& shape, DType dtype) {
  Problem problem{shape.batch,    shape.nhead_q, shape.nhead_k, shape.seqlen_q,
                  shape.seqlen_k, shape.hdim_q,  shape.hdim_v,  dtype};
  problem.scale = default_scale(shape.hdim_q);
  return problem;
}

inline std::string description_of(const Problem& p, const MaskSpec& mask) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  return name_of(mask) + " " + std::string(name_of(p.dtype)) + " " + std::string(name_of(p.layout)) + " B " +
         number(p.batch) + " H " + number(p.nhead_q) + "/" + number(p.nhead_k) + " S " + number(p.seqlen_q) +
         "x" + number(p.seqlen_k) + " D " + number(p.hdim_q) + "/" + number(p.hdim_v) + " scale " +
         std::to_string(p.scale);
}

/// A test of one family on the device that is its parameter.
class FamilyTest : public testing::TestWithParam<Device> {
 protected:
  explicit FamilyTest(std::string family)
      : family_(std::move(family)), backend_(open_backend(GetParam().platform, GetParam().index)) {}

  /// Why the family does not compute `problem` under `mask` here; nothing where it does.
  std::optional<std::string> refusal(const Problem& problem, const MaskSpec& mask = kNoMask) const {
    for (const KernelSupport& support : backend_->kernels(problem, mask)) {
      if (support.kernel == family_) return support.refusal;
    }
    return "there is no such family";
  }

  virtual std::unique_ptr<Session> opened(const Problem& problem, const MaskSpec& /*mask*/ = kNoMask) {
    return backend_->open(problem, family_);
  }

  /// A session whose outputs were poisoned and then computed.
  std::unique_ptr<Session> computed(const Problem& problem, const MaskSpec& mask, const Fill& fill) {
    auto session = opened(problem, mask);
    session->fill_inputs(fill);
    compute(*session, mask);
    return session;
  }

  static void compute(Session& session, const MaskSpec& mask) {
    session.poison_outputs();
    session.forward(mask);
    session.backward(mask);
  }

  static void expect_in_budget(Session& session, TensorId id, const Reference& reference,
                               const std::string& where) {
    const TensorVerdict verdict = verify(id, session.download(id), reference);
    EXPECT_TRUE(verdict.passed) << name_of(id) << " " << where << ": " << verdict.wrong << " wrong, "
                                << verdict.budget_share() << " of the budget";
  }

  /// Every output under each of `masks`, in each of `layouts`, whatever that of `problem`.
  void expect_right_under(Problem problem, const std::vector<MaskSpec>& masks, const Fill& fill,
                          const std::vector<Layout>& layouts) {
    const AttentionInputs inputs = draw_inputs(problem, fill);
    for (const MaskSpec& mask : masks) {
      const Reference reference = reference_for(problem, mask, inputs);
      for (const Layout layout : layouts) {
        problem.layout = layout;
        const std::string where = description_of(problem, mask);
        ASSERT_EQ(complaint_about(problem).value_or(""), "") << where;
        const auto session = computed(problem, mask, fill);
        for (const TensorId id : outputs_of(problem)) expect_in_budget(*session, id, reference, where);
        EXPECT_TRUE(session->damaged_guards().empty()) << where;
      }
    }
  }

  void expect_right(const Problem& problem, float standard_deviation, const std::vector<Layout>& layouts) {
    expect_right_under(problem, basic_masks(), {.seed = 7, .standard_deviation = standard_deviation},
                       layouts);
  }

  void expect_right(const Problem& problem, float standard_deviation) {
    expect_right(problem, standard_deviation, {problem.layout});
  }

  /// dQ is left out: atomic additions come in any order.
  void expect_same_bits_in_either_layout(Problem problem) {
    const MaskSpec mask = kBottomRight;
    problem.layout = Layout::bhsd;
    const auto bhsd = computed(problem, mask, Fill{});
    problem.layout = Layout::bshd;
    const auto bshd = computed(problem, mask, Fill{});
    for (const TensorId id : outputs_of(problem)) {
      if (id == TensorId::dq) continue;
      EXPECT_TRUE(bhsd->download(id).bytes == bshd->download(id).bytes)  // EXPECT_EQ prints all bytes
          << name_of(id) << " " << description_of(problem, mask);
    }
  }

  /// One head of a batch of one, under bottom_right with fewer keys than queries: the first rows see none.
  void expect_zeros_in_rows_that_see_no_key(const Problem& problem) {
    const auto session = computed(problem, kBottomRight, Fill{});
    const std::vector<float> dq = values_of(session->download(TensorId::dq));
    const std::vector<float> o = values_of(session->download(TensorId::o));
    const std::vector<float> lse = values_of(session->download(TensorId::lse));
    const auto blind = static_cast<std::size_t>(problem.seqlen_q - problem.seqlen_k);
    for (std::size_t row = 0; row < blind; ++row) {
      EXPECT_EQ(lse[row], -std::numeric_limits<float>::infinity()) << "row " << row;
    }
    for (std::size_t i = 0; i < blind * static_cast<std::size_t>(problem.hdim_q); ++i) {
      ASSERT_EQ(dq[i], 0.0F) << "element " << i;
    }
    for (std::size_t i = 0; i < blind * static_cast<std::size_t>(problem.hdim_v); ++i) {
      ASSERT_EQ(o[i], 0.0F) << "element " << i;
    }
    EXPECT_TRUE(std::isfinite(lse[blind]));
  }

  /// One head of a batch of one, under top_left with fewer queries than keys: no query sees the last keys.
  void expect_zeros_in_keys_that_no_query_sees(const Problem& problem) {
    const auto session = computed(problem, kTopLeft, Fill{});
    const std::vector<float> dk = values_of(session->download(TensorId::dk));
    const std::vector<float> dv = values_of(session->download(TensorId::dv));
    const auto seen_k = static_cast<std::size_t>(problem.seqlen_q * problem.hdim_q);
    const auto seen_v = static_cast<std::size_t>(problem.seqlen_q * problem.hdim_v);
    for (std::size_t i = seen_k; i < dk.size(); ++i) ASSERT_EQ(dk[i], 0.0F) << "element " << i;
    for (std::size_t i = seen_v; i < dv.size(); ++i) ASSERT_EQ(dv[i], 0.0F) << "element " << i;
    EXPECT_NE(dv[seen_v - 1], 0.0F);
  }

  const std::string family_;
  const std::unique_ptr<Backend> backend_;
};

}  // namespace fmha_bwd
