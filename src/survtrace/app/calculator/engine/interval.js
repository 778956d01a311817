// Intervals of a patient's curves: `survtrace.inference.interval` at the level that was packed.
// States are event-free first, then the causes; incidences are those of any cause, then of each.

import { locate } from "./curves.js";

const TINY = 1e-12;  // an incidence, or a step of one, below which nothing is divided by it

// Both ends of an incidence at the cuts; they enclose it and never turn back.
function ends(incidence, deviation, { floor, factor, width }, state) {
  const low = [0], high = [0];
  for (let cut = 1; cut < incidence.length; cut += 1) {
    const inside = Math.min(Math.max(incidence[cut], TINY), 1 - TINY), hazard = -Math.log1p(-inside);
    const slope = (deviation?.[cut] ?? 0) / (hazard * (1 - inside));
    const reach = width[state] * Math.hypot(floor[state][cut - 1], factor[state] * slope);
    const end = (sign) => (incidence[cut] > 0 ? -Math.expm1(-hazard * Math.exp(sign * reach)) : 0);
    low.push(cut === 1 ? end(-1) : Math.max(low[cut - 1], end(-1)));
    high.push(cut === 1 ? end(1) : Math.max(high[cut - 1], end(1)));
  }
  return {
    low: low.map((end, cut) => Math.min(end, incidence[cut])),
    high: high.map((end, cut) => Math.max(end, incidence[cut])),
  };
}

// Between two cuts an end has made the share of its step that the prediction has made.
function between(incidence, atCuts, end, { interval: i }) {
  const step = atCuts[i + 1] - atCuts[i], done = incidence - atCuts[i];
  if (!(step > TINY)) return end[i] + done;
  const share = Math.min(Math.max(done / Math.max(step, TINY), 0), 1);
  return end[i] + share * (end[i + 1] - end[i]);
}

// Ends of survival and incidences at some times; `mean` and `deviation` are those of the states at
// the cuts, then at the times.
export function intervalEnds(scale, { mean, deviation }, cuts, times) {
  const n = cuts.length, places = times.map((time) => locate(time, cuts));
  const sides = { low: [], high: [] };
  mean.forEach((curve, state) => {
    const incidence = state ? curve : curve.map((p) => 1 - p);
    const atCuts = incidence.slice(0, n), atTimes = incidence.slice(n);
    const bound = ends(atCuts, deviation?.[state], scale, state);
    for (const side of ["low", "high"]) {
      sides[side].push(atTimes.map((p, t) => between(p, atCuts, bound[side], places[t])));
    }
  });
  // Any cause has struck at least as often as each of them; of one cause, as often.
  for (const side of Object.values(sides)) {
    const others = side.length === 2 ? side.slice(1) : side;
    side[0] = times.map((_, t) => Math.max(...others.map((curve) => curve[t])));
  }
  const { low, high } = sides;
  return {
    survivalLow: high[0].map((p) => 1 - p), survivalHigh: low[0].map((p) => 1 - p),
    incidenceLow: low.slice(1), incidenceHigh: high.slice(1),
  };
}
