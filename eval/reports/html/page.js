"use strict";
// Makes the list of questions from the data in the page; what is inside of a question when it is opened. Whatever the
// data say is set as text, never as HTML.

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

// A text from the data. It may run from right to left, and must not turn what stands beside it.
const said = (text) => make("bdi", "", String(text));
const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const MARKS = { right: "✓", wrong: "✗", failed: "⚠", "not scored": "–" };

// Right, wrong, failed or not scored by the metric that is chosen; and, of what is wrong, why. The page has this ready.
const why = (trace) => trace.outcomes[data.metrics.findIndex(({ name }) => name === get("metric").value)] || "not scored";

function outcome(trace) {
  const what = why(trace);
  return what in MARKS ? what : "wrong";
}

const badge = (what, text = what) => make("span", `badge ${what.replace(" ", "-")}`, text);

function outcomes(trace, n) {
  const what = outcome(trace);
  const score = trace.scores[get("metric").value];
  const partly = what === "wrong" && score > 0 ? ` ${(100 * score).toFixed(0)}` : "";
  const name = several ? `${data.runs[n].short} ` : "";
  const reason = what === "wrong" && why(trace) !== "not known" ? `: ${why(trace)}` : "";
  return [badge(what, `${name}${MARKS[what]} ${what}${partly}${reason}`), trace.cost.unparsable ? badge("unparsable") : null];
}

// One question.

function summary(question) {
  const answers = question.traces.map((trace, n) =>
    make("span", "outcome", outcomes(trace, n), trace.answer === null ? null : make("q", "answer", said(trace.answer)))
  );
  return make(
    "summary", "",
    make("span", "question", said(question.question === null ? question.id : question.question)),
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
    make("div", "traces", question.traces.map((trace, n) => trace_of(trace, n, question.id))),
  ];
}

function trace_of(trace, n, id) {
  const run = data.runs[n];
  const parts = several ? [make("h3", "", run.title)] : [];
  const scores = data.metrics
    .filter(({ name }) => typeof trace.scores[name] === "number")
    .map(({ name, heading }) => `${heading} ${(100 * trace.scores[name]).toFixed(1)}`);
  const figures = make("p", "quiet", [...scores, ...spent(trace.cost)].join(" · "));
  if (trace.error !== null) parts.push(make("p", "error", "⚠ Failed: ", said(trace.error)));
  if (run.best_of) {
    const note = make("p", "", "The best of several answers. The reports of the single runs show how each answer came about.");
    return make("article", "trace", parts, note, figures);
  }
  const answer = trace.answer === null ? "none" : make("b", "", said(trace.answer || "(empty)"));
  parts.push(
    step("Queries", `${trace.searches.length}`, queries(trace)),
    step("Passages", counts(trace), passages(trace)),
    step("Evidence", `${trace.evidence.length} shown to the answering call`, evidence(trace)),
    step("Answer", "", make("div", "", make("p", "", outcomes(trace, n), " ", answer), figures))
  );
  if (Object.keys(trace.own).length) parts.push(step("Further fields of the program", "", own(trace)));
  if (data.prompts) parts.push(step("Prompts and replies", "", unfold("LM calls that this run paid for", () => calls(id, n))));
  return make("article", "trace", parts);
}

// The calls of a question are packed: base64 of gzip of JSON.
async function unpacked(id) {
  const bytes = Uint8Array.from(atob(data.prompts[id]), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

function calls(id, n) {
  const box = make("div", "calls");
  if (!(id in data.prompts)) return make("p", "quiet", "Not on this page; calls.jsonl of the run has what was kept.");
  unpacked(id).then((runs) => {
    if (!runs[n].length) box.append(make("p", "quiet", "None: its replies came from a cache, or it made no call."));
    runs[n].forEach((call, number) => box.append(unfold(`${number + 1}. ${call.predictor || "call"}`, () => call_of(call))));
    document.documentElement.dataset.unpacked = id;
  }).catch((error) => box.append(make("p", "error", `This browser cannot unpack them: ${error.message}`)));
  return box;
}

function call_of(call) {
  const prompt = call.prompt === null ? [make("p", "quiet", "The run did not keep the prompt.")]
    : call.prompt.flatMap(([role, text]) => [make("b", "", role), make("pre", "", said(text))]);
  return [...prompt, ...call.replies.flatMap((text) => [make("b", "", "reply"), make("pre", "", said(text))])];
}

const step = (name, note, content) => make("div", "step", make(several ? "h4" : "h3", "", name, " ", make("span", "quiet", note)), content);

function spent(cost) {
  const usd = cost.usd === null ? [] : [`${cost.usd} USD`];
  const tokens = `${cost.input_tokens} tokens in, ${cost.output_tokens} out`;
  return [plural(cost.lm_calls, "LM call"), tokens, ...usd, `${cost.seconds.toFixed(2)} seconds`];
}

function queries(trace) {
  const gold = new Set(trace.passages.filter((entry) => entry.gold).map((entry) => entry.passage));
  return make("ol", "", trace.searches.map(({ query, found }) => {
    const golden = (found || []).filter((number) => gold.has(number)).length;
    const result = found === null ? "the search failed" : `found ${found.length}, ${golden} gold`;
    return make("li", "", said(query), make("span", "quiet", ` — ${result}`));
  }));
}

function counts(trace) {
  const tally = {};
  for (const { fate } of trace.passages) tally[fate] = (tally[fate] || 0) + 1;
  const parts = Object.entries(tally).map(([fate, n]) => `${n} ${fate}`);
  return `${trace.passages.length}${parts.length ? ": " : ""}${parts.join(", ")}`;
}

// For each passage the queries that found it, with its rank: 2 #3 is the third passage of the second query.
function finders(trace) {
  const by = new Map();
  trace.searches.forEach(({ found }, q) => (found || []).forEach((number, place) => {
    if (!by.has(number)) by.set(number, []);
    by.get(number).push(`${q + 1} #${place + 1}`);
  }));
  return by;
}

const SHOWN = 15; // passages in the list, before the rest of those that are neither gold nor kept is folded

function passages(trace) {
  const by = finders(trace);
  const lines = [];
  const folded = [];
  trace.passages.forEach((entry, n) => {
    const dull = n >= SHOWN && !entry.gold && (entry.fate === "dropped" || entry.fate === "found");
    (dull ? folded : lines).push(entry);
  });
  const listed = (entries) => entries.map((entry) => passage(entry, by.get(entry.passage)));
  const missing = trace.missing.map((name) => make("li", "missing", "☆ ", said(name), make("span", "quiet", " — gold, found by no query")));
  const list = [make("ol", "passages", listed(lines), missing)];
  if (folded.length) {
    list.push(unfold(`${folded.length} more, none gold, none in the evidence`, () => make("ol", "passages", listed(folded))));
  }
  return make("div", "", list);
}

function passage(entry, by) {
  const { id, title, text } = data.passages[entry.passage];
  const why = [by ? `query ${by.join(", ")}` : "", data.reasons[entry.why]].filter(Boolean).join("; ");
  const star = entry.gold ? make("span", "star", "★ gold ") : null;
  return make("li", "", unfold(
    [star, make("span", "title", said(title || id)), " ", badge(entry.fate), make("span", "quiet", " ", said(why))],
    () => [text_of(text), make("p", "quiet", `id ${id}${entry.score === undefined ? "" : `, score ${entry.score}`}`)]
  ));
}

function text_of(text) {
  if (text === undefined) return make("p", "quiet", "The text is left out to keep this page small; passages.jsonl of the run has it.");
  if (text === null) return make("p", "quiet", "The run did not keep the text.");
  return make("p", "text", said(text));
}

const FORMS = { extract: "extract", written: "written by the LM" };

function evidence(trace) {
  return make("ol", "evidence", trace.evidence.map((shown) => {
    const { id, title, text } = data.passages[shown.passage];
    const form = FORMS[shown.form];
    return make("li", "", make("b", "", said(title || id)), " ", form ? badge("extract", form) : null, text_of(text));
  }));
}

// The program's own fields, with the titles of passages in place of their ids.
function own(trace) {
  const titles = new Map(trace.passages.map((entry) => data.passages[entry.passage]).map(({ id, title }) => [id, title]));
  const list = make("dl", "");
  for (const [name, value] of Object.entries(trace.own)) {
    const long = JSON.stringify(value).length > (typeof value === "string" ? 1500 : 250);
    const size = typeof value === "string" ? "long text" : plural(Object.keys(value || "").length, "item");
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

// A part that is folded at first. Its content is made when it is opened.
function unfold(head, content) {
  const details = make("details", "", make("summary", "", head));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(...[content()].flat());
  });
  return details;
}

// The list.

const entries = data.questions.map((question) => {
  const words = [question.question, question.id, ...question.answers, ...question.traces.flatMap((trace) => [trace.answer, trace.error])];
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
  const found = question.traces.map(outcome);
  if (what === "runs differ") return new Set(found).size > 1;
  const run = value_of("run");
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

// The tables.

// What a cell is sorted by: its number, or its text where it has none.
function key(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = parseFloat(text.replace(/,/g, "").replace("−", "-").replace(/^[<[]/, ""));
  return column === 0 || Number.isNaN(number) ? text : number;
}

function ordered(one, other) {
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1; // what has no number comes last
  return typeof one === "number" ? one - other : one.localeCompare(other, undefined, { numeric: true });
}

// Lines that are parts stay beneath the line that they are part of.
function sort(head) {
  const body = head.closest("table").tBodies[0];
  const column = head.cellIndex;
  const groups = [];
  for (const row of body.rows) {
    if (row.cells[0].classList.contains("part") && groups.length) groups.at(-1).push(row);
    else groups.push([row]);
  }
  const parts = groups.some((group) => group.length > 1);
  const numeric = groups.flat().some((row) => typeof key(row, column) === "number");
  const descending = head.ariaSort === "none" || head.ariaSort === null ? numeric : head.ariaSort === "ascending";
  const compare = (one, other) => {
    const [a, b] = [key(one, column), key(other, column)];
    return typeof a === typeof b && descending ? ordered(b, a) : ordered(a, b);
  };
  if (parts) for (const group of groups) group.splice(1, Infinity, ...group.slice(1).sort(compare));
  else groups.sort(([one], [other]) => compare(one, other));
  body.replaceChildren(...groups.flat());
  for (const other of head.parentElement.cells) other.ariaSort = "none";
  head.ariaSort = descending ? "descending" : "ascending";
}

function save(name, text) {
  const link = make("a", "");
  link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// Where a browser does not let the page write to the clipboard, the text is shown, ready to be copied.
function copy(text, box) {
  const done = () => { box.querySelector("[role=status]").textContent = "copied"; };
  const shown = () => {
    const area = box.querySelector("textarea") || make("textarea", "");
    area.readOnly = true;
    area.value = text;
    box.append(area);
    area.select();
  };
  navigator.clipboard ? navigator.clipboard.writeText(text).then(done, shown) : shown();
}

function take(button) {
  const box = button.closest(".take");
  const { take: id } = box.dataset;
  const { kind } = button.dataset;
  if (kind === "svg") save(`${id.replace(/[^\w.-]+/g, "-")}.svg`, data.files[id].svg);
  else copy(data.files[id][kind], box);
}

function filter(button) {
  get("controls").reset();
  get("outcome").value = button.dataset.outcome;
  if (several) get("run").value = button.dataset.run;
  list();
  get("questions").scrollIntoView();
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button === null) return;
  if (button.className === "sort") sort(button.closest("th"));
  else if (button.className === "filter") filter(button);
  else if (button.dataset.kind) take(button);
});
get("metric").addEventListener("change", choose_metric);
get("controls").addEventListener("input", list);
get("controls").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", open_named);
choose_metric();
open_named();
document.documentElement.dataset.ready = Math.round(performance.now()); // milliseconds since the page was asked for
