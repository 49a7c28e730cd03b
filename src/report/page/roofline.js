// TFLOPS over operations a byte, under what the devices allow.

/**
 * The distinct ceilings of the cases: {peak, bandwidth, types}, in TFLOPS and GB/s; bandwidth may be null.
 */
function ceilingsOf(data, cases) {
  const groups = grouped(cases, (item) => JSON.stringify([item.peak_tflops, data.runs[item.run].bandwidth]));
  return [...groups].map(([key, items]) => {
    const [peak, bandwidth] = JSON.parse(key);
    return {peak, bandwidth, types: unique(items.map((item) => item.dtype))};
  });
}

/** Operations a byte from which on the peak is the limit. */
function ridgeOf(ceiling) {
  return ceiling.peak * 1e3 / ceiling.bandwidth;
}

function bandwidthLabel(ceiling, low, high, x, y) {
  const [from, to] = [low, Math.min(ridgeOf(ceiling), high)];
  const middle = Math.sqrt(from * to);
  const at = (intensity) => [x.of(intensity), y.of(ceiling.bandwidth * intensity * 1e-3)];
  const [px, py] = at(middle);
  const [ex, ey] = at(to);
  const angle = Math.atan2(ey - py, ex - px) * 180 / Math.PI;
  return shape(
      "text", {
        class: "tick",
        transform: `translate(${px} ${py}) rotate(${angle}) translate(0 -6)`,
        "text-anchor": "middle"
      },
      `${tickText(ceiling.bandwidth)} GB/s`);
}

function ceilingParts(ceiling, low, high, x, y) {
  const ridge = ceiling.bandwidth ? Math.min(Math.max(ridgeOf(ceiling), low), high) : low;
  const slope = ceiling.bandwidth && ridgeOf(ceiling) > low;
  const start = slope ? `M${x.of(low)} ${y.of(ceiling.bandwidth * low * 1e-3)}L` : "M";
  const end = slope ? Math.min(ceiling.peak, ceiling.bandwidth * ridge * 1e-3) : ceiling.peak;
  const parts = [
    shape("path", {class: "ceiling", d: `${start}${x.of(ridge)} ${y.of(end)}H${x.of(high)}`}),
    shape(
        "text", {class: "tick", x: x.of(high), y: y.of(ceiling.peak) - 6, "text-anchor": "end"},
        `${tickText(ceiling.peak)} TFLOPS ${ceiling.types.join(", ")}`)
  ];
  if (slope) parts.push(bandwidthLabel(ceiling, low, high, x, y));
  return parts;
}

function drawRoofline(data, cases, series, tip, width, height) {
  const box = {left: 54, top: 28, right: width - 18, bottom: height - 44};
  const ceilings = ceilingsOf(data, cases);
  const across = [
    ...cases.map((item) => item.flops_per_byte),
    ...ceilings.filter((ceiling) => ceiling.bandwidth).map(ridgeOf)
  ];
  const [low, high] = [Math.min(...across) / 2, Math.max(...across) * 2];
  const limits = ceilings.map(
      (ceiling) => ceiling.bandwidth ? Math.min(ceiling.peak, ceiling.bandwidth * low * 1e-3) : ceiling.peak);
  const bottom = Math.min(...cases.map((item) => item.tflops), ...limits) / 1.5;
  const top = Math.max(...cases.map((item) => item.tflops), ...ceilings.map((ceiling) => ceiling.peak)) * 1.6;
  const x = logScale(low, high, box.left, box.right, decimalTicks(low, high));
  const y = logScale(bottom, top, box.bottom, box.top, decimalTicks(bottom, top));
  const parts = frame(box, x, y, {x: "operations per byte (FLOP/B, log scale)", y: "TFLOPS (log scale)"});
  for (const ceiling of ceilings) parts.push(...ceilingParts(ceiling, low, high, x, y));
  for (const item of cases) {
    if (hiddenSeries.has(seriesKey(item))) continue;
    parts.push(markAt(x.of(item.flops_per_byte), y.of(item.tflops), series.get(seriesKey(item)), tip(item)));
  }
  return parts;
}

function showRoofline(data, series) {
  const section = byId("roofline");
  const measured = data.cases.filter((item) => item.tflops !== null && item.flops_per_byte !== null);
  const cases = measured.filter((item) => item.peak_tflops !== null);
  const without = unique(measured.filter((item) => item.peak_tflops === null).map((item) => item.run));
  if (cases.length > 0) {
    section.append(element(
        "p", {},
        "Operations over visible pairs, bytes that a pass has to move at least: each " +
            "input read and each output written once."));
  }
  for (const run of without) {
    section.append(element(
        "p", {class: "no-peak"},
        `${data.runs[run].label}: not drawn, since the peak of the device is not known.`));
  }
  if (cases.length === 0) return;
  const host = element("div", {class: "plot"});
  const tip = tipsOf(data);
  addChart(host, "Roofline", 440, (width, height) => drawRoofline(data, cases, series, tip, width, height));
  const keys = new Set(cases.map(seriesKey));
  section.append(
      legendOf([...series].filter(([key]) => keys.has(key))), element("div", {class: "chart"}, host));
}
