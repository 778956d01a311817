// Hazards become probabilities of states: the formulas of `survtrace.portable.curves`.
// A hazard is that of one patient, (member, cause, interval); an answer has a list for each state
// (event-free, then the causes) with a number for each time.

const TINY = 2.2250738585072014e-308;

// Interval and fraction of a time; times outside the cuts stop at the ends.
export function locate(time, cuts) {
  let interval = 0;
  while (interval < cuts.length - 2 && cuts[interval + 1] < time) interval += 1;
  const fraction = (time - cuts[interval]) / (cuts[interval + 1] - cuts[interval]);
  return { interval, fraction: Math.min(Math.max(fraction, 0), 1) };
}

// The same in what is left of the grid after a start.
function locateAfter(time, start, cuts) {
  const later = Math.max(time, start), { interval } = locate(later, cuts);
  const begin = Math.max(cuts[interval], start), width = Math.max(cuts[interval + 1] - begin, TINY);
  return { interval, fraction: Math.min(Math.max((later - begin) / width, 0), 1) };
}

// One member's hazards: of each cause, of all together, and sums over the intervals before each.
function memberHazards(hazard, member, nCauses, left) {
  const nIntervals = left.length, from = member * nCauses * nIntervals;
  const causes = Array.from({ length: nCauses }, (_, k) => left.map((share, j) => share * hazard[from + k * nIntervals + j]));
  const total = left.map((_, j) => causes.reduce((sum, cause) => sum + cause[j], 0));
  const before = sumsBefore(total);
  const perHazard = total.map((each, j) => Math.exp(-before[j]) / Math.max(each, TINY));
  const gained = causes.map((cause) => sumsBefore(cause.map((each, j) => each * perHazard[j] * -Math.expm1(-total[j]))));
  return { causes, total, before, perHazard, gained };
}

function sumsBefore(values) {
  let sum = 0;
  return values.map((value) => { const before = sum; sum += value; return before; });
}

function memberStates({ causes, total, before, perHazard, gained }, places) {
  const survival = places.map(({ interval: i, fraction }) => Math.exp(-(before[i] + fraction * total[i])));
  const lived = places.map(({ interval: i, fraction }) => perHazard[i] * -Math.expm1(-fraction * total[i]));
  return [survival, ...causes.map((cause, k) => places.map(({ interval: i }, t) => gained[k][i] + cause[i] * lived[t]))];
}

// Mean and deviation over members of the states at some times, of a patient event-free until
// `start` (0 for one at the start). Survivors of each member are as many as it says: its share.
export function states(hazard, { nMembers, nCauses }, cuts, times, start) {
  const widths = Array.from({ length: cuts.length - 1 }, (_, j) => cuts[j + 1] - cuts[j]);
  const left = widths.map((width, j) => (start ? Math.max(cuts[j + 1] - Math.max(start, cuts[j]), 0) / width : 1));
  const places = times.map((time) => (start ? locateAfter(time, start, cuts) : locate(time, cuts)));
  const members = Array.from({ length: nMembers }, (_, m) => memberStates(memberHazards(hazard, m, nCauses, left), places));
  const shares = start ? survivorShares(hazard, nMembers, nCauses, widths.length, locate(start, cuts)) : members.map(() => 1 / nMembers);
  const over = (combine) => members[0].map((curve, k) => curve.map((_, t) => combine(members.map((member) => member[k][t]))));
  return {
    mean: over((values) => values.reduce((sum, value, m) => sum + shares[m] * value, 0)),
    deviation: nMembers === 1 ? null : over(deviation),
  };
}

function survivorShares(hazard, nMembers, nCauses, nIntervals, { interval, fraction }) {
  const whole = Array(nIntervals).fill(1);
  const lived = Array.from({ length: nMembers }, (_, m) => {
    const { before, total } = memberHazards(hazard, m, nCauses, whole);
    return before[interval] + fraction * total[interval];
  });
  const least = Math.min(...lived), alive = lived.map((each) => Math.exp(least - each));
  const sum = alive.reduce((p, q) => p + q, 0);
  return alive.map((each) => each / sum);
}

function deviation(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
