// Curves as SVG: numbers in, figures out.

// Okabe and Ito's palette, as in survtrace.plots; each colour also has a pattern of its own.
export const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442"];
const PATTERNS = [
  "M-2 2l4 -4M0 8l8 -8M6 10l4 -4", "M0 4h8", "M4 0v8", "M0 0l8 8M-2 6l4 4M6 -2l4 4",
  "M4 4h.1", "M0 0l8 8M0 8l8 -8", "M0 4h8M4 0v8",
];
const EVENT_FREE = "#eef1f4";

export const percent = (p) => {
  const points = 100 * p;
  return `${points.toFixed(points >= 9.95 && points <= 99 ? 0 : 1)}\u00a0%`;
};
// Made once: a format takes longer to make than all else that a figure needs.
const SIX_DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
export const plain = (value) => SIX_DIGITS.format(value);

export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Round places between two ends, about so many.
export function ticks(begin, end, count) {
  const rough = (end - begin) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((m) => m * power >= rough * 0.98) * power;
  const first = Math.ceil(begin / step - 1e-9), last = Math.floor(end / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "600 12px system-ui, sans-serif";
const breadth = (text) => ruler.measureText(text).width;

function fitted(text, room) {
  if (breadth(text) <= room) return text;
  let short = text;
  while (short.length > 1 && breadth(`${short}…`) > room) short = short.slice(0, -1);
  return `${short}…`;
}

const path = (x, y, times, values) =>
  times.map((t, i) => `${i ? "L" : "M"}${x(t).toFixed(1)} ${y(values[i]).toFixed(1)}`).join("");

function area(x, y, times, low, high) {
  const back = [...times.keys()].reverse();
  return path(x, y, times, high) +
    back.map((i) => `L${x(times[i]).toFixed(1)} ${y(low[i]).toFixed(1)}`).join("") + "Z";
}

// Axes with a frame for what is drawn; `say` is what a screen reader hears.
function axes({ width, height, right, begin, end, top, clock, say }) {
  const left = 44, bottom = 38, above = 8;
  const x = (t) => left + ((t - begin) / (end - begin)) * (width - left - right);
  const y = (p) => height - bottom - (p / top) * (height - bottom - above);
  const figure = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": say });
  for (const p of ticks(0, top, height > 200 ? 5 : 4)) {
    figure.append(
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(p), y2: y(p) }),
      svg("text", { class: "tick", x: left - 6, y: y(p) + 4, "text-anchor": "end" }, `${+(100 * p).toPrecision(3)} %`));
  }
  for (const t of ticks(begin, end, Math.max(2, Math.floor((width - left - right) / 75)))) {
    figure.append(svg("text", { class: "tick", x: x(t), y: height - bottom + 16, "text-anchor": "middle" }, plain(t)));
  }
  figure.append(
    svg("line", { class: "axis", x1: left, x2: width - right, y1: y(0), y2: y(0) }),
    svg("text", { class: "tick", x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, clock));
  return { figure, x, y, begin, left, right, width, height };
}

// What lies behind a patient who is known to be event-free until a time.
function past({ figure, x, y, begin }, after, top) {
  if (after <= begin) return;
  figure.append(svg("rect", { class: "past", x: x(begin), y: y(top), width: x(after) - x(begin), height: y(0) - y(top) }));
}

function marker({ figure, x, y }, time, top) {
  figure.append(svg("line", { class: "marker", x1: x(time), x2: x(time), y1: y(0), y2: y(top) }));
}

// Labels at the right end, moved apart where they would overlap, each tied to its curve.
function endLabels({ figure, right, width, height }, labels) {
  const gap = 15, room = right - 14;
  const sorted = [...labels].sort((p, q) => p.at - q.at);
  sorted.forEach((l, i) => { l.y = Math.max(l.at, i ? sorted[i - 1].y + gap : 12); });
  for (let i = sorted.length - 1, limit = height - 40; i >= 0; i -= 1, limit -= gap) {
    sorted[i].y = Math.min(sorted[i].y, limit);
    limit = Math.min(limit, sorted[i].y);
  }
  for (const { text, at, y, kind = "" } of sorted) {
    const from = width - right;
    figure.append(
      svg("path", { class: "leader", d: `M${from + 1} ${at}L${from + 10} ${y}` }),
      svg("text", { class: `end ${kind}`, x: from + 13, y: y + 4 },
        fitted(text, room)));
  }
}

function caption(text, figure) {
  const node = document.createElement("figure"), words = document.createElement("figcaption");
  words.textContent = text;
  node.append(...(text ? [words, figure] : [figure]));
  return node;
}

let drawn = 0;

// All states of one patient over time: incidences stacked up, event-free on top.
export function stacked({ title, width, height = 260, begin, end, clock, horizon, after, times, causes, incidence, say }) {
  const prefix = `fill-${drawn += 1}`;
  const widest = Math.max(...["event-free", ...causes].map((name) => breadth(`99 % ${name}`)));
  const right = Math.min(widest + 24, width * 0.45);
  const frame = axes({ width, height, right, begin, end, top: 1, clock, say });
  const { figure, x, y } = frame, defs = svg("defs");
  figure.prepend(defs);
  let low = times.map(() => 0);
  const labels = [], last = times.length - 1;
  causes.forEach((cause, k) => {
    const high = low.map((p, i) => p + incidence[k][i]);
    const colour = COLOURS[k % COLOURS.length], id = `${prefix}-${k}`;
    defs.append(svg("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
      svg("rect", { width: 8, height: 8, fill: colour }),
      svg("path", { d: PATTERNS[k % PATTERNS.length], stroke: "#fff", "stroke-opacity": 0.55,
        "stroke-width": k % PATTERNS.length === 4 ? 3 : 1.4, "stroke-linecap": "round" })));
    figure.append(svg("path", { d: area(x, y, times, low, high), fill: `url(#${id})`, stroke: "#fff", "stroke-width": 0.6 }));
    labels.push({ text: `${percent(incidence[k][last])} ${cause}`, at: y((low[last] + high[last]) / 2) });
    low = high;
  });
  figure.append(svg("path", { d: area(x, y, times, low, times.map(() => 1)), fill: EVENT_FREE }));
  labels.push({ text: `${percent(1 - low[last])} event-free`, at: y((1 + low[last]) / 2) });
  past(frame, after, 1);
  marker(frame, horizon, 1);
  endLabels(frame, labels);
  return caption(title, figure);
}

// One curve for each patient, each at times of its own, with a band from low to high where known.
export function lines({ title, width, height, begin, end, clock, after, top, patients, say }) {
  const right = 74;
  const frame = axes({ width, height, right, begin, end, top, clock, say });
  const { figure, x, y } = frame;
  const inside = (p) => Math.min(top, Math.max(0, p));
  for (const { kind, times, low, high } of patients) {
    if (low === null) continue;
    figure.append(svg("path", { class: `${kind} band`, d: area(x, y, times, low.map(inside), high.map(inside)) }));
  }
  past(frame, after, top);
  for (const horizon of new Set(patients.map((patient) => patient.horizon))) marker(frame, horizon, top);
  for (const { kind, times, values, horizon } of patients) {
    figure.append(svg("path", { class: `${kind} line`, d: path(x, y, times, values) }));
    figure.append(svg("circle", { class: `${kind} dot`, r: 4, cx: x(horizon), cy: y(values[times.indexOf(horizon)]) }));
  }
  endLabels(frame, patients.map(({ kind, values }) => ({
    kind, text: `${patients.length > 1 ? `${kind.toUpperCase()} ` : ""}${percent(values.at(-1))}`, at: y(values.at(-1)),
  })));
  return caption(title, figure);
}

// Importances of one cause, largest first, with their intervals.
export function bars({ width, rows, say }) {
  const line = 26, left = Math.min(150, width * 0.36), right = 16;
  const height = rows.length * line + 28;
  const ends = rows.flatMap((r) => [r.low ?? r.importance, r.high ?? r.importance, 0]);
  const least = Math.min(...ends), most = Math.max(...ends, least + 1e-12);
  const x = (v) => left + ((v - least) / (most - least)) * (width - left - right);
  const figure = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": say });
  rows.forEach((row, i) => {
    const y = i * line + 4;
    figure.append(
      svg("text", { x: left - 8, y: y + 14, "text-anchor": "end" }, fitted(row.covariate, left - 10)),
      svg("rect", { class: "bar", x: Math.min(x(0), x(row.importance)), y, height: line - 10,
        width: Math.abs(x(row.importance) - x(0)) }));
    if (row.low !== null && row.high !== null) {
      figure.append(svg("path", { class: "whisker",
        d: `M${x(row.low)} ${y + 8}H${x(row.high)}M${x(row.low)} ${y + 4}v8M${x(row.high)} ${y + 4}v8` }));
    }
  });
  figure.append(svg("line", { class: "axis", x1: x(0), x2: x(0), y1: 0, y2: height - 22 }),
    svg("text", { class: "tick", x: x(0), y: height - 6, "text-anchor": "middle" }, "0"),
    svg("text", { class: "tick", x: width - right, y: height - 6, "text-anchor": "end" }, most.toPrecision(2)));
  return figure;
}
