// Matrix instructions: whose elements they multiply, what they make of subnormal numbers, and who has them.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/kernels/platform/emulator/emulator_test.h"
#include "tests/kernels/platform/emulator/matrix_core_kernels.h"
#include "tests/kernels/platform/emulator/matrix_layouts.h"

namespace fmha_bwd {
namespace {

using test_kernels::Instruction;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr DType kDTypes[] = {DType::fp16, DType::bf16};

struct Matrix {
  Matrix(int rows, int columns, float value = 0)
      : columns_(columns), values_(static_cast<std::size_t>(rows * columns), value) {}
  float& at(int row, int column) { return values_[static_cast<std::size_t>(row * columns_ + column)]; }
  float at(int row, int column) const { return values_[static_cast<std::size_t>(row * columns_ + column)]; }
  bool operator==(const Matrix&) const = default;
  const std::vector<float>& values() const { return values_; }

 private:
  int columns_;
  std::vector<float> values_;
};

struct Product {
  Matrix a;
  Matrix b;
  Matrix c;
};

std::uint32_t bits_of(DType dtype, float value) {
  return dtype == DType::fp16 ? half_from_float(value).bits : bfloat16_from_float(value).bits;
}

/// C + A B, as the emulated instruction has them.
class MatrixCore : public Emulator {
 protected:
  /// Each product in a workgroup of its own.
  static std::vector<Matrix> computed(const Layout& layout, DType dtype,
                                      const std::vector<Product>& products) {
    const std::size_t lanes = static_cast<std::size_t>(layout.lanes) * products.size();
    std::vector<std::uint32_t> a(lanes * static_cast<std::size_t>(layout.elements_a) / 2);
    std::vector<std::uint32_t> b(lanes * static_cast<std::size_t>(layout.elements_b) / 2);
    std::vector<float> c(lanes * static_cast<std::size_t>(layout.elements_c));
    const auto place = [&](std::size_t product, Home home, int elements) {
      return (product * static_cast<std::size_t>(layout.lanes) + static_cast<std::size_t>(home.lane)) *
                 static_cast<std::size_t>(elements) +
             static_cast<std::size_t>(home.element);
    };
    const auto put = [&](std::vector<std::uint32_t>& words, std::size_t at, float value) {
      words[at / 2] |= bits_of(dtype, value) << (16 * (at % 2));
    };
    for (std::size_t p = 0; p < products.size(); ++p) {
      for (int k = 0; k < layout.depth; ++k) {
        for (int i = 0; i < layout.rows; ++i) {
          put(a, place(p, layout.a(i, k), layout.elements_a), products[p].a.at(i, k));
        }
        for (int j = 0; j < layout.columns; ++j) {
          put(b, place(p, layout.b(j, k), layout.elements_b), products[p].b.at(k, j));
        }
      }
      for (int i = 0; i < layout.rows; ++i) {
        for (int j = 0; j < layout.columns; ++j) {
          c[place(p, layout.c(i, j), layout.elements_c)] = products[p].c.at(i, j);
        }
      }
    }
    if (layout.instruction == Instruction::wmma_16x16x16_gfx11) {
      for (std::vector<std::uint32_t>* words : {&a, &b}) {
        for (std::size_t at = 0; at < words->size(); ++at) {
          if (at % 256 >= 128) (*words)[at] = (*words)[at - 128];
        }
      }
    }
    const DeviceArray<float> device_c(c);
    launch(layout, dtype, a, b, device_c);
    const std::vector<float> results = device_c.values();
    std::vector<Matrix> matrices;
    for (std::size_t p = 0; p < products.size(); ++p) {
      Matrix& matrix = matrices.emplace_back(layout.rows, layout.columns);
      for (int i = 0; i < layout.rows; ++i) {
        for (int j = 0; j < layout.columns; ++j) {
          matrix.at(i, j) = results[place(p, layout.c(i, j), layout.elements_c)];
        }
      }
    }
    return matrices;
  }
  static Matrix computed(const Layout& layout, DType dtype, const Product& product) {
    return computed(layout, dtype, std::vector{product})[0];
  }
  /// Operands as the lanes have them, one after the other.
  static void launch(const Layout& layout, DType dtype, const std::vector<std::uint32_t>& a,
                     const std::vector<std::uint32_t>& b, const DeviceArray<float>& c, int lanes = 0) {
    const DeviceArray<std::uint32_t> device_a(a);
    const DeviceArray<std::uint32_t> device_b(b);
    const std::size_t words = static_cast<std::size_t>(layout.lanes * layout.elements_a) / 2;
    hipLaunchKernelGGL(test_kernels::multiply, dim3(static_cast<unsigned>(a.size() / words)),
                       dim3(static_cast<unsigned>(lanes == 0 ? layout.lanes : lanes)), 0, nullptr,
                       layout.instruction, dtype,
                       test_kernels::Operands{device_a.data(), device_b.data(), c.data()});
  }
  /// One of zeros.
  static void launch(const Layout& layout, int lanes = 0) {
    const auto count = [&](int elements) { return static_cast<std::size_t>(layout.lanes * elements); };
    launch(layout, DType::fp16, std::vector<std::uint32_t>(count(layout.elements_a) / 2),
           std::vector<std::uint32_t>(count(layout.elements_b) / 2),
           DeviceArray<float>(std::vector<float>(count(layout.elements_c))), lanes);
  }

  template <class Check>
  static void for_each_instruction(const Check& check) {
    for (const Layout& layout : layouts()) {
      for (const std::string& arch : layout.architectures) {
        select_arch(arch);
        for (const DType dtype : kDTypes) {
          SCOPED_TRACE(layout.name + " " + std::string(name_of(dtype)) + " on " + arch);
          check(layout, dtype);
        }
      }
    }
  }
};

TEST_F(MatrixCore, TakesEveryElementOfAToItsRowOfC) {
  for_each_instruction([](const Layout& layout, DType dtype) {
    // All different, and exact also with bf16's eight bits.
    Matrix b(layout.depth, layout.columns);
    for (int k = 0; k < layout.depth; ++k) {
      for (int j = 0; j < layout.columns; ++j) {
        b.at(k, j) = static_cast<float>(k * layout.columns + j - 256);
      }
    }
    std::vector<Product> products;
    std::vector<Matrix> expected;
    for (int i = 0; i < layout.rows; ++i) {
      for (int k = 0; k < layout.depth; ++k) {
        Product& product =
            products.emplace_back(Product{{layout.rows, layout.depth}, b, {layout.rows, layout.columns}});
        product.a.at(i, k) = 1;
        Matrix& row = expected.emplace_back(layout.rows, layout.columns);
        for (int j = 0; j < layout.columns; ++j) row.at(i, j) = b.at(k, j);
      }
    }
    const std::vector<Matrix> actual = computed(layout, dtype, products);
    ASSERT_EQ(objection(), "");
    for (std::size_t p = 0; p < products.size(); ++p) ASSERT_EQ(actual[p], expected[p]) << p;
  });
}

TEST_F(MatrixCore, AddsProductsToC) {
  for_each_instruction([](const Layout& layout, DType dtype) {
    std::mt19937 random(11);
    const auto fill = [&](Matrix& matrix, int rows, int columns) {
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) matrix.at(i, j) = static_cast<float>(random() % 41) - 20;
      }
    };
    std::vector<Product> products;
    std::vector<Matrix> expected;
    for (int repeat = 0; repeat < 20; ++repeat) {
      Product& product = products.emplace_back(Product{
          {layout.rows, layout.depth}, {layout.depth, layout.columns}, {layout.rows, layout.columns}});
      fill(product.a, layout.rows, layout.depth);
      fill(product.b, layout.depth, layout.columns);
      fill(product.c, layout.rows, layout.columns);
      Matrix& sums = expected.emplace_back(product.c);
      for (int i = 0; i < layout.rows; ++i) {
        for (int j = 0; j < layout.columns; ++j) {
          for (int k = 0; k < layout.depth; ++k) sums.at(i, j) += product.a.at(i, k) * product.b.at(k, j);
        }
      }
    }
    EXPECT_EQ(computed(layout, dtype, products), expected);
    EXPECT_EQ(objection(), "");
  });
}

TEST_F(MatrixCore, KeepsWhatIsNotFinite) {
  for_each_instruction([](const Layout& layout, DType dtype) {
    Product product = {
        {layout.rows, layout.depth}, {layout.depth, layout.columns}, {layout.rows, layout.columns}};
    for (int j = 0; j < layout.columns; ++j) product.b.at(0, j) = 1;
    product.a.at(0, 0) = std::numeric_limits<float>::infinity();
    product.a.at(1, 0) = -std::numeric_limits<float>::infinity();
    product.a.at(2, 0) = std::numeric_limits<float>::quiet_NaN();
    product.a.at(3, 0) = dtype == DType::fp16 ? 65504.0F : 0x1.fep127F;  // the largest
    const Matrix c = computed(layout, dtype, product);
    EXPECT_EQ(c.at(0, 1), std::numeric_limits<float>::infinity());
    EXPECT_EQ(c.at(1, 1), -std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(c.at(2, 1)));
    EXPECT_EQ(c.at(3, 1), product.a.at(3, 0));
  });
}

/// What an instruction makes of subnormal numbers: zero, with the sign that they had, or what they are.
class Subnormals : public MatrixCore {
 protected:
  /// Of A[i][k] = a and B[k][j] = b for all indices, added to c everywhere.
  static std::vector<float> of(DType dtype, float a, float b, float c) {
    const Layout& layout = layout_of(Instruction::mfma_16x16x16);
    const Product product = {{16, 16, a}, {16, 16, b}, {16, 16, c}};
    std::vector<float> values = computed(layout, dtype, product).values();
    EXPECT_EQ(objection(), "");
    return values;
  }
  static constexpr float smallest(DType dtype) { return dtype == DType::fp16 ? 0x1p-24F : 0x1p-133F; }
  static constexpr float smallest_normal(DType dtype) { return dtype == DType::fp16 ? 0x1p-14F : 0x1p-126F; }
};

MATCHER(IsMinusZero, "") { return arg == 0 && std::signbit(arg); }
MATCHER(IsPlusZero, "") { return arg == 0 && !std::signbit(arg); }

TEST_F(Subnormals, OfElementsAreZeroOnGfx90a) {
  select_arch("gfx90a");
  for (const DType dtype : kDTypes) {
    for (const float tiny : {smallest(dtype), smallest_normal(dtype) - smallest(dtype)}) {
      EXPECT_THAT(of(dtype, tiny, 1024, 3), Each(3.0F));
      EXPECT_THAT(of(dtype, 1024, tiny, 0), Each(IsPlusZero()));
      EXPECT_THAT(of(dtype, -tiny, 1024, -0.0F), Each(IsMinusZero()));
      EXPECT_THAT(of(dtype, 1024, -tiny, -0.0F), Each(IsMinusZero()));
    }
    EXPECT_THAT(of(dtype, smallest_normal(dtype), 1024, 0), Each(16 * 1024 * smallest_normal(dtype)));
  }
}

TEST_F(Subnormals, OfElementsCountElsewhere) {
  for (const char* arch : {"gfx942", "gfx950"}) {
    select_arch(arch);
    for (const DType dtype : kDTypes) {
      for (const float tiny : {smallest(dtype), smallest_normal(dtype) - smallest(dtype)}) {
        EXPECT_THAT(of(dtype, tiny, 1024, 0), Each(16 * 1024 * tiny));
        EXPECT_THAT(of(dtype, 1024, -tiny, 0), Each(16 * 1024 * -tiny));
      }
    }
  }
}

TEST_F(Subnormals, OfResultsAreZeroOnGfx90aAlone) {
  for (const char* arch : {"gfx90a", "gfx942"}) {
    select_arch(arch);
    const bool flushes = std::string(arch) == "gfx90a";
    for (const float sign : {1.0F, -1.0F}) {
      const std::vector<float> of_products = of(DType::bf16, sign * 0x1p-70F, 0x1p-61F, 0);
      const std::vector<float> of_c = of(DType::fp16, 0, 0, sign * 0x1p-130F);
      EXPECT_THAT(of_products, Each(flushes ? 0.0F : sign * 0x1p-127F)) << arch;
      EXPECT_THAT(of_c, Each(flushes ? 0.0F : sign * 0x1p-130F)) << arch;
      EXPECT_EQ(std::signbit(of_products[0]), sign < 0) << arch;
      EXPECT_EQ(std::signbit(of_c[0]), sign < 0) << arch;
      EXPECT_THAT(of(DType::bf16, sign * 0x1p-70F, 0x1p-60F, 0), Each(sign * 0x1p-126F)) << arch;
    }
  }
}

TEST_F(MatrixCore, HasOnlyTheInstructionsOfItsArchitecture) {
  for (const char* arch : {"gfx942", "gfx90a", "gfx950", "gfx1100", "gfx1201", "sm_80", "sm_90a"}) {
    select_arch(arch);
    for (const Layout& layout : layouts()) {
      SCOPED_TRACE(layout.name + " on " + arch);
      launch(layout);
      if (testing::Matches(testing::Contains(arch))(layout.architectures)) {
        EXPECT_EQ(objection(), "");
      } else {
        EXPECT_THAT(report_of_fault(),
                    AllOf(HasSubstr("lane 0: " + layout.name + ": " + arch + " has no such instruction, at "),
                          HasSubstr("matrix_core_kernels.hip:")));
      }
    }
  }
}

TEST_F(MatrixCore, NeedsTheWholeWave) {
  launch(layout_of(Instruction::mfma_16x16x16), 63);
  EXPECT_THAT(report_of_fault(),
              AllOf(HasSubstr("lane 0: mfma_16x16x16 at "), HasSubstr("matrix_core_kernels.hip:"),
                    HasSubstr("the wave has only 63 of 64 lanes")));
}

TEST_F(MatrixCore, NeedsAllLanesAtOneCall) {
  const auto line = [](int which) {
    return "matrix_core_kernels.hip:" + std::to_string(test_kernels::multiply_at_two_sites_lines[which]);
  };
  hipLaunchKernelGGL(test_kernels::multiply_at_two_sites, dim3(1), dim3(64), 0, nullptr, 16);
  EXPECT_THAT(
      report_of_fault(),
      AllOf(HasSubstr("divergent wave function"), HasSubstr("lanes 0-15 wait in mfma_16x16x16 at "),
            HasSubstr("lanes 16-63 wait in mfma_16x16x16 at "), HasSubstr(line(0)), HasSubstr(line(1))));
  hipLaunchKernelGGL(test_kernels::multiply_at_two_sites, dim3(1), dim3(128), 0, nullptr, 64);
  EXPECT_EQ(objection(), "");
  hipLaunchKernelGGL(test_kernels::multiply_two_types, dim3(1), dim3(64), 0, nullptr, 16);
  EXPECT_THAT(report_of_fault(), HasSubstr("divergent wave function"));
  hipLaunchKernelGGL(test_kernels::multiply_after_exit, dim3(1), dim3(64), 0, nullptr, 16);
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("divergent wave function"),
                                       HasSubstr("lanes 16-63 wait in mfma_16x16x16 at ")));
}

TEST_F(MatrixCore, OfRdna3NeedsItsOperandsTwice) {
  select_arch("gfx1100");
  const Layout& layout = layout_of(Instruction::wmma_16x16x16_gfx11);
  for (const DType dtype : kDTypes) {
    for (const int lane : {16, 31}) {
      for (const char which : {'A', 'B'}) {
        std::vector<std::uint32_t> a(32 * 8, 0x3c003c00);
        std::vector<std::uint32_t> b = a;
        (which == 'A' ? a : b)[static_cast<std::size_t>(lane * 8 + 7)] ^= 0x80000000u;
        launch(layout, dtype, a, b, DeviceArray<float>(std::vector<float>(32 * 8)));
        EXPECT_THAT(
            report_of_fault(),
            AllOf(HasSubstr("lane " + std::to_string(lane) + ": wmma_16x16x16_gfx11 at "),
                  HasSubstr(std::string("another ") + which + " than lane " + std::to_string(lane - 16)),
                  HasSubstr("lanes 16-31 must repeat lanes 0-15")));
      }
    }
  }
}

TEST_F(MatrixCore, SwapsHalvesOf32LanesOnRdna) {
  std::vector<std::uint32_t> values(64);
  for (std::size_t i = 0; i < 64; ++i) values[i] = 0xabcd0000u + static_cast<std::uint32_t>(i);
  const DeviceArray<std::uint32_t> in(values);
  const DeviceArray<std::uint32_t> out(64);
  for (const char* arch : {"gfx1100", "gfx1201"}) {
    select_arch(arch);
    hipLaunchKernelGGL(test_kernels::swap, dim3(1), dim3(64), 0, nullptr, in.data(), out.data());
    ASSERT_EQ(objection(), "");
    const std::vector<std::uint32_t> swapped = out.values();
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(swapped[i], values[i ^ 16]) << i;
  }
  for (const char* arch : {"gfx942", "sm_80"}) {
    select_arch(arch);
    hipLaunchKernelGGL(test_kernels::swap, dim3(1), dim3(64), 0, nullptr, in.data(), out.data());
    EXPECT_THAT(report_of_fault(),
                HasSubstr(std::string("swap_halves: ") + arch + " has no such instruction"));
  }
}

TEST_F(MatrixCore, ExponentiatesWithoutSubnormals) {
  const float infinity = std::numeric_limits<float>::infinity();
  const DeviceArray<float> in(
      std::vector<float>{0, 3, -126, -126.5F, -140, -infinity, 127, 128, 0.5F, -infinity});
  const DeviceArray<float> out(10);
  hipLaunchKernelGGL(test_kernels::exponentiate, dim3(1), dim3(10), 0, nullptr, in.data(), out.data());
  ASSERT_EQ(objection(), "");
  EXPECT_EQ(out.values(),
            (std::vector<float>{1, 8, 0x1p-126F, 0, 0, 0, 0x1p127F, infinity, std::exp2(0.5F), 0}));
}

}  // namespace
}  // namespace fmha_bwd
