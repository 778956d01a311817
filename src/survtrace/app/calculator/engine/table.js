// A CSV table of patients, with the probability of each state at each time added to its columns.

import { readSubjects, some, statesOf } from "./answers.js";
import { plainText, readNumber } from "./cells.js";
import { general, grouped, list, quoted } from "./python_format.js";
import { Refused } from "./refused.js";
import { startWarnings, timeWarnings } from "./times.js";

const CHUNK = 50;  // patients, after which the page may draw

const unreadable = (why) => new Refused(`the table could not be read as CSV (${why}). Write a line of column names, then a line for `
  + "each subject.");

// Lines of cells; a cell in quotes may hold commas, quotes (written twice) and line ends.
export function parseCsv(text) {
  const lines = [], cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n|\r|\n|$)/y;
  let line = [];
  while (cell.lastIndex < text.length || line.length) {
    const begin = cell.lastIndex, found = cell.exec(text);
    if (!found) throw unreadable(`a quote that is not closed, or text beside quotes, in line ${lines.length + 1}: ${quoted(text.slice(begin, begin + 20))}`);
    const [, content, end] = found;
    line.push(content.startsWith('"') ? content.slice(1, -1).replaceAll('""', '"') : content);
    if (end === ",") continue;
    if (line.length > 1 || line[0] !== "") lines.push(line);
    line = [];
  }
  return lines;
}

function readTable(text, maxRows) {
  const [header, ...lines] = parseCsv(text.replace(/^\ufeff/, ""));
  if (!header) throw unreadable("it is empty");
  const mark = header.length === 1 && ["\t", ";"].find((each) => header[0].includes(each));
  if (mark) {
    throw new Refused(`cells must be separated by commas; the first line has ${quoted(mark)} and no comma. Write it with commas, and `
      + "decimal points. (`survtrace predict` reads it.)");
  }
  const twice = [...new Set(header.filter((name, j) => header.indexOf(name) < j))].sort();
  if (twice.length) throw new Refused(`column names must differ; ${list(twice)} occur more than once. Rename them.`);
  if (!lines.length) throw new Refused("X must have at least one subject; got 0 sample(s).");
  if (lines.length > maxRows) throw new Refused(`one table takes at most ${grouped(maxRows)} subjects; got ${grouped(lines.length)}. Score it in parts.`);
  const long = lines.findIndex((line) => line.length > header.length);
  if (long >= 0) throw unreadable(`line ${long + 2} has ${lines[long].length} cells, and the first ${header.length}`);
  return { header, lines: lines.map((line) => header.map((_, j) => line[j] ?? "")) };
}

// How many letters two names share, in their longest common part and on both sides of it.
function shared(first, second) {
  let size = 0, i = 0, j = 0;
  for (let p = 0; p < first.length; p += 1) {
    for (let q = 0; q < second.length; q += 1) {
      let n = 0;
      while (p + n < first.length && first[p + n] === second[q + n]) n += 1;
      if (n > size) [size, i, j] = [n, p, q];
    }
  }
  return size && size + shared(first.slice(0, i), second.slice(0, j)) + shared(first.slice(i + size), second.slice(j + size));
}

// The name most like another, by the rule of `near_name` of Python.
function nearName(name, others) {
  const likeness = (other) => {
    const [first, second] = [other, name].map((each) => [...plainText(each)]);
    return (2 * shared(first, second)) / (first.length + second.length);
  };
  return others.filter((other) => likeness(other) >= 0.7).sort((p, q) => likeness(q) - likeness(p) || (p < q ? 1 : -1))[0];
}

// Refuses a table without covariates, or with one under a name that is nearly right.
function checkNames(names, header, after) {
  const missing = names.filter((name) => !header.includes(name));
  if (missing.length === names.length) {
    throw new Refused(`the table must have columns named as the covariates; it has none of ${some(missing)}, but ${some(header)}. Rename them.`);
  }
  const unused = header.filter((name) => !names.includes(name) && name !== after);
  for (const name of missing) {
    const near = nearName(name, unused);
    if (near !== undefined) {
      throw new Refused(`the table has no column ${quoted(name)}; is ${quoted(near)} meant? Rename it, or add an empty column `
        + `${quoted(name)} if it is not known.`);
    }
  }
  return {
    missing: missing.length ? [`covariates that are no columns of the table are unknown: ${some(missing)}.`] : [],
    unused,
  };
}

function startsOf({ header, lines }, after) {
  if (after === null) return null;
  const place = header.indexOf(after);
  if (place < 0) {
    throw new Refused(`after must name a column of the table; got ${quoted(after)}, which is none of ${some(header)}. Add the column, `
      + "or correct the name.");
  }
  const values = lines.map((line) => readNumber(line[place], { decimal: ".", markers: new Set() }) ?? NaN);
  const absent = values.filter(Number.isNaN).length;
  if (absent) {
    throw new Refused(`column ${quoted(after)} must have a time for each subject; ${absent} of ${values.length} rows have none (first: `
      + `row ${values.findIndex(Number.isNaN)}). Fill them in.`);
  }
  return values;
}

// Who has a time at which there are curves: of some rows without one the cells are left empty.
function answerable(starts, cuts, after) {
  const first = cuts[0], end = cuts.at(-1), inside = starts.map((start) => start === 0 || (start >= first && start < end));
  const nOutside = inside.filter((each) => !each).length, row = inside.indexOf(false);
  if (!nOutside) return { inside, warnings: [] };
  const seen = `${nOutside} of ${starts.length} rows have a time in column ${quoted(after)} that does not lie between ${general(first)} and `
    + `${general(end)}, where the curves begin and end (first: row ${row}, ${general(starts[row])})`;
  if (nOutside === starts.length) throw new Refused(`${seen}. Give times there until which subjects are event-free.`);
  return { inside, warnings: [`${seen}; their cells are left empty.`] };
}

const cellOf = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const pause = () => new Promise((resume) => { setTimeout(resume); });

function newNames({ schema }, { header }, asked, mark) {
  const states = ["survival", ...schema.causes.map((cause) => `incidence_${cause}`)];
  const names = states.flatMap((state) => asked.map((time) => `${state}_${mark}${time}`)), there = names.filter((name) => header.includes(name));
  if (there.length) {
    throw new Refused(`the table already has columns named ${some(there)}, which would be added to it. Rename or remove them.`);
  }
  return names;
}

// `after` names a column with a time at which each subject is event-free; `ahead` are times counted
// from there, in place of `times`. Gives the table as CSV, and warnings in the order of Python.
export async function score(model, text, { times, after, ahead, maxRows }) {
  const table = readTable(text, maxRows), covariates = model.encoding.columns.map(({ name }) => name);
  const { missing, unused } = checkNames(covariates, table.header, after);
  const starts = startsOf(table, after), asked = [...new Set(ahead.length ? ahead : times)];
  const names = newNames(model, table, asked, ahead.length ? "+" : "");
  const extra = unused.filter((name) => !model.leftOut.includes(name));
  const ignored = extra.length ? [`columns not seen in fit are ignored: ${list(extra)}.`] : [];
  const subjects = table.lines.map((line) => Object.fromEntries(table.header.map((name, j) => [name, line[j] === "" ? null : line[j]])));
  const read = readSubjects(model, subjects);
  const { inside, warnings } = starts ? answerable(starts, model.cuts, after) : { inside: subjects.map(() => true), warnings: [] };
  const begins = starts ?? subjects.map(() => 0), points = begins.map((start) => asked.map((time) => (ahead.length ? start + time : time)));
  const late = startWarnings(starts ? starts.filter((_, s) => inside[s]) : [0], model.cuts);
  const outside = timeWarnings(ahead.length ? points.filter((_, s) => inside[s]) : asked, model.cuts);
  const written = [[...table.header, ...names]];
  for (const [s, encoded] of read.encoded.entries()) {
    const found = inside[s] ? statesOf(model, encoded, s, points[s], begins[s]).mean.flat().map(String) : names.map(() => "");
    written.push([...table.lines[s], ...found]);
    if (s % CHUNK === CHUNK - 1) await pause();
  }
  const said = [...missing, ...ignored, ...read.warnings, ...warnings, ...late, ...outside];
  return { csv: written.map((line) => `${line.map(cellOf).join(",")}\n`).join(""), warnings: said };
}
