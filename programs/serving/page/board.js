// The leaderboard: methods by task, each mean with its 95 % interval.

import { drawn, interval, make, said, unique } from "./dom.js";
import { json } from "./server.js";

export class Board {
  constructor() {
    const id = unique("metric");
    this.metric = make("select", { id, change: () => this.draw() });
    this.place = make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Leaderboard" });
    this.element = make("section", { "aria-label": "Leaderboard", hidden: true },
      make("div", { class: "head" }, make("h2", {}, "Leaderboard"), make("div", { class: "field across" }, make("label", { for: id }, "Metric"), this.metric)),
      this.place,
      make("p", { class: "quiet" }, "Means in percent with their 95 % intervals; a question that failed counts 0. Floor: the extractive reader, no language model. Ceiling: the oracle, which is told the gold."));
  }

  async load() {
    this.data = await json("/v1/leaderboard");
    const { lines, metrics, tasks } = this.data;
    const chosen = this.metric.value;
    this.element.hidden = !lines.length;
    this.metric.replaceChildren(...Object.entries(metrics).map(([name, heading]) => make("option", { value: name }, heading)));
    if (chosen in metrics) this.metric.value = chosen;
    if (!tasks.includes(this.task)) [this.task] = tasks;
    this.draw();
  }

  // Of the metrics, by name.
  async headings() {
    if (!this.data) await this.load();
    return this.data.metrics;
  }

  draw() {
    const { lines, tasks } = this.data;
    const heads = tasks.map((task) => {
      const chosen = task === this.task;
      return make("th", { scope: "col", "aria-sort": chosen ? "descending" : "none" }, make("button", { type: "button", class: "sort", click: () => this.sort(task) }, said(task || "questions")));
    });
    const rows = [...lines].sort((one, other) => this.best(other) - this.best(one)).map((line) => make("tr", {},
      make("th", { scope: "row" }, said(line.program ?? "–"), line.standing ? [" ", make("span", { class: "badge" }, line.standing)] : null,
        make("div", { class: "quiet" }, [line.lm, line.retriever, line.apart].filter(Boolean).join(" · "))),
      tasks.map((task) => make("td", {}, (line.tasks[task] ?? []).map((cell) => this.cell(cell))))));
    this.place.replaceChildren(make("table", { class: "board" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Method"), heads)), make("tbody", {}, rows)));
  }

  cell({ name, questions, answered, scores }) {
    const score = scores[this.metric.value];
    if (!score) return make("span", { class: "quiet" }, "–");
    const some = answered < questions ? make("span", { class: "quiet" }, ` ${answered} of ${questions}`) : null;
    return make("a", { class: "scored", href: `#runs?${new URLSearchParams({ run: name })}`, title: name },
      interval(score), some, drawn(score));
  }

  sort(task) {
    this.task = task;
    this.draw();
    this.place.querySelectorAll(".sort")[this.data.tasks.indexOf(task)].focus();
  }

  best(line) {
    return Math.max(-1, ...(line.tasks[this.task] ?? []).map(({ scores }) => scores[this.metric.value]?.mean ?? -1));
  }
}
