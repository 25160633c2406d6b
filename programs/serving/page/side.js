// Side by side: two or three methods or retrievers on the same question.

import { Answering } from "./answering.js";
import { answer_card } from "./card.js";
import { Choices, read, write } from "./choices.js";
import { button, copy, get, make, plural, said } from "./dom.js";
import { Question } from "./question.js";
import { Trace } from "./trace.js";

const MOST = 3;

export class Side {
  constructor(offer) {
    this.offer = offer;
    this.sides = [];
    this.status = make("p", { class: "status", role: "status" });
    this.question = new Question("The question that all of them are asked", this.status, () => this.start());
    this.contestants = make("div", { class: "contestants" });
    this.more = button("Add a third", () => this.add());
    this.stop = button("Stop", () => this.sides.forEach(({ answering }) => answering.stop()), { hidden: true });
    this.share = make("span", { role: "status" });
    this.example = button("Use an example", () => this.use_example());
    this.link = button("Copy link", () => copy(new URL(this.address(), location.href).href, this.share), { hidden: true });
    this.grid = make("div", { class: "columns" });
    this.shared = make("div", { class: "shared" });
    get("side").append(make("h1", {}, "Side by side"),
      make("form", { class: "card form", submit: (event) => { event.preventDefault(); this.start(); } },
        this.question.elements, this.contestants,
        make("div", { class: "row actions" }, make("button", { class: "primary" }, "Ask all"), this.stop, this.more, this.example, this.link, this.share)),
      this.status, this.shared, this.grid);
    this.fill([]);
  }

  // As many as there are choices, and at least two.
  fill(choices) {
    this.chosen = [];
    this.contestants.replaceChildren();
    for (const choice of choices.slice(0, MOST)) this.add(choice);
    while (this.chosen.length < 2) this.add();
  }

  // Another method than those before; of one method alone, another retriever.
  next() {
    const { methods, retrievers } = this.offer;
    const place = this.chosen.length;
    return { method: methods[place % methods.length].name, retriever: retrievers[methods.length > 1 ? 0 : place % retrievers.length] };
  }

  add(choice = this.next()) {
    const letter = "ABC"[this.chosen.length];
    const choices = new Choices(this.offer, { label: `Method and settings of ${letter}` });
    choices.value = choice;
    this.chosen.push(choices);
    const remove = this.chosen.length > 2 ? button("Remove", () => {
      this.chosen.pop();
      box.remove();
      this.more.hidden = false;
      this.more.focus();
    }, { class: "plain", "aria-label": `Remove ${letter}` }) : null;
    const box = make("div", { class: "contestant" }, make("div", { class: "head" }, make("h2", {}, letter), remove), choices.element);
    this.contestants.append(box);
    this.more.hidden = this.chosen.length === MOST;
  }

  show(parameters) {
    const question = parameters.get("question");
    if (question === null || (this.sides.length && location.hash === this.address())) return;
    this.question.text = question;
    this.fill(read(parameters));
  }

  use_example() {
    const examples = this.offer.examples[this.chosen[0].value.retriever] ?? [];
    if (examples.length) this.question.text = examples[(examples.indexOf(this.question.text) + 1) % examples.length];
  }

  address() {
    const parameters = new URLSearchParams({ question: this.asked });
    for (const { answering } of this.sides) write(parameters, answering.asked);
    return `#side?${parameters}`;
  }

  async start() {
    const question = this.question.read();
    if (!question) return;
    for (const { answering } of this.sides) answering.stop();
    this.asked = question;
    const round = this.chosen.map((choices, place) => {
      const side = { letter: "ABC"[place], card: make("div", {}) };
      side.answering = new Answering({ question, ...choices.value }, (step) => { if (this.sides === round) this.told(side, step); });
      side.trace = new Trace(side.answering);
      side.column = make("section", { class: "column", "aria-label": side.letter }, make("p", { class: "name" }, make("b", {}, side.letter), " ", name_of(side.answering.asked)), side.card, side.trace.element);
      return side;
    });
    this.sides = round;
    this.grid.replaceChildren(...round.map(({ column }) => column));
    this.shared.replaceChildren();
    this.status.scrollIntoView({ block: "nearest" });
    history.pushState(null, "", this.address());
    this.stop.hidden = false;
    this.link.hidden = false;
    this.tell();
    await Promise.all(round.map(({ answering }) => answering.run()));
    if (this.sides !== round) return;
    this.stop.hidden = true;
    this.differences();
  }

  told({ answering, card, trace }, step) {
    if (step) trace.add(step);
    else trace.end();
    if (answering.state !== "under way" || answering.answer !== null) card.replaceChildren(answer_card(answering));
    this.tell();
  }

  tell() {
    this.status.textContent = this.sides.map(({ letter, answering }) => `${letter}: ${answering.progress}`).join(". ");
  }

  // Which passages all of them found, and which only one of them, which are marked.
  differences() {
    const finders = new Map(); // by the passage's id: the passage, and the sides that found it
    for (const side of this.sides) for (const [id, passage] of side.answering.passages) {
      if (!finders.has(id)) finders.set(id, { passage, by: [] });
      finders.get(id).by.push(side);
    }
    const all = [...finders.values()].filter(({ by }) => by.length === this.sides.length).map(({ passage }) => passage);
    const names = (passages) => passages.flatMap((passage, place) => [place ? ", " : "", said(passage.title || passage.id)]);
    const lines = all.length ? [make("p", { class: "quiet" }, `All of them found ${plural(all.length, "passage")}: `, names(all))] : [];
    for (const side of this.sides) {
      const own = [...finders.values()].filter(({ by }) => by.length === 1 && by[0] === side).map(({ passage }) => passage);
      for (const { id } of own) for (const item of side.trace.items(id)) item.classList.add("only");
      if (own.length) lines.push(make("p", { class: "quiet" }, make("b", {}, side.letter), ` alone found ${plural(own.length, "passage")}: `, names(own)));
    }
    this.shared.replaceChildren(...lines);
  }
}

function name_of({ method, retriever, settings }) {
  const changed = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return make("span", {}, said(method), make("span", { class: "quiet" }, [retriever && ` with ${retriever}`, ...changed].filter(Boolean).join(", ")));
}
