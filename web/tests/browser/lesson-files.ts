import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile } from "../../src/lessons/compile";
import type { Page } from "@playwright/test";
import type { Control, Lesson } from "../../src/lessons/lesson";
import { numberIn } from "../../src/lessons/quantity";

const folder = fileURLToPath(new URL("../../lessons/", import.meta.url));
/** Lessons of web/lessons, in order. */
export const lessons: Lesson[] = readdirSync(folder)
  .filter((file) => /^\d/.test(file))
  .sort()
  .map((file) => compile(file, readFileSync(folder + file, "utf8"), () => ""));

/** Returns the path of a lesson's file. */
export function fileOf(lesson: Lesson): string {
  return `${folder}${String(lesson.number).padStart(2, "0")}-${lesson.name}.md`;
}

/** Moves a control as a person does: to a position of its slider, or an entry of its list. */
export async function move(page: Page, control: Control, value: string): Promise<void> {
  const input = page.locator(`[data-path="${control.path}"]`);
  const place = control.values?.indexOf(value) ?? -1;
  if (control.names) {
    await input.selectOption({ index: place });
    return;
  }
  const unit = control.number ? "" : control.unit;
  await input.fill(String(control.values ? place : numberIn(value, unit)));
}
