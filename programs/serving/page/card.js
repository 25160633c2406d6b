// The answer with its statements, sources and cost.

import { dollars, make, plural, said, seconds, whole } from "./dom.js";
import { mark, passage_item } from "./passages.js";

export function answer_card(answering, actions) {
  const { state, error, answer, cost } = answering;
  if (state === "failed") return card("failed", "No answer", make("p", { role: "alert", dir: "auto" }, error), actions);
  if (state === "stopped") return card("stopped", "Stopped", make("p", { class: "quiet" }, "The question was stopped before it was answered. What had happened by then stands below."), actions);
  const none = answer === null || answer === "";
  return card(none ? "none" : "", none ? "No answer" : "Answer",
    make("p", { class: none ? "" : "answer-text", dir: "auto" }, none ? note(answering) : answer),
    ...statements(answering), ...sources(answering), actions, cost && costs(cost));
}

function note({ record }) {
  const words = record?.note || "the method gave none";
  return `${words[0].toUpperCase()}${words.slice(1)}`;
}

const card = (kind, name, ...content) => make("section", { class: `card answer ${kind}`, "aria-label": name }, make("h2", {}, name), ...content);

function statements({ statements: stated, sources: ids }) {
  if (!stated.length) return [];
  return [make("h3", {}, "Statements"), make("ol", { class: "statements" }, stated.map(({ text, passages }) =>
    make("li", { dir: "auto" }, text, " ", passages.map((id) => make("span", { class: "cite" }, `[${ids.indexOf(id) + 1}]`)))))];
}

function sources(answering) {
  const { sources: ids, passages, fates } = answering;
  if (!ids.length) return [];
  const items = ids.map((id, place) => {
    const { score, ...passage } = passages.get(id) ?? { id, title: id, text: "" };
    const item = passage_item(passage, place + 1);
    if (fates.has(id)) mark(item, fates.get(id));
    delete item.dataset.fate; // all of them were kept
    return item;
  });
  return [make("h3", {}, "Sources"), make("ol", { class: "passages sources" }, items)];
}

export function costs(cost) {
  const entries = [
    ["LM calls", whole(cost.lm_calls) + (cost.cached_calls ? ` (${whole(cost.cached_calls)} cached)` : "")],
    ["Searches", whole(cost.searches)],
    ["Tokens in", whole(cost.input_tokens)],
    ["Tokens out", whole(cost.output_tokens)],
    ["Dollars", dollars(cost.usd)],
    ["Time", seconds(cost.seconds)],
  ];
  const by_predictor = Object.entries(cost.predictors ?? {});
  const list = make("dl", { class: "cost" }, entries.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  if (!by_predictor.length) return list;
  const unparsable = cost.unparsable ? `, ${plural(cost.unparsable, "reply", "replies")} that did not fit` : "";
  return make("div", {}, list, make("details", { class: "fold" }, make("summary", {}, `By predictor${unparsable}`),
    make("ul", { class: "plain-list" }, by_predictor.map(([name, spent]) =>
      make("li", {}, make("code", {}, said(name)), ` ${plural(spent.lm_calls, "call")}, ${whole(spent.input_tokens)} tokens in, ${whole(spent.output_tokens)} out`)))));
}
