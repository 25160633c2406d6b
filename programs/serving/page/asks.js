// Ask, and side by side: a question, asked of one method, or of two or three, and what came of it.

import { Answering } from "./answering.js";
import { answer_card } from "./card.js";
import { Choices, read, write } from "./choices.js";
import { button, copy, get, make, plural, said, save, unique } from "./dom.js";
import { Trace } from "./trace.js";

export class Asks {
  // `view` is the id of the section that it is shown in; there are at least and at most so many methods.
  constructor(view, title, offer, least, most) {
    Object.assign(this, { view, offer, least, most, sides: [], chosen: [] });
    const id = unique("question");
    this.status = make("p", { class: "status", role: "status" });
    this.box = make("textarea", { id, rows: 2, maxlength: 16384, placeholder: "A question that the passages can answer", keydown: (event) => this.key(event), dir: "auto" });
    this.contestants = make("div", { class: most > 1 ? "contestants" : "" });
    this.more = button("Add a third", () => this.add(), { hidden: true });
    this.go = make("button", { class: "primary" }, most > 1 ? "Ask all" : "Ask");
    this.stop = button("Stop", () => this.sides.forEach(({ answering }) => answering.abort.abort()), { hidden: true });
    this.examples = make("div", { class: "examples" });
    this.after = make("div", { class: "row actions" });
    this.columns = make("div", { class: "columns" });
    get(view).append(make("h1", {}, title),
      make("form", { class: "card form", submit: (event) => { event.preventDefault(); this.start(); } },
        make("label", { class: "big", for: id }, "Question"), this.box, this.contestants,
        make("div", { class: "row actions" }, this.go, this.stop, this.more, make("span", { class: "quiet hint" }, "Enter asks, Shift+Enter makes a new line"))),
      this.status, this.examples, this.after, this.columns);
    this.fill([]);
  }

  fill(choices) {
    this.chosen = [];
    this.contestants.replaceChildren();
    for (const choice of choices.slice(0, this.most)) this.add(choice);
    while (this.chosen.length < this.least) this.add();
  }

  // Another method than those before; of one method alone, another retriever.
  next() {
    const { methods, retrievers } = this.offer;
    const place = this.chosen.length;
    return { method: methods[place % methods.length].name, retriever: retrievers[methods.length > 1 ? 0 : place % retrievers.length] };
  }

  add(choice = this.next()) {
    const letter = "ABC"[this.chosen.length];
    const choices = new Choices(this.offer, { changed: () => this.show_examples(), label: this.most > 1 ? `Method and settings of ${letter}` : "" });
    choices.value = choice;
    this.chosen.push(choices);
    const remove = this.chosen.length > this.least ? button("Remove", () => {
      this.chosen.pop();
      box.remove();
      this.more.hidden = false;
      this.more.focus();
    }, { class: "plain", "aria-label": `Remove ${letter}` }) : null;
    const head = this.most > 1 ? make("div", { class: "head" }, make("h2", {}, letter), remove) : null;
    const box = make("div", { class: head ? "contestant" : "" }, head, choices.element);
    this.contestants.append(box);
    this.more.hidden = this.chosen.length === this.most;
    this.show_examples();
  }

  // Those of the first retriever that is chosen, until something is asked.
  show_examples() {
    const examples = this.offer.examples[this.chosen[0].value.retriever] ?? [];
    this.examples.hidden = !examples.length || this.sides.length > 0;
    this.examples.replaceChildren(make("h2", {}, "Try one of these"),
      make("ul", {}, examples.map((example) => make("li", {}, button(example, () => { this.box.value = example; this.start(); }, { class: "example" })))));
  }

  // Shows what a link carries; it asks nothing by itself, since that may cost something.
  show(parameters) {
    const question = parameters.get("question");
    if (question === null || (this.sides.length && location.hash === this.address())) return;
    this.box.value = question;
    this.fill(read(parameters));
  }

  address() {
    const parameters = new URLSearchParams({ question: this.asked });
    for (const { answering } of this.sides) write(parameters, answering.asked);
    return `#${this.view}?${parameters}`;
  }

  key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.start();
  }

  async start() {
    const question = this.box.value.trim();
    if (!question) {
      this.status.textContent = "Write a question first.";
      this.box.focus();
      return;
    }
    for (const { answering } of this.sides) answering.abort.abort();
    this.asked = question;
    const round = this.chosen.map((choices, place) => this.side(question, choices.value, "ABC"[place]));
    this.sides = round;
    this.columns.replaceChildren(...round.map(({ column }) => column));
    this.after.replaceChildren();
    this.examples.hidden = true;
    this.status.scrollIntoView({ block: "nearest" });
    history.pushState(null, "", this.address());
    this.stop.hidden = false;
    if (this.most === 1) this.go.textContent = "Ask again";
    this.tell();
    await Promise.all(round.map(({ answering }) => answering.run()));
    if (this.sides !== round) return;
    this.stop.hidden = true;
    this.end();
  }

  side(question, choice, letter) {
    const side = { letter, card: make("div", {}, make("div", { class: "card answer pending", "aria-hidden": "true" }, make("span", { class: "bar" }), make("span", { class: "bar short" }))) };
    // Of an answering that was replaced by another, nothing is shown.
    side.answering = new Answering({ question, ...choice, prompts: true }, (step) => { if (this.sides.includes(side)) this.told(side, step); });
    side.trace = new Trace(side.answering);
    const name = this.most > 1 ? make("p", { class: "name" }, make("b", {}, letter), " ", name_of(choice)) : null;
    side.column = make("section", { class: "column", "aria-label": this.most > 1 ? letter : "Steps" }, name, side.card, make("h2", {}, "Steps"), side.trace.element);
    return side;
  }

  told({ answering, card, trace }, step) {
    if (step) trace.add(step);
    else trace.end();
    if (answering.state !== "under way" || answering.answer !== null) card.replaceChildren(answer_card(answering));
    this.tell();
  }

  tell() {
    this.status.textContent = this.sides.map(({ letter, answering }) => `${this.most > 1 ? `${letter}: ` : ""}${answering.progress}`).join(". ");
  }

  // What can be taken away; and which passages all of several found, and which only one of them, which are marked.
  end() {
    const status = make("span", { role: "status" });
    const downloads = this.sides.filter(({ answering }) => answering.record).map(({ letter, answering: { record } }) =>
      button(this.most > 1 ? `Download ${letter}` : "Download trace", () => save(`trace-${record.id}.json`, JSON.stringify(record, null, 2), "application/json")));
    this.after.replaceChildren(button("Copy link", () => copy(new URL(this.address(), location.href).href, status)), ...downloads, status);
    if (this.sides.length < 2) return;
    const finders = new Map(); // by the passage's id: the passage, and the sides that found it
    for (const side of this.sides) for (const [id, passage] of side.answering.passages) {
      if (!finders.has(id)) finders.set(id, { passage, by: [] });
      finders.get(id).by.push(side);
    }
    const found = (all, side) => [...finders.values()].filter(({ by }) => (all ? by.length === this.sides.length : by.length === 1 && by[0] === side)).map(({ passage }) => passage);
    const line = (who, passages) => (passages.length ? make("p", { class: "quiet shared" }, `${who} found ${plural(passages.length, "passage")}: `, passages.flatMap((passage, place) => [place ? ", " : "", said(passage.title || passage.id)])) : "");
    for (const side of this.sides) for (const { id } of found(false, side)) for (const item of side.trace.items(id)) item.classList.add("only");
    this.after.append(line("All of them", found(true)), ...this.sides.map((side) => line(`${side.letter} alone`, found(false, side))));
  }
}

function name_of({ method, retriever, settings }) {
  const changed = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return make("span", {}, said(method), make("span", { class: "quiet" }, [retriever && ` with ${retriever}`, ...changed].filter(Boolean).join(", ")));
}
