// The box that a question is written in; Enter asks it.

import { make, unique } from "./dom.js";

export class Question {
  constructor(placeholder, status, ask) {
    const id = unique("question");
    this.status = status; // says what is missing
    this.box = make("textarea", { id, rows: 2, maxlength: 16384, placeholder, keydown: (event) => this.key(event, ask), dir: "auto" });
    this.elements = [make("label", { class: "big", for: id }, "Question"), this.box];
  }

  get text() {
    return this.box.value;
  }

  set text(question) {
    this.box.value = question;
  }

  // What is asked, or nothing when the box is empty, which is said.
  read() {
    const question = this.text.trim();
    if (!question) {
      this.status.textContent = "Write a question first.";
      this.box.focus();
    }
    return question;
  }

  key(event, ask) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    ask();
  }
}
