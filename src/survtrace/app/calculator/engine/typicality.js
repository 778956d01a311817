// How usual a whole patient is among those learned from: `survtrace.tables.typicality`, reading only.

export const UNLIKE = 0.01;  // a typicality below this is called unlike the patients learned from
const TELLING = 0.25;  // share of a residual by which another covariate is named beside it
const SWEEPS = 3;  // over what is missing, in which each is put where the others suggest
const NO_BIN = -1;  // what is missing or unseen has none

// A line between knots, as numpy.interp draws it: constant outside, of equal knots the last.
export function interpolate(x, knots, values) {
  const last = knots.length - 1;
  if (x < knots[0]) return values[0];
  if (x >= knots[last]) return values[last];
  let j = 0;
  while (knots[j + 1] <= x) j += 1;
  return ((values[j + 1] - values[j]) / (knots[j + 1] - knots[j])) * (x - knots[j]) + values[j];
}

// The first of the largest: what differs by less than EQUAL differs by rounding alone, and two programs
// are to name the same covariate.
const EQUAL = 1e-4;
const argmax = (values) => {
  const least = values.reduce((most, value) => Math.max(most, value), -Infinity) - EQUAL;
  return Math.max(0, values.findIndex((value) => value >= least));
};

// Numbers on a normal scale, how unusual each value is alone, and the bin it lies in.
function readScores({ scores }, { columns }, { rows, values }) {
  const normal = [], rarity = [], bin = [];
  let number = 0;
  columns.forEach((column, j) => {
    if (column.levels) {
      normal.push(NaN);
      rarity.push(scores.rarity[rows[j]]);
      bin.push(scores.bins[rows[j]]);
      return;
    }
    const found = interpolate(values[j], scores.knots[number], scores.scores[number]), present = rows[j] !== column.firstRow;
    number += 1;
    normal.push(present ? found : NaN);
    rarity.push(present ? Math.abs(found) : 0);
    bin.push(present ? scores.edges.filter((edge) => edge < found).length : NO_BIN);
  });
  return { normal, rarity, bin };
}

// How much rarer each pair of values is than if the two were independent.
function readPairs({ pairs: { columns, tables, size } }, bin) {
  const at = (j) => (bin[j] === NO_BIN ? size - 1 : bin[j]);
  return columns.map(([first, second], k) => tables[(k * size + at(first)) * size + at(second)]);
}

// Each dimension (a number, or an indicator of a level), standardised, filled in where missing, and
// how far it lies from what all others suggest.
function readResiduals({ residuals: { row, column, centre, scale, precision } }, { columns }, { rows }, { normal }) {
  const n = row.length;
  const centred = Array.from({ length: n }, (_, d) => {
    const { levels, firstRow } = columns[column[d]], at = rows[column[d]];
    if (!levels) return normal[column[d]];
    return at < firstRow + 2 ? NaN : (at === row[d] ? 1 : 0) - centre[d];
  });
  const values = centred.map((value, d) => (Number.isNaN(value) ? 0 : value / scale[d]));
  const missing = centred.flatMap((value, d) => (Number.isNaN(value) ? [d] : []));
  const pulled = (d) => values.reduce((sum, value, i) => sum + value * precision[i * n + d], 0);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const d of missing) values[d] -= pulled(d) / precision[d * n + d];
  }
  const residuals = values.map((_, d) => (Number.isNaN(centred[d]) ? 0 : pulled(d) / Math.sqrt(precision[d * n + d])));
  return { values, residuals };
}

// All that may be unusual about a patient, each with minus the logarithm of the share that reaches it.
function measure(typicality, encoding, encoded) {
  const scores = readScores(typicality, encoding, encoded);
  const { values, residuals } = readResiduals(typicality, encoding, encoded, scores);
  const surprise = readPairs(typicality, scores.bin);
  const measures = [
    Math.max(0, ...scores.rarity), surprise.length ? Math.max(...surprise) : 0,
    Math.max(0, ...residuals.map(Math.abs)), surprise.reduce((sum, each) => sum + each, 0),
  ];
  const levels = measures.map((each, k) => interpolate(each, typicality.reference[k].knots, typicality.reference[k].levels));
  return { levels, rarity: scores.rarity, surprise, values, residuals };
}

// The share of the patients learned from who are at least as unusual, and the covariates that make
// this one unlike them.
export function judge(typicality, encoding, encoded) {
  const found = measure(typicality, encoding, encoded), joined = typicality.reference.at(-1);
  const share = Math.exp(-interpolate(Math.max(...found.levels), joined.knots, joined.levels));
  const unlike = share < UNLIKE;
  return { share, unlike, because: unlike ? reasons(typicality, encoding, found) : [] };
}

// Of several reasons, each enough to be unlike, the simplest is named.
function reasons(typicality, encoding, { levels, rarity, surprise, values, residuals }) {
  const joined = typicality.reference.at(-1);
  const enough = interpolate(-Math.log(UNLIKE), joined.levels, joined.knots);
  const which = argmax(levels.map((level) => Math.min(level, enough)));
  const places = [
    () => [argmax(rarity)],
    () => typicality.pairs.columns[argmax(surprise)],
    () => leastExpected(typicality, residuals, values),
    () => worstOfAllPairs(typicality, surprise, encoding.columns.length),
  ][which]();
  return [...places].sort((p, q) => p - q).map((place) => encoding.columns[place].name);
}

// The covariate farthest from what others suggest, and the other that says so most.
function leastExpected({ residuals: { column, precision } }, residuals, values) {
  const n = values.length, place = argmax(residuals.map(Math.abs)), side = Math.sign(residuals[place]);
  const total = Math.abs(residuals[place]) * Math.sqrt(precision[place * n + place]);
  const pull = values.map((value, d) => (column[d] === column[place] ? 0 : side * precision[place * n + d] * value));
  const other = argmax(pull);
  return pull[other] > TELLING * total ? [column[place], column[other]] : [column[place]];
}

// The covariate that the most unusual pairs have in common, and the worst of these.
function worstOfAllPairs({ pairs: { columns } }, surprise, nColumns) {
  const sums = Array(nColumns).fill(0);
  columns.forEach((pair, k) => pair.forEach((j) => { sums[j] += surprise[k]; }));
  const worst = argmax(sums);
  return columns[argmax(surprise.map((each, k) => (columns[k].includes(worst) ? each : -Infinity)))];
}
