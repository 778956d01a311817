// Values as Python writes them, so that messages here and there are the same letter for letter.

// f"{x:.{digits}g}"
export function general(x, digits = 6) {
  if (x === 0) return "0";
  const [mantissa, power] = rounded(x, digits).split("e"), exponent = Number(power);
  const plain = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (exponent < -4 || exponent >= digits) {
    return `${plain(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  return plain(Number(`${mantissa}e${exponent}`).toFixed(Math.max(0, digits - 1 - exponent)));
}

// So many digits in scientific notation. Of two that are as near, Python takes the even one.
function rounded(x, digits) {
  const exact = x.toExponential(Math.min(digits + 30, 100));
  const [, sign, first, behind, power] = /^(-?)(\d)\.(\d+)e(.+)$/.exec(exact);
  const all = first + behind, kept = all.slice(0, digits);
  if (/^50*$/.test(all.slice(digits)) && Number(kept.at(-1)) % 2 === 0) {
    return `${sign}${kept[0]}.${kept.slice(1) || "0"}e${power}`;
  }
  return x.toExponential(digits - 1);
}

// repr of a float: 12.0, 0.5, 1e-05, 1e+16.
export function float(x) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
  const [mantissa, power] = x.toExponential().split("e"), exponent = Number(power);
  if (x !== 0 && (exponent < -4 || exponent >= 16)) {
    return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const text = String(x);
  return text.includes(".") ? text : `${text}.0`;
}

// f"{n:,}"
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

const NAMED = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

// repr of a text
export function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = [...text].map((letter) => {
    if (letter === quote) return `\\${quote}`;
    if (NAMED[letter]) return NAMED[letter];
    if (letter === " " || !/[\p{C}\p{Z}]/u.test(letter)) return letter;
    const code = letter.codePointAt(0), hex = code.toString(16);
    return code < 256 ? `\\x${hex.padStart(2, "0")}` : code < 65536 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  });
  return quote + escaped.join("") + quote;
}

// repr of a list of texts, and of a dict of counts by text
export const list = (texts) => `[${texts.map(quoted).join(", ")}]`;
export const counts = (pairs) => `{${pairs.map(([name, n]) => `${quoted(name)}: ${n}`).join(", ")}}`;
