// Marks, and the legend that shows and hides series in every chart.

const hiddenSeries = new Set();
const chartDrawers = [];  // redraw one chart each

function drawCharts() {
  chartDrawers.forEach((draw) => draw());
}

const kMarkPaths = {
  circle: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
  square: "M-3.6 -3.6H3.6V3.6H-3.6Z",
  triangle: "M0 -4.8L4.6 3.4H-4.6Z",
  diamond: "M0 -5.2L5.2 0L0 5.2L-5.2 0Z",
  down: "M0 4.8L4.6 -3.4H-4.6Z",
  cross: "M-1.5 -4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5V-1.5H-1.5Z",
};

function markShape(x, y, look) {
  return shape("path", {
    class: look.hollow ? "mark hollow" : "mark",
    d: kMarkPaths[look.mark],
    transform: `translate(${x} ${y})`,
    "pointer-events": "none",
  });
}

/** The mark of a series at a place, with what it stands for as its tip. */
function markAt(x, y, look, text) {
  const target = shape("circle", {class: "target", cx: x, cy: y, r: 10});
  addTip(target, text);
  return shape(
      "g", {class: `series-${look.colour}`, role: "img", "aria-label": text}, target, markShape(x, y, look));
}

function legendButton(key, look) {
  const sample = shape(
      "svg", {viewBox: "0 0 34 14", "aria-hidden": "true", class: `series-${look.colour}`},
      shape("path", {class: "line", d: "M1 7H33", "stroke-dasharray": look.dash}), markShape(17, 7, look));
  const button = element(
      "button", {type: "button", "aria-pressed": "true", title: "Shows or hides the line"}, sample,
      element("span", {}, look.label));
  button.dataset.series = key;
  button.addEventListener("click", () => toggleSeries(key));
  return button;
}

function toggleSeries(key) {
  if (!hiddenSeries.delete(key)) hiddenSeries.add(key);
  for (const button of document.querySelectorAll(".legend button")) {
    button.setAttribute("aria-pressed", String(!hiddenSeries.has(button.dataset.series)));
  }
  drawCharts();
}

function legendOf(series) {
  return element(
      "div", {class: "legend", role: "group", "aria-label": "Legend"},
      ...[...series].map(([key, look]) => legendButton(key, look)));
}

/** Calls parts(width, height), which returns SVG elements, whenever `host` is to be drawn. */
function addChart(host, label, height, parts) {
  chartDrawers.push(() => {
    const width = Math.max(260, host.clientWidth);
    host.replaceChildren(shape(
        "svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label},
        ...parts(width, height)));
  });
}
