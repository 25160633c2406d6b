// Passages, and what became of them.

import { button, disclosure, make, plural, said, score, unique } from "./dom.js";

const FORMS = { whole: "kept", extract: "kept in part", cited: "cited" };

// A passage in a list: title, score and the beginning of its text; a click shows all of it.
export function passage_item({ id, title, text, score: value, gold }, number = null) {
  const body = make("p", { class: "text", id: unique("text"), dir: "auto" }, text || "");
  const toggle = button("", () => {
    const open = body.classList.toggle("whole");
    toggle.setAttribute("aria-expanded", String(open));
  }, { class: "title", "aria-expanded": "false", "aria-controls": body.id });
  toggle.append(said(title || id));
  return make("li", { class: "passage", data: { id } },
    make("div", { class: "head" },
      number === null ? null : make("span", { class: "number", "aria-hidden": "true" }, String(number)),
      gold ? make("span", { class: "star" }, "★ gold") : null,
      toggle,
      make("span", { class: "fate" }),
      /^https?:\/\//.test(id) && make("a", { class: "quiet", href: id, target: "_blank", rel: "noopener noreferrer", "aria-label": `Open ${title || id}` }, "open"),
      value === null || value === undefined ? null : make("span", { class: "score quiet", title: "score" }, score(value))),
    make("p", { class: "why quiet" }),
    text ? body : make("p", { class: "quiet" }, "no text"));
}

// A list of passages; of many, so many at once, and a button for the rest.
export function passage_list(passages, at_once = 10) {
  const items = passages.map((passage, place) => passage_item(passage, place + 1));
  if (!items.length) return [make("p", { class: "quiet" }, "Nothing was found.")];
  const first = make("ol", { class: "passages" }, items.slice(0, at_once));
  if (items.length <= at_once) return [first];
  const rest = make("ol", { class: "passages", id: unique("rest"), start: at_once + 1 }, items.slice(at_once));
  return [first, disclosure(plural(items.length - at_once, "more passage"), rest, { "aria-controls": rest.id }), rest];
}

// Marks a passage in a list with what became of it, and why: of what was kept, whether it says the answer, where that is known.
export function mark(item, { kind, form, why, supports }) {
  const fate = kind === "kept" && supports !== undefined ? (supports ? "source" : "shown") : kind;
  item.dataset.fate = fate;
  const words = fate === "source" ? "says so" : fate === "kept" ? FORMS[form] || "kept" : fate;
  item.querySelector(".fate").replaceChildren(make("span", { class: `badge ${fate}` }, words));
  item.querySelector(".why").replaceChildren(said(why || ""));
}
