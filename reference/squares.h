// Squared 2-norms of one row, or one column, of the matrices that the gradients are made of.
#pragma once

namespace fmha_bwd {

/// Of a query (a row) or of a key (a column, over all query heads of its group): reference/attention.h has
/// the matrices.
struct Squares {
  double p = 0.0;
  double p_slope = 0.0;  // P * dS/dx
  double kept = 0.0;     // P * Z
  double ds = 0.0;
  double dx = 0.0;

  void add(const Squares& other) {
    p += other.p;
    p_slope += other.p_slope;
    kept += other.kept;
    ds += other.ds;
    dx += other.dx;
  }
};

}  // namespace fmha_bwd
