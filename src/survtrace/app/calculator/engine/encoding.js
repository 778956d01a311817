// A patient's covariates become a row of the embedding table and a value for each token:
// `survtrace.tables.covariates` for values of a form or cells of a CSV file.

import { general, quoted } from "./python_format.js";
import { readLevel, readNumber } from "./cells.js";
import { Refused } from "./refused.js";

const MISSING = 0, UNSEEN = 1, N_SILENT = 2;
const LARGEST = 1e20;
const FARTHEST = 1e9;  // standard deviations

// Each subject's rows and values, in token order; what is not to be computed with is refused.
export function encodeSubjects({ columns }, subjects) {
  const encoded = subjects.map(() => ({ rows: [], values: [] }));
  columns.forEach((column) => {
    const raw = subjects.map((subject) => subject[column.name] ?? null);
    const found = column.levels ? encodeLevels(raw, column) : encodeNumbers(raw, column);
    found.forEach(({ row, value }, s) => {
      encoded[s].rows.push(column.firstRow + row);
      encoded[s].values.push(value);
    });
  });
  columns.forEach((column, j) => requireWithinReach(column, encoded.map(({ values }) => values[j])));
  return encoded;
}

function encodeLevels(raw, column) {
  return raw.map((value) => {
    const level = readLevel(value, column);
    return { row: level === null ? MISSING : level < 0 ? UNSEEN : level + N_SILENT, value: 1 };
  });
}

// A deviation of 0 says that all training rows had one value: nothing was learned from it.
function encodeNumbers(raw, column) {
  const numbers = readNumbers(raw, column);
  requirePossible(column, numbers);
  return numbers.map((number) => (Number.isNaN(number) ? { row: 0, value: 1 }
    : { row: 1, value: column.deviation === 0 ? 0 : Math.fround((number - column.mean) / column.deviation) }));
}

function readNumbers(raw, column) {
  const read = raw.map((value) => readNumber(value, column));
  const bad = read.map((number) => number === null), first = bad.indexOf(true);
  if (first >= 0) {
    throw new Refused(`column ${quoted(column.name)} is numerical; ${bad.filter(Boolean).length} of ${raw.length} values are `
      + `not to be read as numbers (first: row ${first}, ${quoted(String(raw[first]).trim().slice(0, 40))} is no number). `
      + "Correct them, or leave them empty.");
  }
  const markers = column.missing.filter((text) => text.trim() && Number.isFinite(Number(text))).map(Number);
  return read.map((number) => (markers.includes(number) ? NaN : number));
}

// Refuses numbers that the data dictionary says to be impossible, or too large to compute with.
function requirePossible({ name, least, most }, numbers) {
  const low = least ?? -Infinity, high = most ?? Infinity;
  const impossible = numbers.map((number) => number < low || number > high), first = impossible.indexOf(true);
  if (first >= 0) {
    throw new Refused(`column ${quoted(name)} must lie between ${bound(low)} and ${bound(high)}, as the data dictionary says; `
      + `${impossible.filter(Boolean).length} of ${numbers.length} values do not (first: row ${first}, ${general(numbers[first])}). `
      + "Correct them, or leave them empty.");
  }
  const beyond = numbers.map((number) => Math.abs(number) > LARGEST), at = beyond.indexOf(true);
  if (at >= 0) {
    const seen = Number.isFinite(numbers[at]) ? `, ${general(numbers[at])}` : "";
    throw new Refused(`numerical covariates must lie between -1e+20 and 1e+20; column ${quoted(name)} has `
      + `${beyond.filter(Boolean).length} of ${numbers.length} values beyond (first: row ${at}${seen}). Correct them, or make them missing.`);
  }
}

const bound = (x) => (Number.isFinite(x) ? general(x) : x > 0 ? "inf" : "-inf");

function requireWithinReach({ name, levels }, values) {
  const beyond = levels ? [] : values.map((value) => Math.abs(value) > FARTHEST), first = beyond.indexOf(true);
  if (first < 0) return;
  throw new Refused(`numerical covariates must be of the size seen in fit; column ${quoted(name)} has `
    + `${beyond.filter(Boolean).length} of ${values.length} values more than 1e+09 standard deviations from the mean of the `
    + `training rows (first: row ${first}). Correct them (is the unit that of the training rows?), or make them missing.`);
}
