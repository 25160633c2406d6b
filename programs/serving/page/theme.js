// Before the page is drawn: the colours that the reader chose; none is stored where they are the system's.
"use strict";
const chosen = localStorage.getItem("odqa-theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
