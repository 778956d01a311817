// In place of the page's server.js: the same questions, answered by the model that is in this file.

import { attention, predict } from "./answers.js";
import { failedCheck } from "./check.js";
import { openModel } from "./model.js";
import { Refused } from "./refused.js";
import { score } from "./table.js";

const model = openModel(JSON.parse(document.getElementById("packed-model").textContent));

export const access = { token: null };

export { Refused };

export const post = async (question, body) => ({ predict, attention })[question](model, JSON.parse(JSON.stringify(body)));

// As a response of the server: what it says as JSON, or the scored table with its warnings.
export async function ask(address, { body } = {}) {
  const [question, how] = address.split("?");
  const problem = question === "schema" ? failedCheck(model) : "";
  if (problem) throw new Refused(problem);
  if (question !== "score") return { json: async () => model[question] };
  const { csv, warnings } = await score(model, await textOf(body), scoreQuestion(new URLSearchParams(how)));
  return {
    blob: async () => new Blob([csv], { type: "text/csv" }),
    headers: { get: () => JSON.stringify(warnings) },
  };
}

async function textOf(file) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Refused("the table could not be read as CSV in UTF-8. Save it as CSV in UTF-8, which spreadsheets offer by that name.");
  }
}

function scoreQuestion(given) {
  const numbers = (name) => given.getAll(name).map((text) => {
    if (text.trim() !== "" && Number(text) >= 0 && Number.isFinite(Number(text))) return Number(text);
    throw new Refused(`times must be numbers of zero or more, with spaces between; got ${text}.`);
  });
  const times = numbers("times"), ahead = numbers("ahead");
  if (!times.length && !ahead.length) throw new Refused("times must be numbers of zero or more, with spaces between; got none.");
  return { times, ahead, after: given.get("after"), maxRows: model.schema.limits.rows };
}
