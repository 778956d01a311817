// Risk as people: of 100 like this one, to how many each event happens, in words and as figures.

import { COLOURS, svg } from "./charts.js";
import { asksNow, inYears, shownTime, when } from "./clock.js";
import { element } from "./dom.js";

// Head and body of a figure in a cell of 20 x 26. Bodies differ in shape, so that colour is not
// needed; six of them and seven colours meet again only after 42 causes.
const CELL = { width: 20, height: 26 };
const HEAD = "M10 2.4a3.6 3.6 0 1 0 .01 0Z";
const PERSON = "M4.5 23.5v-7a5.5 5.5 0 0 1 11 0v7Z";
const BODIES = [
  PERSON, "M10 10.8L17 23.5H3Z", "M3 11H17L10 23.5Z", "M10 10.6L16.5 17L10 23.5L3.5 17Z",
  "M7.8 11h4.4v4h4.3v4.4h-4.3v4.1h-4.4v-4.1h-4.3v-4.4h4.3Z", "M3.6 11H16.4L12 17.2L16.4 23.5H3.6L8 17.2Z",
];

// So many of `total` people for each probability; they add up to `total` (largest remainder).
export function counts(chances, total) {
  const exact = chances.map((p) => p * total), people = exact.map(Math.floor);
  const left = total - people.reduce((sum, n) => sum + n, 0);
  const byRemainder = [...exact.keys()].sort((p, q) => (exact[q] - people[q]) - (exact[p] - people[p]));
  for (const state of byRemainder.slice(0, left)) people[state] += 1;
  return people;
}

// 100 people, or 1,000 where nothing happens to one of 100: the same number for all who are compared.
export const crowd = (incidences) => (Math.max(...incidences.flat()) < 0.01 ? 1000 : 100);

// How many people, in words, with the ends of the interval in whole people around it.
export function spokenCount(count, total, low, high) {
  const known = low !== null && low !== undefined;
  const least = known ? Math.min(count, Math.round(low * total)) : count;
  const most = known ? Math.max(count, Math.round(high * total)) : count;
  if (count === 0) return ["fewer than 1", most > 1 ? ` (at most ${most})` : ""];
  if (count === total) return ["nearly all", least < total - 1 ? ` (at least ${least})` : ""];
  return [`about ${count}`, least < most ? ` (between ${least} and ${most})` : ""];
}

// The stretch of time in a sentence: whom it is about, and until when.
export function spokenStretch(schema, { after, horizon }) {
  const { name } = schema.time;
  if (asksNow(schema)) return [`, event-free at ${name} ${when(schema, after)}`, `by ${name} ${when(schema, horizon)}`];
  if (after > 0) return [`, event-free until ${when(schema, after)}`, `by ${when(schema, horizon)}${inYears(schema, horizon)}`];
  return ["", `within ${when(schema, horizon)}${inYears(schema, horizon)}`];
}

// "Of 100 people like this one, within 5 years relapse happens to about 23 (between 17 and 30), ..."
export function sentence({ schema, view, causes, states, people, total, who }) {
  const [whom, until] = spokenStretch(schema, view);
  const said = (k) => {
    const [words, between] = spokenCount(people[k], total, states.low?.[k], states.high?.[k]);
    return [element("b", {}, words), between];
  };
  const none = causes.length > 2 ? "none of these" : causes.length > 1 ? "neither" : "not";
  return [
    `Of ${shownTime(total)} people like ${who}${whom}, ${until} `,
    ...causes.flatMap((cause, k) => [k ? ", " : "", element("b", {}, cause), k ? " to " : " happens to ", ...said(k + 1)]),
    causes.length > 1 ? `, and ${none} to ` : ` and ${none} to `, ...said(0), ".",
  ];
}

const look = (k) => (k < 0 ? { fill: "#fff", stroke: "#7d8794", "stroke-width": 1.3 }
  : { fill: COLOURS[k % COLOURS.length], stroke: "#1a2433", "stroke-width": 0.7 });
const person = (k, attributes = {}) => svg("path", { d: HEAD + (k < 0 ? PERSON : BODIES[k % BODIES.length]), ...look(k), ...attributes });

// One figure of a cause (from 0), or of somebody event-free (-1), for a key.
export const keyFigure = (k) => svg("svg", { ...CELL, viewBox: `0 0 ${CELL.width} ${CELL.height}`, "aria-hidden": "true" }, person(k));

let drawn = 0;

// A figure for each person, those with an event first, by cause; `say` is what a screen reader hears.
export function iconArray({ people, total, say }) {
  const columns = total > 100 ? 40 : 10, rows = total / columns, prefix = `person-${drawn += 1}`;
  const width = columns * CELL.width, height = rows * CELL.height;
  const figure = svg("svg", { class: total > 100 ? "icons crowd" : "icons", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": say });
  const causes = people.slice(1), kinds = [...causes.flatMap((n, k) => Array(n).fill(k)), ...Array(people[0]).fill(-1)];
  figure.append(svg("defs", {}, ...[...new Set(kinds)].map((k) => person(k, { id: `${prefix}-${k}` }))));
  kinds.forEach((k, i) => figure.append(svg("use", {
    href: `#${prefix}-${k}`, class: k < 0 ? "event-free" : `cause-${k}`,
    x: (i % columns) * CELL.width, y: Math.floor(i / columns) * CELL.height })));
  return figure;
}

// Sentence, figures and their key for one patient; a key lists as the figures do: events first.
export function peopleParts({ schema, view, causes, states, total, who }) {
  const people = counts(states.mean, total);
  const words = element("p", { class: "sentence" }, ...sentence({ schema, view, causes, states, people, total, who }));
  const entry = (name, k) => element("li", {}, keyFigure(k - 1), element("span", {}, `${name}: ${people[k]}`));
  const key = element("ul", { class: "people-key" }, ...causes.map((cause, k) => entry(cause, k + 1)), entry("event-free", 0));
  return { words, icons: iconArray({ people, total, say: words.textContent }), key };
}
