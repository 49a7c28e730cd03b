// Cases beside those of the baseline: a bar from 1 to each ratio of times.

const kBarWidth = 240;

/** The largest distance of a ratio or an end of its interval from 1, as a logarithm; 2 % at least. */
function farthest(table) {
  const places = ["ratio", "low", "high"].map((key) => columnOf(table, key)).filter((place) => place >= 0);
  const logs = table.rows.flatMap((cells) => places.map((place) => valueOf(cells[place])))
                   .filter((value) => value !== null && value > 0)
                   .map((value) => Math.abs(Math.log(value)));
  return Math.max(Math.log(1.02), ...logs);
}

function barOf(ratio, low, high, reach) {
  const at = (value) => kBarWidth / 2 * (1 + Math.log(value) / reach * 0.94);
  const parts = [shape("line", {class: "middle", x1: kBarWidth / 2, x2: kBarWidth / 2, y1: 0, y2: 18})];
  if (ratio > 0) {
    const [from, to] = [at(1), at(ratio)].sort((a, b) => a - b);
    parts.push(shape("rect", {
      class: ratio > 1 ? "slower" : "faster",
      x: from,
      y: 4,
      height: 10,
      width: Math.max(0.5, to - from)
    }));
  }
  if (low > 0 && high > 0) {
    parts.push(
        shape("path", {class: "whisker", d: `M${at(low)} 5V13M${at(low)} 9H${at(high)}M${at(high)} 5V13`}));
  }
  return shape(
      "svg",
      {class: "bar", viewBox: `0 0 ${kBarWidth} 18`, preserveAspectRatio: "none", "aria-hidden": "true"},
      ...parts);
}

function showComparison(data) {
  const table = data.tables.comparison;
  if (table === null) return;
  const reach = farthest(table);
  const ends = [-reach, reach].map((end) => Math.exp(end).toFixed(2));
  const value = (cells, key) => {
    const place = columnOf(table, key);
    return place < 0 ? null : valueOf(cells[place]);
  };
  const verdictPlace = columnOf(table, "verdict");
  const shown = new SortableTable(table, {
    label: "Comparison with the baseline",
    extra: element("span", {}, `faster ◀ ${ends[0]} … 1 … ${ends[1]} ▶ slower`),
    decorate: (row, index) => {
      const cells = table.rows[index];
      if (verdictPlace >= 0) {
        const verdict = textOf(cells[verdictPlace]);
        if (verdict === "slower" || verdict === "faster")
          row.children[verdictPlace].classList.add(`verdict-${verdict}`);
      }
      row.append(
          element("td", {}, barOf(value(cells, "ratio"), value(cells, "low"), value(cells, "high"), reach)));
    },
  });
  shown.sort("ratio");
  byId("comparison").hidden = false;
  byId("comparison").append(shown.element);
}
