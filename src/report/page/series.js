// Which cases make up a line, and which lines a panel.

const kColours = 7;
const kMarks =
    ["circle", "square", "triangle", "diamond", "down", "cross"];  // 6 and 7 repeat after 42 together
const kDashes = ["", "6 4", "2 3"];

function unique(list) {
  return [...new Set(list)];
}

/** Lists by what `key` says of each item, in the order of their first items. */
function grouped(list, key) {
  const groups = new Map();
  for (const item of list) {
    const name = key(item);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return groups;
}

/**
 * The looks of each run, mask and type: colour and mark tell run and mask, dashes and hollow marks the type.
 * A case has the series of the key that seriesKey gives.
 */
function seriesOf(data) {
  const hues = unique(data.cases.map((item) => `${item.run} ${item.mask}`));
  const types = unique(data.cases.map((item) => item.dtype));
  const series = new Map();
  for (const item of data.cases) {
    const hue = hues.indexOf(`${item.run} ${item.mask}`);
    const type = types.indexOf(item.dtype);
    const run = data.runs.length > 1 ? ` · ${data.runs[item.run].label}` : "";
    series.set(seriesKey(item), {
      label: `${item.mask} ${item.dtype}${run}`,
      colour: hue % kColours,
      mark: kMarks[hue % kMarks.length],
      dash: kDashes[type % kDashes.length],
      hollow: type % 2 === 1,
    });
  }
  return series;
}

function seriesKey(item) {
  return JSON.stringify([item.run, item.mask, item.dtype]);
}

function pairText(letter, a, b) {
  return a === b ? `${letter} ${a}` : `${letter} ${a}/${b}`;
}

/** What the cases of a panel share, but for the batch. */
function panelTitle(item) {
  const parts =
      [pairText("H", item.nhead_q, item.nhead_k), pairText("D", item.hdim_q, item.hdim_v), item.layout];
  if (item.seqlen_q !== item.seqlen_k) parts.push(`S_q ${item.seqlen_q}`);
  if (item.grouped) parts.push("group mode");
  if (item.operation !== "backward") parts.push(item.operation);
  if (item.extras !== "") parts.push(item.extras);
  return parts.join(" · ");
}

/**
 * Panels of lines over the length: {title, cases}. Cases of unlike batches share a panel where batch times
 * length is the same for all.
 */
function panelsOf(cases) {
  const panels = [];
  for (const [title, items] of grouped(cases.filter((item) => item.tflops !== null), panelTitle)) {
    const tokens = unique(items.map((item) => item.batch * item.seqlen_k));
    const batches = grouped(items, (item) => item.batch);
    if (batches.size > 1 && tokens.length === 1) {
      panels.push({title: `${tokens[0]} tokens · ${title}`, cases: items});
    } else {
      for (const [batch, some] of batches) panels.push({title: `B ${batch} · ${title}`, cases: some});
    }
  }
  return panels;
}
