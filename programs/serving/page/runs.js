// Runs: what there is, how far it is, and what came of it; any two compared.

import { board, cards, cell, report_link, report_of, scored, standing } from "./board.js";
import { button, dollars, get, make, plural, redraw, said, whole } from "./dom.js";
import { races_of } from "./races.js";
import { ServerError, json } from "./server.js";

const SOON = 2000; // milliseconds until the next look while a run is under way
const LATER = 10000;

export class Runs {
  constructor() {
    this.picked = [];
    this.status = make("p", { class: "status", role: "status" });
    const hidden = (text) => make("span", { class: "hidden" }, text);
    this.table = cards("runs", hidden("Runs"), [hidden("Compare"), "Run", "Task", "Language model", "Score", "Per question", "Report"]);
    this.table.hidden = true;
    [this.body] = this.table.tBodies;
    this.empty = make("div", { class: "card empty", hidden: true });
    this.compared = make("p", { class: "quiet" });
    this.board = make("div", {});
    this.races = make("div", {});
    get("runs").append(make("h1", {}, "Runs"), this.status, this.empty, this.races, this.compared, this.table, this.board);
  }

  // Looks again and again, as long as the view is shown.
  async show() {
    clearTimeout(this.timer);
    let wait = LATER;
    try {
      const [{ runs }, { races }] = await Promise.all([json("/v1/runs"), json("/v1/races")]);
      this.draw(runs, races);
      if ([...runs, ...races].some(({ finished, error }) => !finished && !error)) wait = SOON;
      const done = JSON.stringify(runs.filter(({ finished }) => finished).map(({ name, answered }) => [name, answered]));
      if (done !== this.done) this.board.replaceChildren(...board(await json("/v1/leaderboard")));
      this.done = done;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this.table.hidden = this.compared.hidden = this.races.hidden = true;
      this.empty.hidden = false;
      if (error.status === 404) this.empty.replaceChildren(make("h2", {}, "This server shows no runs"), make("p", {}, "Start it with ", make("code", {}, "--runs DIR"), ", the directory that runs are in."));
      else this.empty.replaceChildren(make("h2", {}, "The runs cannot be shown"), make("p", { class: "bad" }, error.message), button("Try again", () => this.show()));
      if (error.status) return;
    }
    this.timer = setTimeout(() => { if (!get("runs").hidden) this.show(); }, wait);
  }

  // Nothing is drawn anew while nothing has changed, so that the focus stays where it is.
  draw(runs, races) {
    const text = JSON.stringify([runs, races]);
    if (text === this.text) return;
    this.text = text;
    const under_way = runs.filter(({ finished, error }) => !finished && !error).length;
    this.status.textContent = runs.length ? `${plural(runs.length, "run")}${under_way ? `, ${under_way} not finished` : ""}` : "";
    this.table.hidden = !runs.length;
    this.races.hidden = false;
    this.empty.hidden = runs.length + races.length > 0;
    redraw(this.races, races_of(races));
    this.empty.replaceChildren(make("h2", {}, "There are no runs yet"), make("p", {}, "Make one, and it is shown here while it is under way:"), make("pre", {}, "odqa eval run sample --program blendfilter"));
    const latest = [...runs].sort((one, other) => (other.started ?? "").localeCompare(one.started ?? ""));
    this.picked = this.picked.filter((name) => runs.some((run) => run.name === name));
    redraw(this.body, latest.map((run) => this.row(run)));
    this.compare();
    this.compared.hidden = runs.length < 2;
  }

  row(run) {
    if (run.error) return make("tr", { class: "damaged" }, make("td", {}), make("th", { scope: "row" }, said(run.name)), make("td", { colspan: 5, class: "bad" }, run.error));
    const box = make("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, disabled: run.answered === 0, change: () => this.pick(run.name, box.checked) });
    box.checked = this.picked.includes(run.name);
    const [score] = Object.values(run.scores);
    return make("tr", { data: { run: run.name } }, make("td", { class: "pick" }, box),
      make("th", { scope: "row" }, said(run.program || run.name), make("div", { class: "quiet" }, said(run.name))),
      cell("Task", said(run.task ?? "–")),
      cell("Language model", said(run.lm ?? "–"), standing(run.standing)),
      cell("Score", score ? scored(score, score.heading) : null, run.finished ? null : progress(run)),
      cell("Per question", make("div", { class: "quiet" }, cost_of(run.cost))),
      cell("Report", run.answered ? report_of(run.name) : "–"));
  }

  // A third click takes the place of the first one.
  pick(name, chosen) {
    this.picked = this.picked.filter((other) => other !== name);
    if (chosen) this.picked.push(name);
    if (this.picked.length > 2) get("runs").querySelector(`[aria-label="${CSS.escape(`Compare ${this.picked.shift()}`)}"]`).checked = false;
    this.compare();
  }

  compare() {
    const [a, b] = this.picked;
    if (b === undefined) this.compared.replaceChildren("Choose two runs to compare them.");
    else this.compared.replaceChildren(report_link(`/v1/compare?${new URLSearchParams({ a, b, format: "html" })}`, `Compare ${a} with ${b}`, `${a} and ${b}`));
  }
}

function progress({ answered, questions, gap, name }) {
  const words = `${whole(answered)} of ${whole(questions)}`;
  return make("div", { class: "progress" }, make("progress", { max: questions, value: answered, "aria-label": `Progress of ${name}` }), make("span", { class: "count" }, words), make("span", { class: "quiet gap" }, gap));
}

function cost_of(cost) {
  if (!cost) return "–";
  return [`${cost.lm_calls.toFixed(1)} LM calls`, `${cost.searches.toFixed(1)} searches`, cost.usd === undefined ? null : dollars(cost.usd)].filter(Boolean).join(" · ");
}
