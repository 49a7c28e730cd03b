#include "src/report/picture.h"

#include <algorithm>

namespace fmha_bwd {

std::vector<std::string> mask_picture(const Mask& mask, std::int64_t rows, std::int64_t columns) {
  std::vector<std::string> lines;
  for (std::int64_t query = 0; query < std::min(rows, mask.seqlen_q()); ++query) {
    std::string line;
    for (std::int64_t key = 0; key < std::min(columns, mask.seqlen_k()); ++key) {
      if (key > 0) line += ' ';
      line += mask.visible(query, key) ? "█" : "·";
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace fmha_bwd
