// The answer with its statements, sources and cost.

import { dollars, make, plural, said, seconds, whole } from "./dom.js";
import { mark, passage_item } from "./passages.js";

export function answer_card(answering) {
  const { state, error, answer, cost, record } = answering;
  const card = (kind, name, ...content) => make("section", { class: `card answer ${kind}`, "aria-label": name }, make("h2", {}, name), ...content);
  if (state === "failed") return card("failed", "No answer", make("p", { role: "alert", dir: "auto" }, error));
  if (state === "stopped") return card("stopped", "Stopped", make("p", { class: "quiet" }, "The question was stopped before it was answered. What had happened by then stands below."));
  const none = answer === null || answer === "";
  const note = record?.note || "the method gave none";
  return card(none ? "none" : "", none ? "No answer" : "Answer",
    make("p", { class: none ? "" : "answer-text", dir: "auto" }, none ? `${note[0].toUpperCase()}${note.slice(1)}` : answer),
    statements(answering), sources(answering), cost && costs(cost));
}

function statements({ statements: stated, sources: ids }) {
  if (!stated.length) return null;
  const cited = (passages) => passages.filter((id) => ids.includes(id)).map((id) => make("span", { class: "cite" }, `[${ids.indexOf(id) + 1}]`));
  return [make("h3", {}, "Statements"), make("ol", { class: "statements" }, stated.map(({ text, passages }) => make("li", { dir: "auto" }, text, " ", cited(passages))))];
}

function sources({ sources: ids, passages, fates }) {
  if (!ids.length) return null;
  const items = ids.map((id, place) => {
    const { score, ...passage } = passages.get(id) ?? { id, title: id, text: "" };
    const item = passage_item(passage, place + 1);
    mark(item, fates.get(id));
    delete item.dataset.fate; // all of them are sources
    return item;
  });
  return [make("h3", {}, "Sources"), make("ol", { class: "passages sources" }, items)];
}

function costs(cost) {
  const entries = {
    "LM calls": whole(cost.lm_calls) + (cost.cached_calls ? ` (${whole(cost.cached_calls)} cached)` : ""),
    Searches: whole(cost.searches), "Tokens in": whole(cost.input_tokens), "Tokens out": whole(cost.output_tokens),
    Dollars: dollars(cost.usd), Time: seconds(cost.seconds),
  };
  const list = make("dl", { class: "cost" }, Object.entries(entries).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  const by_predictor = Object.entries(cost.predictors ?? {});
  if (!by_predictor.length) return list;
  const unparsable = cost.unparsable ? `, ${plural(cost.unparsable, "reply", "replies")} that did not fit` : "";
  return make("div", {}, list, make("details", { class: "fold" }, make("summary", {}, `By predictor${unparsable}`),
    make("ul", { class: "plain-list" }, by_predictor.map(([name, spent]) =>
      make("li", {}, make("code", {}, said(name)), ` ${plural(spent.lm_calls, "call")}, ${whole(spent.input_tokens)} tokens in, ${whole(spent.output_tokens)} out`)))));
}
