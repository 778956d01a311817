// The boxes below the curves: importance, attention, and a table of patients to score.

import { bars, percent, plain } from "./charts.js";
import { asksNow } from "./clock.js";
import { $, element, fillTable } from "./dom.js";
import { ask, post, Refused } from "./server.js";

export async function showAttention(state, signal) {
  const subject = state.patients[$("attention-of").value] ?? state.patients.A;
  const { covariates, attention } = await post("attention", { subject }, signal);
  const label = Object.fromEntries(state.schema.covariates.map((c) => [c.name, c.label]));
  const names = covariates.map((name) => label[name]), even = 1 / names.length;
  $("even").textContent = `If it looked everywhere alike, every cell but the diagonal would be the same. `
    + `The colour runs from white (0 %) to dark (${percent(Math.min(1, 2.5 * even))} and more).`;
  fillTable($("attention"), `Attention of patient ${$("attention-of").value}, in %`, ["", ...names],
    attention.map((row, i) => [names[i], ...row.map((weight) => (100 * weight).toFixed(1))]));
  $("attention").querySelectorAll("tbody tr").forEach((row, i) => {
    row.querySelectorAll("td").forEach((cell, j) => {
      const depth = Math.min(1, attention[i][j] / (2.5 * even));
      cell.style.backgroundColor = `hsl(212 60% ${98 - 68 * depth}%)`;
      cell.style.color = depth > 0.55 ? "#fff" : "inherit";
    });
  });
}

export async function showImportance({ schema }) {
  const rows = await (await ask("importance")).json();
  const causes = [...new Set(rows.map((row) => row.cause))];
  const named = (cause) => schema.cause_names[schema.causes.indexOf(cause)] ?? cause;
  $("importance-box").hidden = false;
  $("importance-of").replaceChildren(...causes.map((cause) => element("option", { value: cause }, named(cause))));
  const update = () => {
    const cause = $("importance-of").value;
    const ofCause = rows.filter((row) => row.cause === cause).sort((p, q) => q.importance - p.importance);
    const label = Object.fromEntries(schema.covariates.map((c) => [c.name, c.label]));
    const short = (v) => (v === null ? "" : (1000 * v).toFixed(2).replace("-", "−"));
    if ($("importance").clientWidth) {
      $("importance").replaceChildren(bars({ width: $("importance").clientWidth,
        rows: ofCause.map((row) => ({ ...row, covariate: label[row.covariate] ?? row.covariate })),
        say: `Importance for ${named(cause)}, largest first: ${ofCause.map((row) => label[row.covariate] ?? row.covariate).join(", ")}` }));
    }
    fillTable($("importance-table"), `Importance for ${named(cause)}`, ["covariate", "importance x 1000", "low", "high"],
      ofCause.map((row) => [label[row.covariate] ?? row.covariate, short(row.importance), short(row.low), short(row.high)]));
  };
  $("importance-of").addEventListener("change", update);
  $("importance-box").addEventListener("toggle", update);
  window.addEventListener("resize", update);
  update();
}

// Sends a file of patients; returns nothing, shows a link to the scored one.
export async function scoreTable({ schema }) {
  const [file] = $("file").files, { bytes } = schema.limits;
  const times = $("score-times").value.split(/[\s;]+/).filter(Boolean);
  $("scored").textContent = "";
  $("score-warnings").replaceChildren();
  if (file.size > bytes) {
    throw new Refused(`A file may have at most ${plain(bytes)} bytes; this one has ${plain(file.size)}. Send it in parts.`);
  }
  const now = asksNow(schema) ? [["after", $("score-now").value]] : [];
  const asked = times.map((t) => [now.length ? "ahead" : "times", t]);
  const address = `score?${new URLSearchParams([...now, ...asked])}`;
  const response = await ask(address, { method: "POST", headers: { "Content-Type": "text/csv" }, body: file });
  const text = await response.blob();
  const link = element("a", { id: "download", download: file.name.replace(/(\.csv)?$/i, "-scored.csv"),
    href: URL.createObjectURL(text) }, "Download the scored table");
  $("scored").replaceChildren(`Scored ${file.name}. `, link);
  const warnings = JSON.parse(response.headers.get("Survtrace-Warnings") ?? "[]");
  $("score-warnings").replaceChildren(...warnings.map((warning) => element("li", {}, warning)));
}
