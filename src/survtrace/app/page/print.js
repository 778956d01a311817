// What is printed: one sheet of paper for each patient.

import { percent, plain, stacked } from "./charts.js";
import { asksNow, axisName, nowField, shownTime, when } from "./clock.js";
import { element } from "./form.js";

const WIDTH = 680, HEIGHT = 300;

// Which model it is, from whom and when it learned.
export function modelWords(model) {
  const counts = model.outcomes.map(([name, n]) => `${name} ${plain(n)}`).join(", ");
  const learned = model.n_subjects === null ? "what it learned from is not stored in it"
    : `learned from ${plain(model.n_subjects)} subjects${counts ? ` (${counts})` : ""}`
      + `${model.fitted_on ? ` on ${model.fitted_on}` : ""}`;
  const broken = model.interrupted ? "; training was interrupted" : "";
  return `Model ${model.name || "without a name"}: ${learned}${broken}.`;
}

export function sheet({ schema, letter, values, view, causes, states, rows }) {
  const asked = [...(asksNow(schema) ? [nowField(schema)] : []), ...schema.covariates];
  const shown = (covariate) => (values[covariate.name] === null ? "unknown"
    : [values[covariate.name], covariate.unit].filter(Boolean).join(" "));
  const outside = ({ name, low, high }) => low !== null && values[name] !== null && (values[name] < low || values[name] > high);
  const given = asksNow(schema) ? ` From ${schema.time.name} ${when(schema, view.after)} on, event-free until then.`
    : view.after > 0 ? ` Known to be event-free until ${when(schema, view.after)}.` : "";
  const unusual = schema.covariates.some(outside);
  const count = asked.length, crowded = count > 60 ? "very many" : count > 20 ? "many" : "";
  return element("article", { class: `sheet ${crowded}` },
    element("h1", {}, letter ? `Predicted risks of patient ${letter}` : "Predicted risks"),
    element("p", { class: "by-hand" }, "Name or number (by hand):"),
    element("p", {}, modelWords(schema.model), ` Printed on ${new Date().toISOString().slice(0, 10)}.${given}`),
    element("h2", {}, "Covariates"),
    element("dl", {}, ...asked.map((c) => element("div", {},
      element("dt", {}, c.label), element("dd", {}, shown(c), outside(c) ? " (unusual)" : "")))),
    element("h2", {}, "Probabilities"),
    element("table", {},
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, `by ${axisName(schema)}`),
        ...states.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...rows.map(([time, chances]) => element("tr", { class: time === view.horizon ? "read" : "" },
        element("th", { scope: "row" }, shownTime(time)), ...chances.map((p) => element("td", {}, percent(p))))))),
    stacked({ width: WIDTH, height: HEIGHT, title: "", begin: view.from, end: view.to, clock: axisName(schema),
      horizon: view.horizon, after: view.after, times: view.times, causes, incidence: view.incidence,
      say: "Stacked probabilities" }),
    unusual ? element("p", {}, "Unusual: outside the range of nearly all subjects the model learned from; the curves are a guess there.") : "",
    element("p", { class: "limits" }, "What a statistical model learned from one cohort, not what will happen to one person. "
      + "This is no medical device, and not to be used to treat anyone."));
}
