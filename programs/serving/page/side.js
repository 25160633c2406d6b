// Side by side: two or three methods or retrievers on the same question, aligned by step.

import { Answering } from "./answering.js";
import { costs } from "./card.js";
import { Choices, read, write } from "./choices.js";
import { button, copy, get, make, plural, said, seconds, whole } from "./dom.js";
import { mark, passage_list } from "./passages.js";
import { Question } from "./question.js";

const MOST = 3;
const AT_ONCE = 5; // passages of a list

export class Side {
  constructor(offer) {
    this.offer = offer;
    this.sides = [];
    this.rows = new Map();
    this.status = make("p", { class: "status", role: "status" });
    this.question = new Question("The question that all of them are asked", this.status, () => this.start());
    this.contestants = make("div", { class: "contestants" });
    this.more = button("Add a third", () => this.add());
    this.stop = button("Stop", () => this.sides.forEach(({ answering }) => answering.stop()), { hidden: true });
    this.share = make("span", { role: "status" });
    this.grid = make("div", { class: "grid" });
    this.example = button("Use an example", () => this.use_example());
    this.link = button("Copy link", () => copy(new URL(this.address(), location.href).href, this.share), { hidden: true });
    get("side").append(make("h1", {}, "Side by side"),
      make("form", { class: "card form", submit: (event) => { event.preventDefault(); this.start(); } },
        this.question.elements, this.contestants,
        make("div", { class: "row actions" }, make("button", { class: "primary" }, "Ask all"), this.stop, this.more, this.example, this.link, this.share)),
      this.status, this.grid);
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
    this.rows.clear();
    this.grid.replaceChildren();
    this.grid.dataset.sides = this.chosen.length;
    const round = this.chosen.map((choices, place) => {
      const side = { letter: "ABC"[place], place };
      side.answering = new Answering({ question, ...choices.value }, (step) => { if (this.sides === round) this.told(side, step); });
      return side;
    });
    this.sides = round;
    this.status.scrollIntoView({ block: "nearest" });
    history.pushState(null, "", this.address());
    this.stop.hidden = false;
    this.link.hidden = false;
    this.row("head", "", (side) => [make("p", { class: "name" }, make("b", {}, side.letter), " ", name_of(side.answering.asked))], "names");
    this.row("answer", "Answer", (side) => answer_of(side.answering));
    this.tell();
    await Promise.all(round.map(({ answering }) => answering.run()));
    if (this.sides === round) this.end();
  }

  // A row of the grid, with a cell for each side; made when it is first needed.
  row(key, heading, content, kind = "") {
    let row = this.rows.get(key);
    if (!row) {
      const cells = this.sides.map(({ letter }) => make("div", { class: "cell" }, make("span", { class: "who" }, letter)));
      row = { cells, element: make("section", { class: `line ${kind}`, "aria-label": heading || "Asked" }, heading ? make("h3", {}, heading) : null, make("div", { class: "cells" }, cells)) };
      this.rows.set(key, row);
      this.grid.append(row.element);
    }
    if (content) for (const side of this.sides) this.fill_cell(row, side, content(side));
    return row;
  }

  fill_cell(row, side, content) {
    const cell = row.cells[side.place];
    cell.replaceChildren(cell.firstChild, ...content);
  }

  told(side, step) {
    const { answering } = side;
    if (step?.kind === "query" || step?.kind === "passages") {
      const number = step.number ?? step.query;
      const query = answering.queries.find((one) => one.number === number);
      if (query) this.fill_cell(this.row(`search-${number}`, `Search ${number}`), side, search_of(query));
    }
    if (step === null || step.kind === "answer") this.fill_cell(this.row("answer"), side, answer_of(answering));
    this.tell();
  }

  tell() {
    this.status.textContent = this.sides.map(({ letter, answering }) => `${letter}: ${answering.progress}`).join(". ");
  }

  // What can be said only when all have ended.
  end() {
    this.stop.hidden = true;
    this.differences();
    const asked = this.sides.some(({ answering }) => answering.calls.length);
    const stated = this.sides.some(({ answering }) => answering.statements.length);
    for (const [key, row] of this.rows) {
      if (key.startsWith("search-")) for (const side of this.sides) if (row.cells[side.place].childElementCount === 1) this.fill_cell(row, side, [nothing("No further search")]);
    }
    if (asked) this.row("calls", "LM calls", ({ answering }) => calls_of(answering));
    if (stated) this.row("statements", "Statements", ({ answering }) => [answering.statements.length ? make("ol", {}, answering.statements.map(({ text }) => make("li", { dir: "auto" }, text))) : nothing("None")]);
    this.row("cost", "Cost", ({ answering }) => [answering.cost ? costs(answering.cost) : nothing("Unknown: it did not end")]);
  }

  // Which passages only some of them found; and in the searches, what became of each passage.
  differences() {
    const finders = new Map(); // by the passage's id: the letters of those that found it
    for (const { letter, answering } of this.sides) {
      for (const { passages } of answering.queries) for (const passage of passages ?? []) {
        if (!finders.has(passage.id)) finders.set(passage.id, { passage, letters: new Set() });
        finders.get(passage.id).letters.add(letter);
      }
    }
    const found = [...finders.values()];
    const all = found.filter(({ letters }) => letters.size === this.sides.length);
    const some = found.filter(({ letters }) => letters.size > 1 && letters.size < this.sides.length);
    if (found.length) {
      const row = this.row("found", "What only one of them found", ({ letter }) => {
        const own = found.filter(({ letters }) => letters.size === 1 && letters.has(letter)).map(({ passage }) => passage);
        return own.length ? passage_list(own, AT_ONCE) : [nothing("Nothing that the others did not find")];
      });
      const shared = [[all, `All of them found`], [some, "Two of them found"]].filter(([group]) => group.length).map(([group, words]) =>
        make("p", { class: "quiet shared" }, `${words} ${plural(group.length, "passage")}: `,
          group.flatMap(({ passage, letters }, place) => [place ? ", " : "", said(passage.title || passage.id), group === some ? ` (${[...letters].join(", ")})` : ""])));
      row.element.append(...shared);
      this.rows.get("answer").element.after(row.element);
    }
    for (const { answering, place } of this.sides) {
      for (const { cells } of this.rows.values()) for (const item of cells[place].querySelectorAll(".passage")) {
        const { id } = item.dataset;
        if (answering.fates.has(id)) mark(item, answering.fates.get(id));
        if (finders.get(id)?.letters.size === 1) item.classList.add("only");
      }
    }
  }
}

const nothing = (words) => make("p", { class: "quiet" }, words);

function name_of({ method, retriever, settings }) {
  const changed = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return make("span", {}, said(method), make("span", { class: "quiet" }, [retriever && ` with ${retriever}`, ...changed].filter(Boolean).join(", ")));
}

function answer_of({ state, answer, error, record }) {
  if (state === "failed") return [make("p", { class: "bad" }, error)];
  if (state === "stopped") return [nothing("Stopped")];
  if (!answer) return [nothing(state === "under way" ? "Answering …" : record?.note || "No answer")];
  return [make("p", { class: "answer-text", dir: "auto" }, answer)];
}

function search_of({ text, passages }) {
  const query = make("p", { class: "query-text", dir: "auto" }, text);
  if (passages === undefined) return [query, nothing("searching …")];
  return [query, ...(passages === null ? [make("p", { class: "bad" }, "The search failed.")] : passage_list(passages, AT_ONCE))];
}

function calls_of({ calls }) {
  if (!calls.length) return [nothing("Not asked")];
  return [make("ol", {}, calls.map(({ predictor, seconds: took, input_tokens, output_tokens }) =>
    make("li", {}, make("code", {}, said(predictor)), make("span", { class: "quiet" }, ` ${seconds(took)}, ${whole(input_tokens ?? 0)} tokens in, ${whole(output_tokens ?? 0)} out`))))];
}
