// Faults that are planted in what the families on matrix cores computed: verification sees each. Those are
// the faults that such kernels tend to have: a tile, a row or a term that is left out, a mask that is off by
// one, elements that are another lane's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tests/kernels/matrix_family_test.h"

namespace fmha_bwd {
namespace {

constexpr Fill kFill = {.seed = 7, .standard_deviation = 1.0F};

/// The element of two bytes, row after row.
std::uint16_t& element(HostTensor& tensor, std::int64_t row, std::int64_t column) {
  std::byte* const at = tensor.bytes.data() + 2 * (row * tensor.shape.column + column);
  return *reinterpret_cast<std::uint16_t*>(at);
}

class MatrixPlantedFault : public MatrixTest {
 protected:
  // One head, so that a row's number is its place; more than two tiles of any family.
  static Problem problem_in(DType dtype) { return problem_of({1, 1, 1, 130, 260, 64, 64}, dtype); }

  /// Each of the gradients `of` fails once `plant` has changed it, at each of `places`.
  template <class Place, class Plant>
  void expect_seen(const char* what, const std::vector<Place>& places, const Plant& plant,
                   const std::vector<TensorId>& of = kGradients) {
    for (const DType dtype : kTypes) {
      const Problem problem = problem_in(dtype);
      const Reference reference = reference_for(problem, kBottomRight, draw_inputs(problem, kFill));
      const auto session = computed(problem, kBottomRight, kFill);
      for (const TensorId id : of) {
        const HostTensor right = session->download(id);
        ASSERT_TRUE(verify(id, right, reference).passed) << name_of(id) << " " << name_of(dtype);
        for (const Place& place : places) {
          HostTensor wrong = right;
          plant(wrong, place);
          EXPECT_FALSE(verify(id, wrong, reference).passed) << what << " at " << testing::PrintToString(place)
                                                            << ": " << name_of(id) << " " << name_of(dtype);
        }
      }
    }
  }

  /// So does each that is computed of a problem and a mask that `change` has changed.
  template <class Change>
  void expect_seen_where_computed_of(const char* what, const Change& change,
                                     const std::vector<TensorId>& of = kGradients) {
    for (const DType dtype : kTypes) {
      const Problem right = problem_in(dtype);
      const Reference reference = reference_for(right, kBottomRight, draw_inputs(right, kFill));
      Problem problem = right;
      MaskSpec mask = kBottomRight;
      change(problem, mask);
      const auto session = computed(problem, mask, kFill);
      for (const TensorId id : of) {
        EXPECT_FALSE(verify(id, session->download(id), reference).passed)
            << what << ": " << name_of(id) << " " << name_of(dtype);
      }
    }
  }

  static inline const std::vector<TensorId> kGradients = {TensorId::dq, TensorId::dk, TensorId::dv};
};

TEST_P(MatrixPlantedFault, IsSeenWhereAGradientIsZero) {
  expect_seen("zeros", std::vector{0}, [](HostTensor& tensor, int) {
    std::fill(tensor.bytes.begin(), tensor.bytes.end(), std::byte{0});
  });
}

TEST_P(MatrixPlantedFault, IsSeenWhereOneRowAtATilesEdgeIsZero) {
  expect_seen("a row of zeros", std::vector{0, 15, 16, 31, 32, 63, 64, 127, 128},
              [](HostTensor& tensor, int row) {
                for (int column = 0; column < 64; ++column) element(tensor, row, column) = 0;
              });
}

TEST_P(MatrixPlantedFault, IsSeenInOneNaN) {
  expect_seen("NaN", std::vector{0, 77, 129},
              [](HostTensor& tensor, int row) { element(tensor, row, row % 64) = 0x7fff; });
}

TEST_P(MatrixPlantedFault, IsSeenWhereTwoRowsAreExchanged) {
  expect_seen("exchanged rows", std::vector<std::pair<int, int>>{{16, 17}, {3, 11}, {0, 16}},
              [](HostTensor& tensor, const std::pair<int, int>& rows) {
                for (int column = 0; column < 64; ++column) {
                  std::swap(element(tensor, rows.first, column), element(tensor, rows.second, column));
                }
              });
}

TEST_P(MatrixPlantedFault, IsSeenWhereTwoColumnsAreExchangedInABlock) {
  expect_seen("exchanged columns", std::vector{0, 32, 112}, [](HostTensor& tensor, int first) {
    for (int row = first; row < first + 16; ++row) {
      std::swap(element(tensor, row, 4), element(tensor, row, 5));
    }
  });
}

TEST_P(MatrixPlantedFault, IsSeenWhereTheMaskIsOffByOne) {
  for (const std::int64_t keys : {-1, 1}) {
    expect_seen_where_computed_of("a shifted mask",
                                  [keys](const Problem&, MaskSpec& mask) { mask = shifted(mask, keys); });
  }
}

TEST_P(MatrixPlantedFault, IsSeenWhereTheScaleIsLeftOut) {
  expect_seen_where_computed_of("no scale", [](Problem& problem, const MaskSpec&) { problem.scale = 1.0F; });
  // Of the gradients alone: 8 = 1 / default_scale(64), exponents are three more.
  const std::vector<TensorId> scaled = {TensorId::dq, TensorId::dk};
  expect_seen(
      "gradients without scale", std::vector{3},
      [](HostTensor& tensor, int more) {
        const int shift = tensor.dtype == DType::fp16 ? 10 : 7;
        for (std::int64_t row = 0; row < tensor.shape.row; ++row) {
          for (std::int64_t column = 0; column < 64; ++column) {
            std::uint16_t& x = element(tensor, row, column);
            if ((x & 0x7fff) >> shift != 0) x = static_cast<std::uint16_t>(x + (more << shift));
          }
        }
      },
      scaled);
}

TEST_P(MatrixPlantedFault, IsSeenWhereTheLastKeysAreLeftOut) {
  expect_seen_where_computed_of("a window", [](const Problem&, MaskSpec& mask) { mask.left = 200; });
}

TEST_P(MatrixPlantedFault, IsSeenWhereTheForwardWasThatOfAnotherMask) {
  for (const DType dtype : kTypes) {
    const Problem problem = problem_in(dtype);
    const Reference reference = reference_for(problem, kBottomRight, draw_inputs(problem, kFill));
    const auto session = opened(problem);
    session->fill_inputs(kFill);
    session->poison_outputs();
    session->forward(kTopLeft);
    session->backward(kBottomRight);
    for (const TensorId id : kGradients) {
      EXPECT_FALSE(verify(id, session->download(id), reference).passed)
          << name_of(id) << " " << name_of(dtype);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Device, MatrixPlantedFault, testing::ValuesIn(matrix_devices()), test_name);

}  // namespace
}  // namespace fmha_bwd
