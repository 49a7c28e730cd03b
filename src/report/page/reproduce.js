// The command of each case.

function showCommands(data) {
  const commands = new Map(data.cases.map((item) => [item.command, item.name]));  // runs share them
  const boxes = [...commands].map(
      ([command, name]) => element("div", {}, element("h3", {}, name), commandBox(command)));
  byId("reproduce")
      .append(element(
          "div", {class: "box commands", tabindex: "0", role: "region", "aria-label": "Commands"}, ...boxes));
}
