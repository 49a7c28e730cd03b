// Tiles of attention on vectors. The instruction set is chosen when the program runs, the widest that the CPU
// has; this header is all that the rest of the reference sees of it.
//
// Whoever owns a tile keeps its operands packed, with its own rows along the vectors, and lets the other side
// pass by in tiles:
//
//     QueryTile   S^T = K Q^T,  dP^T = V dO^T   O += P V,      dQ += dX K     lanes are queries
//     KeyTile     S = Q K^T,    dP = dO V^T     dV += P^T dO,  dK += dX^T Q   lanes are keys
//
// A KeyTile can also add its tile's dX K to dQ: then a backward pass has five products and no more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reference/score_terms.h"
#include "reference/squares.h"

namespace fmha_bwd {

/// The vector exp's largest error, in units of the result's last place. The largest that were found are 1.036
/// in fp64, among 120 million arguments, and 1.009 in fp32, in which every fifth was tried. Near the ends of
/// the type's range it gives up: e^x is 0 for x < -708 in fp64 and -87 in fp32, infinite for x > 709 and 88.
inline constexpr double kExpUlps = 1.05;

inline constexpr double kNegligible = 1e-9;  // a P below it

/// Of some pairs.
struct PairTally {
  std::int64_t significant = 0;  // with P >= kNegligible
  double max_score = 0.0;        // the largest size of the scores of those

  void add(const PairTally& other) {
    significant += other.significant;
    max_score = max_score < other.max_score ? other.max_score : max_score;
  }
};

/// What is known of each row of queries: LSE and D of all rows of all heads.
template <typename Real>
struct KnownRows {
  const Real* lse;
  const Real* d;
};

/// Rows of memory that are whole vectors apart.
template <typename Real>
struct PaddedRows {
  Real* data;  // aligned to kVectorBytes
  std::int64_t stride;
};

inline constexpr std::int64_t kVectorBytes = 64;
/// The smallest stride for rows of so many columns.
template <typename Real>
std::int64_t padded(std::int64_t columns) {
  constexpr auto kStep = static_cast<std::int64_t>(kVectorBytes / sizeof(Real));
  return (columns + kStep - 1) / kStep * kStep;
}

/// The working memory of one thread and what it computes with it. Arithmetic is Real's; where that is float,
/// P * Z and dX are rounded to `dtype` before they are multiplied.
template <typename Real>
class QueryTile {
 public:
  virtual ~QueryTile() = default;

  /// O [count, hdim_v] and LSE [count] of the queries, by an online softmax.
  virtual void forward(const Rows& queries, Real* o, Real* lse) = 0;
  /// dX K [count, hdim_q] of queries whose LSE and D are known; adds to `squares` [count] and to the tally.
  virtual PairTally differentiate(const Rows& queries, const KnownRows<Real>& known, Real* dq,
                                  Squares* squares) = 0;
  /// Adds dS of the queries to rows of dBias: row i begins at dbias + i * stride.
  virtual void add_dbias(const Rows& queries, const KnownRows<Real>& known, Real* dbias,
                         std::int64_t stride) = 0;
};

template <typename Real>
class KeyTile {
 public:
  virtual ~KeyTile() = default;

  /// Takes these keys; their dK and dV are zero.
  virtual void start(const Rows& keys) = 0;
  /// Adds what these queries give to dK and dV, and keeps their dX for add_dq.
  virtual PairTally add(const Rows& queries, const KnownRows<Real>& known) = 0;
  /// Of the queries that were added first and are still kept: adds what the keys give to them, dX K [count,
  /// hdim_q], to dq, and to `squares` [count].
  virtual void add_dq(const PaddedRows<Real>& dq, Squares* squares) = 0;
  /// The same, where nobody wants them.
  virtual void drop_dq() = 0;
  /// dX^T Q [count, hdim_q], dV [count, hdim_v] and the squares [count] of the keys.
  virtual void finish(Real* dk, Real* dv, Squares* squares) = 0;
};

/// `terms` must outlive the tile.
template <typename Real>
std::unique_ptr<QueryTile<Real>> make_query_tile(const ScoreTerms& terms);
template <typename Real>
std::unique_ptr<KeyTile<Real>> make_key_tile(const ScoreTerms& terms);

/// The name of the instruction set, as Highway has it: AVX3 (AVX-512), AVX2, SSE4, NEON ...
std::string instruction_set();
/// Elements of a vector of fp64.
std::int64_t lanes_fp64();

/// Each value becomes the nearest one of the type, as round_to of base/dtype.h has it.
void round_all(DType dtype, float* values, std::int64_t count);

/// exp and tanh of each value as the tiles compute them, for tests.
std::vector<double> vector_exp(const std::vector<double>& values);
std::vector<float> vector_exp(const std::vector<float>& values);
std::vector<double> vector_tanh(const std::vector<double>& values);
std::vector<float> vector_tanh(const std::vector<float>& values);

/// Computes with one of instruction_sets() from now on; all of them again for an empty name. Not while tiles
/// are at work: it is for tests and benchmarks.
std::vector<std::string> instruction_sets();
void use_instruction_set(const std::string& name);

}  // namespace fmha_bwd
