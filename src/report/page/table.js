// Tables that sort by a click on a heading.

/** A table's cell; its unrounded number stands in data-value. */
function tableCell(cell, column) {
  const text = textOf(cell);
  return element(
      "td", {
        class: column.numeric ? "number" : "text",
        "data-value": valueOf(cell),
        title: column.numeric ? null : text,
      },
      text);
}

/**
 * An element with the table, sortable. `decorate(row, index)` may add to a row and class it; `extra` is a
 * heading for a cell that it adds. `sorted(key, descending)` hears of a click.
 */
class SortableTable {
  constructor(table, {label, extra = null, decorate = () => {}, sorted = () => {}}) {
    this.table = table;
    this.sorted = sorted;
    this.headings = table.columns.map((column) => this.heading(column));
    this.rows = table.rows.map((cells, index) => {
      const row = element("tr", {}, ...cells.map((cell, i) => tableCell(cell, table.columns[i])));
      decorate(row, index);
      return row;
    });
    this.body = element("tbody", {}, ...this.rows);
    const last = extra ? [element("th", {scope: "col"}, extra)] : [];
    const head = element("thead", {}, element("tr", {}, ...this.headings, ...last));
    this.element = element(
        "div", {class: "box", tabindex: "0", role: "region", "aria-label": label},
        element("table", {class: "sticky"}, head, this.body));
  }

  heading(column) {
    const button = element("button", {type: "button", title: column.about}, column.title);
    button.addEventListener("click", () => {
      const now = this.key === column.key ? !this.descending : column.numeric;
      this.sort(column.key, now);
      this.sorted(column.key, now);
    });
    const printed = element("span", {class: "printed", "aria-hidden": "true"}, column.title);
    return element(
        "th", {scope: "col", class: column.numeric ? "number" : null, "data-key": column.key}, button,
        printed);
  }

  /** By the column `key`; numbers descend unless told. Keys that name no column change nothing. */
  sort(key, descending = undefined) {
    const place = columnOf(this.table, key);
    if (place < 0) return;
    this.key = key;
    this.descending = descending ?? this.table.columns[place].numeric;
    const order = this.rows.map((row, index) => index);
    const cells = this.table.rows;
    order.sort((a, b) => compareCells(cells[a][place], cells[b][place], this.descending) || a - b);
    this.body.append(...order.map((index) => this.rows[index]));
    this.headings.forEach((heading) => heading.removeAttribute("aria-sort"));
    this.headings[place].setAttribute("aria-sort", this.descending ? "descending" : "ascending");
  }

  /** Shows the rows that have every word of `text`; returns their number. */
  filter(text) {
    const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
    let shown = 0;
    this.rows.forEach((row, index) => {
      const all = this.table.rows[index].map(textOf).join(" ").toLowerCase();
      row.hidden = !words.every((word) => all.includes(word));
      shown += row.hidden ? 0 : 1;
    });
    return shown;
  }
}

/** What the page's address asks of the table of cases: #sort=KEY&order=asc|desc&filter=WORDS. */
function askedFor() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const order = asked.get("order");
  return {
    key: asked.get("sort"),
    descending: order ? order === "desc" : undefined,
    filter: asked.get("filter") ?? ""
  };
}

/** Writes the table's state into the address, so that it can be passed on. */
function remember(key, descending, filter) {
  const parts = new URLSearchParams();
  if (key) parts.set("sort", key);
  if (key) parts.set("order", descending ? "desc" : "asc");
  if (filter !== "") parts.set("filter", filter);
  history.replaceState(null, "", `#${parts}`);
}

/** The table of cases with its filter. */
function showCases(data) {
  const input = element(
      "input", {type: "search", placeholder: "Filter: bf16 S4096 …", "aria-label": "Filter the cases"});
  const count = element("span", {role: "status"});
  const cases = new SortableTable(data.tables.cases, {
    label: "Cases",
    decorate: (row, index) => row.classList.toggle("failed", data.cases[index].error !== ""),
    sorted: (key, descending) => remember(key, descending, input.value),
  });
  const filter = () => {
    count.textContent = `${cases.filter(input.value)} of ${data.cases.length} cases`;
  };
  const obey = () => {
    const asked = askedFor();
    input.value = asked.filter;
    filter();
    cases.sort(asked.key, asked.descending);
  };
  input.addEventListener("input", () => {
    filter();
    remember(cases.key, cases.descending, input.value);
  });
  addEventListener("hashchange", obey);
  obey();
  byId("cases").append(element("div", {class: "tools"}, input, count), cases.element);
}
