// Answers of the server: words, figures and tables of one patient or two.

import { lines, percent, stacked } from "./charts.js";
import { asksNow, axisName, capital, endWords, placeOf, roundTimes, sharedAxis, shownTime, stretch } from "./clock.js";
import { $, element, fillTable } from "./dom.js";
import { crowd, peopleParts } from "./people.js";
import { sheet } from "./print.js";

const at = (curves, i) => curves.map((curve) => curve[i]);
const points = (d) => `${d < 0 ? "−" : "+"}${Math.abs(100 * d).toFixed(1)}`;
const withEnds = (p, low, high) => `${percent(p)} (${percent(low).replace(/\s%/, "")} to ${percent(high)})`;

// The curves of one patient within its window: event-free, then each cause. `ends` are those of
// intervals; `band` is drawn: these, or, where a model has none, two deviations between members.
export function viewOf(answer, s, window) {
  const { times, survival, survival_std, incidence, incidence_std, interval, typicality } = answer;
  const inside = [...times.keys()].filter((i) => times[i] >= window.from && times[i] <= window.to);
  const cut = (free, causes) => [free[s], ...causes[s]].map((curve) => inside.map((i) => curve[i]));
  const own = inside.map((i) => times[i]), mean = cut(survival, incidence), spread = cut(survival_std, incidence_std);
  const ends = interval && { low: cut(interval.survival_low, interval.incidence_low),
    high: cut(interval.survival_high, interval.incidence_high) };
  const moved = (side) => mean.map((curve, k) => curve.map((p, i) => Math.min(1, Math.max(0, p + side * spread[k][i]))));
  const band = ends ?? (spread[0].includes(null) ? null : { low: moved(-2), high: moved(2) });
  return { ...window, times: own, at: own.indexOf(window.horizon), mean, ends, band, spread, typicality: typicality?.[s] };
}

const letters = (state) => Object.keys(state.patients);
const stateNames = (state) => ["event-free", ...state.schema.cause_names];

// Which times the numbers are about: one stretch, or each patient's own.
function about(state) {
  const each = state.answer.views.map((view) => stretch(state.schema, view));
  if (new Set(each).size === 1) return capital(each[0]);
  return letters(state).map((letter, s) => `${s ? "patient" : "Patient"} ${letter} ${each[s]}`).join(", ");
}

export function show(state) {
  const { answer } = state;
  $("summary").replaceChildren(...summary(state));
  $("unlike").replaceChildren(...answer.views.flatMap((view, s) => unlikeWords(state, view, s)).map((words) => element("li", {}, words)));
  answer.views.forEach(({ typicality }, s) => state.forms[letters(state)[s]].markOdd(typicality?.because ?? []));
  // What the library warns of as a whole is said above of each patient.
  const others = answer.warnings.filter((words) => !words.includes("unlike the patients learned from"));
  const words = [...others, ...endWords(state, answer.views)];
  $("warnings").replaceChildren(...words.map((each) => element("li", {}, each)));
  showPeople(state);
  showStates(state);
  draw(state);
  showTable(state);
  showSheets(state);
}

// One patient in full; of two, what being event-free and the cause that differs most come to.
function summary(state) {
  const { views } = state.answer, names = stateNames(state), by = `${about(state)}: `;
  const bold = (words) => element("b", {}, words);
  const [a, b] = views.map((view) => at(view.mean, view.at));
  if (!b) {
    return [element("p", {}, by, ...names.flatMap((name, k) => [k ? ", " : "", `${name} `, bold(percent(a[k]))]), ".")];
  }
  const against = (k) => [`${names[k]} `, bold(percent(a[k])), " for patient A, ", bold(percent(b[k])),
    " for patient B (", bold(points(b[k] - a[k])), " points)"];
  const most = a.map((p, k) => k).slice(1).reduce((p, q) => (Math.abs(b[q] - a[q]) > Math.abs(b[p] - a[p]) ? q : p));
  return [element("p", {}, by, ...against(0), "."), element("p", {}, "Differs most: ", ...against(most), ".")];
}

// Said of a patient whose covariates, all together, hardly anybody had whom the model learned from.
export function unlikeWords({ schema, patients }, { typicality }, s) {
  if (!typicality?.unlike) return [];
  const label = Object.fromEntries(schema.covariates.map((c) => [c.name, c.label]));
  const who = Object.keys(patients).length > 1 ? `Patient ${Object.keys(patients)[s]} is unlike` : "Unlike";
  const rare = typicality.share > 0 ? `only about 1 in ${shownTime(Number((1 / typicality.share).toPrecision(2)))} of them is`
    : "none of them is";
  const because = typicality.because.map((name) => label[name] ?? name).join(" and ");
  return [`${who} the patients the model learned from: ${rare} as unusual`
    + `${because ? `; what makes it so: ${because}` : ""}. The numbers are a guess here.`];
}

function peopleOf(state, view, s) {
  return peopleParts({ schema: state.schema, view, causes: state.schema.cause_names,
    total: crowd(state.answer.views.map((each) => at(each.mean.slice(1), each.at))),
    states: { mean: at(view.mean, view.at), low: view.ends && at(view.ends.low, view.at), high: view.ends && at(view.ends.high, view.at) },
    who: letters(state).length > 1 ? `patient ${letters(state)[s]}` : "this one" });
}

function showPeople(state) {
  $("people").replaceChildren(...state.answer.views.map((view, s) => {
    const { words, icons, key } = peopleOf(state, view, s);
    return element("div", {}, words, element("div", { class: "people-figure" }, icons, key));
  }));
}

function showStates(state) {
  $("states").hidden = letters(state).length < 2;
  if ($("states").hidden) return;
  const [a, b] = state.answer.views.map((view) => at(view.mean, view.at));
  fillTable($("states"), `${about(state)}; the difference is in percentage points`,
    ["state", "patient A", "patient B", "B − A"],
    stateNames(state).map((name, k) => [name, percent(a[k]), percent(b[k]), points(b[k] - a[k])]));
}

export function draw(state) {
  const { schema, answer: { views } } = state, causes = schema.cause_names, names = letters(state);
  const { clock, begin, end, moved } = sharedAxis(schema, views);
  const shared = { begin, end, clock, after: asksNow(schema) ? begin : state.after };
  const panelWidth = (id, count) => {
    $(id).replaceChildren(...Array.from({ length: count }, () => element("figure")));
    return $(id).firstElementChild.clientWidth;
  };
  const spoken = (k) => names.map((letter, s) => `patient ${letter} ${percent(views[s].mean[k][views[s].at])}`).join(", ");
  const curves = (k) => names.map((letter, s) => ({ kind: letter.toLowerCase(), times: moved[s].times, horizon: moved[s].horizon,
    values: views[s].mean[k], low: views[s].band && views[s].band.low[k], high: views[s].band && views[s].band.high[k] }));

  const panel = panelWidth("stacked", names.length);
  $("stacked").replaceChildren(...views.map((view, s) => stacked({
    ...view, incidence: view.mean.slice(1), begin: view.from, end: view.to, clock: axisName(schema), width: panel,
    title: names.length > 1 ? `Patient ${names[s]}` : "", causes,
    say: `Stacked probabilities of patient ${names[s]}, ${stretch(schema, view)}: `
      + stateNames(state).map((name, k) => `${name} ${percent(view.mean[k][view.at])}`).join(", "),
  })));
  $("survival").replaceChildren(lines({
    ...shared, width: panelWidth("survival", 1), height: 240, top: 1, patients: curves(0),
    say: `Probability of being event-free. ${about(state)}: ${spoken(0)}`,
  }));
  const highest = Math.max(0.01, ...views.flatMap((view) => (view.band?.high ?? view.mean).slice(1).flat()));
  const small = panelWidth("causes", causes.length);
  $("causes").replaceChildren(...causes.map((cause, k) => lines({
    ...shared, width: small, height: 190, top: Math.min(1, highest * 1.05), title: cause, patients: curves(k + 1),
    say: `Incidence of ${cause}. ${about(state)}: ${spoken(k + 1)}`,
  })));
}

// A probability with its interval, or the deviation between members, or alone.
function cell({ mean, ends, spread }, k, i) {
  if (ends) return withEnds(mean[k][i], ends.low[k][i], ends.high[k][i]);
  return spread[k][i] === null ? percent(mean[k][i]) : `${percent(mean[k][i])} ± ${(200 * spread[k][i]).toFixed(1)}`;
}

function showTable(state) {
  const { answer, schema } = state, several = letters(state).length > 1, names = stateNames(state);
  const { clock, begin, end, moved } = sharedAxis(schema, answer.views);
  const rows = roundTimes({ from: begin, to: end, horizon: end }, 10)
    .concat(moved.map((each) => each.horizon)).sort((p, q) => p - q)
    .filter((time, i, all) => i === 0 || placeOf([all[i - 1]], time) < 0);
  const header = letters(state).flatMap((letter) => names.map((name) => (several ? `${letter}: ${name}` : name)));
  const cells = (view, s, time) => {
    const i = placeOf(moved[s].times, time);
    return names.map((name, k) => (i < 0 ? "–" : cell(view, k, i)));
  };
  const [{ ends, band }] = answer.views;
  fillTable($("table"), ends ? `Probabilities, with ${shownTime(100 * state.answer.level)} % intervals`
    : band ? "Probabilities, with ± two standard deviations between members" : "Probabilities", [clock, ...header],
    rows.map((time) => [shownTime(time), ...answer.views.flatMap((view, s) => cells(view, s, time))]));
}

// One sheet for each patient; only prints show them.
function showSheets(state) {
  const { answer, schema, patients } = state;
  $("sheets").replaceChildren(...answer.views.map((view, s) => {
    const wanted = new Set(roundTimes(view, 5).filter((t) => t > view.after)), letter = letters(state)[s];
    const rows = [...view.times.keys()].filter((i) => wanted.has(view.times[i]));
    return sheet({ schema, letter: letters(state).length > 1 ? letter : "", values: patients[letter], view,
      causes: schema.cause_names, states: stateNames(state), people: peopleOf(state, view, s),
      notes: [...unlikeWords(state, view, s)], level: answer.level,
      rows: rows.map((i) => [view.times[i], stateNames(state).map((name, k) => (view.ends ? cell(view, k, i) : percent(view.mean[k][i])))]) });
  }));
}
