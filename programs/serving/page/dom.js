// Elements and figures. Whatever comes from outside becomes text nodes, never markup.

export const get = (id) => document.getElementById(id);

// Control characters, those that turn the direction of what follows, and lone surrogates are written out, as in the reports.
const UNSEEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\p{Surrogate}/gu;
const visible = (text) => text.replace(UNSEEN, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);

// An element. Of `about`, functions are listeners, `data` goes to the data set, and the rest are attributes; null and
// false are left out.
export function make(tag, about = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  const shown = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");
  element.append(...shown.map((child) => (typeof child === "string" ? visible(child) : child)));
  return element;
}

// Text from outside within a line: writing from right to left does not upset what stands beside it.
export const said = (text) => make("bdi", {}, String(text));

export const button = (text, click, about = {}) => make("button", { type: "button", click, ...about }, text);

export function plural(count, noun, many = `${noun}s`) {
  return `${whole(count)} ${count === 1 ? noun : many}`;
}

export const whole = (value) => Number(value).toLocaleString("en", { maximumFractionDigits: 0 });
export const percent = (share) => (100 * share).toFixed(1);
export const seconds = (value) => `${Number(value).toFixed(value < 10 ? 1 : 0)} s`;
export const score = (value) => Number(value).toLocaleString("en", { maximumSignificantDigits: 4 });

export function dollars(value) {
  if (value === null || value === undefined) return "unknown";
  return value === 0 ? "$0" : `$${value.toFixed(value < 0.1 ? 4 : 2)}`;
}

// A button that shows and hides an element, which stays in its place.
export function disclosure(head, body, about = {}) {
  const control = button(head, () => {
    body.hidden = !body.hidden;
    control.setAttribute("aria-expanded", String(!body.hidden));
  }, { class: "disclose", ...about });
  body.hidden = true;
  control.setAttribute("aria-expanded", "false");
  return control;
}

// A part that is folded at first. Its content is made when it is opened.
export function unfold(head, content, about = {}) {
  const details = make("details", about, make("summary", {}, head));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(...[content()].flat(Infinity));
  });
  return details;
}

// New content; the focus stays in the place where it is.
export function redraw(place, elements) {
  const fields = () => [...place.querySelectorAll("a, button, input")];
  const focused = fields().indexOf(document.activeElement);
  place.replaceChildren(...elements);
  fields()[focused]?.focus();
}

let last = 0;
export const unique = (stem) => `${stem}-${(last += 1)}`;

export function save(name, text, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// Where a browser does not let the page write to the clipboard, the text is shown, ready to be copied.
export function copy(text, status) {
  const show = () => {
    const field = make("textarea", { readonly: true, rows: 2, "aria-label": "Text to copy" }, text);
    status.replaceChildren(field);
    field.select();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => status.replaceChildren("Copied."), show);
  else show();
}

// A mean in percent with its 95 % interval, as text.
export const interval = ({ mean, low, high }, written = percent) =>
  make("span", { class: "figure" }, make("b", {}, written(mean)), make("span", { class: "quiet" }, ` [${written(low)}, ${written(high)}]`));

const SVG = "http://www.w3.org/2000/svg";

// A mean and its 95 % interval on a line from 0 to 1.
export function drawn({ mean, low, high }) {
  const picture = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 100 12", class: "interval", "aria-hidden": "true" })) picture.setAttribute(name, value);
  const shape = (tag, about) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(about)) element.setAttribute(name, value);
    picture.append(element);
  };
  shape("line", { x1: 0, x2: 100, y1: 6, y2: 6, class: "grid" });
  shape("line", { x1: 100 * low, x2: 100 * high, y1: 6, y2: 6, class: "whisker" });
  shape("circle", { cx: 100 * mean, cy: 6, r: 3.5, class: "mark" });
  return picture;
}
