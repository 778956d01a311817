// Elements of the page: found, made, and tables filled.

export const $ = (id) => document.getElementById(id);

export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

export function fillTable(node, words, header, rows) {
  node.replaceChildren(
    ...(words ? [element("caption", {}, words)] : []),
    element("thead", {}, element("tr", {}, ...header.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows.map(([first, ...cells]) => element("tr", {},
      element("th", { scope: "row" }, first), ...cells.map((cell) => element("td", {}, cell))))));
  return node;
}
