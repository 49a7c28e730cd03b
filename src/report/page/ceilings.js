// What devices allow: the peak, and below a number of operations a byte the memory bandwidth.

/**
 * The distinct ceilings of the cases, the highest first: {peak, bandwidth, text}, in TFLOPS and GB/s;
 * bandwidth may be null. The text names the types, and the runs where not all share it.
 */
function ceilingsOf(data, cases) {
  const groups = grouped(cases, (item) => JSON.stringify([item.peak_tflops, data.runs[item.run].bandwidth]));
  const all = unique(cases.map((item) => item.run)).length;
  const ceilings = [...groups].map(([key, items]) => {
    const [peak, bandwidth] = JSON.parse(key);
    const runs = unique(items.map((item) => item.run));
    const names = runs.length < all ? runs.map((run) => data.runs[run].label) : [];
    return {peak, bandwidth, text: [...unique(items.map((item) => item.dtype)), ...names].join(", ")};
  });
  return ceilings.sort((a, b) => b.peak - a.peak);
}

/** Operations a byte from which on the peak is the limit. */
function ridgeOf(ceiling) {
  return ceiling.peak * 1e3 / ceiling.bandwidth;
}

/**
 * From its ridge on, or from `low` where there is no bandwidth. `above` is the next higher one, or
 * undefined.
 */
function roof(ceiling, above, low, high, x, y) {
  const start = ceiling.bandwidth ? ridgeOf(ceiling) : low;
  const [height, right] = [y.of(ceiling.peak), x.of(high)];
  const crowded = above && height - y.of(above.peak) < 18;
  const label = `${tickText(ceiling.peak)} TFLOPS ${ceiling.text}`;
  return [
    shape("path", {class: "ceiling", d: `M${x.of(start)} ${height}H${right}`}),
    shape("text", {class: "tick", x: right, y: height + (crowded ? 14 : -6), "text-anchor": "end"}, label)
  ];
}

/**
 * The line of a bandwidth up to its highest roof, with its label at `share` of the way, above it or below.
 */
function slope(ceiling, share, above, low, x, y) {
  const ridge = ridgeOf(ceiling);
  const at = (intensity) => [x.of(intensity), y.of(ceiling.bandwidth * intensity * 1e-3)];
  const [begin, end] = [at(low), at(ridge)];
  const place = at(low * (ridge / low) ** share);
  const angle = Math.atan2(end[1] - begin[1], end[0] - begin[0]) * 180 / Math.PI;
  const turned = `translate(${place}) rotate(${angle}) translate(0 ${above ? -6 : 15})`;
  return [
    shape("path", {class: "ceiling", d: `M${begin}L${end}`}),
    shape(
        "text", {class: "tick", transform: turned, "text-anchor": "middle"},
        `${tickText(ceiling.bandwidth)} GB/s`)
  ];
}

/** All ceilings; every ridge is between `low` and `high`. */
function ceilingParts(ceilings, low, high, x, y) {
  const roofs = ceilings.flatMap((ceiling, i) => roof(ceiling, ceilings[i - 1], low, high, x, y));
  const sloped = ceilings.filter((ceiling) => ceiling.bandwidth);
  const highest = [...grouped(sloped, (ceiling) => ceiling.bandwidth).values()].map(([first]) => first);
  highest.sort((a, b) => b.bandwidth - a.bandwidth);
  const slopes =
      highest.flatMap((ceiling, i) => slope(ceiling, (i + 1) / (highest.length + 1), i === 0, low, x, y));
  return [...slopes, ...roofs];  // labels of roofs stand over slopes
}
