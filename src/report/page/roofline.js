// TFLOPS over operations a byte, under what the devices allow.

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
  parts.push(...ceilingParts(ceilings, low, high, x, y));
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
