// A patient's form, built from the covariates the estimator knows.

export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

export const typicalPatient = (schema) =>
  Object.fromEntries(schema.covariates.map((c) => [c.name, c.typical]));

export function patientForm(schema, letter, values, onchange) {
  const fields = schema.covariates.map((covariate, j) =>
    field(covariate, `${letter}-${j}`, values, onchange));
  const legend = letter === "A" ? "Patient A" : "Patient B, what if";
  const form = element("fieldset", { class: `patient ${letter.toLowerCase()}` },
    element("legend", {}, legend), ...fields.map((f) => f.node));
  return {
    node: form,
    // Marks what differs from another patient, and names the first covariate that cannot be read.
    compare: (other) => fields.forEach((f) => f.compare(other)),
    unreadable: () => fields.find((f) => f.unreadable())?.label,
  };
}

function field(covariate, id, values, onchange) {
  const { name, label } = covariate;
  const unit = covariate.unit ? element("span", { class: "unit" }, ` (${covariate.unit})`) : "";
  const was = element("span", { class: "was" });
  const unknown = element("input", { type: "checkbox", id: `${id}-unknown` });
  const inputs = covariate.kind === "numerical"
    ? numberInputs(covariate, id, write) : levelInput(covariate, id, write);
  const usual = covariate.kind === "numerical"
    ? element("span", { class: "usual", id: `${id}-usual` },
      `usual: ${covariate.low} to ${covariate.high}`) : "";
  const node = element("div", { class: "field" },
    element("label", { for: id }, label, unit), inputs.node,
    element("label", { class: "unknown" }, unknown, "unknown"),
    element("div", { class: "foot" }, usual, was));
  unknown.setAttribute("aria-label", `${label} unknown`);

  function write(value) { values[name] = value; onchange(); }
  function show() {
    unknown.checked = values[name] === null;
    inputs.show(values[name]);
  }
  unknown.addEventListener("change", () => {
    write(unknown.checked ? null : inputs.value() ?? covariate.typical);
    show();
  });
  show();
  return {
    node, label,
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
