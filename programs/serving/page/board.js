// Tables of runs: those that there are, and the leaderboard, the best methods first for the same questions of a data set.

import { button, drawn, interval, make, plural, said, save, unique, whole } from "./dom.js";
import { has_token, request } from "./server.js";

// A table whose lines are cards in a narrow window.
export function cards(kind, caption, heads, ...rows) {
  return make("table", { class: `${kind} cards` }, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))), make("tbody", {}, rows));
}

export const cell = (label, ...content) => make("td", { data: { label } }, make("div", {}, content));
export const standing = (kind) => (kind ? [" ", make("span", { class: "badge" }, kind)] : null);

export function scored(score, heading = "") {
  return make("div", { class: "scored" }, heading ? make("span", { class: "quiet" }, `${heading} `) : null, interval(score), drawn(score));
}

export const report_of = (name, kind = "runs") => report_link(`/v1/${kind}/${name.split("/").map(encodeURIComponent).join("/")}/report`, "Report", name);

// A link carries no token: where one is needed, the report is downloaded instead. It needs no network to be read.
export function report_link(address, words, name) {
  const about = { "aria-label": `${words}: ${name}` };
  if (!has_token()) return make("a", { href: address, target: "_blank", rel: "noopener", ...about }, words);
  return button(words, async () => save(`${name.replace(/[^\w.-]+/g, "-")}.html`, await (await request(address)).text(), "text/html"), { class: "link", ...about });
}

export function board({ groups, metrics }) {
  if (!groups.length) return [];
  const id = unique("metric");
  const place = make("div", {});
  const draw = () => place.replaceChildren(...groups.map((group) => table(group, choice.value)));
  const choice = make("select", { id, change: draw }, Object.entries(metrics).map(([name, heading]) => make("option", { value: name }, heading)));
  draw();
  return [make("section", { "aria-label": "Leaderboard" },
    make("div", { class: "head" }, make("h2", {}, "Leaderboard"), make("div", { class: "field across" }, make("label", { for: id }, "Metric"), choice)),
    place,
    make("p", { class: "quiet" }, "Means in percent with their 95 % intervals; a question that failed counts 0. Floor: the extractive reader, no language model. Ceiling: the oracle, which is told the gold."))];
}

function table({ task, questions, lines }, metric) {
  const mean = ({ scores }) => (Object.hasOwn(scores, metric) ? scores[metric].mean : -1);
  const rows = [...lines].sort((one, other) => mean(other) - mean(one)).map((line) => make("tr", {},
    make("th", { scope: "row" }, said(line.title), standing(line.standing),
      make("div", { class: "quiet" }, [line.lm, line.retriever, line.apart].filter(Boolean).join(" · "))),
    cell("n", whole(line.answered)),
    cell("Score", mean(line) < 0 ? make("span", { class: "quiet" }, "–") : scored(line.scores[metric])),
    cell("LM calls", line.cost ? line.cost.lm_calls.toFixed(1) : "–"),
    cell("Report", report_of(line.name))));
  return cards("board", [make("b", {}, said(task || "questions")), make("span", { class: "quiet" }, ` ${plural(questions, "question")}`)],
    ["Method", "n", "Score", "LM calls", "Report"], rows);
}
