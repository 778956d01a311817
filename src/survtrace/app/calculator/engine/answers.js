// Covariates in, answers out: the questions of `survtrace.app.answers`, answered in the browser.

import { states } from "./curves.js";
import { encodeSubjects } from "./encoding.js";
import { intervalEnds } from "./interval.js";
import { attentionRollout, hazards } from "./network.js";
import { list, quoted } from "./python_format.js";
import { Refused } from "./refused.js";
import { startWarnings, timeWarnings } from "./times.js";
import { judge } from "./typicality.js";
import { farWords, unlikeWords, unseenWords } from "./warnings.js";

const NAMED = 20;  // columns named in a message, at most

export const some = (names) => list(names.slice(0, NAMED)) + (names.length > NAMED ? " and more" : "");

// Subjects encoded, each with how usual it is, and all that is to be warned of them.
export function readSubjects(model, subjects) {
  const encoded = encodeSubjects(model.encoding, subjects);
  const judged = model.typicality && encoded.map((each) => judge(model.typicality, model.encoding, each));
  const warnings = [
    ...unseenWords(model.encoding, encoded), ...farWords(model.encoding, encoded),
    ...(judged ? unlikeWords(judged, model.typicality.nSubjects) : []),
  ];
  return { encoded, judged, warnings };
}

const KEPT = 4;  // patients whose hazards are kept: a time that is moved asks about the same again

function hazardsOf({ network, kept }, { rows, values }) {
  const key = `${rows} ${values}`, found = kept.get(key) ?? hazards(network, { rows, values });
  kept.set(key, found);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return found;
}

// Mean and deviation of the states of one subject; where the network overflows there is none.
export function statesOf(model, encoded, row, times, start) {
  const found = hazardsOf(model, encoded);
  if (!found.every(Number.isFinite)) {
    throw new Refused(`predictions must be finite; the network's are not for row ${row}. Its covariates are too large for it: `
      + "correct them, or leave them out as missing. If they are of the size seen in fit, the saved network is damaged: fit it again.");
  }
  return states(found, model.network, model.cuts, times, start);
}

// Curves of each subject at `times`, given that it is event-free at `after`: one time, or one each.
export function predict(model, { subjects, times, after = 0 }) {
  requireKnown(model, subjects);
  const starts = Array.isArray(after) ? after : [after], points = times ?? [...model.cuts];
  const said = timeWarnings(points, model.cuts), { encoded, judged, warnings } = readSubjects(model, subjects);
  if (starts.length !== 1 && starts.length !== subjects.length) {
    throw new Refused(`after must be one time, or one for each of the ${subjects.length} subjects; got ${starts.length}.`);
  }
  said.push(...startWarnings(starts, model.cuts), ...warnings);
  const before = model.interval ? model.cuts.length : 0, all = before ? [...model.cuts, ...points] : points;
  const found = encoded.map((each, s) => statesOf(model, each, s, all, starts[s] ?? starts[0]));
  const means = found.map(({ mean }) => mean.map((curve) => curve.slice(before)));
  const nothing = means[0].map((curve) => curve.map(() => null));
  const spread = found.map(({ deviation }) => (deviation ? deviation.map((curve) => curve.slice(before)) : nothing));
  return {
    times: points, causes: model.schema.causes,
    survival: means.map(([survival]) => survival), survival_std: spread.map(([survival]) => survival),
    incidence: means.map(([, ...causes]) => causes), incidence_std: spread.map(([, ...causes]) => causes),
    interval: model.interval && intervalsOf(model, found, points), typicality: judged, warnings: said,
  };
}

function intervalsOf({ interval, cuts }, found, points) {
  const ends = found.map((each) => intervalEnds(interval, each, cuts, points));
  return {
    level: interval.level, survival_low: ends.map((end) => end.survivalLow), survival_high: ends.map((end) => end.survivalHigh),
    incidence_low: ends.map((end) => end.incidenceLow), incidence_high: ends.map((end) => end.incidenceHigh),
  };
}

// A name that is no covariate would be taken for unknown.
function requireKnown({ encoding, leftOut }, subjects) {
  const names = encoding.columns.map(({ name }) => name), known = new Set([...names, ...leftOut]);
  const odd = subjects.flatMap((subject) => Object.keys(subject)).find((name) => !known.has(name));
  if (odd !== undefined) throw new Refused(`there is no covariate ${quoted(odd)}; leave it out. The covariates are ${some(names)}.`);
}

// Attention between the covariates of one subject.
export function attention(model, { subject }) {
  requireKnown(model, [subject]);
  const { encoded: [encoded], warnings } = readSubjects(model, [subject]);
  return { covariates: model.encoding.columns.map(({ name }) => name), attention: attentionRollout(model.network, encoded), warnings };
}
