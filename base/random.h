// From random integers to the inputs' values, with the same bits on every platform.
//
// The integers are Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): key =
// seed, counter = (element / 4, tensor), so that every tensor has a stream of its own and any element can be
// computed alone. Element e takes word e % 4. GPUs draw the inputs through hipRAND's device API, which lays
// the counter out in the same way; philox() is the same function for the CPU, and for dropout.
//
// The map to normal values uses only operations that IEEE 754 rounds correctly (+ - * / sqrt) in double
// precision. Sources that include this header are compiled without contraction into fused multiply-adds.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace fmha_bwd {

/// 128 random bits.
struct PhiloxWords {
  std::uint32_t words[4];

  FMHA_BWD_HOST_DEVICE constexpr std::uint32_t operator[](std::size_t i) const { return words[i]; }
  bool operator==(const PhiloxWords&) const = default;
};

/// One of Philox's ten rounds.
FMHA_BWD_HOST_DEVICE constexpr PhiloxWords philox_round(PhiloxWords counter, std::uint32_t key0,
                                                        std::uint32_t key1) {
  const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * counter.words[0];
  const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * counter.words[2];
  return {{static_cast<std::uint32_t>(product1 >> 32) ^ counter.words[1] ^ key0,
           static_cast<std::uint32_t>(product1),
           static_cast<std::uint32_t>(product0 >> 32) ^ counter.words[3] ^ key1,
           static_cast<std::uint32_t>(product0)}};
}

/// The random bits of `counter` under `key`.
FMHA_BWD_HOST_DEVICE constexpr PhiloxWords philox(PhiloxWords counter, std::uint32_t key0,
                                                  std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    counter = philox_round(counter, key0, key1);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// The keys of the ten rounds, for kernels that have no registers to compute them in.
struct PhiloxKeys {
  std::uint32_t of_round[10][2] = {};

  explicit constexpr PhiloxKeys(std::uint64_t seed) {
    auto key0 = static_cast<std::uint32_t>(seed);
    auto key1 = static_cast<std::uint32_t>(seed >> 32);
    for (auto& keys : of_round) {
      keys[0] = key0;
      keys[1] = key1;
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
  }
};

/// The four integers of place `position` of stream `stream`; what hiprand_init(seed, stream, 4 * position,
/// &state) followed by hiprand4(&state) draws.
FMHA_BWD_HOST_DEVICE constexpr PhiloxWords philox_quad(std::uint64_t seed, std::uint64_t stream,
                                                       std::uint64_t position) {
  return philox({{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
                  static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}},
                static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

/// log(x) for a positive normal x, to about 1 ulp: x = m 2^e with m in [sqrt(1/2), sqrt(2)), and
/// log m = 2 artanh((m - 1)/(m + 1)) by its power series.
FMHA_BWD_HOST_DEVICE inline double portable_log(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<std::int64_t>(bits >> 52) - 1022;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffu) | 0x3fe0000000000000u);  // in [1/2, 1)
  if (m < 0.70710678118654752440) {
    m = m * 2.0;
    exponent -= 1;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double series = 1.0 / 21.0;
  for (int odd = 19; odd >= 1; odd -= 2) series = series * s2 + 1.0 / odd;
  return 2.0 * s * series + static_cast<double>(exponent) * 0.69314718055994530942;
}

/// The standard normal quantile of (bits + 1/2) / 2^32: Wichura's algorithm AS 241 (PPND16), Applied
/// Statistics 37 (1988). |result| < 6.4.
FMHA_BWD_HOST_DEVICE inline double normal_from_bits(std::uint32_t bits) {
  const double p = (static_cast<double>(bits) + 0.5) * 0x1p-32;
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    const double numerator =
        (((((((2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853) * r +
             45921.953931549871457) *
                r +
            13731.693765509461125) *
               r +
           1971.5909503065514427) *
              r +
          133.14166789178437745) *
             r +
         3.3871328727963666080);
    const double denominator =
        (((((((5226.4952788528545610 * r + 28729.085735721942674) * r + 39307.895800092710610) * r +
             21213.794301586595867) *
                r +
            5394.1960214247511077) *
               r +
           687.18700749205790830) *
              r +
          42.313330701600911252) *
             r +
         1.0);
    return q * numerator / denominator;
  }
  double r = sqrt(-portable_log(q < 0.0 ? p : 1.0 - p));
  double numerator = 0.0;
  double denominator = 1.0;
  if (r <= 5.0) {
    r = r - 1.6;
    numerator =
        (((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.241780725177450611770) * r +
             1.27045825245236838258) *
                r +
            3.64784832476320460504) *
               r +
           5.76949722146069140550) *
              r +
          4.63033784615654529590) *
             r +
         1.42343711074968357734);
    denominator =
        (((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r +
             0.148103976427480074590) *
                r +
            0.689767334985100004550) *
               r +
           1.67638483018380384940) *
              r +
          2.05319162663775882187) *
             r +
         1.0);
  } else {
    r = r - 5.0;
    numerator =
        (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 0.00124266094738807843860) *
                 r +
             0.0265321895265761230930) *
                r +
            0.296560571828504891230) *
               r +
           1.78482653991729133580) *
              r +
          5.46378491116411436990) *
             r +
         6.65790464350110377720);
    denominator =
        (((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r + 1.84631831751005468180e-5) *
                 r +
             7.86869131145613259100e-4) *
                r +
            0.0148753612908506148525) *
               r +
           0.136929880922735805310) *
              r +
          0.599832206555887937690) *
             r +
         1.0);
  }
  const double z = numerator / denominator;
  return q < 0.0 ? -z : z;
}

/// An input's value before it is rounded to its dtype.
FMHA_BWD_HOST_DEVICE inline float input_value(std::uint32_t bits, float standard_deviation) {
  return static_cast<float>(normal_from_bits(bits) * static_cast<double>(standard_deviation));
}

}  // namespace fmha_bwd
