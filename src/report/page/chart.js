// TFLOPS over the sequence length, a panel for each shape.

/** The line and marks of one series. Where two cases have the same length only the marks. */
function lineOf(cases, look, x, y, tip) {
  const sorted = [...cases].sort((a, b) => a.seqlen_k - b.seqlen_k);
  const places = sorted.map((item) => [x.of(item.seqlen_k), y.of(item.tflops)]);
  const marks = sorted.map((item, i) => markAt(...places[i], look, tip(item)));
  if (unique(sorted.map((item) => item.seqlen_k)).length < sorted.length) return marks;
  const line = shape("path", {
    class: `line series-${look.colour}`,
    "stroke-dasharray": look.dash,
    d: places.map(([px, py], i) => `${i === 0 ? "M" : "L"}${px} ${py}`).join("")
  });
  return [line, ...marks];
}

function drawPanel(panel, series, tip, width, height) {
  const box = {left: 54, top: 28, right: width - 18, bottom: height - 44};
  const lengths = unique(panel.cases.map((item) => item.seqlen_k)).sort((a, b) => a - b);
  const [low, high] = [lengths[0] / 1.15, lengths[lengths.length - 1] * 1.15];
  const powers = [];
  for (let power = 2 ** Math.floor(Math.log2(low)); power <= high; power *= 2) powers.push(power);
  const ticks = powers.some((power) => power >= low) ? powers : lengths;
  const x = logScale(low, high, box.left, box.right, ticks);
  const most = Math.max(...panel.cases.map((item) => item.tflops));
  const y = linearScale(most * 1.04, box.bottom, box.top, 5);
  const parts = frame(box, x, y, {x: "sequence length of K (tokens, log scale)", y: "TFLOPS"});
  for (const [key, cases] of grouped(panel.cases, seriesKey)) {
    if (!hiddenSeries.has(key)) parts.push(...lineOf(cases, series.get(key), x, y, tip));
  }
  return parts;
}

/** What a mark says: the case, and its numbers as the table has them. */
function tipsOf(data) {
  const table = data.tables.cases;
  const rows = new Map(data.cases.map((item, index) => [item, index]));
  const several = data.runs.length > 1;
  return (item) => {
    const row = rows.get(item);
    const run = several ? `\n${data.runs[item.run].label}` : "";
    const at = (key) => textAt(table, row, key);
    return `${item.name}${run}\n${at("tflops")} TFLOPS, ${at("ms")} ms (${at("spread")})`;
  };
}

function showLengths(data, series) {
  const panels = panelsOf(data.cases);
  const section = byId("lengths");
  if (panels.length === 0) {
    section.append(element("p", {}, "No case was measured."));
    return;
  }
  const tip = tipsOf(data);
  const hosts = panels.map((panel) => {
    const host = element("div", {class: "plot"});
    addChart(
        host, `TFLOPS over sequence length: ${panel.title}`, 330,
        (width, height) => drawPanel(panel, series, tip, width, height));
    return element("div", {}, element("h3", {}, panel.title), host);
  });
  section.append(legendOf(series), element("div", {class: "panels"}, ...hosts));
}
