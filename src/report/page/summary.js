// The page's head, and what it is about: runs, warnings, figures, errors, context.

function showWarnings(data) {
  byId("warnings")
      .append(...data.warnings.map((text) => element("p", {class: "warning", role: "note"}, text)));
}

function showRuns(data) {
  const several = data.runs.length > 1;
  byId("runs").append(...data.runs.map(
      (run) => element(
          "div", {class: "run"}, ...(several ? [element("h3", {}, run.label)] : []),
          element("p", {}, run.about), commandBox(run.command))));
}

function showFigures(data) {
  byId("figures").append(...data.figures.map(
      (figure) => element(
          "div", {class: figure.bad ? "bad" : null, "data-figure": figure.key},
          element("dt", {}, figure.label), element("dd", {}, figure.text),
          element("dd", {class: "about"}, figure.about))));
}

function showErrors(data) {
  const failed = data.cases.filter((item) => item.error !== "");
  if (failed.length === 0) return;
  byId("errors").hidden = false;
  byId("errors").append(element(
      "ul", {class: "errors"},
      ...failed.map((item) => element("li", {}, element("b", {}, item.name), `: ${item.error}`))));
}

/** Rows in which runs differ are marked. */
function showContext(data) {
  const {columns, rows} = data.tables.context;
  const head = element(
      "tr", {},
      ...columns.map(
          (column) => element("th", {scope: "col", title: column.about}, element("span", {}, column.title))));
  const body = rows.map((cells) => {
    const texts = cells.map(textOf);
    const differs = valueOf(cells[0]) !== null && texts.slice(1).some((text) => text !== texts[1]);
    return element(
        "tr", {class: differs ? "differs" : null}, element("th", {scope: "row"}, texts[0]),
        ...texts.slice(1).map((text) => element("td", {}, text)));
  });
  byId("context").append(element(
      "div", {class: "box"},
      element("table", {class: "wrapped"}, element("thead", {}, head), element("tbody", {}, ...body))));
}
