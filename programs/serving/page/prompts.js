// Prompts: what each predictor was shown and replied for the last answer, and what its prompt is made of.

import { disclosure, get, make, plural, said, unique, whole } from "./dom.js";
import { ServerError, json } from "./server.js";
import { messages } from "./trace.js";

export class Prompts {
  constructor(offer, last) {
    this.offer = offer;
    this.last = last; // () => the last answering, or null
    const id = unique("method");
    this.method = make("select", { id, change: () => this.load() }, offer.methods.map(({ name }) => make("option", { value: name }, name)));
    this.calls = make("section", { "aria-label": "The last answer" });
    this.parts = make("div", {});
    get("prompts").append(make("h1", {}, "Prompts"), this.calls,
      make("section", { "aria-label": "Predictors" },
        make("div", { class: "head" }, make("h2", {}, "What the prompts are made of"), make("div", { class: "field across" }, make("label", { for: id }, "Method"), this.method)),
        this.parts));
  }

  show() {
    const answering = this.last();
    const asked = answering?.asked.method;
    if (asked && answering !== this.shown) this.method.value = asked;
    if (answering !== this.shown || !this.loaded) this.load();
    this.shown = answering;
    this.draw_calls(answering);
  }

  draw_calls(answering) {
    const prompts = answering?.record?.prompts;
    const head = make("h2", {}, "The last answer");
    if (!prompts) {
      const words = answering?.state === "under way" ? "The question is under way; its prompts are shown when it is answered." : "Ask a question, and every call of the language model is shown here with its reply.";
      this.calls.replaceChildren(head, make("div", { class: "card empty" }, make("p", {}, words), make("p", {}, make("a", { href: "#ask" }, "Ask a question"))));
      return;
    }
    this.calls.replaceChildren(head,
      make("p", { dir: "auto" }, make("b", {}, answering.asked.question), make("span", { class: "quiet" }, ` ${answering.asked.method}, ${plural(prompts.length, "call")}`)),
      make("ol", { class: "calls" }, prompts.map((call, place) => {
        const body = make("div", { id: unique("call") });
        body.append(...messages(call));
        const open = disclosure(make("span", {}, `${place + 1}. `, make("code", {}, said(call.predictor))), body, { "aria-controls": body.id });
        return make("li", { class: "card call" }, make("div", { class: "head" }, make("h3", {}, open), make("span", { class: "quiet" }, `${whole(call.input_tokens ?? 0)} tokens in, ${whole(call.output_tokens ?? 0)} out`)), body);
      })));
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
  return make("section", { class: "card predictor", "aria-label": `Predictor ${name}` },
    make("h3", {}, make("code", {}, said(name))),
    make("p", { class: "quiet" }, fields_of(fields)),
    make("div", { class: "states" }, states.map(([when, { instructions, demonstrations }]) => make("div", { class: "state" },
      when ? make("h4", {}, when) : null,
      make("pre", { dir: "auto", tabindex: "0" }, instructions),
      demonstrations_of(demonstrations ?? [])))));
}

// What it is given, and what it replies.
function fields_of(fields) {
  const names = (wanted) => fields.filter(({ kind }) => kind === wanted).map(({ name }) => name).join(", ");
  return `${names("input")} → ${names("output")}`;
}

function demonstrations_of(demonstrations) {
  if (!demonstrations.length) return make("p", { class: "quiet" }, "No demonstrations");
  const body = make("ol", { class: "demonstrations", id: unique("demonstrations") }, demonstrations.map((demonstration) =>
    make("li", {}, make("dl", {}, Object.entries(demonstration).map(([field, value]) => make("div", {}, make("dt", {}, said(field)), make("dd", { dir: "auto" }, typeof value === "string" ? value : JSON.stringify(value))))))));
  return make("div", {}, disclosure(plural(demonstrations.length, "demonstration"), body, { "aria-controls": body.id }), body);
}
