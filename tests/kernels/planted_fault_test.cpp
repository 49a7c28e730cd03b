// What a sample of rows is worth on a device: a row that is zero instead of right, at the boundary of a tile
// of a long problem, is found with every seed that the sample says so of.
//
// FMHA_BWD_PLANTED_SEQLEN and FMHA_BWD_PLANTED_SEEDS set the length and the number of seeds; 131072 and 100
// take some minutes on a GPU's host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/backend.h"
#include "reference/inputs.h"
#include "reference/sample.h"
#include "reference/verify.h"
#include "tests/kernels/devices.h"

namespace fmha_bwd {
namespace {

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

class PlantedFault : public testing::TestWithParam<Device> {};

HostTensor with_zero_row(HostTensor tensor, std::int64_t row) {
  const auto bytes = static_cast<std::int64_t>(size_of(tensor.dtype)) * tensor.shape.column;
  std::fill_n(tensor.bytes.begin() + row * bytes, bytes, std::byte{0});
  return tensor;
}

TEST_P(PlantedFault, InOneTileBoundaryRowIsFoundWithEverySeed) {
  const bool emulated = GetParam().emulated;
  const std::int64_t seqlen = from_environment("FMHA_BWD_PLANTED_SEQLEN", emulated ? 512 : 16384);
  const std::int64_t first = from_environment("FMHA_BWD_PLANTED_FIRST", 0);
  const std::int64_t seeds = from_environment("FMHA_BWD_PLANTED_SEEDS", emulated ? 4 : 10);
  Problem problem{1, 2, 2, seqlen, seqlen, 128, 128, emulated ? DType::fp32 : DType::bf16};
  if (emulated) problem.hdim_q = problem.hdim_v = 16;
  problem.scale = default_scale(problem.hdim_q);
  const std::int64_t rows = std::max<std::int64_t>(768, seqlen * 11264 / 131072);

  const auto backend = open_backend(GetParam().platform, GetParam().index);
  std::string kernel;
  for (const KernelSupport& support : backend->kernels(problem, kBottomRight)) {
    if (kernel.empty() && !support.refusal) kernel = support.kernel;
  }
  const auto session = backend->open(problem, kernel);
  session->fill_inputs({});
  session->poison_outputs();
  session->forward(kBottomRight);
  session->backward(kBottomRight);
  const AttentionInputs inputs = draw_inputs(problem, {});
  const KnownLseAndD known = {values_of(session->download(TensorId::lse)),
                              values_of(session->download(TensorId::d))};
  const std::map<TensorId, HostTensor> gradients = {{TensorId::dq, session->download(TensorId::dq)},
                                                    {TensorId::dk, session->download(TensorId::dk)}};

  std::int64_t found = 0;
  for (std::int64_t seed = first; seed < first + seeds; ++seed) {
    const TensorId id = seed % 2 == 0 ? TensorId::dq : TensorId::dk;
    Sample sample = choose_sample(problem, kBottomRight, rows, static_cast<std::uint64_t>(seed));
    const RowClass& boundary = (id == TensorId::dq ? sample.queries : sample.keys).classes[1];
    ASSERT_EQ(chance_missed_one(boundary), 0.0);
    (id == TensorId::dq ? sample.keys : sample.queries) = {};  // the other side says nothing of this tensor
    const Reference reference = sampled_reference(problem, kBottomRight, inputs, sample, known);

    // The first or last row of a tile that is not a sequence's first or last tile.
    const auto words = philox_quad(static_cast<std::uint64_t>(seed), 1000, 0);
    const std::int64_t tile = 1 + words[0] % (seqlen / kSampleTile - 2);
    const std::int64_t row = words[1] % 2 * seqlen + tile * kSampleTile + words[2] % 2 * (kSampleTile - 1);
    const HostTensor& right = gradients.at(id);
    ASSERT_TRUE(verify(id, right, reference).passed) << name_of(id) << " seed " << seed;
    const TensorVerdict verdict = verify(id, with_zero_row(right, row), reference);
    if (!verdict.passed) {
      ++found;
    } else {
      std::cout << "not found: row " << row << " of " << name_of(id) << ", seed " << seed << '\n';
    }
  }
  EXPECT_GE(100 * found, 99 * seeds) << found << " of " << seeds;
  RecordProperty("found", std::to_string(found) + " of " + std::to_string(seeds));
}

INSTANTIATE_TEST_SUITE_P(Device, PlantedFault, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
