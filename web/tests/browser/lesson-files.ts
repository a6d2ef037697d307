import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile } from "../../src/lessons/compile";
import type { Lesson } from "../../src/lessons/lesson";

const folder = fileURLToPath(new URL("../../lessons/", import.meta.url));
/** Lessons of web/lessons, in order. */
export const lessons: Lesson[] = readdirSync(folder)
  .filter((file) => /^\d/.test(file))
  .sort()
  .map((file) => compile(file, readFileSync(folder + file, "utf8"), () => ""));
