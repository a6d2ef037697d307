// Pages of a lesson to print: the exercise sheet, and the page for the teacher.

import { h } from "../app/dom";
import type { Lesson } from "./lesson";
import { render } from "./text";

/** Returns the address of a lesson on this page. */
export function addressOf(lesson: Lesson): string {
  return `${location.href.replace(/#.*$/, "")}#lesson=${lesson.name}`;
}

/** Makes the exercise sheet: the question, tasks, and lines to write on. */
export function exerciseSheet(lesson: Lesson): HTMLElement {
  const field = (label: string) => h("span", {}, label, h("span", { class: "lesson-blank" }));
  return h(
    "article",
    { class: "lesson-print lesson-sheet" },
    h("header", {}, h("p", {}, field("Name "), field("Date "))),
    h("h1", {}, `${lesson.number}. ${lesson.title}`),
    h("p", { class: "lesson-address" }, addressOf(lesson)),
    h("p", {}, lesson.summary),
    h("section", { class: "lesson-box" }, h("h2", {}, "Question"), render(lesson.sections.Question)),
    render(lesson.sections["Exercise sheet"]),
  );
}

/** Makes the page for the teacher: goal, mistakes, next questions, hint, answer and solution. */
export function teacherPage(lesson: Lesson): HTMLElement {
  const settings = Object.entries(lesson.solution).map(([path, value]) => {
    const control = lesson.controls.find((other) => other.path === path);
    return h("li", {}, `${control?.label ?? path}: `, h("strong", {}, worded(lesson, path, value)));
  });
  return h(
    "article",
    { class: "lesson-print lesson-teacher" },
    h("h1", {}, `${lesson.number}. ${lesson.title}: for the teacher`),
    h("p", { class: "lesson-address" }, addressOf(lesson)),
    h("p", {}, `${lesson.minutes} minutes. ${lesson.summary}`),
    render(lesson.sections["For the teacher"]),
    h("h2", {}, "Question, hint and answer"),
    render(lesson.sections.Question),
    render(lesson.sections.Hint),
    render(lesson.sections.Answer),
    h("p", {}, "Settings that answer the question:"),
    h("ul", {}, settings),
  );
}

function worded(lesson: Lesson, path: string, value: string): string {
  const control = lesson.controls.find((other) => other.path === path);
  const place = control?.values?.indexOf(value) ?? -1;
  const name = control?.names?.[place];
  if (name !== undefined) return name;
  return /^\d+$/.test(value) && control?.unit ? `${value} ${control.unit}` : value;
}

/** Prints one page of a lesson, and nothing else. */
export function print(page: HTMLElement): void {
  document.body.append(page);
  document.documentElement.classList.add("lesson-printing");
  const done = () => {
    page.remove();
    document.documentElement.classList.remove("lesson-printing");
  };
  window.addEventListener("afterprint", done, { once: true });
  window.print();
}
