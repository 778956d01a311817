// The times at which curves are asked, and until when patients are event-free: what is refused and
// warned of, as by `survtrace.app.answers`.

import { float, general } from "./python_format.js";
import { Refused } from "./refused.js";

// Times may be a list for all, or a list of lists, one for each subject.
export function timeWarnings(times, cuts) {
  const all = times.flat(), first = cuts[0], end = cuts.at(-1);
  if (!all.every((time) => time >= 0)) {
    throw new Refused("times must be a flat sequence of numbers of zero or more, or a row of them for each subject; got "
      + `[${all.map(float).join(", ")}]. Pass for example times=[12, 60].`);
  }
  if (!all.every(Number.isFinite)) throw new Refused("times must be finite; got infinity. Ask for the end of the grid.");
  const said = (n, where) => (n ? [`${n} of ${all.length} times lie ${where}; curves are constant there.`] : []);
  return [
    ...said(all.filter((time) => time > end).length, `beyond the grid, which ends at ${general(end)}`),
    ...said(all.filter((time) => time < first).length, `before the grid, which begins at ${general(first)}, when the first subject `
      + "entered (times count from the same origin as duration and entry, not from now)"),
  ];
}

export function startWarnings(starts, cuts) {
  const first = cuts[0], end = cuts.at(-1);
  const outside = starts.find((start) => !(start === 0 || (start >= first && start < end)));
  if (outside !== undefined) {
    throw new Refused(`after must lie between ${general(first)} and ${general(end)}, where the curves begin and end; got `
      + `${general(outside)}. Give a time there until which the subject is known to be event-free.`);
  }
  return first > 0 && starts.includes(0) ? [`the curves begin at ${general(first)}, and no later time until which a subject is `
    + "event-free was given: they are those of somebody event-free then. Give `after`."] : [];
}
