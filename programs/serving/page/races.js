// Races between methods: what is recommended, and while one is under way how its candidates stand.

import { cards, cell, report_of, scored } from "./board.js";
import { make, said, whole } from "./dom.js";

export function races_of(races) {
  const latest = [...races].sort((one, other) => (other.started ?? "").localeCompare(one.started ?? ""));
  return latest.map((race) => make("section", { "aria-label": `Race ${race.name}`, data: { race: race.name } },
    make("div", { class: "head" }, make("h2", {}, "Race on ", said(race.task ?? race.name)), make("span", { class: "quiet" }, said(race.name)), race.error ? null : report_of(race.name, "races")),
    race.error ? make("p", { class: "bad" }, race.error) : shown(race)));
}

function shown({ candidates, finished, goal, name, paid, recommended, state }) {
  return [
    make("p", { class: "quiet" }, said(state), `, for ${paid}`),
    recommended ? make("p", {}, said(recommended)) : null,
    finished ? null : cards("board", "Candidates", ["Candidate", "n", goal, "Per question", "Report"], candidates.map((candidate) => row(candidate, name))),
  ];
}

function row({ name, questions, score, prices, dropped }, race) {
  return make("tr", {},
    make("th", { scope: "row" }, said(name), dropped ? make("div", { class: "quiet" }, said(dropped)) : null),
    cell("n", whole(questions)),
    cell("Score", score ? scored(score) : "–"),
    cell("Per question", make("div", { class: "quiet" }, Object.entries(prices ?? {}).map(([what, value]) => `${value} ${what}`).join(" · "))),
    cell("Report", questions ? report_of(`${race}/runs/${name}`) : "–"));
}
