// The masks of a report of bench, drawn.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/report/bench/bench_report.h"
#include "src/report/picture.h"

namespace fmha_bwd {

/// One mask, and the shapes over which it looks the same.
struct DrawnMask {
  std::string mask;
  MaskPicture picture;  // of the first shape
  struct Shape {
    std::int64_t seqlen_q = 0;
    std::int64_t seqlen_k = 0;
    double density = 0.0;  // visible pairs over all pairs, of the whole case
    bool operator==(const Shape&) const = default;
  };
  std::vector<Shape> shapes;  // each once
};

/// The distinct masks of the report's cases in their order, each in at most 32 x 32 cells. In group mode the
/// largest sequence stands for all. Left out are masks that this program does not know, and shapes with no
/// pair or of more than 2^24 queries.
std::vector<DrawnMask> masks_drawn(const BenchReport& report);

}  // namespace fmha_bwd
