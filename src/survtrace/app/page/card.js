// The model's card: what it is, from whom and when it learned.

import { percent, plain } from "./charts.js";
import { $, element, fillTable } from "./dom.js";

// A folder is called "model" as a rule: "Model model" would say nothing more.
const titled = ({ name }) => (/^model$/i.test(name) ? "Model" : `Model ${name || "without a name"}`);

// Which model it is, from whom and when it learned.
export function modelWords(model) {
  const counts = model.outcomes.map(([name, n]) => `${name}: ${plain(n)}`).join(", ");
  const learned = model.n_subjects === null ? "what it learned from is not stored in it"
    : `learned from ${plain(model.n_subjects)} subjects${counts ? ` (${counts})` : ""}`
      + `${model.fitted_on ? ` on ${model.fitted_on}` : ""}`;
  const broken = model.interrupted ? "; training was interrupted" : "";
  return `${titled(model)}: ${learned}${broken}.`;
}

const values = ({ kind, low, high, unit, levels, missing }) => (missing === 1 ? "–" : kind === "numerical" ? `${low} to ${high} ${unit}`.trim()
  : levels.length > 8 ? `${levels.slice(0, 8).join(", ")} and ${levels.length - 8} more` : levels.join(", "));

const card = ({ model, covariates }) => [
  element("dl", { class: "facts" }, ...model.facts.map(([name, words]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, words)))),
  element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of covariates" },
    fillTable(element("table", { class: "learned" }), "What it asks of a patient", ["covariate", "nearly all had", "not known for"],
      covariates.map((c) => [c.label, values(c), c.missing === null ? "–" : percent(c.missing)]))),
];

// In a sentence above, in full in a box below, and on a sheet of its own where it is printed.
export function showCard(schema) {
  $("model").textContent = modelWords(schema.model);
  $("model").hidden = false;
  $("model-card").replaceChildren(...card(schema));
  $("card-sheet").replaceChildren(element("h1", {}, titled(schema.model)), ...card(schema));
}
