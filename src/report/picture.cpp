#include "src/report/picture.h"

#include <algorithm>

#include "base/divided_up.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kFewestCells = 4;

std::int64_t at_least_a_few_cells(std::int64_t cell, std::int64_t seqlen) {
  return std::max<std::int64_t>(1, std::min(cell, seqlen / kFewestCells));
}

/// One line: the cells of the queries in `band`, which is not empty.
std::string line_of(const Mask& mask, Range band, std::int64_t keys_a_cell) {
  const std::int64_t cells = divided_up(mask.seqlen_k(), keys_a_cell);
  std::vector<std::int64_t> begun(static_cast<std::size_t>(cells) + 1);  // ranges that begin, less that ended
  for (std::int64_t query = band.begin; query < band.end; ++query) {
    const Range keys = mask.visible_keys(query);
    if (keys.empty()) continue;
    ++begun[static_cast<std::size_t>(keys.begin / keys_a_cell)];
    --begun[static_cast<std::size_t>((keys.end - 1) / keys_a_cell + 1)];
  }
  // A range's ends never move back from one query to the next.
  const Range seen_by_all = {mask.visible_keys(band.end - 1).begin, mask.visible_keys(band.begin).end};
  std::string line;
  std::int64_t ranges = 0;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    ranges += begun[static_cast<std::size_t>(cell)];
    const Range keys = {cell * keys_a_cell, std::min((cell + 1) * keys_a_cell, mask.seqlen_k())};
    const bool all = seen_by_all.begin <= keys.begin && keys.end <= seen_by_all.end;
    if (cell > 0) line += ' ';
    line += all ? "█" : ranges > 0 ? "▒" : "·";
  }
  return line;
}

}  // namespace

MaskPicture picture_of(const Mask& mask, std::int64_t lines, std::int64_t columns) {
  MaskPicture picture;
  const std::int64_t queries = mask.seqlen_q();
  const std::int64_t keys = mask.seqlen_k();
  const std::int64_t cell =
      std::max({std::int64_t{1}, divided_up(queries, lines), divided_up(keys, columns)});
  picture.queries_a_cell = std::max(at_least_a_few_cells(cell, queries), divided_up(queries, lines));
  picture.keys_a_cell = std::max(at_least_a_few_cells(cell, keys), divided_up(keys, columns));
  if (queries == 0 || keys == 0) return {1, 1, {}};
  for (std::int64_t query = 0; query < queries; query += picture.queries_a_cell) {
    picture.lines.push_back(
        line_of(mask, {query, std::min(query + picture.queries_a_cell, queries)}, picture.keys_a_cell));
  }
  return picture;
}

}  // namespace fmha_bwd
