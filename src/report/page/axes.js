// Scales from values to pixels, their ticks, and the frame that they make.

/** {of: value -> pixel, ticks: [value]}; pixels go from `from` to `to`. */
function linearScale(high, from, to, count) {
  const rough = high / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const top = Math.ceil(high / step - 1e-9) * step;
  const ticks = [];
  for (let i = 0; i <= Math.round(top / step); ++i) ticks.push(i * step);
  return {of: (value) => from + (to - from) * value / top, ticks};
}

function logScale(low, high, from, to, ticks) {
  const [start, end] = [Math.log(low), Math.log(high)];
  return {
    of: (value) => from + (to - from) * (Math.log(value) - start) / (end - start),
    ticks: ticks.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)),
  };
}

/** 1, 2, 5, 10, 20, ... from `low` to `high`; powers of ten alone where they are many. */
function decimalTicks(low, high) {
  const factors = Math.log10(high / low) > 3 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    ticks.push(...factors.map((factor) => factor * 10 ** power));
  }
  return ticks;
}

/** "1000", "0.5", "1e-5": without what binary fractions add. */
function tickText(value) {
  return value !== 0 && (value < 1e-3 || value >= 1e6) ? value.toExponential(0) :
                                                         String(Number(value.toPrecision(6)));
}

/** Those of `ticks` whose labels keep `room` pixels from the one before. */
function spacedOut(ticks, scale, room) {
  let last = -Infinity;
  return ticks.filter((tick) => {
    if (Math.abs(scale.of(tick) - last) < room) return false;
    last = scale.of(tick);
    return true;
  });
}

/** Grid, tick labels and titles of a plot in `box` {left, top, right, bottom}. */
function frame(box, x, y, titles) {
  const parts = [];
  for (const tick of y.ticks) {
    const at = y.of(tick);
    parts.push(shape("line", {class: "gridline", x1: box.left, x2: box.right, y1: at, y2: at}));
  }
  for (const tick of spacedOut(y.ticks, y, 16)) {
    parts.push(shape(
        "text", {class: "tick", x: box.left - 6, y: y.of(tick) + 4, "text-anchor": "end"}, tickText(tick)));
  }
  for (const tick of x.ticks) {
    const at = x.of(tick);
    parts.push(shape("line", {class: "gridline", x1: at, x2: at, y1: box.top, y2: box.bottom}));
  }
  for (const tick of spacedOut(x.ticks, x, 40)) {
    parts.push(shape(
        "text", {class: "tick", x: x.of(tick), y: box.bottom + 17, "text-anchor": "middle"}, tickText(tick)));
  }
  parts.push(
      shape("path", {class: "axis", fill: "none", d: `M${box.left} ${box.top}V${box.bottom}H${box.right}`}),
      shape("text", {x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle"}, titles.x),
      shape("text", {x: box.left - 48, y: box.top - 12}, titles.y));
  return parts;
}
