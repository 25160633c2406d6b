// What a question is asked with: a method, its settings, and a retriever.

import { make, said, unique } from "./dom.js";

// The control of a setting, and its value; undefined where the method's own is to be taken.
function control(setting, id) {
  const { type, default: usual, choices } = setting;
  if (type === "truth") {
    const box = make("input", { type: "checkbox", id });
    return { element: box, fill: (value) => { box.checked = Boolean(value); }, value: () => box.checked };
  }
  if (type === "choice") {
    const select = make("select", { id }, (choices || []).map((choice) => make("option", { value: JSON.stringify(choice) }, String(choice ?? "none"))));
    return { element: select, fill: (value) => { select.value = JSON.stringify(value); }, value: () => JSON.parse(select.value) };
  }
  const number = type === "integer" || type === "number";
  // A text names a model, which only the one who starts the server chooses.
  const field = make("input", { id, type: number ? "number" : "text", step: type === "integer" ? 1 : "any", readonly: !number, placeholder: usual === null ? "none" : null });
  const read = () => (field.value === "" ? usual : number ? Number(field.value) : field.value);
  return { element: field, fill: (value) => { field.value = value ?? ""; }, value: read };
}

// A group of controls. `changed` is called when anything of it was changed.
export class Choices {
  constructor(offer, { changed = () => {}, label = "" } = {}) {
    this.offer = offer;
    this.changed = changed;
    const [method, retriever] = [unique("method"), unique("retriever")];
    const option = (name, line) => make("option", { value: name, title: line || null }, name);
    this.methods = make("select", { id: method, change: () => { this.show({}); changed(); } }, offer.methods.map(({ name, line }) => option(name, line)));
    this.retrievers = make("select", { id: retriever, change: changed }, offer.retrievers.map((name) => option(name)));
    this.searching = make("div", { class: "field" }, make("label", { for: retriever }, "Retriever"), this.retrievers);
    this.line = make("p", { class: "quiet line" });
    this.settings = make("div", { class: "settings" });
    this.count = make("span", { class: "quiet" });
    this.fold = make("details", { class: "fold" }, make("summary", {}, "Settings ", this.count), this.settings);
    this.element = make("div", { class: "choices", role: "group", "aria-label": label || "Method and settings" },
      make("div", { class: "row" },
        make("div", { class: "field" }, make("label", { for: method }, "Method"), this.methods),
        this.searching),
      this.line, this.fold);
    this.show({});
  }

  get method() {
    return this.offer.methods.find(({ name }) => name === this.methods.value);
  }

  // The controls of the chosen method, with these values where they are given.
  show(values) {
    const { line, settings, searches } = this.method;
    this.line.replaceChildren(line || "");
    this.searching.hidden = !searches;
    this.fold.hidden = settings.length === 0;
    this.controls = settings.map((setting) => {
      const id = unique("setting");
      const made = control(setting, id);
      made.fill(setting.name in values ? values[setting.name] : setting.default);
      made.element.addEventListener("input", () => { this.tell(); this.changed(); });
      return { setting, id, ...made };
    });
    this.settings.replaceChildren(...this.controls.map(({ setting, id, element }) => {
      const help = unique("help");
      const usual = setting.type === "truth" ? (setting.default ? "on" : "off") : String(setting.default ?? "none");
      element.setAttribute("aria-describedby", help);
      return make("div", { class: `field ${setting.type}` },
        make("label", { for: id }, make("code", {}, setting.name)), element,
        make("p", { class: "quiet", id: help }, setting.help ? `${setting.help} ` : "", make("span", { class: "usual" }, "Default: ", said(usual))));
    }));
    this.tell();
  }

  tell() {
    const changed = Object.keys(this.changed_settings()).length;
    this.count.textContent = changed ? `${changed} changed` : "as the method has them";
    for (const { setting, value, element } of this.controls) {
      element.closest(".field").classList.toggle("changed", value() !== setting.default);
    }
  }

  changed_settings() {
    return Object.fromEntries(this.controls.filter(({ setting, value }) => value() !== setting.default).map(({ setting, value }) => [setting.name, value()]));
  }

  // As /v1/answers takes it.
  get value() {
    const { name, searches } = this.method;
    return { method: name, settings: this.changed_settings(), ...(searches && this.offer.retrievers.length ? { retriever: this.retrievers.value } : {}) };
  }

  set value({ method, retriever, settings = {} }) {
    if (this.offer.methods.some(({ name }) => name === method)) this.methods.value = method;
    if (this.offer.retrievers.includes(retriever)) this.retrievers.value = retriever;
    this.show(settings);
    if (Object.keys(settings).length) this.fold.open = true;
  }
}

// Adds a choice to the parameters of a link.
export function write(parameters, { method, retriever, settings }) {
  parameters.append("method", method);
  parameters.append("retriever", retriever ?? "");
  parameters.append("settings", Object.keys(settings).length ? JSON.stringify(settings) : "");
}

// The choices in the parameters of a link. What somebody has changed so that it cannot be read is left out.
export function read(parameters) {
  const [retrievers, settings] = [parameters.getAll("retriever"), parameters.getAll("settings")];
  return parameters.getAll("method").map((method, place) => ({ method, retriever: retrievers[place], settings: object(settings[place]) }));
}

function object(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}
