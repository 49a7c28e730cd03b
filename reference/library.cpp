#include "reference/library.h"

#include <cstdio>
#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/mask_spec.h"
#include "base/problem.h"
#include "reference/full_attention.h"
#include "reference/simd/tiles.h"

namespace fmha_bwd {
namespace {

struct Request {
  Problem problem;
  MaskSpec mask;
  Workers workers;
};

[[noreturn]] void refuse(const std::string& message) { throw Error(ExitCode::bad_usage, message); }

Request request_from(const fmha_bwd_reference_problem* given) {
  if (given == nullptr) refuse("problem: null pointer");
  Problem problem;
  problem.batch = given->batch;
  problem.nhead_q = given->nhead_q;
  problem.nhead_k = given->nhead_k;
  problem.seqlen_q = given->seqlen_q;
  problem.seqlen_k = given->seqlen_k;
  problem.hdim_q = given->hdim_q;
  problem.hdim_v = given->hdim_v;
  problem.dtype = DType::fp32;
  problem.scale = given->scale;
  if (const auto complaint = complaint_about(problem)) refuse(*complaint);
  const std::vector<MaskSpec>& masks = basic_masks();  // in the order of the numbers
  if (given->mask < 0 || given->mask >= static_cast<int>(masks.size())) {
    refuse("mask: " + std::to_string(given->mask) + " is not in 0..2");
  }
  if (given->real != 32 && given->real != 64) {
    refuse("real: " + std::to_string(given->real) + " is neither 32 nor 64");
  }
  if (given->threads < 0) refuse("threads: " + std::to_string(given->threads) + " is negative");
  return {problem, masks[static_cast<std::size_t>(given->mask)], {.threads = given->threads}};
}

void require(std::initializer_list<std::pair<const char*, const void*>> pointers) {
  for (const auto& [name, pointer] : pointers) {
    if (pointer == nullptr) refuse(std::string(name) + ": null pointer");
  }
}

std::span<const float> view(TensorId id, const Problem& problem, const float* data) {
  return {data, static_cast<std::size_t>(shape_of(id, problem).elements())};
}

InputViews views(const Problem& problem, const float* q, const float* k, const float* v) {
  InputViews inputs;
  inputs.q = view(TensorId::q, problem, q);
  inputs.k = view(TensorId::k, problem, k);
  inputs.v = view(TensorId::v, problem, v);
  return inputs;
}

/// Does `work` and tells what it threw.
template <typename Work>
int answer(char* message, std::size_t message_bytes, const Work& work) {
  const auto failed = [&](ExitCode code, const char* why) {
    if (message != nullptr && message_bytes > 0) std::snprintf(message, message_bytes, "%s", why);
    return static_cast<int>(code);
  };
  try {
    work();
    return 0;
  } catch (const Error& error) {
    return failed(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(ExitCode::device_error, "out of host memory");
  } catch (const std::exception& error) {
    return failed(ExitCode::device_error, error.what());
  }
}

}  // namespace
}  // namespace fmha_bwd

int fmha_bwd_reference_forward(const fmha_bwd_reference_problem* problem, const float* q, const float* k,
                               const float* v, void* o, void* lse, char* message, std::size_t message_bytes) {
  using namespace fmha_bwd;
  return answer(message, message_bytes, [&] {
    const Request request = request_from(problem);
    require({{"q", q}, {"k", k}, {"v", v}, {"o", o}, {"lse", lse}});
    const ScoreTerms terms(request.problem, request.mask, views(request.problem, q, k, v));
    if (problem->real == 64) {
      attention_forward(terms, request.workers, static_cast<double*>(o), static_cast<double*>(lse));
    } else {
      attention_forward(terms, request.workers, static_cast<float*>(o), static_cast<float*>(lse));
    }
  });
}

int fmha_bwd_reference_backward(const fmha_bwd_reference_problem* problem, const float* q, const float* k,
                                const float* v, const float* d_o, const void* o, const void* lse, void* d,
                                void* dq, void* dk, void* dv, char* message, std::size_t message_bytes) {
  using namespace fmha_bwd;
  return answer(message, message_bytes, [&] {
    const Request request = request_from(problem);
    require({{"q", q},
             {"k", k},
             {"v", v},
             {"d_o", d_o},
             {"o", o},
             {"lse", lse},
             {"d", d},
             {"dq", dq},
             {"dk", dk},
             {"dv", dv}});
    InputViews inputs = views(request.problem, q, k, v);
    inputs.d_o = view(TensorId::d_o, request.problem, d_o);
    const ScoreTerms terms(request.problem, request.mask, inputs);
    const auto run = [&](auto type) {
      using Real = decltype(type);
      PerOutput<Real*> outputs = {};
      outputs.o = const_cast<Real*>(static_cast<const Real*>(o));  // read, not written
      outputs.lse = const_cast<Real*>(static_cast<const Real*>(lse));
      outputs.d = static_cast<Real*>(d);
      outputs.dq = static_cast<Real*>(dq);
      outputs.dk = static_cast<Real*>(dk);
      outputs.dv = static_cast<Real*>(dv);
      attention_backward(terms, request.workers, outputs);
    };
    problem->real == 64 ? run(double{}) : run(float{});
  });
}

const char* fmha_bwd_reference_simd() {
  static const std::string name = fmha_bwd::instruction_set();
  return name.c_str();
}
