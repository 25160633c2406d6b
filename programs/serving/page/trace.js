// The steps of one question, as they happen or as a run has recorded them.

import { make, plural, said, seconds, unfold, whole } from "./dom.js";
import { mark, passage_list } from "./passages.js";

export class Trace {
  // `of` has the `fates` of passages by their ids, the `passages` by their ids, and the `seconds` that have passed, if any.
  constructor(of) {
    this.of = of;
    this.queries = new Map(); // by number: where its passages belong
    this.waiting = make("li", { class: "step waiting" }, make("p", { class: "quiet" }, "Waiting for the next step …"));
    this.element = make("ol", { class: "steps" }, this.waiting);
  }

  add(step) {
    switch (step.kind) {
      case "query": this.query(step); break;
      case "passages": this.found(step); break;
      case "call": this.call(step); break;
      case "turn": this.turn(step); break;
      case "kept": case "dropped": for (const item of this.items(step.passage)) mark(item, step); break;
    }
  }

  end() {
    this.waiting.remove();
    for (const { place, status } of this.queries.values()) if (!place.childElementCount) status.textContent = "";
    if (!this.element.childElementCount) this.element.append(make("li", { class: "step" }, make("p", { class: "quiet" }, "There were no steps.")));
  }

  // Where a passage stands in the lists.
  items(id) {
    return [...this.element.querySelectorAll(".passage")].filter((item) => item.dataset.id === id);
  }

  step(kind, name, about, ...content) {
    const passed = this.of.seconds;
    const when = passed === undefined ? null : make("span", { class: "when quiet" }, seconds(passed));
    const item = make("li", { class: `step ${kind}` }, make("div", { class: "head" }, make("h4", {}, name), about, when), content);
    if (this.waiting.parentNode) this.waiting.before(item);
    else this.element.append(item);
  }

  query({ number, text }) {
    const place = make("div", {});
    const status = make("span", { class: "quiet" }, "searching …");
    this.queries.set(number, { place, status });
    this.step("query", `Search ${number}`, status, make("p", { class: "query-text", dir: "auto" }, text), place);
  }

  found({ query, passages }) {
    const { place, status } = this.queries.get(query) ?? {};
    if (!place) return;
    status.textContent = passages === null ? "" : plural(passages.length, "passage");
    if (passages === null) place.replaceChildren(make("p", { class: "bad" }, "The search failed."));
    else place.replaceChildren(...passage_list(passages));
    for (const item of place.querySelectorAll(".passage")) {
      if (this.of.fates.has(item.dataset.id)) mark(item, this.of.fates.get(item.dataset.id));
    }
  }

  call({ predictor, seconds: took, input_tokens, output_tokens, prompt }) {
    const tokens = `${whole(input_tokens ?? 0)} tokens in, ${whole(output_tokens ?? 0)} out`;
    const about = make("span", { class: "quiet" }, `${seconds(took)} · ${tokens}`);
    this.step("call", make("span", {}, "LM call: ", make("code", {}, predictor)), about, prompt ? unfold("What it was shown and replied", () => messages(prompt), { class: "fold" }) : null);
  }

  turn({ number, shown }) {
    const about = make("span", { class: "quiet" }, shown === null ? "" : `${plural(shown.length, "passage")} read`);
    const titles = (shown ?? []).map((id) => make("li", {}, said(this.of.passages.get(id)?.title || id)));
    this.step("turn", `Round ${number}`, about, titles.length ? make("ul", { class: "chips" }, titles) : null);
  }
}

// What a predictor was shown, and what it replied.
export function messages({ messages: shown, reply }) {
  return [...shown.map((message) => said_by(message.role, message.content ?? message.text)), said_by("reply", reply)];
}

function said_by(role, text) {
  const words = typeof text === "string" ? text : JSON.stringify(text, null, 2);
  return make("div", { class: `message ${role === "reply" ? "reply" : ""}` }, make("h5", {}, role), make("pre", { tabindex: "0", dir: "auto" }, words ?? ""));
}
