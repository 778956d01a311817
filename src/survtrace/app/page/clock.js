// The clock: from when on a patient is looked at, how far ahead, and how such times are said.

import { ticks } from "./charts.js";

const POINTS = 100;
// Beside a patient's covariates: its time now, such as its age. JSON leaves a symbol out.
export const NOW = Symbol("now");

export const asksNow = ({ time }) => time.now !== null;
// As many digits as are read: of a small time four, of a large one whole numbers.
const FOUR_DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
export const shownTime = (t) => (Math.abs(t) < 1000 ? FOUR_DIGITS : WHOLE).format(t);
export const when = ({ time }, t) => [shownTime(t), t === 1 ? time.unit.replace(/s$/, "") : time.unit].filter(Boolean).join(" ");

const A_YEAR = { day: 365.25, week: 52.18, month: 12 };
// Whole years within a stretch of time, in its own unit: what people ask for most.
export function roundYears({ time }, far) {
  const year = { ...A_YEAR, year: 1 }[time.unit.toLowerCase().replace(/s$/, "")];
  return year === undefined ? [] : [1, 2, 5, 10, 20].filter((years) => years * year <= far).slice(-4)
    .map((years) => [years === 1 ? "1 year" : `${years} years`, Math.round(years * year)]);
}

// The same time in years, where the unit is shorter and it comes to two years or more.
export function inYears({ time }, t) {
  const years = t / (A_YEAR[time.unit.toLowerCase().replace(/s$/, "")] ?? Infinity);
  if (years < 1.95) return "";
  const rounded = Math.round(years * 2) / 2;
  const close = Math.abs(years - rounded) < 0.02 ? "" : "about ";
  return ` (${close}${Math.abs(years - rounded) < 0.2 ? rounded : years.toFixed(1)} years)`;
}
export const axisName = ({ time }) => (time.unit ? `${time.name} (${time.unit})` : time.name);
export const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

// The field that asks for it, described like a covariate that cannot be unknown.
export const nowField = ({ time }) => ({
  name: NOW, label: `${capital(time.name)} now`, unit: time.unit, kind: "numerical", levels: [],
  low: time.start, high: time.end, step: time.step, typical: time.now, required: true,
});

// What is shown of each patient: axis from and to, event-free until `after`, read off at `horizon`.
// All are looked at for as long as the curves of the one who is furthest on allow.
export function windowsOf({ schema, after, horizon, ahead }, patients) {
  const { start, end } = schema.time;
  if (!asksNow(schema)) return patients.map(() => ({ from: start, to: end, after, horizon }));
  const latest = Math.max(...patients.map((patient) => patient[NOW]));
  return patients.map(({ [NOW]: now }) => {
    const to = latest + ahead < end ? now + ahead : now === latest ? end : now + (end - latest);
    return { from: now, to, after: now, horizon: to };
  });
}

// Round times within a window, its end and the time read off.
export const roundTimes = ({ from, to, horizon }, count) => [...new Set([...ticks(from, to, count), to, horizon])];

export function timesOf(window) {
  const { from, to, after } = window;
  const even = Array.from({ length: POINTS }, (_, i) => from + ((to - from) * i) / POINTS);
  const ahead = ticks(0, to - from, 10).map((t) => from + t).filter((t) => t <= to);
  return [...even, ...ahead, ...roundTimes(window, 10), ...roundTimes(window, 5), after];
}

// One axis for all patients: the clock, or, where they stand at different times, from now on.
export function sharedAxis(schema, views) {
  const apart = new Set(views.map((view) => view.from)).size > 1;
  const moved = views.map(({ from, to, horizon, times }) => {
    const origin = apart ? from : 0;
    return { origin, from: from - origin, to: to - origin, horizon: horizon - origin, times: times.map((t) => t - origin) };
  });
  return {
    clock: apart ? `${schema.time.unit || "time"} from now` : axisName(schema), moved,
    begin: Math.min(...moved.map((each) => each.from)), end: Math.max(...moved.map((each) => each.to)),
  };
}

export const placeOf = (times, t) => times.findIndex((each) => Math.abs(each - t) <= 1e-9 * Math.max(1, Math.abs(t)));

// The stretch of time the numbers are about, in words.
export function stretch(schema, { after, horizon }) {
  if (asksNow(schema)) return `${schema.time.name} ${shownTime(after)} to ${when(schema, horizon)}`;
  return after > 0 ? `event-free until ${when(schema, after)}; by ${when(schema, horizon)}` : `by ${when(schema, horizon)}`;
}

// Said where the curves end before the time that was to be looked at.
export function endWords({ schema, ahead }, views) {
  if (!asksNow(schema) || !views.some(({ from }) => from + ahead > schema.time.end)) return [];
  const [{ from, to }] = views;
  return [`Only the next ${when(schema, to - from)} are shown: the curves end at ${schema.time.name} `
    + `${when(schema, schema.time.end)}, beyond which nothing was learned.`];
}

export function complaintOfNow({ time }, now) {
  if (Number.isFinite(now) && now >= time.start && now < time.end) return "";
  return `${time.name} now must lie between ${shownTime(time.start)} and ${shownTime(time.end)}, where the model has seen anybody.`;
}
