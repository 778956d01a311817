// A patient's form, built from the covariates the estimator knows.

import { asksNow, NOW, nowField, shownTime } from "./clock.js";
import { element } from "./dom.js";

const LONG_LIST = 12;  // more levels than this are searched by typing

export const typicalPatient = (schema) =>
  ({ ...Object.fromEntries(schema.covariates.map((c) => [c.name, c.typical])), [NOW]: schema.time.now });

export const unknownPatient = (schema, patient) =>
  ({ ...Object.fromEntries(schema.covariates.map((c) => [c.name, null])), [NOW]: patient[NOW] });

// Nothing was learned from a covariate that nobody had a value of: it stays unknown.
export const neverKnown = ({ missing }) => missing === 1;

export function patientForm(schema, letter, values, onchange) {
  const fields = schema.covariates.map((covariate, j) =>
    field(covariate, `${letter}-${j}`, values, onchange));
  if (asksNow(schema)) fields.unshift(field(nowField(schema), `${letter}-now`, values, onchange));
  const legend = letter === "A" ? "Patient A" : "Compare with: patient B";
  const form = element("fieldset", { class: `patient ${letter.toLowerCase()}` },
    element("legend", {}, legend), ...fields.map((f) => f.node));
  return {
    node: form,
    // Marks what differs from another patient and what makes one unlike those learned from, and
    // says what is wrong with the first value that cannot be read.
    markOdd: (names) => fields.forEach((f) => f.node.classList.toggle("odd", names.includes(f.name))),
    compare: (other) => fields.forEach((f) => f.compare(other)),
    unreadable: () => fields.find((f) => f.unreadable())?.complaint,
  };
}

function field(covariate, id, values, onchange) {
  const { name, label } = covariate;
  const unit = covariate.unit ? element("span", { class: "unit" }, ` (${covariate.unit})`) : "";
  const was = element("span", { class: "was" });
  const unknown = element("input", { type: "checkbox", id: `${id}-unknown` });
  const numerical = covariate.kind === "numerical", many = covariate.levels.length > LONG_LIST;
  const inputs = (numerical ? numberInputs : many ? searchInput : levelInput)(covariate, id, write);
  const ends = covariate.required ? [covariate.low, covariate.high].map(shownTime) : [covariate.low, covariate.high];
  const range = neverKnown(covariate) ? "never known where the model learned"
    : `${covariate.required ? "from" : "usual:"} ${ends[0]} to ${ends[1]}`;
  const usual = element("span", { class: "usual", id: `${id}-usual` },
    numerical || neverKnown(covariate) ? range : many ? `${covariate.levels.length} categories; type to search` : "");
  const node = element("div", { class: "field" },
    element("label", { for: id }, label, unit), inputs.node,
    covariate.required ? "" : element("label", { class: "unknown" }, unknown, "unknown"),
    element("div", { class: "foot" }, usual, was));
  unknown.setAttribute("aria-label", `${label} unknown`);
  unknown.disabled = neverKnown(covariate);

  function warn() {
    const value = values[name], outside = numerical && value !== null && (value < covariate.low || value > covariate.high);
    node.classList.toggle("outside", outside);
    if (numerical) usual.textContent = outside ? `${range}; outside it the curves are a guess` : range;
  }
  function write(value) { values[name] = value; warn(); onchange(); }
  function show() {
    unknown.checked = values[name] === null;
    inputs.show(values[name]);
    warn();
  }
  unknown.addEventListener("change", () => {
    write(unknown.checked ? null : inputs.value() ?? covariate.typical);
    show();
  });
  show();
  return {
    node, name,
    complaint: covariate.required ? `${label} must be a number; got none. Type one.`
      : numerical ? `${label} must be a number; got none. Type one, or tick unknown.`
      : `${label} must be one of its ${covariate.levels.length} categories. Choose one from the list, or tick unknown.`,
    unreadable: () => Number.isNaN(values[name]),
    compare(other) {
      const differs = other && other[name] !== values[name];
      node.classList.toggle("changed", Boolean(differs));
      was.textContent = differs ? ` A: ${other[name] === null ? "unknown" : other[name]}` : "";
    },
  };
}

function numberInputs(covariate, id, write) {
  const number = element("input", { type: "number", id, step: "any", "aria-describedby": `${id}-usual` });
  const slider = element("input", {
    type: "range", min: covariate.low, max: covariate.high, step: covariate.step,
    "aria-label": `${covariate.label}, slider`,
  });
  number.addEventListener("input", () => {
    if (Number.isFinite(number.valueAsNumber)) slider.value = number.value;
    write(number.valueAsNumber);
  });
  slider.addEventListener("input", () => { number.value = slider.value; write(slider.valueAsNumber); });
  return {
    node: element("div", { class: "inputs" }, number, slider),
    value: () => (Number.isFinite(number.valueAsNumber) ? number.valueAsNumber : null),
    show(value) {
      number.disabled = slider.disabled = value === null;
      if (value !== null) number.value = slider.value = value;
    },
  };
}

function levelInput(covariate, id, write) {
  const select = element("select", { id, onchange: () => write(select.value) },
    ...covariate.levels.map((level) => element("option", {}, level)));
  return {
    node: element("div", { class: "inputs" }, select),
    value: () => select.value || null,
    show(value) {
      select.disabled = value === null;
      if (value !== null) select.value = value;
    },
  };
}

// A long list: typed text filters it; what is no category is not sent.
function searchInput(covariate, id, write) {
  const levels = new Set(covariate.levels);
  const input = element("input", { type: "text", id, list: `${id}-levels`, autocomplete: "off", "aria-describedby": `${id}-usual` });
  input.addEventListener("input", () => { if (levels.has(input.value)) write(input.value); });
  input.addEventListener("change", () => { if (input.value && !levels.has(input.value)) write(NaN); });
  // A browser lists only what matches the text: emptied on entering, so that all can be seen.
  input.addEventListener("focus", () => { input.placeholder = input.value; input.value = ""; });
  input.addEventListener("blur", () => {
    if (input.value) return;
    input.value = input.placeholder;
    if (levels.has(input.value)) write(input.value);
  });
  return {
    node: element("div", { class: "inputs" }, input, element("datalist", { id: `${id}-levels` },
      ...covariate.levels.map((level) => element("option", { value: level })))),
    value: () => (levels.has(input.value) ? input.value : null),
    show(value) {
      input.disabled = value === null;
      if (value !== null) input.value = value;
    },
  };
}
