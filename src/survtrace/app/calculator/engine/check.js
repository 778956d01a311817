// A look at the file itself: are its numbers in this browser those that Python wrote into it?

import { predict } from "./answers.js";

const FARTHEST = 1e-5;

// What is wrong, in words; empty where the made-up patient of the file gets the numbers of Python.
export function failedCheck(model) {
  const { subject, times, states } = model.check;
  const { survival: [survival], incidence: [causes] } = predict(model, { subjects: [subject], times });
  const farthest = Math.max(...[survival, ...causes].flatMap((curve, k) => curve.map((p, t) => Math.abs(p - states[k][t]))));
  return farthest <= FARTHEST ? "" : `This file computes other numbers here than where it was written (they differ by ${farthest}): it is `
    + "damaged, or this browser cannot run it. Do not use it; get it again, or open it in another browser.";
}
