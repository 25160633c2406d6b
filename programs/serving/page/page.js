// The page: its views, its colours, and the token.

import { Asks } from "./asks.js";
import { button, get } from "./dom.js";
import { Prompts } from "./prompts.js";
import { Runs } from "./runs.js";
import { ServerError, json, on_token } from "./server.js";

const TITLES = { ask: "Ask", side: "Side by side", runs: "Runs", prompts: "Prompts" };
const views = {};

function route() {
  const [name, parameters = ""] = location.hash.slice(1).split("?", 2);
  const view = Object.hasOwn(TITLES, name) ? name : "ask"; // and not __proto__
  for (const other of Object.keys(TITLES)) get(other).hidden = other !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${TITLES[view]} – dspy-odqa`;
  views[view].show(new URLSearchParams(parameters));
}

// Colours: the system's, light, dark, and around again.

const THEMES = { system: "◐", light: "☀", dark: "☾" };

function show_theme() {
  const theme = document.documentElement.dataset.theme ?? "system";
  const control = get("theme");
  control.firstChild.textContent = THEMES[theme];
  control.setAttribute("aria-label", `Colours: ${theme === "system" ? "as the system has them" : theme}`);
  control.title = control.getAttribute("aria-label");
}

function next_theme() {
  const names = Object.keys(THEMES);
  const theme = names[(names.indexOf(document.documentElement.dataset.theme ?? "system") + 1) % names.length];
  if (theme === "system") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("odqa-theme");
  } else {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("odqa-theme", theme);
  }
  show_theme();
}

// The token.

function ask_for_token(refused) {
  const dialog = get("token");
  get("token-why").textContent = refused ? "It was not accepted." : "Whoever started the server has it.";
  get("token-value").value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "given" ? get("token-value").value : null), { once: true });
  });
}

async function start() {
  const trouble = get("trouble");
  trouble.hidden = true;
  let offer;
  try {
    offer = await json("/v1/methods");
  } catch (error) {
    if (!(error instanceof ServerError)) throw error;
    trouble.replaceChildren(`${error.message} `, button("Try again", start));
    trouble.hidden = false;
    return;
  }
  get("reader").hidden = offer.lm.language_model;
  get("lm").textContent = offer.lm.name;
  get("lm").title = "The language model behind this server";
  views.ask = new Asks("ask", "Ask", offer, 1, 1);
  views.side = new Asks("side", "Side by side", offer, 2, 3);
  views.runs = new Runs();
  views.prompts = new Prompts(offer);
  window.addEventListener("hashchange", route);
  route();
  document.documentElement.dataset.ready = "";
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part of the address after # says which view is shown
  get("main").focus();
});
get("token-cancel").addEventListener("click", () => get("token").close(""));
get("theme").addEventListener("click", next_theme);
show_theme();
on_token(ask_for_token);
start();
