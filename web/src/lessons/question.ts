// Question of a lesson: an answer is checked by the engine's numbers, as often as it takes.

import { fill, h } from "../app/dom";
import { evaluate, parse, type Scope } from "./expression";
import type { Lesson } from "./lesson";
import { render } from "./text";

/** Wrong answers after which the answer can be shown. */
const ENOUGH = 3;

export interface QuestionActs {
  /** Returns the scope of the settings as they are, when their runs are finished. */
  scope(): Promise<Scope>;
  /** Moves the controls to the solution. */
  solve(): void;
  answered(): void;
}

/** Reply to an answer. */
export interface Reply {
  right: boolean;
  text: string;
}

/** Returns the reply to the answer that a scope holds: the first hint whose condition it meets. */
export function replyTo(lesson: Lesson, scope: Scope): Reply {
  if (evaluate(parse(lesson.check.pass), scope)) return { right: true, text: "Right!" };
  const hint = lesson.check.hints.find(
    (other) => other.if === undefined || evaluate(parse(other.if), scope),
  );
  return { right: false, text: hint?.text ?? "Not yet. Go on." };
}

/** A question on the page. */
export class Question {
  readonly element: HTMLElement;
  readonly #lesson: Lesson;
  readonly #acts: QuestionActs;
  readonly #reply = h("p", { class: "lesson-reply", role: "status", hidden: true });
  readonly #check: HTMLButtonElement;
  readonly #show: HTMLButtonElement;
  readonly #answer: HTMLElement;
  #wrong = 0;

  constructor(lesson: Lesson, acts: QuestionActs) {
    this.#lesson = lesson;
    this.#acts = acts;
    this.#check = h("button", { type: "button", class: "lesson-check" }, "Check my answer");
    this.#check.addEventListener("click", () => void this.check());
    this.#show = h("button", { type: "button", hidden: true }, "Show the answer");
    this.#show.addEventListener("click", () => {
      this.#acts.solve();
      this.#open();
    });
    this.#answer = h(
      "section",
      { class: "lesson-answer", hidden: true },
      h("h3", {}, "Answer"),
      render(lesson.sections.Answer),
    );
    this.element = h(
      "section",
      { class: "lesson-question" },
      h("h3", {}, "Question"),
      render(lesson.sections.Question),
      h("details", {}, h("summary", {}, "A hint"), render(lesson.sections.Hint)),
      h("p", { class: "lesson-buttons" }, this.#check, this.#show),
      this.#reply,
      this.#answer,
    );
  }

  /** Checks the answer, and says what is right or wrong with it. */
  async check(): Promise<void> {
    this.#check.disabled = true;
    try {
      const reply = replyTo(this.#lesson, await this.#acts.scope());
      this.#tell(reply);
      if (reply.right) {
        this.#acts.answered();
        this.#open();
      } else {
        this.#wrong += 1;
        if (this.#wrong >= ENOUGH) this.#show.hidden = false;
      }
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.#tell({ right: false, text: `This cannot be run: ${text}` });
    } finally {
      this.#check.disabled = false;
    }
  }

  #tell(reply: Reply): void {
    this.#reply.hidden = false;
    this.#reply.classList.toggle("right", reply.right);
    fill(this.#reply, h("strong", {}, reply.right ? "✓ " : "Not yet. "), reply.text);
  }

  #open(): void {
    this.#answer.hidden = false;
    this.#show.hidden = true;
  }
}
