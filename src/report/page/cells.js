// Cells of the data's tables: [text, value], or text alone.

const kMissing = "—";

function textOf(cell) {
  return Array.isArray(cell) ? cell[0] : cell;
}

/** The unrounded number; null where the cell is text. */
function valueOf(cell) {
  return Array.isArray(cell) ? cell[1] : null;
}

function columnOf(table, key) {
  return table.columns.findIndex((column) => column.key === key);
}

/** The text in column `key` of row `row`. */
function textAt(table, row, key) {
  return textOf(table.rows[row][columnOf(table, key)]);
}

/** Order of two cells; what is missing comes last whichever the direction. */
function compareCells(a, b, descending) {
  const missing = (textOf(a) === kMissing) - (textOf(b) === kMissing);
  if (missing !== 0) return missing;
  const order = valueOf(a) !== null && valueOf(b) !== null ?
      valueOf(a) - valueOf(b) :
      textOf(a).localeCompare(textOf(b), "en", {numeric: true});
  return descending ? -order : order;
}
