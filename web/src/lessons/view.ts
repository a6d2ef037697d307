// An open lesson: text, controls, numbers and question.

import { h, setText } from "../app/dom";
import type { App, AppState, Status } from "../app/panel";
import type { Run } from "../engine";
import { ControlView } from "./control";
import { evaluate, parse, type Scope, settingsOf } from "./expression";
import { Funnel } from "./funnel";
import type { Control, Lesson } from "./lesson";
import { Question } from "./question";
import { readable } from "./quantity";
import { Repeats } from "./repeats";
import { scopeOf } from "./scope";
import { exerciseSheet, print, teacherPage } from "./sheet";
import { render } from "./text";

/** Time (ms) after which a check no longer waits for its runs. */
const PATIENCE = 60_000;

/** A lesson on the page. */
export class LessonView {
  readonly element: HTMLElement;
  readonly lesson: Lesson;
  readonly question: Question;
  readonly #app: App;
  readonly #controls: ControlView[];
  readonly #readouts: { expression: ReturnType<typeof parse>; unit: string; output: HTMLElement }[];
  readonly #funnel: Funnel | undefined;
  readonly #repeats: Repeats;
  readonly #paths: string[];
  #settings = new Map<string, string>();
  #count: number;
  #toml = "";
  #edits: Promise<void> = Promise.resolve();
  #status: Status | undefined;
  readonly #unsubscribe: () => void;

  constructor(app: App, lesson: Lesson, answered: () => void) {
    this.#app = app;
    this.lesson = lesson;
    this.#count = lesson.runs;
    const settle = () => app.settle();
    const set = (control: Control, value: string) => this.#set(control, value);
    this.#controls = lesson.controls.map((control) => new ControlView(control, { set, settle }));
    this.#readouts = lesson.readouts.map(({ value, unit }) => ({
      expression: parse(value),
      unit,
      output: h("dd", {}, "–"),
    }));
    this.#unsubscribe = app.onStatus((status) => (this.#status = status));
    this.#repeats = new Repeats(app.engine, () => this.#show());
    if (lesson.views.includes("runs")) this.#funnel = new Funnel();
    const conditions = [lesson.check.pass, ...lesson.check.hints.flatMap((hint) => hint.if ?? [])];
    const asked = conditions.flatMap((text) => settingsOf(parse(text)));
    this.#paths = [...new Set([...asked, ...lesson.controls.map((control) => control.path)])];
    this.question = new Question(lesson, {
      scope: () => this.#finished(),
      solve: () => this.solve(),
      answered,
    });
    this.element = h("div", { class: "lesson" }, this.#parts());
  }

  /** Starts the lesson with its own scenario. */
  start(): void {
    this.#count = this.lesson.runs;
    this.#app.load(this.lesson.scenario, this.lesson.tcps);
  }

  /** Moves the controls to the solution. */
  solve(): void {
    for (const [path, value] of Object.entries(this.lesson.solution)) {
      const control = this.lesson.controls.find((other) => other.path === path);
      if (control) this.#set(control, value);
    }
    this.#app.settle();
  }

  setState(state: AppState): void {
    if (state.toml !== this.#toml) {
      this.#toml = state.toml;
      void this.#read(state.toml);
    } else this.#showControls();
  }

  setRuns(runs: Run[]): void {
    if (this.#isCurrent(runs)) this.#repeat(runs);
    this.#show();
  }

  stop(): void {
    this.#repeats.stop();
    this.#unsubscribe();
  }

  #parts(): HTMLElement[] {
    const { lesson } = this;
    const button = (text: string, act: () => void) =>
      h("button", { type: "button", onclick: act }, text);
    const numbers = this.#readouts.map(({ output }, place) =>
      h("div", {}, h("dt", {}, lesson.readouts[place]!.label), output),
    );
    return [
      h("section", { class: "lesson-text" }, render(lesson.sections.Lesson)),
      h(
        "section",
        { class: "lesson-controls", "aria-label": "Controls of the lesson" },
        this.#controls.map((control) => control.element),
        h("dl", { class: "lesson-numbers" }, numbers),
        h("p", { class: "lesson-buttons" }, button("Start again", () => this.start())),
      ),
      ...(this.#funnel ? [this.#funnel.element] : []),
      this.question.element,
      h(
        "section",
        { class: "lesson-more" },
        h("h3", {}, "For the classroom"),
        h(
          "p",
          { class: "lesson-buttons" },
          button("Print the exercise sheet", () => print(exerciseSheet(lesson))),
          button("Print the teacher's page", () => print(teacherPage(lesson))),
        ),
        h(
          "details",
          { class: "lesson-teaching" },
          h("summary", {}, `For the teacher (${lesson.minutes} minutes)`),
          render(lesson.sections["For the teacher"]),
        ),
      ),
    ];
  }

  #set(control: Control, value: string): void {
    if (control.path === "runs") {
      this.#count = Number(value);
      const runs = this.#app.runs();
      if (this.#isCurrent(runs)) this.#repeat(runs);
      this.#show();
    } else if (control.path === "tcps") this.#app.update({ tcps: value.split(",") });
    else {
      const paths = [control.path, ...control.also];
      this.#edits = this.#app
        .set(paths.map((path): [string, string] => [path, value]))
        .catch(() => undefined);
    }
  }

  /** Reads the settings from the text of the scenario. */
  async #read(toml: string): Promise<void> {
    const keys = this.#paths.filter((path) => path !== "runs" && path !== "tcps");
    const settings = new Map<string, string>();
    const values = await Promise.all(
      keys.map((path) => this.#app.engine.value(toml, path).catch(() => undefined)),
    );
    values.forEach((value, place) => {
      if (value !== undefined) settings.set(keys[place]!, value);
    });
    if (toml !== this.#toml) return;
    this.#settings = settings;
    this.#showControls();
    this.#show();
  }

  #showControls(): void {
    for (const control of this.#controls) {
      const { path } = control.control;
      if (path === "runs") control.show(String(this.#count));
      else if (path === "tcps") control.show(this.#app.state().tcps.join(","));
      else {
        const text = this.#settings.get(path);
        if (text !== undefined) control.show(text);
      }
    }
  }

  /** Returns whether runs are those of the state. */
  #isCurrent(runs: Run[]): boolean {
    const { toml, tcps } = this.#app.state();
    return runs[0]?.toml === toml && runs.map((run) => run.tcp).join() === tcps.join();
  }

  #repeat(runs: Run[]): void {
    this.#repeats.want(runs, this.#app.state(), this.#count).catch(() => undefined);
  }

  #scope(): Scope {
    const runs = this.#app.runs();
    const all = this.#isCurrent(runs) ? this.#repeats.finished(this.#count) : [runs];
    return scopeOf(all, this.#settings);
  }

  #show(): void {
    if (!this.#app.runs().length) return;
    const scope = this.#scope();
    for (const { expression, unit, output } of this.#readouts) {
      setText(output, readable(evaluate(expression, scope), unit));
    }
    this.#funnel?.draw(this.#repeats.finished(this.#count), this.#count);
  }

  /** Returns the scope when settings and runs are those of the controls. */
  async #finished(): Promise<Scope> {
    await this.#edits;
    const end = performance.now() + PATIENCE;
    for (;;) {
      const current = this.#isCurrent(this.#app.runs()) && this.#toml === this.#app.state().toml;
      if (current && this.#repeats.finished(this.#count).length === this.#count) {
        await this.#read(this.#toml);
        return this.#scope();
      }
      const { kind, text } = this.#status ?? { kind: "idle", text: "" };
      if (kind === "error" || kind === "stopped") throw new Error(text);
      if (performance.now() > end) throw new Error("the runs did not finish");
      await new Promise((wake) => setTimeout(wake, 20));
    }
  }
}

/** Makes the entry of a lesson in the list. */
export function entryOf(lesson: Lesson, done: boolean, open: () => void): HTMLElement {
  return h(
    "li",
    {},
    h(
      "button",
      { type: "button", onclick: open },
      h("strong", {}, `${lesson.number}. ${lesson.title}`, done ? " ✓" : ""),
      done ? h("span", { class: "sr-only" }, " answered") : "",
      h("span", {}, `${lesson.summary} ${lesson.minutes} minutes.`),
    ),
  );
}
