// One value of a form or one cell of a CSV file, as a number or as the place of a level.

// Of the file: numbers as "61", "0.5" or "1e3"; with a decimal comma where the model learned from a
// table that has it. Anything else is refused, never guessed: `survtrace predict` reads more.
const PLAIN = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

export const plainText = (text) => text.toLowerCase().replaceAll("ß", "ss").split(/\s+/).filter(Boolean).join(" ");

// A number, NaN where it is missing, null for what is no number.
export function readNumber(value, { decimal, markers }) {
  if (value === null) return NaN;
  if (typeof value !== "string") return Number(value);
  const text = value.trim();
  if (markers.has(plainText(text))) return NaN;
  const written = decimal === "," && !text.includes(".") ? text.replace(",", ".") : text;
  return PLAIN.test(written) && !(decimal === "," && text.includes(".")) ? Number(written) : null;
}

// The place among the levels; -1 for one that was not learned, null where it is missing. A text
// that differs from just one level in case and spaces is that level.
export function readLevel(value, { places, alike, missing, levelMarkers }) {
  if (value === null) return null;
  const text = String(value).trim(), lower = plainText(text);
  if (!text || missing.some((marker) => plainText(marker) === lower)) return null;
  if (places.has(text)) return places.get(text);
  const number = PLAIN.test(text) ? String(Number(text)) : text;  // 1, 1.0 and "1" are one level
  if (places.has(number)) return places.get(number);
  if (alike.has(lower)) return alike.get(lower);
  return levelMarkers.has(lower) ? null : -1;
}
