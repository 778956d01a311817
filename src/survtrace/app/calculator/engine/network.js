// The forward pass of all members for one patient: encoded covariates in, hazards out.
// `survtrace.portable.network` in JavaScript; numbers are float64, where Python has float32.

// SELU's constants (Klambauer et al. 2017).
const SCALE = 1.0507009873554805, ALPHA = 1.6732632423543772;

const selu = (x) => { for (let i = 0; i < x.length; i += 1) x[i] = SCALE * (x[i] > 0 ? x[i] : ALPHA * Math.expm1(x[i])); };
const add = (x, y) => { for (let i = 0; i < x.length; i += 1) x[i] += y[i]; };

// x @ weight + bias of one member; x has rows of n_in numbers. The inner loop runs along a row of
// the weight, which lies in memory that way.
function linear(x, { weight, bias, nIn, nOut }, member) {
  const nRows = x.length / nIn, y = new Float64Array(nRows * nOut), first = member * nIn * nOut;
  for (let row = 0; row < nRows; row += 1) {
    const to = row * nOut;
    for (let j = 0; j < nOut; j += 1) y[to + j] = bias[member * nOut + j];
    for (let i = 0; i < nIn; i += 1) {
      const value = x[row * nIn + i], from = first + i * nOut;
      for (let j = 0; j < nOut; j += 1) y[to + j] += value * weight[from + j];
    }
  }
  return y;
}

// Tokens as they are embedded: (token, width).
function embed({ table, bias, width, nRows, nTokens }, { rows, values }, member) {
  const tokens = new Float64Array(nTokens * width);
  for (let token = 0; token < nTokens; token += 1) {
    const from = (member * nRows + rows[token]) * width;
    for (let j = 0; j < width; j += 1) {
      const at = token * width + j;
      tokens[at] = table[from + j] * values[token] + bias[member * nTokens * width + at];
    }
  }
  return tokens;
}

// What each token sees of the others, and the weights (head, token, token) by which it does.
function attend(tokens, layer, width, nHeads, member) {
  const nTokens = tokens.length / width, size = width / nHeads, three = 3 * width;
  const heads = linear(tokens, layer.queryKeyValue, member);
  const attended = new Float64Array(tokens.length), weights = new Float64Array(nHeads * nTokens * nTokens);
  for (let head = 0; head < nHeads; head += 1) {
    for (let query = 0; query < nTokens; query += 1) {
      const row = weights.subarray((head * nTokens + query) * nTokens, (head * nTokens + query + 1) * nTokens);
      for (let key = 0; key < nTokens; key += 1) {
        let product = 0;
        for (let j = head * size; j < (head + 1) * size; j += 1) product += heads[query * three + j] * heads[key * three + width + j];
        row[key] = product / Math.sqrt(size);
      }
      softmax(row);
      for (let key = 0; key < nTokens; key += 1) {
        for (let j = head * size; j < (head + 1) * size; j += 1) attended[query * width + j] += row[key] * heads[key * three + 2 * width + j];
      }
    }
  }
  return { attended, weights };
}

function softmax(x) {
  const most = x.reduce((p, q) => Math.max(p, q), -Infinity);
  let sum = 0;
  for (let i = 0; i < x.length; i += 1) sum += x[i] = Math.exp(x[i] - most);
  for (let i = 0; i < x.length; i += 1) x[i] /= sum;
}

function encode(network, encoded, member, seen) {
  const embedded = embed(network, encoded, member);
  let tokens = embedded;
  network.layers.forEach((layer, depth) => {
    const { attended, weights } = attend(tokens, layer, network.width, network.nHeads, member);
    seen?.(depth, weights);
    const residual = linear(attended, layer.mix, member), wide = linear(tokens, layer.expand, member);
    add(residual, tokens);
    selu(residual);
    selu(wide);
    tokens = linear(wide, layer.contract, member);
    add(tokens, residual);
    selu(tokens);
  });
  return { embedded, tokens };
}

// A cause's logits from the representation; `proportional` adds a multiple of their mean.
function logits(representation, { inner, outer }, proportional, member) {
  const own = inner ? linear(representation, inner, member).map((each) => Math.max(each, 0)) : representation;
  const found = linear(own, outer, member), mean = found.reduce((sum, each) => sum + each, 0) / found.length;
  return found.map((each) => each + proportional * mean);
}

// Hazards of a patient: (member, cause, interval).
export function hazards(network, encoded) {
  const { nMembers, nCauses, nIntervals, align, heads, proportional, factor, power } = network;
  const found = new Float64Array(nMembers * nCauses * nIntervals);
  for (let member = 0; member < nMembers; member += 1) {
    const { embedded, tokens } = encode(network, encoded, member), both = new Float64Array(2 * tokens.length);
    both.set(tokens);
    both.set(embedded, tokens.length);
    const representation = linear(both, align, member);
    selu(representation);
    heads.forEach((head, cause) => logits(representation, head, proportional, member).forEach((logit, j) => {
      const at = (member * nCauses + cause) * nIntervals + j;
      const softplus = Math.max(logit, 0) + Math.log1p(Math.exp(-Math.abs(logit)));
      found[at] = factor[at] * softplus ** power[cause];
    }));
  }
  return found;
}

// Attention followed through all layers (Abnar, Zuidema 2020): rows of (token, token), each of
// which sums to 1. Heads and members are averaged; half of a layer hands a token on as it is.
export function attentionRollout(network, encoded) {
  const { nMembers, nHeads, nTokens, layers } = network;
  const diagonal = (value) => Array.from({ length: nTokens }, (_, i) => Array.from({ length: nTokens }, (_, j) => (i === j ? value : 0)));
  const mixed = layers.map(() => diagonal(0.5));
  for (let member = 0; member < nMembers; member += 1) {
    encode(network, encoded, member, (depth, weights) => weights.forEach((weight, at) => {
      mixed[depth][Math.floor(at / nTokens) % nTokens][at % nTokens] += weight / (2 * nHeads * nMembers);
    }));
  }
  const product = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((sum, each, k) => sum + each * b[k][j], 0)));
  return mixed.reduce((rolled, layer) => product(layer, rolled), diagonal(1));
}
