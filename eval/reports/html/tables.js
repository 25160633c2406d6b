// What can be done with the tables of a page: they are sorted, and taken away as text or as a drawing.

import { copy, get, save } from "./dom.js";

export const data = JSON.parse(get("data").textContent);

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
  const numeric = groups.flat().some((row) => typeof key(row, column) === "number");
  const descending = head.ariaSort === "none" || head.ariaSort === null ? numeric : head.ariaSort === "ascending";
  const compare = (one, other) => {
    const [a, b] = [key(one, column), key(other, column)];
    return typeof a === typeof b && descending ? ordered(b, a) : ordered(a, b);
  };
  if (groups.some((group) => group.length > 1)) for (const group of groups) group.splice(1, Infinity, ...group.slice(1).sort(compare));
  else groups.sort(([one], [other]) => compare(one, other));
  body.replaceChildren(...groups.flat());
  for (const other of head.parentElement.cells) other.ariaSort = "none";
  head.ariaSort = descending ? "descending" : "ascending";
}

function take(button) {
  const box = button.closest(".take");
  const { take: id } = box.dataset;
  const { kind } = button.dataset;
  if (kind === "svg") save(`${id.replace(/[^\w.-]+/g, "-")}.svg`, data.files[id].svg, "image/svg+xml");
  else copy(data.files[id][kind], box.querySelector("[role=status]"));
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button === null) return;
  if (button.className === "sort") sort(button.closest("th"));
  else if (button.dataset.kind) take(button);
});
