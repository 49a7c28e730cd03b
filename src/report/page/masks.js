// Masks as pictures.

/** Cells of one kind in a line, as a path: neighbours are one rectangle. */
function cellsPath(lines, kind) {
  let path = "";
  lines.forEach((line, row) => {
    const cells = line.split(" ");
    for (let begin = 0; begin < cells.length; ++begin) {
      if (cells[begin] !== kind) continue;
      let end = begin;
      while (cells[end] === kind) ++end;
      path += `M${begin} ${row}h${end - begin}v1h${begin - end}Z`;
      begin = end;
    }
  });
  return path;
}

/** "512 × 512 to 1024 × 1024 (5 shapes), 50.10% to 50.05% visible". */
function shapesText(mask) {
  const between = mask.shapes.length === 2 ? " and " : " to ";
  const ends = (texts) => unique([texts[0], texts[texts.length - 1]]).join(between);
  const shapes = ends(mask.shapes.map(([queries, keys]) => `${queries}\u00a0×\u00a0${keys}`));
  const count = mask.shapes.length > 2 ? ` (${mask.shapes.length} shapes)` : "";
  return `${shapes}${count}, ${ends(mask.shapes.map((one) => one[2]))} visible`;
}

function pictureOf(mask) {
  const across = mask.lines[0].split(" ").length;
  const down = mask.lines.length;
  const svg = shape(
      "svg", {
        viewBox: `0 0 ${across} ${down}`,
        "shape-rendering": "crispEdges",
        role: "img",
        "aria-label": `The mask ${mask.mask}`
      },
      shape("path", {class: "full", d: cellsPath(mask.lines, "█")}),
      shape("path", {class: "some", d: cellsPath(mask.lines, "▒")}));
  return element(
      "figure", {title: `a cell is ${mask.queries_a_cell} queries × ${mask.keys_a_cell} keys`}, svg,
      element("figcaption", {}, element("b", {}, mask.mask), element("br"), shapesText(mask)));
}

function showMasks(data) {
  byId("masks").hidden = data.masks.length === 0;
  byId("masks").append(element("div", {class: "pictures"}, ...data.masks.map(pictureOf)));
}
