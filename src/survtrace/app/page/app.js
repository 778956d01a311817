// The page: asks the server, shows its answers.

import { bars, lines, percent, plain, stacked } from "./charts.js";
import {
  asksNow, axisName, capital, complaintOfNow, endWords, NOW, placeOf, roundTimes, sharedAxis, shownTime, stretch,
  timesOf, when, windowsOf,
} from "./clock.js";
import { element, patientForm, typicalPatient, unknownPatient } from "./form.js";
import { modelWords, sheet } from "./print.js";

const PATIENCE = 150;
const $ = (id) => document.getElementById(id);
const state = { token: null, schema: null, horizon: 0, after: 0, ahead: 0, patients: {}, forms: {}, answer: null };

// --- The server ---------------------------------------------------------------------------

class Refused extends Error {}

async function ask(address, options = {}) {
  const headers = { ...options.headers };
  if (state.token) headers.Authorization = `Bearer ${state.token}`;
  let response;
  try {
    response = await fetch(address, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const refused = new Refused(body.detail ?? `The server answered with code ${response.status}.`);
  refused.status = response.status;
  throw refused;
}

const post = async (address, question, signal) => (await ask(address, {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question), signal,
})).json();

function complain(words) {
  $("problem").hidden = !words;
  if ($("problem").textContent !== words) $("problem").textContent = words;
}

const heed = (work) => async (...given) => {
  try {
    await work(...given);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Refused)) throw error;
    complain(error.message);
  }
};

// --- Opening ------------------------------------------------------------------------------

const open = heed(async () => {
  try {
    state.schema = await (await ask("schema")).json();
  } catch (error) {
    if (error.status !== 401) throw error;
    const wrong = state.token !== null;
    $("token-form").hidden = false;
    $("token").focus();
    complain(wrong ? "That is not the token of this server." : "");
    return;
  }
  complain("");
  $("token-form").hidden = true;
  $("explorer").hidden = false;
  await begin();
});

async function begin() {
  const { schema } = state, { time } = schema;
  state.horizon = Math.min(Number(time.median.toPrecision(3)), time.end);
  state.ahead = time.ahead;
  state.patients.A = typicalPatient(schema);
  for (const id of ["horizon-unit", "after-unit", "score-unit"]) $(id).textContent = time.unit ? `(${time.unit})` : "";
  $("model").textContent = modelWords(schema.model);
  $("model").hidden = false;
  if (schema.model.name) document.title = `${schema.model.name} · Risk explorer`;
  const far = asksNow(schema) ? time.end - time.start : time.end;
  $("horizon").max = $("horizon-slider").max = $("after").max = far;
  $("horizon-slider").step = far / 200;
  $("horizon").value = $("horizon-slider").value = asksNow(schema) ? state.ahead : state.horizon;
  $("score-times").value = String(asksNow(schema) ? state.ahead : state.horizon);
  if (asksNow(schema)) {
    $("horizon-words").textContent = "Look ahead, from now on";
    $("horizon-slider").setAttribute("aria-label", "Look ahead, slider");
    $("horizon-slider").after($("print"));
    $("score-now-row").hidden = false;
    $("score-now").required = true;
    $("score-now").value = `${time.name.replaceAll(/\W+/g, "_")}_now`;
    $("score-now-label").textContent = `Column with the ${time.name} now`;
    $("score-words").textContent = "In the next";
    $("after-row").hidden = true;
  }
  $("band-words").textContent = schema.members > 1
    ? `The band is two standard deviations between the ${schema.members} networks of the ensemble: `
      + "how far they disagree, which is not all that is uncertain." : "";
  const columns = [...(asksNow(schema) ? [$("score-now").value] : []), ...schema.covariates.map(({ name }) => name)];
  const header = columns.map((name) => (/[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name));
  $("template").href = URL.createObjectURL(new Blob([`${header.join(",")}\n`], { type: "text/csv" }));
  showPatients();
  if (schema.importance) await showImportance();
  await predict();
}

// --- Patients -----------------------------------------------------------------------------

function showPatients(focus) {
  const { patients, schema } = state, box = $("patients");
  const button = (id, words, work, kind = "") =>
    element("button", { type: "button", id, class: kind, onclick: heed(work) }, words);
  const change = (work, next) => async () => { work(); showPatients(next); await predict(); };
  state.forms = {};
  for (const letter of Object.keys(patients)) {
    state.forms[letter] = patientForm(schema, letter, patients[letter], later);
  }
  box.replaceChildren(
    state.forms.A.node,
    element("div", { class: "buttons" },
      button("typical-a", "Typical values", change(() => { patients.A = typicalPatient(schema); }, "typical-a")),
      button("unknown-a", "All unknown", change(() => { patients.A = unknownPatient(schema, patients.A); }, "unknown-a")),
      patients.B ? "" : button("add-b", "Compare with patient B",
        change(() => { patients.B = { ...patients.A }; }, "B-0"), "strong")));
  if (patients.B) {
    box.append(state.forms.B.node, element("div", { class: "buttons" },
      button("copy-b", "Copy A again", change(() => { patients.B = { ...patients.A }; }, "copy-b")),
      button("remove-b", "Remove patient B", change(() => { delete patients.B; }, "add-b"))));
  }
  $("key").hidden = $("attention-choice").hidden = !patients.B;
  if (!patients.B) $("attention-of").value = "A";
  if (focus) $(focus)?.focus();
}

let timer, running;

function later() {
  clearTimeout(timer);
  timer = setTimeout(predict, PATIENCE);
}

const predict = heed(async () => {
  try {
    await update();
  } catch (error) {
    $("explorer").classList.toggle("stale", error instanceof Refused);
    throw error;
  }
});

async function update() {
  const { patients, schema, forms } = state;
  forms.B?.compare(patients.A);
  for (const [letter, form] of Object.entries(forms)) {
    const complaint = form.unreadable()
      || (asksNow(schema) && complaintOfNow(schema, patients[letter][NOW]));
    if (complaint) throw new Refused(`Patient ${letter}: ${complaint}`);
  }
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const windows = windowsOf(state, Object.values(patients));
  const times = [...new Set(windows.flatMap(timesOf))].sort((p, q) => p - q);
  const question = { subjects: Object.values(patients), times, after: windows.map((each) => each.after) };
  const answer = await post("predict", question, signal);
  state.answer = { warnings: answer.warnings, causes: schema.cause_names,
    views: windows.map((window, s) => viewOf(answer, s, window)) };
  complain("");
  $("explorer").classList.remove("stale");
  show();
  if ($("attention-box").open) await showAttention(signal);
}

// --- Answers ------------------------------------------------------------------------------

// The curves of one patient within its window.
function viewOf({ times, survival, survival_std, incidence, incidence_std }, s, window) {
  const inside = [...times.keys()].filter((i) => times[i] >= window.from && times[i] <= window.to);
  const cut = (curve) => inside.map((i) => curve[i]);
  const own = cut(times);
  return { ...window, times: own, at: own.indexOf(window.horizon),
    survival: cut(survival[s]), survivalStd: cut(survival_std[s]),
    incidence: incidence[s].map(cut), incidenceStd: incidence_std[s].map(cut) };
}

function show() {
  const { answer } = state;
  $("summary").replaceChildren(...summary());
  const words = [...answer.warnings, ...endWords(state, answer.views)];
  $("warnings").replaceChildren(...words.map((each) => element("li", {}, each)));
  showStates();
  draw();
  showTable();
  showSheets();
}

const named = (cause) => state.schema.cause_names[state.schema.causes.indexOf(cause)] ?? cause;
const letters = () => Object.keys(state.patients);
const statesAt = (view, i = view.at) => [view.survival[i], ...view.incidence.map((curve) => curve[i])];

const points = (d) => `${d < 0 ? "−" : "+"}${Math.abs(100 * d).toFixed(1)}`;
const stateNames = () => ["event-free", ...state.answer.causes];

// Which times the numbers are about: one stretch, or each patient's own.
function about() {
  const { schema, answer } = state, each = answer.views.map((view) => stretch(schema, view));
  if (new Set(each).size === 1) return capital(each[0]);
  return letters().map((letter, s) => `${s ? "patient" : "Patient"} ${letter} ${each[s]}`).join(", ");
}

// One patient in full; of two, what being event-free and the cause that differs most come to.
function summary() {
  const { answer } = state, names = stateNames(), by = `${about()}: `;
  const bold = (words) => element("b", {}, words);
  const [a, b] = answer.views.map((view) => statesAt(view));
  if (!b) {
    return [element("p", {}, by, ...names.flatMap((name, k) => [k ? ", " : "", `${name} `, bold(percent(a[k]))]), ".")];
  }
  const against = (k) => [`${names[k]} `, bold(percent(a[k])), " for patient A, ", bold(percent(b[k])),
    " for patient B (", bold(points(b[k] - a[k])), " points)"];
  const most = a.map((p, k) => k).slice(1).reduce((p, q) => (Math.abs(b[q] - a[q]) > Math.abs(b[p] - a[p]) ? q : p));
  return [element("p", {}, by, ...against(0), "."), element("p", {}, "Differs most: ", ...against(most), ".")];
}

function showStates() {
  $("states").hidden = letters().length < 2;
  if ($("states").hidden) return;
  const [a, b] = state.answer.views.map((view) => statesAt(view));
  table($("states"), `${about()}; the difference is in percentage points`,
    ["state", "patient A", "patient B", "B − A"],
    stateNames().map((name, k) => [name, percent(a[k]), percent(b[k]), points(b[k] - a[k])]));
}

function draw() {
  const { answer, schema } = state, { views, causes } = answer;
  const { clock, begin, end, moved } = sharedAxis(schema, views);
  const shared = { begin, end, clock, after: asksNow(schema) ? begin : state.after };
  const panelWidth = (id, count) => {
    $(id).replaceChildren(...Array.from({ length: count }, () => element("figure")));
    return $(id).firstElementChild.clientWidth;
  };
  const spoken = (curve) => letters().map((l, s) => `patient ${l} ${percent(curve(views[s])[views[s].at])}`).join(", ");
  const both = (curve, deviation) => letters().map((letter, s) => ({ kind: letter.toLowerCase(), times: moved[s].times,
    horizon: moved[s].horizon, values: curve(views[s]), deviation: deviation(views[s]) }));

  const panel = panelWidth("stacked", letters().length);
  $("stacked").replaceChildren(...views.map((view, s) => stacked({
    ...view, begin: view.from, end: view.to, clock: axisName(schema), width: panel,
    title: letters().length > 1 ? `Patient ${letters()[s]}` : "", causes,
    say: `Stacked probabilities of patient ${letters()[s]}, ${stretch(schema, view)}: `
      + stateNames().map((name, k) => `${name} ${percent(statesAt(view)[k])}`).join(", "),
  })));
  $("survival").replaceChildren(lines({
    ...shared, width: panelWidth("survival", 1), height: 240, top: 1,
    patients: both((view) => view.survival, (view) => view.survivalStd),
    say: `Probability of being event-free. ${about()}: ${spoken((view) => view.survival)}`,
  }));
  const highest = Math.max(0.01, ...views.flatMap((view) =>
    view.incidence.flatMap((curve, k) => curve.map((p, i) => p + 2 * (view.incidenceStd[k][i] ?? 0)))));
  const top = Math.min(1, highest * 1.05);
  const small = panelWidth("causes", causes.length);
  $("causes").replaceChildren(...causes.map((cause, k) => lines({
    ...shared, width: small, height: 190, top, title: cause,
    patients: both((view) => view.incidence[k], (view) => view.incidenceStd[k]),
    say: `Incidence of ${cause}. ${about()}: ${spoken((view) => view.incidence[k])}`,
  })));
}

function table(node, words, header, rows) {
  node.replaceChildren(
    element("caption", {}, words),
    element("thead", {}, element("tr", {}, ...header.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows.map(([first, ...cells]) => element("tr", {},
      element("th", { scope: "row" }, first), ...cells.map((cell) => element("td", {}, cell))))));
}

function showTable() {
  const { answer, schema } = state, several = letters().length > 1, hasSpread = schema.members > 1;
  const { clock, begin, end, moved } = sharedAxis(schema, answer.views);
  const rows = roundTimes({ from: begin, to: end, horizon: end }, 10)
    .concat(moved.map((each) => each.horizon)).sort((p, q) => p - q)
    .filter((time, i, all) => i === 0 || placeOf([all[i - 1]], time) < 0);
  const header = letters().flatMap((letter) => stateNames()
    .map((name) => (several ? `${letter}: ${name}` : name)));
  const cells = (view, s, time) => {
    const i = placeOf(moved[s].times, time);
    if (i < 0) return stateNames().map(() => "–");
    const spread = [view.survivalStd[i], ...view.incidenceStd.map((curve) => curve[i])];
    return statesAt(view, i).map((p, k) => (hasSpread ? `${percent(p)} ± ${(200 * spread[k]).toFixed(1)}` : percent(p)));
  };
  table($("table"), hasSpread ? "Probabilities, with ± two standard deviations between members" : "Probabilities",
    [clock, ...header],
    rows.map((time) => [shownTime(time), ...answer.views.flatMap((view, s) => cells(view, s, time))]));
}

// One sheet for each patient; only prints show them.
function showSheets() {
  const { answer, schema, patients } = state;
  $("sheets").replaceChildren(...answer.views.map((view, s) => {
    const wanted = new Set(roundTimes(view, 5).filter((t) => t > view.after));
    return sheet({ schema, letter: letters().length > 1 ? letters()[s] : "", values: patients[letters()[s]], view,
      causes: answer.causes, states: stateNames(),
      rows: [...view.times.keys()].filter((i) => wanted.has(view.times[i])).map((i) => [view.times[i], statesAt(view, i)]) });
  }));
}

// --- Attention and importance -------------------------------------------------------------

async function showAttention(signal) {
  const subject = state.patients[$("attention-of").value] ?? state.patients.A;
  const { covariates, attention } = await post("attention", { subject }, signal);
  const label = Object.fromEntries(state.schema.covariates.map((c) => [c.name, c.label]));
  const names = covariates.map((name) => label[name]), even = 1 / names.length;
  $("even").textContent = `If it looked everywhere alike, every cell but the diagonal would be the same. `
    + `The colour runs from white (0 %) to dark (${percent(Math.min(1, 2.5 * even))} and more).`;
  table($("attention"), `Attention of patient ${$("attention-of").value}, in %`, ["", ...names],
    attention.map((row, i) => [names[i], ...row.map((weight) => (100 * weight).toFixed(1))]));
  $("attention").querySelectorAll("tbody tr").forEach((row, i) => {
    row.querySelectorAll("td").forEach((cell, j) => {
      const depth = Math.min(1, attention[i][j] / (2.5 * even));
      cell.style.backgroundColor = `hsl(212 60% ${98 - 68 * depth}%)`;
      cell.style.color = depth > 0.55 ? "#fff" : "inherit";
    });
  });
}

async function showImportance() {
  const rows = await (await ask("importance")).json();
  const causes = [...new Set(rows.map((row) => row.cause))];
  $("importance-box").hidden = false;
  $("importance-of").replaceChildren(...causes.map((cause) => element("option", { value: cause }, named(cause))));
  const update = () => {
    const cause = $("importance-of").value;
    const ofCause = rows.filter((row) => row.cause === cause).sort((p, q) => q.importance - p.importance);
    const label = Object.fromEntries(state.schema.covariates.map((c) => [c.name, c.label]));
    const short = (v) => (v === null ? "" : Number(v.toPrecision(3)).toString());
    if ($("importance").clientWidth) {
      $("importance").replaceChildren(bars({ width: $("importance").clientWidth,
        rows: ofCause.map((row) => ({ ...row, covariate: label[row.covariate] ?? row.covariate })),
        say: `Importance for ${named(cause)}, largest first: ${ofCause.map((row) => label[row.covariate] ?? row.covariate).join(", ")}` }));
    }
    table($("importance-table"), `Importance for ${named(cause)}`, ["covariate", "importance", "low", "high"],
      ofCause.map((row) => [label[row.covariate] ?? row.covariate, short(row.importance), short(row.low), short(row.high)]));
  };
  $("importance-of").addEventListener("change", update);
  $("importance-box").addEventListener("toggle", update);
  window.addEventListener("resize", update);
  update();
}

// --- A table of patients ------------------------------------------------------------------

const score = heed(async () => {
  const [file] = $("file").files, { bytes } = state.schema.limits;
  const times = $("score-times").value.split(/[\s;]+/).filter(Boolean);
  $("scored").textContent = "";
  $("score-warnings").replaceChildren();
  if (file.size > bytes) {
    throw new Refused(`A file may have at most ${plain(bytes)} bytes; this one has ${plain(file.size)}. Send it in parts.`);
  }
  const now = asksNow(state.schema) ? [["after", $("score-now").value]] : [];
  const asked = times.map((t) => [now.length ? "ahead" : "times", t]);
  const address = `score?${new URLSearchParams([...now, ...asked])}`;
  const response = await ask(address, { method: "POST", headers: { "Content-Type": "text/csv" }, body: file });
  const text = await response.blob();
  complain("");
  const link = element("a", { id: "download", download: file.name.replace(/(\.csv)?$/i, "-scored.csv"),
    href: URL.createObjectURL(text) }, "Download the scored table");
  $("scored").replaceChildren(`Scored ${file.name}. `, link);
  const warnings = JSON.parse(response.headers.get("Survtrace-Warnings") ?? "[]");
  $("score-warnings").replaceChildren(...warnings.map((warning) => element("li", {}, warning)));
});

// --- Events -------------------------------------------------------------------------------

function read(time) {
  const { schema } = state, { start, end } = schema.time;
  if (asksNow(schema)) {
    if (!(time > 0 && time <= end - start)) {
      complain(`How far to look ahead must lie between 0 and ${when(schema, end - start)}.`);
      return;
    }
    state.ahead = time;
    later();
    return;
  }
  if (!Number.isFinite(time) || time < 0 || time > end) {
    complain(`The time must lie between 0 and ${when(schema, end)}.`);
    return;
  }
  if (time <= state.after) {
    complain(`The time must lie after ${when(schema, state.after)}, until which the patient is event-free.`);
    return;
  }
  state.horizon = time;
  later();
}

function readAfter(time) {
  const last = state.horizon;
  if (!Number.isFinite(time) || time < 0 || time >= last) {
    complain(`The time until which a patient is event-free must lie between 0 and the time read off, ${when(state.schema, last)}.`);
    return;
  }
  state.after = time;
  later();
}

$("horizon").addEventListener("input", () => {
  $("horizon-slider").value = $("horizon").value;
  read($("horizon").valueAsNumber);
});
$("horizon-slider").addEventListener("input", () => {
  const time = Number($("horizon-slider").valueAsNumber.toPrecision(3));
  $("horizon").value = Math.min(time, Number($("horizon").max));
  read($("horizon").valueAsNumber);
});
$("after").addEventListener("input", () => readAfter($("after").value === "" ? 0 : $("after").valueAsNumber));
$("print").addEventListener("click", () => window.print());
$("attention-box").addEventListener("toggle", heed(async () => {
  if ($("attention-box").open) await showAttention();
}));
$("attention-of").addEventListener("change", heed(() => showAttention()));
$("score-form").addEventListener("submit", (event) => { event.preventDefault(); score(); });
$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  state.token = $("token").value;
  open();
});
let redraw;
window.addEventListener("resize", () => {
  cancelAnimationFrame(redraw);
  redraw = requestAnimationFrame(() => { if (state.answer) draw(); });
});

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  state.token = given;
  history.replaceState(null, "", location.pathname);
}
open();
