import lessons from "virtual:lessons";
import { fill, h, setText } from "../app/dom";
import type { App, AppState, Panel } from "../app/panel";
import type { Run } from "../engine";
import type { Lesson } from "./lesson";
import "./lessons.css";
import { Progress } from "./progress";
import { entryOf, LessonView } from "./view";

/** Makes the panel of the lessons. */
export function createLessons(app: App): Panel {
  return new Lessons(app);
}

/** Name that the state has for the list of lessons. */
const LIST = "list";

/** Pictures of the page without a lesson. */
const USUAL = ["cwnd", "sequence", "throughput", "queue"];

/** Panel with the list of lessons, or an open one. */
class Lessons implements Panel {
  readonly element: HTMLElement;
  readonly #app: App;
  readonly #progress = new Progress();
  readonly #title = h("h2", { tabindex: -1 });
  readonly #place = h("p", { class: "lesson-place" });
  readonly #body = h("div", { class: "lesson-body" });
  readonly #before: HTMLButtonElement;
  readonly #after: HTMLButtonElement;
  #view: LessonView | undefined;
  #name: string | undefined;

  constructor(app: App) {
    this.#app = app;
    this.#before = button("◀ Back", () => this.#step(-1));
    this.#after = button("Next ▶", () => this.#step(1));
    this.#before.title = "Previous lesson";
    this.#after.title = "Next lesson";
    const all = button("Controls", () => this.#toggleControls());
    all.title = "Show or hide all controls of the page";
    const close = button("✕", () => app.update({ lesson: undefined }));
    close.title = "Close the lessons";
    close.setAttribute("aria-label", close.title);
    this.element = h(
      "aside",
      { class: "lessons", hidden: true, "aria-label": "Lessons" },
      h(
        "nav",
        { class: "lesson-buttons", "aria-label": "Lessons" },
        this.#before,
        button("List", () => this.open(LIST)),
        this.#after,
        all,
        close,
      ),
      this.#place,
      this.#title,
      this.#body,
    );
  }

  /** Opens a lesson, or the list. */
  open(name: string): void {
    this.#app.update({ lesson: name });
    this.#title.focus();
  }

  setState(state: AppState): void {
    if (state.lesson !== this.#name) this.#show(state);
    // An opened lesson has loaded its scenario: the state is newer than the one given.
    this.#view?.setState(this.#app.state());
  }

  setRuns(runs: Run[]): void {
    this.#view?.setRuns(runs);
  }

  setTime(): void {
    // A lesson is about whole runs.
  }

  destroy(): void {
    this.#view?.stop();
  }

  #show(state: AppState): void {
    const name = state.lesson;
    this.#name = name;
    this.#view?.stop();
    this.#view = undefined;
    this.element.hidden = name === undefined;
    document.documentElement.toggleAttribute("data-lesson", name !== undefined);
    document.documentElement.removeAttribute("data-controls");
    document.documentElement.removeAttribute("data-without-packets");
    if (name === undefined) {
      this.#app.show(USUAL);
      return;
    }
    const lesson = lessons.find((other) => other.name === name);
    this.#before.disabled = !lesson || lesson === lessons[0];
    this.#after.disabled = lesson === lessons.at(-1);
    if (lesson) this.#showLesson(lesson, state);
    else this.#showList();
  }

  #showLesson(lesson: Lesson, state: AppState): void {
    const done = this.#progress.has(lesson.name) ? ", answered" : "";
    setText(this.#place, `Lesson ${lesson.number} of ${lessons.length}${done}`);
    setText(this.#title, lesson.title);
    this.#view = new LessonView(this.#app, lesson, () => this.#progress.add(lesson.name));
    fill(this.#body, this.#view.element);
    this.element.scrollTop = 0;
    const packets = lesson.views.includes("packets");
    document.documentElement.toggleAttribute("data-without-packets", !packets);
    this.#app.show(lesson.views.filter((view) => view !== "runs" && view !== "packets"));
    if (!state.toml.includes(`name = "lesson-${lesson.name}"`)) this.#view.start();
    this.#view.setRuns(this.#app.runs());
  }

  #showList(): void {
    setText(this.#place, "");
    setText(this.#title, "Lessons");
    const items = lessons.map((lesson) =>
      entryOf(lesson, this.#progress.has(lesson.name), () => this.open(lesson.name)),
    );
    fill(this.#body, h("ol", { class: "lesson-list" }, items));
  }

  #step(by: number): void {
    const place = lessons.findIndex((lesson) => lesson.name === this.#name);
    const next = lessons[place + by];
    if (next) this.open(next.name);
  }

  #toggleControls(): void {
    document.documentElement.toggleAttribute("data-controls");
  }
}

function button(text: string, act: () => void): HTMLButtonElement {
  return h("button", { type: "button", onclick: act }, text);
}
