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
    this.searches = 0;
    this.calls = 0;
    this.found = new Map(); // by id: the passages
    this.fates = new Map(); // by id of the passage: the step kept or dropped
    this.statements = [];
    this.answer = null;
    this.cost = null;
    this.record = null;
    this.abort = new AbortController();
    this.began = performance.now();
  }

  get seconds() {
    return (performance.now() - this.began) / 1000;
  }

  // Returns when it has ended, however it did.
  async run() {
    try {
      this.record = await answer(this.asked, this.abort.signal, (step) => {
        this.take(step);
        this.told(step);
      });
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
      case "query": this.searches += 1; break;
      case "passages": for (const passage of step.passages ?? []) this.found.set(passage.id, passage); break;
      case "call": this.calls += 1; break;
      case "kept": case "dropped": this.fates.set(step.passage, step); break;
      case "text": this.answer = (this.answer ?? "") + step.text; break;
      case "statement": this.statements.push(step); break;
      case "answer": this.answer = step.text; break;
      case "cost": this.cost = step; break;
    }
  }

  // All passages that are known, by id, as they were found first; at the end also those that no search found.
  get passages() {
    return new Map([...Object.entries(this.record?.passages ?? {}), ...this.found]);
  }

  // Ids of the passages that say the answer, in the order in which they are numbered.
  get sources() {
    return [...this.fates.values()].filter(({ supports }) => supports).map(({ passage }) => passage);
  }

  // What it is doing, in a few words.
  get progress() {
    const counts = [[this.searches, "search", "searches"], [this.calls, "LM call", "LM calls"]];
    const so_far = counts.filter(([count]) => count).map(([count, ...nouns]) => plural(count, ...nouns)).join(", ");
    switch (this.state) {
      case "under way": return so_far ? `Answering: ${so_far} so far` : "Answering …";
      case "stopped": return so_far ? `Stopped after ${so_far}` : "Stopped";
      case "failed": return "No answer";
      default: return `${this.answer ? "Answered with" : "No answer after"} ${so_far || "no search and no LM call"}`;
    }
  }
}
