// Prompts: what each predictor's prompt is made of, as served and before compiling.

import { get, make, plural, said, unfold, unique } from "./dom.js";
import { ServerError, json } from "./server.js";

export class Prompts {
  constructor(offer) {
    const id = unique("method");
    this.method = make("select", { id, change: () => this.load() }, offer.methods.map(({ name }) => make("option", { value: name }, name)));
    this.parts = make("div", {});
    get("prompts").append(make("h1", {}, "Prompts"),
      make("div", { class: "head" }, make("h2", {}, "What the prompts are made of"), make("div", { class: "field across" }, make("label", { for: id }, "Method"), this.method)),
      make("p", { class: "quiet" }, "What an LM call was shown and replied stands under the steps of each answer."),
      this.parts);
  }

  show() {
    if (!this.loaded) this.load();
  }

  async load() {
    const method = this.method.value;
    this.loaded = true;
    try {
      const { predictors } = await json(`/v1/prompts/${encodeURIComponent(method)}`);
      if (method !== this.method.value) return;
      const compiled = predictors.some(({ before }) => before);
      this.parts.replaceChildren(
        make("p", { class: "quiet" }, compiled ? "This method is served with a compiled state: beside each prompt stands what it was before." : "This method is served as it is written, without a compiled state."),
        ...predictors.map(predictor));
      if (!predictors.length) this.parts.append(make("p", { class: "quiet" }, "This method asks no language model."));
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this.parts.replaceChildren(make("p", { class: "bad", role: "alert" }, error.message));
    }
  }
}

function predictor({ name, fields, before, ...served }) {
  const states = before ? [["Before compiling", before], ["As served", served]] : [["", served]];
  const names = (wanted) => fields.filter(({ kind }) => kind === wanted).map((field) => field.name).join(", ");
  return make("section", { class: "card predictor", "aria-label": `Predictor ${name}` },
    make("h3", {}, make("code", {}, said(name))),
    make("p", { class: "quiet" }, `${names("input")} → ${names("output")}`),
    make("div", { class: "states" }, states.map(([when, { instructions, demonstrations }]) => make("div", { class: "state" },
      when ? make("h4", {}, when) : null,
      make("pre", { dir: "auto", tabindex: "0" }, instructions),
      demonstrations_of(demonstrations ?? [])))));
}

function demonstrations_of(demonstrations) {
  if (!demonstrations.length) return make("p", { class: "quiet" }, "No demonstrations");
  return unfold(plural(demonstrations.length, "demonstration"), () => make("ol", { class: "demonstrations" }, demonstrations.map((demonstration) =>
    make("li", {}, make("dl", {}, Object.entries(demonstration).map(([field, value]) => make("div", {}, make("dt", {}, said(field)), make("dd", { dir: "auto" }, typeof value === "string" ? value : JSON.stringify(value)))))))), { class: "fold" });
}
