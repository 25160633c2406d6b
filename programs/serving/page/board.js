// The leaderboard: for the same questions of a data set the methods, the best first, each mean with its 95 % interval.

import { drawn, interval, make, plural, said, unique, whole } from "./dom.js";

export function board({ groups, metrics }, report_link) {
  if (!groups.length) return [];
  const id = unique("metric");
  const place = make("div", {});
  const draw = () => place.replaceChildren(...groups.map((group) => table(group, choice.value, report_link)));
  const choice = make("select", { id, change: draw }, Object.entries(metrics).map(([name, heading]) => make("option", { value: name }, heading)));
  draw();
  return [make("section", { "aria-label": "Leaderboard" },
    make("div", { class: "head" }, make("h2", {}, "Leaderboard"), make("div", { class: "field across" }, make("label", { for: id }, "Metric"), choice)),
    place,
    make("p", { class: "quiet" }, "Means in percent with their 95 % intervals; a question that failed counts 0. Floor: the extractive reader, no language model. Ceiling: the oracle, which is told the gold."))];
}

function table({ task, questions, lines }, metric, report_link) {
  const mean = ({ scores }) => (Object.hasOwn(scores, metric) ? scores[metric].mean : -1);
  const rows = [...lines].sort((one, other) => mean(other) - mean(one)).map((line) => make("tr", {},
    make("th", { scope: "row" }, said(line.title), line.standing ? [" ", make("span", { class: "badge" }, line.standing)] : null,
      make("div", { class: "quiet" }, [line.lm, line.retriever, line.apart].filter(Boolean).join(" · "))),
    make("td", { data: { label: "n" } }, whole(line.answered)),
    make("td", { data: { label: "Score" } }, mean(line) < 0 ? make("span", { class: "quiet" }, "–") : make("div", { class: "scored" }, interval(line.scores[metric]), drawn(line.scores[metric]))),
    make("td", { data: { label: "LM calls" } }, line.cost ? line.cost.lm_calls.toFixed(1) : "–"),
    make("td", { data: { label: "Report" } }, report_link(`/v1/runs/${line.name.split("/").map(encodeURIComponent).join("/")}/report`, "Report", line.name))));
  return make("table", { class: "board cards" },
    make("caption", {}, make("b", {}, said(task || "questions")), make("span", { class: "quiet" }, ` ${plural(questions, "question")}`)),
    make("thead", {}, make("tr", {}, ["Method", "n", "Score", "LM calls", "Report"].map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, rows));
}
