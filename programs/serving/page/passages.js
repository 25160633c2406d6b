// Passages, and what became of them.

import { button, disclosure, make, plural, said, score, unique } from "./dom.js";

const FORMS = { whole: "kept", extract: "kept in part", cited: "cited" };
const AT_ONCE = 10;

// A passage in a list: title, score and the beginning of its text; a click shows all of it.
export function passage_item({ id, title, text, score: value }, number = null) {
  const body = make("p", { class: "text", id: unique("text"), dir: "auto" }, text || "");
  const toggle = button("", () => {
    const open = body.classList.toggle("whole");
    toggle.setAttribute("aria-expanded", String(open));
  }, { class: "title", "aria-expanded": "false", "aria-controls": body.id });
  toggle.append(said(title || id));
  return make("li", { class: "passage", data: { id } },
    make("div", { class: "head" },
      number === null ? null : make("span", { class: "number", "aria-hidden": "true" }, String(number)),
      toggle,
      make("span", { class: "fate" }),
      value === null || value === undefined ? null : make("span", { class: "score quiet", title: "score" }, score(value))),
    make("p", { class: "why quiet" }),
    text ? body : make("p", { class: "quiet" }, "no text"));
}

// A list of passages; of many, the first.
export function passage_list(passages) {
  const items = passages.map((passage, place) => passage_item(passage, place + 1));
  if (!items.length) return [make("p", { class: "quiet" }, "Nothing was found.")];
  const first = make("ol", { class: "passages" }, items.slice(0, AT_ONCE));
  if (items.length <= AT_ONCE) return [first];
  const rest = make("ol", { class: "passages", id: unique("rest"), start: AT_ONCE + 1 }, items.slice(AT_ONCE));
  return [first, disclosure(plural(items.length - AT_ONCE, "more passage"), rest, { "aria-controls": rest.id }), rest];
}

// Marks a passage in a list as kept or dropped, with the reason.
export function mark(item, { kind, form, why }) {
  item.dataset.fate = kind;
  item.querySelector(".fate").replaceChildren(make("span", { class: `badge ${kind}` }, kind === "kept" ? FORMS[form] || "kept" : "dropped"));
  item.querySelector(".why").replaceChildren(said(why || ""));
}
