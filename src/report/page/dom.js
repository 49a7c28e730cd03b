// Elements, built without markup: text is always text.

const kSvg = "http://www.w3.org/2000/svg";

function withParts(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** An HTML element; children are elements or strings. */
function element(name, attributes = {}, ...children) {
  return withParts(document.createElement(name), attributes, children);
}

/** An SVG element. */
function shape(name, attributes = {}, ...children) {
  return withParts(document.createElementNS(kSvg, name), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

/** Copies the text of `node`; where the clipboard is not to be had, selects it. */
function copyTextOf(node, button) {
  getSelection().selectAllChildren(node);
  const copied = document.execCommand("copy");
  button.textContent = copied ? "Copied" : "Selected";
  setTimeout(() => {
    button.textContent = "Copy";
  }, 1500);
}

/** A command with a button that copies it. */
function commandBox(command) {
  const words = command.split(/( )/).map((part) => part === " " ? part : element("span", {}, part));
  const code = element("code", {}, ...words);
  const button = element("button", {type: "button", "aria-label": "Copy the command"}, "Copy");
  button.addEventListener("click", () => copyTextOf(code, button));
  return element("div", {class: "command"}, code, button);
}

/** Shows `text` beside the pointer while it is on `node`. */
function addTip(node, text) {
  const tip = byId("tip");
  node.addEventListener("pointermove", (event) => {
    tip.textContent = text;
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 16;
    const top = below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : below;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  });
  node.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
}
