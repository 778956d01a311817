// Arrays that `survtrace.app.calculator.arrays` wrote as text.

// Weights: three characters each, a whole number by which the step of its column is multiplied.
// They are printable, and none of them means anything in HTML or JSON. Steps are by (member,
// column) of an array (..., n_in, n_out).
const ALPHABET = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter((letter) => !'"<\\'.includes(letter));
const BASE = ALPHABET.length, MIDDLE = (BASE ** 3 - 1) / 2;
const DIGIT = new Uint8Array(128);
ALPHABET.forEach((letter, digit) => { DIGIT[letter.charCodeAt(0)] = digit; });

export function decodeWeights({ shape, steps, text }) {
  const nOut = shape.at(-1), nIn = shape.at(-2), step = decodeFloats(steps);
  const weights = new Float32Array(shape.reduce((p, q) => p * q, 1));
  for (let i = 0, at = 0, first = 0; i < weights.length; first += nOut) {
    for (let row = 0; row < nIn; row += 1) {
      for (let column = 0; column < nOut; column += 1, i += 1, at += 3) {
        const high = DIGIT[text.charCodeAt(at)] * BASE + DIGIT[text.charCodeAt(at + 1)];
        weights[i] = (high * BASE + DIGIT[text.charCodeAt(at + 2)] - MIDDLE) * step[first + column];
      }
    }
  }
  return weights;
}

// Other numbers: base64 of their bytes, the least significant first, as all browsers have them.
export function decodeFloats({ type, text }) {
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return new { float32: Float32Array, float64: Float64Array, int32: Int32Array }[type](bytes.buffer);
}
