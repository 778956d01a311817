// What the library warns of: numbers far from those learned from, and patients unlike them.

import { counts, general, grouped } from "./python_format.js";
import { UNLIKE } from "./typicality.js";

// How far beyond the training rows' 1 and 99 % quantiles, in distances between the two, and the
// share of ordinary rows that may lie there (`survtrace.tables.covariates.ranges`).
const MARGINS = [[0, 0.02], [0.4, 0.002], [1.25, 0]];
const FEWEST_ROWS = 50;  // to judge a share by that has no margin
const SURE = 0.99;  // share of tables of patients like those learned from that get no warning

export function unseenWords(encoding, encoded) {
  const found = encoding.columns.flatMap(({ name, levels, firstRow }, j) => {
    const n = levels ? encoded.filter(({ rows }) => rows[j] === firstRow + 1).length : 0;
    return n ? [[name, n]] : [];
  });
  return found.length ? [`categories not seen in fit get the unseen token; subjects concerned, by column: ${counts(found)}.`] : [];
}

export function farWords(encoding, encoded) {
  const found = encoding.columns.flatMap((column, j) => {
    if (column.levels || !(column.high > column.low && column.deviation > 0)) return [];
    const present = encoded.filter(({ rows }) => rows[j] !== column.firstRow).map(({ values }) => values[j]);
    const nFar = firstSurprise(present, boundsOf(column));
    if (!nFar) return [];
    const value = encoded[0].values[j] * column.deviation + column.mean;
    const seen = encoded.length === 1 ? ` (${general(value)})` : "";
    return [`${column.label || column.name}${seen} lies outside ${general(column.low, 4)} to ${general(column.high, 4)}`
      + `${column.unit ? ` ${column.unit}` : ""} for ${grouped(nFar)} of ${grouped(encoded.length)} subject(s)`];
  });
  return found.length ? [`${found.join("; ")}: nearly all training rows are inside, and predictions are a guess outside.`] : [];
}

function firstSurprise(values, bounds) {
  let beyond = values;
  for (const [k, [margin, share]] of MARGINS.entries()) {
    beyond = beyond.filter((value) => value < bounds[k][0] || value > bounds[k][1]);
    if (margin === 0 && values.length < FEWEST_ROWS) continue;
    if (beyond.length > share * values.length + 5 * Math.sqrt(share * values.length)) return beyond.length;
  }
  return 0;
}

// Standardised values just outside the quantiles, by each margin, on a scale that is even about the
// median and logarithmic far from it. Python compares with float32.
function boundsOf({ mean, deviation, low, typical, high }) {
  const unit = Math.max(Math.min(typical - low, high - typical), (high - low) / 20);
  const [below, above] = [low, high].map((end) => Math.asinh((end - typical) / unit));
  return MARGINS.map(([margin]) => {
    const beyond = (margin + 1e-6) * (above - below);
    return [below - beyond, above + beyond].map((end) => Math.fround((typical + unit * Math.sinh(end) - mean) / deviation));
  });
}

// Said of the subjects of a table where more are unlike than chance gives; `judged` in their order.
export function unlikeWords(judged, nLearned) {
  const n = judged.length, nUnlike = judged.filter(({ unlike }) => unlike).length;
  if (nUnlike <= mostByChance(n, nLearned)) return [];
  const lowest = judged.reduce((best, { share }, i) => (share < judged[best].share ? i : best), 0);
  const { share, because } = judged[lowest];
  const why = `by ${because.join(" and ")}${because.length > 1 ? " together" : ""}`;
  if (n === 1) {
    return [`the subject is unlike the patients learned from, ${why}: its typicality is ${general(share, 2)}, `
      + "and its prediction is a guess."];
  }
  return [`${grouped(nUnlike)} of ${grouped(n)} subjects are unlike the patients learned from (a typicality below `
    + `${UNLIKE}; ${grouped(Math.max(1, roundHalfEven(UNLIKE * n)))} would be no surprise), most of all row ${lowest}, ${why}: `
    + "predictions are a guess for them. typicality(X) tells which."];
}

const roundHalfEven = (x) => (x % 1 === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));

// How many of n subjects may be unlike in all but one in a hundred tables: a beta-binomial
// distribution, whose chance of none is a product over the subjects.
function mostByChance(n, nLearned) {
  const a = UNLIKE * (nLearned + 1), b = (1 - UNLIKE) * (nLearned + 1);
  let logChance = 0;
  for (let i = 0; i < n; i += 1) logChance += Math.log((b + i) / (a + b + i));
  let sum = Math.exp(logChance), most = 0;
  while (sum + 1e-9 < SURE && most < n) {
    logChance += Math.log((n - most) * (a + most)) - Math.log((most + 1) * (b + n - most - 1));
    sum += Math.exp(logChance);
    most += 1;
  }
  return most;
}
