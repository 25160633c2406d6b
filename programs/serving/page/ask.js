// Ask: one question, its steps as they happen, and the answer with what it rests on.

import { Answering } from "./answering.js";
import { Choices, read, write } from "./choices.js";
import { answer_card } from "./card.js";
import { button, copy, get, make, save } from "./dom.js";
import { Question } from "./question.js";
import { Trace } from "./trace.js";

export class Ask {
  constructor(offer) {
    this.answering = null;
    this.offer = offer;
    this.choices = new Choices(offer, { changed: () => this.show_examples() });
    this.status = make("p", { class: "status", role: "status" });
    this.question = new Question("A question that the passages can answer", this.status, () => this.start());
    this.go = make("button", { class: "primary" }, "Ask");
    this.stop = button("Stop", () => this.answering.stop(), { hidden: true });
    this.form = make("form", { class: "card form", submit: (event) => { event.preventDefault(); this.start(); } },
      this.question.elements,
      this.choices.element,
      make("div", { class: "row actions" }, this.go, this.stop, make("span", { class: "quiet hint" }, "Enter asks, Shift+Enter makes a new line")));
    this.examples = make("div", { class: "examples" });
    this.show_examples();
    this.result = make("div", { class: "result" });
    get("ask").append(make("h1", {}, "Ask"), this.form, this.status, this.examples, this.result);
  }

  // Those of the chosen retriever, until something is asked.
  show_examples() {
    const examples = this.offer.examples[this.choices.value.retriever] ?? [];
    this.examples.hidden = !examples.length || this.answering !== null;
    this.examples.replaceChildren(make("h2", {}, "Try one of these"),
      make("ul", {}, examples.map((example) => make("li", {}, button(example, () => { this.question.text = example; this.start(); }, { class: "example" })))));
  }

  // Shows what a link carries; it asks nothing by itself, since that may cost something.
  show(parameters) {
    const question = parameters.get("question");
    if (question === null || (this.answering && location.hash === this.link())) return;
    this.question.text = question;
    const [choice] = read(parameters);
    if (choice) this.choices.value = choice;
  }

  link() {
    const parameters = new URLSearchParams({ question: this.answering.asked.question });
    write(parameters, this.answering.asked);
    return `#ask?${parameters}`;
  }

  async start() {
    const question = this.question.read();
    if (!question) return;
    this.answering?.stop();
    const answering = new Answering({ question, ...this.choices.value, prompts: true }, (step) => this.told(answering, step));
    this.answering = answering;
    this.trace = new Trace(answering);
    this.card = make("div", {});
    this.after = make("p", { class: "row actions" });
    this.result.replaceChildren(this.card, make("section", { "aria-label": "Steps" }, make("h2", {}, "Steps"), this.trace.element));
    this.examples.hidden = true;
    this.status.scrollIntoView({ block: "nearest" });
    history.pushState(null, "", this.link());
    this.busy(true);
    this.draw();
    await answering.run();
  }

  busy(is) {
    this.stop.hidden = !is;
    this.go.textContent = this.answering ? "Ask again" : "Ask";
  }

  // A step of this answering; of one that was replaced by another, nothing is shown.
  told(answering, step) {
    if (answering !== this.answering) return;
    if (step) this.trace.add(step);
    else {
      this.trace.end();
      this.busy(false);
    }
    this.draw();
  }

  draw() {
    const { answering } = this;
    this.status.textContent = answering.progress;
    const over = answering.state !== "under way";
    if (over || answering.answer !== null) this.card.replaceChildren(answer_card(answering, over ? this.actions() : null));
    else if (!this.card.childElementCount) this.card.append(make("div", { class: "card answer pending", "aria-hidden": "true" }, make("span", { class: "bar" }), make("span", { class: "bar short" })));
  }

  actions() {
    const { record } = this.answering;
    const status = make("span", { role: "status" });
    return make("div", { class: "row actions" },
      button("Copy link", () => copy(new URL(this.link(), location.href).href, status)),
      record && button("Download trace", () => save(`trace-${record.id}.json`, JSON.stringify(record, null, 2), "application/json")),
      status);
  }
}
