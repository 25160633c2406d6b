"use strict";
// The list of questions, made on demand from the data in the page. Everything in the data is set as text.

const data = JSON.parse(document.getElementById("data").textContent);
const several = data.runs.length > 1;
const get = (id) => document.getElementById(id);

// An element with a class and children; strings become text.
function make(name, class_, ...children) {
  const element = document.createElement(name);
  if (class_) element.className = class_;
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

// Text that somebody else wrote, from left to right or from right to left, whatever stands beside it.
const said = (text) => make("bdi", "", String(text));
const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const MARKS = { right: "✓", wrong: "✗", failed: "⚠", "not scored": "–" };

function outcome(way) {
  if (way.error !== null) return "failed";
  const score = way.scores[get("metric").value];
  return score === undefined || score === null ? "not scored" : score === 1 ? "right" : "wrong";
}

const badge = (what, text = what) => make("span", `badge ${what.replace(" ", "-")}`, text);

function outcomes(way, n) {
  const what = outcome(way);
  const score = way.scores[get("metric").value];
  const partly = what === "wrong" && score > 0 ? ` ${(100 * score).toFixed(0)}` : "";
  const name = several ? `${data.runs[n][0]} ` : "";
  return [badge(what, `${name}${MARKS[what]} ${what}${partly}`), way.cost.unparsable ? badge("unparsable") : null];
}

// One question.

function summary(question) {
  const answers = question.ways.map((way, n) =>
    make("span", "outcome", outcomes(way, n), way.answer === null ? null : make("q", "answer", said(way.answer)))
  );
  return make(
    "summary", "",
    make("span", "question", said(question.question)),
    make("span", "line", answers, question.type === null ? null : make("span", "quiet", question.type))
  );
}

function opened(question) {
  const link = make("a", "", question.id);
  link.href = `#q=${encodeURIComponent(question.id)}`;
  return [
    make(
      "p", "gold",
      "Gold: ", question.answers.map((answer, n) => [n ? " · " : "", make("b", "", said(answer))]).flat(),
      make("span", "quiet", " · id ", link)
    ),
    make("div", "ways", question.ways.map(way_of)),
  ];
}

function way_of(way, n) {
  const parts = [];
  if (several) parts.push(make("h3", "", data.runs[n].slice(0, 2).join(" ")));
  const scores = data.metrics
    .filter(([name]) => typeof way.scores[name] === "number")
    .map(([name, heading]) => `${heading} ${(100 * way.scores[name]).toFixed(1)}`);
  if (way.error !== null) parts.push(make("p", "error", "⚠ Failed: ", said(way.error)));
  if (data.runs[n][2]) {
    const figures = [...scores, ...spent(way.cost)].join(" · ");
    return make("article", "way", parts, make("p", "", "The best of several answers; the ways to them are in the reports of their runs."), make("p", "quiet", figures));
  }
  parts.push(step("Queries", `${way.searches.length}`, queries(way)));
  parts.push(step("Passages", counts(way), passages(way)));
  parts.push(step("Evidence", `${way.evidence.length} shown to the answering call`, evidence(way)));
  parts.push(
    step("Answer", "", make(
      "div", "",
      make("p", "", outcomes(way, n), " ", way.answer === null ? "none" : make("b", "", said(way.answer || "(empty)"))),
      make("p", "quiet", [...scores, ...spent(way.cost)].join(" · "))
    ))
  );
  if (Object.keys(way.own).length) parts.push(step("What the program reports besides", "", own(way)));
  return make("article", "way", parts);
}

const step = (name, note, content) => make("div", "step", make(several ? "h4" : "h3", "", name, " ", make("span", "quiet", note)), content);

function spent(cost) {
  const usd = cost.usd === null ? [] : [`${cost.usd} USD`];
  const tokens = `${cost.input_tokens} tokens in, ${cost.output_tokens} out`;
  return [plural(cost.lm_calls, "LM call"), tokens, ...usd, `${cost.seconds.toFixed(2)} seconds`];
}

const gold_numbers = (way) => new Set(way.passages.filter((entry) => entry[3]).map((entry) => entry[0]));

function queries(way) {
  const gold = gold_numbers(way);
  return make("ol", "", way.searches.map((search) => {
    let found = "what it found was not kept";
    if (search.found === null) found = "the search failed";
    else if (search.found) found = `found ${search.found.length}, ${search.found.filter((n) => gold.has(n)).length} gold`;
    return make("li", "", said(search.query), make("span", "quiet", ` — ${found}`));
  }));
}

function counts(way) {
  const tally = {};
  for (const [, , fate] of way.passages) tally[fate] = (tally[fate] || 0) + 1;
  return [`${way.passages.length}`, ...Object.entries(tally).map(([fate, n]) => `${n} ${fate}`)].join(", ").replace(",", ":");
}

// Which queries found each passage, and at what place.
function finders(way) {
  const by = new Map();
  way.searches.forEach((search, q) => (search.found || []).forEach((number, place) => {
    if (!by.has(number)) by.set(number, []);
    by.get(number).push(`${q + 1} #${place + 1}`);
  }));
  return by;
}

const SHOWN = 15; // dropped passages that are not gold, before the rest is folded

function passages(way) {
  const by = finders(way);
  const lines = [];
  const folded = [];
  way.passages.forEach((entry, n) => {
    const dull = n >= SHOWN && !entry[3] && (entry[2] === "dropped" || entry[2] === "found");
    (dull ? folded : lines).push(() => passage(entry, by.get(entry[0])));
  });
  const missing = way.missing.map((name) => make("li", "missing", "☆ ", said(name), make("span", "quiet", " — gold, found by no query")));
  const list = [make("ol", "passages", lines.map((line) => line()), missing)];
  if (folded.length) {
    list.push(unfold(`${folded.length} more, none gold, none in the evidence`, () => make("ol", "passages", folded.map((line) => line()))));
  }
  return make("div", "", list);
}

function passage([number, score, fate, gold, note], by) {
  const [id, title, ...text] = data.passages[number];
  const why = [by ? `query ${by.join(", ")}` : "", data.notes[note]].filter(Boolean).join("; ");
  return make("li", "", unfold(
    [gold ? make("span", "star", "★ gold ") : null, make("span", "title", said(title || id)), " ", badge(fate), make("span", "quiet", " ", said(why))],
    () => [text_of(text), make("p", "quiet", `id ${id}${score === null ? "" : `, score ${score}`}`)]
  ));
}

function text_of(text) {
  if (!text.length) return make("p", "quiet", "The text is left out to keep this page small; passages.jsonl of the run has it.");
  if (text[0] === null) return make("p", "quiet", "The run did not keep the text.");
  return make("p", "text", said(text[0]));
}

function evidence(way) {
  return make("ol", "evidence", way.evidence.map((shown) => {
    const whole = typeof shown === "number";
    const [id, title, ...text] = whole ? data.passages[shown] : [shown.id, shown.title, shown.text];
    const kind = id.startsWith("lm:") ? "written by the LM" : !whole && shown.extract ? "extract" : "";
    return make("li", "", make("b", "", said(title || id)), " ", kind ? badge("extract", kind) : null, text_of(text));
  }));
}

// What the program reports besides, with passages by their titles.
function own(way) {
  const titles = new Map(way.passages.map(([number]) => data.passages[number]));
  const list = make("dl", "");
  for (const [name, value] of Object.entries(way.own)) {
    const long = JSON.stringify(value).length > (typeof value === "string" ? 1500 : 250);
    const size = typeof value === "string" ? "long text" : `${Object.keys(value || "").length} in it`;
    const shown = long ? unfold(size, () => written(value, titles)) : written(value, titles);
    list.append(make("dt", "", said(name)), make("dd", "", shown));
  }
  return list;
}

function written(value, titles) {
  const none = () => make("span", "quiet", "none");
  if (value === null) return none();
  if (typeof value === "string") return titles.has(value) ? passage_name(value, titles) : said(value || "(empty)");
  if (typeof value !== "object") return said(value);
  const entries = Object.entries(value);
  if (!entries.length) return none();
  if (!Array.isArray(value)) {
    return make("ul", "", entries.map(([name, item]) => make("li", "", make("i", "", written(name, titles)), ": ", written(item, titles))));
  }
  const brief = value.every((item) => typeof item !== "object" && (titles.has(item) || String(item).length < 40));
  if (brief) return make("span", "", value.flatMap((item, n) => [n ? " · " : "", written(item, titles)]));
  return make("ol", "", value.map((item) => make("li", "", written(item, titles))));
}

function passage_name(id, titles) {
  const name = said(titles.get(id) || id);
  name.title = id;
  return name;
}

// A part that is made when it is opened.
function unfold(head, content) {
  const details = make("details", "", make("summary", "", head));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(...[content()].flat());
  });
  return details;
}

// The list.

const entries = data.questions.map((question) => {
  const words = [question.question, question.id, ...question.answers, ...question.ways.flatMap((way) => [way.answer, way.error])];
  return { question, words: words.filter(Boolean).join("\n").toLowerCase(), element: null };
});

function entry_of(entry) {
  if (entry.element === null) {
    entry.element = make("details", "entry", summary(entry.question));
    entry.element.addEventListener("toggle", () => {
      if (entry.element.open && entry.element.childElementCount === 1) entry.element.append(...opened(entry.question));
    });
  }
  return entry.element;
}

const value_of = (id) => (get(id) ? get(id).value : "");

function wanted(entry) {
  const { question, words } = entry;
  const type = value_of("type");
  if (type && question.type !== type) return false;
  if (!words.includes(value_of("text").trim().toLowerCase())) return false;
  const what = value_of("outcome");
  if (what === "all") return true;
  const found = question.ways.map(outcome);
  if (what === "runs differ") return new Set(found).size > 1;
  const run = value_of("run");
  const looked = run === "" ? question.ways : [question.ways[run]];
  return looked.some((way) => (what === "unparsable" ? way.cost.unparsable > 0 : outcome(way) === what));
}

function list() {
  const found = entries.filter(wanted);
  get("list").replaceChildren(...found.map(entry_of));
  get("count").textContent = `${found.length} of ${plural(entries.length, "question")}`;
}

function choose_metric() {
  const metric = value_of("metric");
  for (const part of document.querySelectorAll(".by-metric")) part.hidden = part.dataset.metric !== metric;
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

if (get("type")) {
  const types = new Set(data.questions.map((question) => question.type).filter((type) => type !== null));
  for (const type of [...types].sort()) get("type").append(new Option(type, type));
}
get("metric").addEventListener("change", choose_metric);
get("controls").addEventListener("input", list);
get("controls").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", open_named);
choose_metric();
open_named();
document.documentElement.dataset.ready = Math.round(performance.now()); // milliseconds since the page was asked for
