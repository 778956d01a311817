// The page: asks the server, shows its answers.

import { draw, show, viewOf } from "./answers.js";
import { showCard } from "./card.js";
import { asksNow, complaintOfNow, NOW, roundYears, timesOf, when, windowsOf } from "./clock.js";
import { showAttention, showImportance, scoreTable } from "./details.js";
import { $, element } from "./dom.js";
import { patientForm, typicalPatient, unknownPatient } from "./form.js";
import { access, ask, post, Refused } from "./server.js";

const PATIENCE = 150;
// `refused` is what is wrong with the times that are typed; while it is there, nothing is predicted.
const state = { schema: null, horizon: 0, after: 0, ahead: 0, refused: "", patients: {}, forms: {}, answer: null };

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
    const wrong = access.token !== null;
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
  showCard(schema);
  if (schema.model.name) document.title = `${schema.model.name} · Risk explorer`;
  const far = asksNow(schema) ? time.end - time.start : time.end;
  $("horizon").max = $("horizon-slider").max = $("after").max = far;
  $("horizon-slider").step = far / 200;
  $("years").replaceChildren(...roundYears(schema, far).map(([words, time]) =>
    element("button", { type: "button", onclick: () => readOff(time) }, words)));
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
  showCertainty(schema);
  const columns = [...(asksNow(schema) ? [$("score-now").value] : []), ...schema.covariates.map(({ name }) => name)];
  const header = columns.map((name) => (/[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name));
  $("template").href = URL.createObjectURL(new Blob([`${header.join(",")}\n`], { type: "text/csv" }));
  showPatients();
  if (schema.importance) await showImportance(state);
  await predict();
}

// What bands and brackets mean, in this model.
function showCertainty({ intervals, members }) {
  $("band-words").textContent = intervals
    ? "The band is a 95 % interval: how far the probability itself is uncertain."
    : members > 1 ? `The band is two standard deviations between the ${members} networks of the ensemble: `
      + "how far they disagree, which is not all that is uncertain." : "";
  $("interval-words").textContent = intervals
    ? "In brackets: how far each number is uncertain, since the model learned from so many people and no more (95 % interval)."
    : "How uncertain these numbers are is not stored in this model; a new fit stores it.";
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
    if (error instanceof Refused) hideAnswer();
    throw error;
  }
});

// What was refused has no numbers: those of the question before must not be taken for its answer.
function hideAnswer() {
  $("explorer").classList.add("stale");
  $("sheets").replaceChildren();
}

async function update() {
  const { patients, schema, forms } = state;
  forms.B?.compare(patients.A);
  if (state.refused) throw new Refused(state.refused);
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
  state.answer = { warnings: answer.warnings, level: answer.interval?.level ?? null,
    views: windows.map((window, s) => viewOf(answer, s, window)) };
  complain("");
  $("explorer").classList.remove("stale");
  show(state);
  if ($("attention-box").open) await showAttention(state, signal);
}

const score = heed(async () => {
  await scoreTable(state);
  complain("");
});

// --- Events -------------------------------------------------------------------------------

// Takes the times that are typed into the state; words that say what is wrong with them, if anything.
function readTimes() {
  const { schema } = state, { start, end } = schema.time, time = $("horizon").valueAsNumber;
  if (asksNow(schema)) {
    if (!(time > 0 && time <= end - start)) return `How far to look ahead must lie between 0 and ${when(schema, end - start)}.`;
    state.ahead = time;
    return "";
  }
  const after = $("after").value === "" && !$("after").validity.badInput ? 0 : $("after").valueAsNumber;
  if (!(time > 0 && time <= end)) return `The time must be more than 0 and at most ${when(schema, end)}.`;
  if (!(after >= 0 && after < time)) {
    return `The time until which a patient is event-free must lie between 0 and the time read off, ${when(schema, time)}.`;
  }
  Object.assign(state, { horizon: time, after });
  return "";
}

function read() {
  state.refused = readTimes();
  later();
}

function readOff(time) {
  $("horizon").value = $("horizon-slider").value = time;
  read();
}

$("horizon").addEventListener("input", () => {
  $("horizon-slider").value = $("horizon").value;
  read();
});
$("horizon-slider").addEventListener("input", () => {
  const time = Number($("horizon-slider").valueAsNumber.toPrecision(3));
  $("horizon").value = Math.min(time, Number($("horizon").max));
  read();
});
$("after").addEventListener("input", read);
$("print").addEventListener("click", () => window.print());
$("print-card").addEventListener("click", () => {
  document.body.classList.add("prints-card");
  window.print();
});
window.addEventListener("afterprint", () => document.body.classList.remove("prints-card"));
$("attention-box").addEventListener("toggle", heed(async () => {
  if ($("attention-box").open) await showAttention(state);
}));
$("attention-of").addEventListener("change", heed(() => showAttention(state)));
$("score-form").addEventListener("submit", (event) => { event.preventDefault(); score(); });
$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  access.token = $("token").value;
  open();
});
let redraw;
window.addEventListener("resize", () => {
  cancelAnimationFrame(redraw);
  redraw = requestAnimationFrame(() => { if (state.answer) draw(state); });
});

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  access.token = given;
  history.replaceState(null, "", location.pathname);
}
open();
