// A question that is asked: its steps so far, and what became of it.

import { plural } from "./dom.js";
import { ServerError, answer } from "./server.js";

export class Answering {
  // `told` is called with each step, and with null when it has ended.
  constructor(asked, told) {
    this.asked = asked;
    this.told = told;
    this.state = "under way"; // then: answered, stopped, failed
    this.error = "";
    this.queries = []; // { number, text, passages: list, null where the search failed, or undefined while it runs }
    this.calls = [];
    this.turns = [];
    this.fates = new Map(); // by id of the passage: the step kept or dropped
    this.statements = [];
    this.answer = null;
    this.cost = null;
    this.record = null;
    this.abort = new AbortController();
    this.began = performance.now();
  }

  stop() {
    this.abort.abort();
  }

  get seconds() {
    return (performance.now() - this.began) / 1000;
  }

  // Returns when it has ended, however it did.
  async run() {
    try {
      const steps = answer(this.asked, this.abort.signal);
      for (;;) {
        const { value, done } = await steps.next();
        if (done) {
          this.record = value;
          break;
        }
        this.take(value);
        this.told(value);
      }
      this.state = "answered";
      this.answer ??= this.record.answer;
      this.cost ??= this.record.cost;
    } catch (error) {
      if (error.name === "AbortError") this.state = "stopped";
      else {
        this.state = "failed";
        this.error = error instanceof ServerError ? error.message : "The connection broke off before the answer was there.";
        if (!(error instanceof ServerError)) console.error(error);
      }
    }
    this.told(null);
  }

  take(step) {
    switch (step.kind) {
      case "query": this.queries.push({ number: step.number, text: step.text, passages: undefined }); break;
      case "passages": {
        const query = this.queries.find(({ number }) => number === step.query);
        if (query) query.passages = step.passages;
        break;
      }
      case "call": this.calls.push(step); break;
      case "turn": this.turns.push(step); break;
      case "kept": case "dropped": this.fates.set(step.passage, step); break;
      case "text": this.answer = (this.answer ?? "") + step.text; break;
      case "statement": this.statements.push(step); break;
      case "answer": this.answer = step.text; break;
      case "cost": this.cost = step; break;
    }
  }

  // All passages that are known, by id, as they were found first; at the end also those that no search found.
  get passages() {
    const found = new Map(Object.entries(this.record?.passages ?? {}));
    for (const { passages } of this.queries) for (const passage of passages ?? []) found.set(passage.id, passage);
    return found;
  }

  // Ids of the passages that say the answer, in the order in which they are numbered.
  get sources() {
    return [...this.fates.values()].filter(({ supports }) => supports).map(({ passage }) => passage);
  }

  // What it is doing, in a few words.
  get progress() {
    const counts = [[this.queries.length, "search", "searches"], [this.calls.length, "LM call", "LM calls"]];
    const so_far = counts.filter(([count]) => count).map(([count, ...nouns]) => plural(count, ...nouns)).join(", ");
    switch (this.state) {
      case "under way": return so_far ? `Answering: ${so_far} so far` : "Answering …";
      case "stopped": return so_far ? `Stopped after ${so_far}` : "Stopped";
      case "failed": return "No answer";
      default: return `${this.answer ? "Answered with" : "No answer after"} ${so_far || "no search and no LM call"}`;
    }
  }
}
