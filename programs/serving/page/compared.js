// Two runs compared: the differences with their intervals, and what differs between the runs.

import { dollars, interval, make, percent, plural, said, whole } from "./dom.js";

const COSTS = [["lm_calls", "LM calls", (value) => value.toFixed(2)], ["searches", "Searches", (value) => value.toFixed(2)], ["input_tokens", "Tokens in", whole], ["output_tokens", "Tokens out", whole], ["usd", "Dollars", dollars], ["seconds", "Seconds", (value) => value.toFixed(2)]];

export function comparison({ questions, runs, differences, differing }, headings, report) {
  const [a, b] = runs;
  const overall = differences.filter(({ type }) => type === null);
  return make("section", { class: "card comparison", "aria-label": "Comparison" },
    make("h2", {}, "Compared"),
    make("p", { class: "pair" }, make("b", {}, "A"), " ", said(a.name), make("br"), make("b", {}, "B"), " ", said(b.name)),
    make("p", {}, verdict(overall[0], headings, questions)),
    make("div", { class: "beside" },
      make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Differences" }, make("table", {},
        make("thead", {}, row("th", ["", "A", "B", "A less B, 95 % interval", "p"])),
        make("tbody", {}, overall.map((difference) => line(difference, headings[difference.metric], a, b)), costs(a, b)))),
      differing.length ? make("div", {}, make("h3", {}, "What differs between the runs"), make("dl", { class: "entries" }, differing.map(({ name, values: [of_a, of_b] }) =>
        make("div", {}, make("dt", {}, said(name)), make("dd", {}, make("b", {}, "A "), said(of_a), make("br"), make("b", {}, "B "), said(of_b)))))) : null),
    make("p", {}, report));
}

// Costs per question, of those that are known for both.
function costs(a, b) {
  const known = COSTS.filter(([name]) => [a, b].every(({ summary }) => name in summary.total.cost));
  return known.map(([name, heading, written]) => row("td", [heading, ...[a, b].map(({ summary }) => written(summary.total.cost[name])), "", ""], "cost-line"));
}

function line({ metric, mean, low, high, p_corrected }, heading, a, b) {
  const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + percent(Math.abs(value));
  const means = [a, b].map((run) => percent(run.summary.total.scores[metric].mean));
  const cells = [heading, ...means, interval({ mean, low, high }, signed), p_corrected < 0.001 ? "<0.001" : p_corrected.toFixed(3)];
  return row("td", cells);
}

function row(tag, cells, kind = null) {
  return make("tr", { class: kind }, cells.map((cell, place) => place || tag === "th" ? make(tag, tag === "th" ? { scope: "col" } : {}, cell) : make("th", { scope: "row" }, said(cell))));
}

function verdict(difference, headings, questions) {
  const over = `over the ${plural(questions, "question")} that both were asked`;
  if (!difference) return `There is no metric to compare ${over}.`;
  const { metric, mean, low, high } = difference;
  if (low <= 0 && high >= 0) return `By ${headings[metric]}, the two cannot be told apart ${over}.`;
  return `By ${headings[metric]}, ${mean > 0 ? "A" : "B"} is better by ${percent(Math.abs(mean))} points ${over}.`;
}
