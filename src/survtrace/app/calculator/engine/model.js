// The packed model: what `survtrace.app.calculator.pack` wrote, ready to compute with.

import { decodeFloats, decodeWeights } from "./arrays.js";
import { plainText } from "./cells.js";

// A covariate with what its cells are looked up by; its block of the embedding table begins at firstRow.
function columnOf(packed, firstRow, missingTexts, levelMarkers) {
  const column = { ...packed, firstRow };
  if (!packed.levels) return { ...column, markers: new Set([...missingTexts, ...packed.missing.map(plainText)]) };
  const plain = packed.levels.map(plainText);
  const alike = new Map(plain.map((text, place) => [text, place]));
  for (const text of alike.keys()) if (plain.filter((other) => other === text).length > 1) alike.delete(text);
  return { ...column, places: new Map(packed.levels.map((level, place) => [level, place])), alike, levelMarkers };
}

function encodingOf({ covariates, missing_texts: missingTexts, level_markers: levelMarkers }) {
  let firstRow = 0;
  const markers = new Set(missingTexts), ofLevels = new Set(levelMarkers);
  return { columns: covariates.map((packed) => {
    const column = columnOf(packed, firstRow, markers, ofLevels);
    firstRow += packed.levels ? packed.levels.length + 2 : 2;
    return column;
  }) };
}

function networkOf(packed) {
  const linear = ({ weight, bias }) => ({
    weight: decodeWeights(weight), bias: bias && decodeFloats(bias), nIn: weight.shape.at(-2), nOut: weight.shape.at(-1),
  });
  const each = (parts) => Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part && linear(part)]));
  const [, nRows, width] = packed.table.shape;
  return {
    ...packed, nRows, width, table: decodeWeights(packed.table), bias: decodeFloats(packed.bias),
    layers: packed.layers.map(each), align: linear(packed.align), heads: packed.heads.map(each),
    factor: decodeFloats(packed.factor), power: decodeFloats(packed.power),
  };
}

const rowsOf = (values, nRows) => Array.from({ length: nRows }, (_, i) =>
  values.slice((i * values.length) / nRows, ((i + 1) * values.length) / nRows));

function typicalityOf({ n_subjects: nSubjects, arrays }) {
  const read = Object.fromEntries(Object.entries(arrays).map(([name, packed]) => [name, decodeFloats(packed)]));
  const nNumbers = arrays.knots.shape[0], nMeasures = arrays.reference.shape[0];
  return {
    nSubjects,
    scores: { knots: rowsOf(read.knots, nNumbers), scores: rowsOf(read.scores, nNumbers), rarity: read.rarity, bins: read.bins,
      edges: [...read.edges] },
    pairs: { columns: rowsOf([...read.pairs], arrays.pairs.shape[0]), tables: read.tables, size: arrays.tables.shape[2] },
    residuals: { row: read.row, column: read.column, centre: read.centre, scale: read.deviation, precision: read.precision },
    reference: rowsOf(read.reference, nMeasures).map((pair) => rowsOf(pair, 2)).map(([knots, levels]) => ({ knots, levels })),
  };
}

export function openModel(packed) {
  return {
    schema: packed.schema, importance: packed.importance, leftOut: packed.left_out, median: packed.schema.time.median,
    check: packed.check, cuts: packed.cuts, interval: packed.interval, encoding: encodingOf(packed), network: networkOf(packed.network),
    typicality: packed.typicality && typicalityOf(packed.typicality), kept: new Map(),
  };
}
