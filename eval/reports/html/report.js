// The list of questions of a report, made from the data in the page, and its filters.

import { get, make, plural, said, seconds, unfold, whole } from "./dom.js";
import { passage_list } from "./passages.js";
import { data } from "./tables.js";
import { Trace, messages } from "./trace.js";

const several = data.runs.length > 1;
const MARKS = { right: "✓", wrong: "✗", failed: "⚠", "not scored": "–" };

// Right, wrong, failed or not scored by the metric that is chosen; and, of what is wrong, why. The page has this ready.
const why = (trace) => trace.outcomes[data.metrics.findIndex(({ name }) => name === get("metric").value)] || "not scored";
const outcome = (trace) => (Object.hasOwn(MARKS, why(trace)) ? why(trace) : "wrong");
const badge = (what, text = what) => make("span", { class: `badge ${what.replace(" ", "-")}` }, text);

function outcomes(trace, n) {
  const what = outcome(trace);
  const value = trace.scores[get("metric").value];
  const partly = what === "wrong" && value > 0 ? ` ${(100 * value).toFixed(0)}` : "";
  const name = several ? `${data.runs[n].short} ` : "";
  const reason = what === "wrong" && why(trace) !== "not known" ? `: ${why(trace)}` : "";
  return [badge(what, `${name}${MARKS[what]} ${what}${partly}${reason}`), trace.cost.unparsable ? badge("unparsable") : null];
}

// One question.

function summary(question) {
  const answers = question.traces.map((trace, n) =>
    make("span", { class: "outcome" }, outcomes(trace, n), trace.answer === null ? null : make("q", { class: "answer-said" }, said(trace.answer))));
  return [
    make("span", { class: "question" }, said(question.question ?? question.id)),
    make("span", { class: "line" }, answers, question.type === null ? null : make("span", { class: "quiet" }, question.type)),
  ];
}

function opened(question) {
  const golds = question.answers.map((answer, n) => [n ? " · " : "", make("b", {}, said(answer))]);
  const link = make("a", { href: `#q=${encodeURIComponent(question.id)}` }, question.id);
  return [
    make("p", { class: "gold" }, "Gold: ", golds, make("span", { class: "quiet" }, " · id ", link)),
    make("div", { class: "traces" }, question.traces.map((trace, n) => trace_of(trace, n, question.id))),
  ];
}

function trace_of(trace, n, id) {
  const { title, best_of } = data.runs[n];
  const scores = data.metrics.filter(({ name }) => typeof trace.scores[name] === "number").map(({ name, heading }) => `${heading} ${(100 * trace.scores[name]).toFixed(1)}`);
  const parts = [
    several ? make("h3", {}, title) : null,
    trace.error === null ? null : make("p", { class: "bad" }, "⚠ Failed: ", said(trace.error)),
    make("p", {}, outcomes(trace, n), " ", trace.answer === null ? "no answer" : make("b", {}, said(trace.answer || "(empty)"))),
    make("p", { class: "quiet" }, [...scores, ...spent(trace.cost)].join(" · ")),
  ];
  if (best_of) return make("article", { class: "trace" }, parts, make("p", {}, "The best of several answers. The reports of the single runs show how each answer came about."));
  parts.push(searches(trace));
  if (trace.evidence.length) parts.push(make("h4", {}, `Evidence: ${trace.evidence.length} shown to the answering call`), evidence(trace));
  if (Object.keys(trace.own).length) parts.push(unfold("Further fields of the program", () => own(trace)));
  if (data.prompts) parts.push(unfold("LM calls that this run paid for", () => calls(id, n)));
  return make("article", { class: "trace" }, parts);
}

function spent(cost) {
  const usd = cost.usd === null ? [] : [`${cost.usd} USD`];
  return [plural(cost.lm_calls, "LM call"), `${whole(cost.input_tokens)} tokens in, ${whole(cost.output_tokens)} out`, ...usd, seconds(cost.seconds)];
}

// What was searched and found, and what became of each passage.
function searches(trace) {
  const fates = new Map();
  const listed = new Map(); // by number: the passage, as this run found it
  for (const { passage: number, fate, why: reason, gold, score: value } of trace.passages) {
    const { id, title, text } = data.passages[number];
    listed.set(number, { id, title, text: text_of(text), gold, score: value });
    const form = fate === "kept" ? "whole" : fate;
    if (fate !== "found") fates.set(id, { kind: fate === "dropped" ? fate : "kept", form, why: data.reasons[reason] });
  }
  const steps = new Trace({ fates, passages: new Map() });
  const seen = new Set();
  trace.searches.forEach(({ query, found }, n) => {
    steps.add({ kind: "query", number: n + 1, text: query });
    steps.add({ kind: "passages", query: n + 1, passages: found && found.map((number) => listed.get(number)) });
    for (const number of found ?? []) seen.add(number);
  });
  steps.end();
  const others = [...listed].filter(([number]) => !seen.has(number)).map(([, passage]) => passage);
  const missing = trace.missing.map((name) => make("li", { class: "missing" }, "☆ ", said(name), make("span", { class: "quiet" }, " gold, found by no query")));
  return [steps.element, others.length ? passage_list(others) : null, missing.length ? make("ul", {}, missing) : null];
}

function text_of(text) {
  if (text === undefined) return "The text is left out to keep this page small; passages.jsonl of the run has it.";
  return text === null ? "The run did not keep the text." : text;
}

const FORMS_SHOWN = { extract: "extract", written: "written by the LM" };

function evidence(trace) {
  return make("ol", { class: "evidence" }, trace.evidence.map(({ passage, form }) => {
    const { id, title, text } = data.passages[passage];
    return make("li", {}, make("b", {}, said(title || id)), " ", form in FORMS_SHOWN ? [badge("extract", FORMS_SHOWN[form]), make("p", { class: "text whole" }, text_of(text))] : null);
  }));
}

// The calls of a question are packed: base64 of gzip of JSON.
async function unpacked(id) {
  const bytes = Uint8Array.from(atob(data.prompts[id]), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

function calls(id, n) {
  const box = make("div", { class: "calls" });
  if (!Object.hasOwn(data.prompts, id)) return make("p", { class: "quiet" }, "Not on this page; calls.jsonl of the run has what was kept.");
  unpacked(id).then((runs) => {
    if (!runs[n].length) box.append(make("p", { class: "quiet" }, "None: its replies came from a cache, or it made no call."));
    runs[n].forEach((call, number) => box.append(unfold(`${number + 1}. ${call.predictor || "call"}`, () => messages(call))));
    document.documentElement.dataset.unpacked = id;
  }).catch((error) => box.append(make("p", { class: "bad" }, `This browser cannot unpack them: ${error.message}`)));
  return box;
}

// The program's own fields, with the titles of passages in place of their ids.
function own(trace) {
  const titles = new Map(trace.passages.map(({ passage }) => [data.passages[passage].id, data.passages[passage].title]));
  return make("dl", {}, Object.entries(trace.own).map(([name, value]) => {
    const long = JSON.stringify(value).length > (typeof value === "string" ? 1500 : 250);
    const size = typeof value === "string" ? "long text" : plural(Object.keys(value || "").length, "item");
    return [make("dt", {}, said(name)), make("dd", {}, long ? unfold(size, () => written(value, titles)) : written(value, titles))];
  }));
}

function written(value, titles) {
  if (typeof value === "string") return make("bdi", { title: titles.has(value) ? value : null }, titles.get(value) || value || "(empty)");
  if (value !== null && typeof value !== "object") return said(value);
  const items = Object.entries(value ?? {});
  if (!items.length) return make("span", { class: "quiet" }, "none");
  if (!Array.isArray(value)) return make("ul", {}, items.map(([name, item]) => make("li", {}, make("i", {}, written(name, titles)), ": ", written(item, titles))));
  const brief = value.every((item) => typeof item !== "object" && (titles.has(item) || String(item).length < 40));
  if (brief) return make("span", {}, value.map((item, n) => [n ? " · " : "", written(item, titles)]));
  return make("ol", {}, value.map((item) => make("li", {}, written(item, titles))));
}

// The list.

const entries = data.questions.map((question) => {
  const words = [question.question, question.id, ...question.answers, ...question.traces.flatMap((trace) => [trace.answer, trace.error])];
  return { question, words: words.filter(Boolean).join("\n").toLowerCase(), element: null };
});

function entry_of(entry) {
  entry.element ??= unfold(summary(entry.question), () => opened(entry.question), { class: "entry" });
  return entry.element;
}

const value_of = (id) => (get(id) ? get(id).value : "");

function wanted({ question, words }) {
  const [type, what, run] = [value_of("type"), value_of("outcome"), value_of("run")];
  if (type && question.type !== type) return false;
  if (!words.includes(value_of("text").trim().toLowerCase())) return false;
  if (what === "all") return true;
  if (what === "runs differ") return new Set(question.traces.map(outcome)).size > 1;
  const looked = run === "" ? question.traces : [question.traces[run]];
  if (what === "has unparsable replies") return looked.some((trace) => trace.cost.unparsable > 0);
  return looked.some((trace) => outcome(trace) === what || why(trace) === what);
}

function list() {
  const found = entries.filter(wanted);
  get("list").replaceChildren(...found.map(entry_of));
  get("count").textContent = `${found.length} of ${plural(entries.length, "question")}`;
}

function choose_metric() {
  for (const part of document.querySelectorAll(".by-metric")) part.hidden = part.dataset.metric !== value_of("metric");
  for (const entry of entries) {
    const open = entry.element !== null && entry.element.open;
    entry.element = null;
    if (open) entry_of(entry).open = true;
  }
  list();
}

function open_named() {
  if (!location.hash.startsWith("#q=")) return;
  const id = decodeURIComponent(location.hash.slice(3));
  const entry = entries.find(({ question }) => question.id === id);
  if (!entry) return;
  if (!wanted(entry)) {
    get("controls").reset();
    list();
  }
  entry_of(entry).open = true;
  entry_of(entry).scrollIntoView();
}

function filter(button) {
  get("controls").reset();
  get("outcome").value = button.dataset.outcome;
  if (several) get("run").value = button.dataset.run;
  list();
  get("questions").scrollIntoView();
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button.filter");
  if (button !== null) filter(button);
});
get("metric").addEventListener("change", choose_metric);
get("controls").addEventListener("input", list);
get("controls").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", open_named);
choose_metric();
open_named();
document.documentElement.dataset.ready = Math.round(performance.now()); // milliseconds since the page was asked for
