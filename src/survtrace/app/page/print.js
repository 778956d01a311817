// What is printed: one sheet of paper for each patient.

import { modelWords } from "./card.js";
import { stacked } from "./charts.js";
import { asksNow, axisName, nowField, shownTime, when } from "./clock.js";
import { element } from "./dom.js";

const WIDTH = 440, HEIGHT = 330;

// As on the page: what a figure is, and a number in brackets.
const words = (level) => "Each figure is a person, counted once, by what happens first."
  + (level ? ` In brackets: how far each number is uncertain, since the model learned from so many people and no more (${shownTime(100 * level)} % interval).` : "");
const LIMITS = "What a statistical model learned from one cohort, not what will happen to one person. "
  + "This is no medical device, and not to be used to treat anyone.";

// A narrow cell breaks between a probability and its interval, and nowhere else.
const broken = (words) => words.replaceAll(" to ", "\u00a0to\u00a0");

export function sheet({ schema, letter, values, view, causes, states, people, notes, rows, level }) {
  const asked = [...(asksNow(schema) ? [nowField(schema)] : []), ...schema.covariates];
  const shown = (covariate) => (values[covariate.name] === null ? "unknown"
    : `${values[covariate.name]} ${covariate.unit}`.trim());
  const outside = ({ name, low, high }) => low !== null && values[name] !== null && (values[name] < low || values[name] > high);
  const given = asksNow(schema) ? ` From ${schema.time.name} ${when(schema, view.after)} on, event-free until then.`
    : view.after > 0 ? ` Known to be event-free until ${when(schema, view.after)}.` : "";
  const unusual = schema.covariates.some(outside)
    ? ["Unusual: outside the range of nearly all subjects the model learned from; the curves are a guess there."] : [];
  const count = asked.length, crowded = count > 110 ? "most very many" : count > 60 ? "very many" : count > 20 ? "many" : "";
  const ends = level ? ` (${shownTime(100 * level)} % interval)` : "";
  return element("article", { class: `sheet ${crowded}` },
    element("h1", {}, letter ? `Predicted risks of patient ${letter}` : "Predicted risks"),
    element("p", { class: "by-hand" }, "Name or number (by hand):"),
    ...notes.map((words) => element("p", { class: "unlike" }, words)),
    people.words,
    element("div", { class: "sheet-figures" }, people.icons, people.key,
      stacked({ width: WIDTH, height: HEIGHT, title: "", begin: view.from, end: view.to, clock: axisName(schema),
        horizon: view.horizon, after: view.after, times: view.times, causes, incidence: view.mean.slice(1),
        say: "Stacked probabilities over time" })),
    element("p", { class: "words" }, words(level)),
    element("h2", {}, `Probabilities${ends}`),
    element("table", {},
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, `by ${axisName(schema)}`),
        ...states.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...rows.map(([time, chances]) => element("tr", { class: time === view.horizon ? "read" : "" },
        element("th", { scope: "row" }, shownTime(time)), ...chances.map((words) => element("td", {}, broken(words))))))),
    element("h2", {}, "Covariates"),
    element("dl", {}, ...asked.map((c) => element("div", {},
      element("dt", {}, c.label), element("dd", {}, shown(c), outside(c) ? " (unusual)" : "")))),
    ...unusual.map((words) => element("p", {}, words)),
    element("p", { class: "limits" }, modelWords(schema.model), ` Printed on ${new Date().toISOString().slice(0, 10)}.${given} `, LIMITS));
}
