// Runs: what there is, how far it is, and what came of it; any two compared.

import { Board } from "./board.js";
import { comparison } from "./compared.js";
import { button, dollars, drawn, get, interval, make, plural, said, save, whole } from "./dom.js";
import { ServerError, has_token, json, request } from "./server.js";

const SOON = 2000; // milliseconds until the next look while a run is under way
const LATER = 10000;

export class Runs {
  constructor() {
    this.seen = new Map(); // by name: { text, row }
    this.picked = [];
    this.status = make("p", { class: "status", role: "status" });
    this.body = make("tbody", {});
    const heads = ["", "Run", "Task", "Language model", "Score", "Per question", "Report"];
    this.table = make("table", { class: "runs cards", hidden: true }, make("caption", { class: "hidden" }, "Runs"),
      make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head || make("span", { class: "hidden" }, "Compare"))))), this.body);
    this.empty = make("div", { class: "card empty", hidden: true });
    this.hint = make("p", { class: "quiet", hidden: true }, "Choose two runs to compare them.");
    this.compared = make("div", {});
    this.one = make("div", {});
    this.board = new Board();
    get("runs").append(make("h1", {}, "Runs"), this.status, this.empty, this.hint, this.table, this.compared, this.one, this.board.element);
  }

  show(parameters) {
    this.wanted = parameters.get("run");
    if (this.wanted) this.detail(this.wanted).then(() => this.one.scrollIntoView({ block: "nearest" }));
    else this.one.replaceChildren();
    this.look();
  }

  // Looks again and again, as long as the view is shown.
  async look() {
    clearTimeout(this.timer);
    let wait = LATER;
    try {
      const { runs } = await json("/v1/runs");
      this.draw(runs);
      if (runs.some(({ finished, error }) => !finished && !error)) wait = SOON;
      const done = JSON.stringify(runs.filter(({ finished }) => finished).map(({ name, answered }) => [name, answered]));
      if (done !== this.done) {
        this.done = done;
        await this.board.load();
      }
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this.table.hidden = this.hint.hidden = true;
      this.empty.hidden = false;
      if (error.status === 404) this.empty.replaceChildren(make("h2", {}, "This server shows no runs"), make("p", {}, "Start it with ", make("code", {}, "--runs DIR"), ", the directory that runs are in."));
      else this.empty.replaceChildren(make("h2", {}, "The runs cannot be shown"), make("p", { class: "bad" }, error.message), button("Try again", () => this.look()));
      if (error.status) return;
    }
    this.timer = setTimeout(() => { if (!get("runs").hidden) this.look(); }, wait);
  }

  draw(runs) {
    const under_way = runs.filter(({ finished, error }) => !finished && !error).length;
    this.status.textContent = runs.length ? `${plural(runs.length, "run")}${under_way ? `, ${under_way} not finished` : ""}` : "";
    this.table.hidden = !runs.length;
    this.hint.hidden = runs.length < 2;
    this.empty.hidden = runs.length > 0;
    this.empty.replaceChildren(make("h2", {}, "There are no runs yet"), make("p", {}, "Make one, and it is shown here while it is under way:"), make("pre", {}, "odqa eval run sample --program blendfilter"));
    const latest = [...runs].sort((one, other) => (other.started ?? "").localeCompare(one.started ?? ""));
    for (const [place, run] of latest.entries()) {
      const text = JSON.stringify(run);
      const known = this.seen.get(run.name);
      if (known?.text !== text) {
        const row = this.row(run);
        const focused = known && [...known.row.querySelectorAll("a, button, input")].indexOf(document.activeElement);
        if (known) known.row.replaceWith(row);
        this.seen.set(run.name, { text, row });
        if (known && run.name === this.wanted) this.detail(run.name);
        if (focused >= 0) row.querySelectorAll("a, button, input")[focused]?.focus();
      }
      const { row } = this.seen.get(run.name);
      if (this.body.children[place] !== row) this.body.insertBefore(row, this.body.children[place] ?? null);
    }
    for (const [name, { row }] of this.seen) {
      if (runs.some((run) => run.name === name)) continue;
      row.remove();
      this.seen.delete(name);
      this.picked = this.picked.filter((other) => other !== name);
    }
  }

  row(run) {
    if (run.error) return make("tr", { class: "damaged" }, make("td", {}), make("th", { scope: "row" }, said(run.name)), make("td", { colspan: 5, class: "bad" }, run.error));
    const box = make("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, disabled: run.answered === 0, change: () => this.pick(run.name, box.checked) });
    box.checked = this.picked.includes(run.name);
    const cell = (label, ...content) => make("td", { data: { label } }, make("div", {}, content));
    return make("tr", { data: { run: run.name } }, make("td", { class: "pick" }, box),
      make("th", { scope: "row" }, make("a", { href: `#runs?${new URLSearchParams({ run: run.name })}` }, said(run.program || run.name)), make("div", { class: "quiet" }, said(run.name))),
      cell("Task", said(run.task ?? "–")),
      cell("Language model", said(run.lm ?? "–"), run.standing ? [" ", make("span", { class: "badge" }, run.standing)] : null),
      cell("Score", run.finished || Object.keys(run.scores).length ? score_of(run) : null, run.finished ? null : progress(run)),
      cell("Per question", make("div", { class: "quiet" }, cost_of(run.cost))),
      cell("Report", run.answered ? report_link(`/v1/runs/${path_of(run.name)}/report`, "Report", run.name) : "–"));
  }

  // The second of two clicks compares; a third starts with the later two.
  async pick(name, chosen) {
    this.picked = this.picked.filter((other) => other !== name);
    if (chosen) this.picked.push(name);
    if (this.picked.length > 2) {
      const dropped = this.picked.shift();
      this.seen.get(dropped).row.querySelector("input").checked = false;
    }
    if (this.picked.length < 2) {
      this.compared.replaceChildren();
      return;
    }
    const [a, b] = this.picked;
    const address = `/v1/compare?${new URLSearchParams({ a, b })}`;
    try {
      const shown = comparison(await json(address), await this.board.headings(), report_link(`${address}&format=html`, "The whole comparison, question by question", `${a} and ${b}`));
      if (this.picked[0] !== a || this.picked[1] !== b) return;
      this.compared.replaceChildren(shown);
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this.compared.replaceChildren(make("section", { class: "card", "aria-label": "Comparison" }, make("h2", {}, "These two cannot be compared"), make("p", { class: "bad", role: "alert" }, error.message)));
    }
    this.compared.scrollIntoView({ block: "nearest" });
  }

  async detail(name) {
    try {
      const run = await json(`/v1/runs/${path_of(name)}`);
      if (this.wanted !== name) return;
      this.one.replaceChildren(make("section", { class: "card", "aria-label": `Run ${name}` },
        make("div", { class: "head" }, make("h2", {}, said(name)), make("a", { href: "#runs" }, "Close")),
        make("p", { class: "quiet" }, run.finished ? `Finished: ${plural(run.answered, "question")}` : `${whole(run.answered)} of ${plural(run.questions, "question")}; ${run.gap}`, run.failed ? `, ${run.failed} failed` : ""),
        run.first_error ? make("p", { class: "bad", dir: "auto" }, `First error: ${run.first_error}`) : null,
        scores_of(run),
        make("details", { class: "fold" }, make("summary", {}, "What was run"), make("dl", { class: "entries" }, Object.entries(run.entries).map(([entry, value]) => make("div", {}, make("dt", {}, said(entry)), make("dd", {}, said(value))))))));
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this.one.replaceChildren(make("p", { class: "bad", role: "alert" }, error.message));
    }
  }
}

const path_of = (name) => name.split("/").map(encodeURIComponent).join("/");

function score_of({ scores }) {
  const [score] = Object.values(scores);
  if (!score) return make("span", { class: "quiet" }, "–");
  return make("div", { class: "scored" }, make("span", { class: "quiet" }, `${score.heading} `), interval(score), drawn(score));
}

// All scores, of all questions and by type.
function scores_of(run) {
  const metrics = Object.entries(run.scores);
  if (!metrics.length) return null;
  const line = (name, { scores }) => make("tr", {}, make("th", { scope: "row" }, said(name)), metrics.map(([metric]) => make("td", {}, metric in scores ? interval(scores[metric]) : "–")));
  const heads = [run.finished ? "Questions" : "Questions so far", ...metrics.map(([, { heading }]) => heading)];
  return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Scores" }, make("table", {},
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, line("all", run), Object.entries(run.by_type).map(([type, entry]) => line(type, entry)))));
}

function progress({ answered, questions, gap, name }) {
  const words = `${whole(answered)} of ${whole(questions)}`;
  return make("div", { class: "progress" }, make("progress", { max: questions, value: answered, "aria-label": `Progress of ${name}` }), make("span", { class: "count" }, words), make("span", { class: "quiet gap" }, gap));
}

function cost_of(cost) {
  if (!cost) return "–";
  return [`${cost.lm_calls.toFixed(1)} LM calls`, `${cost.searches.toFixed(1)} searches`, cost.usd === undefined ? null : dollars(cost.usd)].filter(Boolean).join(" · ");
}

// A link carries no token: where one is needed, the report is downloaded instead. It needs no network to be read.
function report_link(address, words, name) {
  if (!has_token()) return make("a", { href: address, target: "_blank", rel: "noopener", "aria-label": `${words} of ${name}` }, words);
  return button(words, async () => save(`${name.replace(/[^\w.-]+/g, "-")}.html`, await (await request(address)).text(), "text/html"), { class: "link", "aria-label": `${words} of ${name}` });
}
