// A lesson as the page has it. The build makes it from a file of web/lessons: `compile.ts`.

/** Text of a lesson: a string, or an element with its children. */
export type Text = string | { tag: string; href?: string; start?: number; children: Text[] };

/** Control of a lesson: a slider over numbers or listed values, or a choice. */
export interface Control {
  /** Path in the scenario, or `tcps`, or `runs`. */
  path: string;
  /** Further paths that get the same value. */
  also: string[];
  label: string;
  unit: string;
  /** The value is written without its unit, as counts are. */
  number: boolean;
  min?: number;
  max?: number;
  step?: number;
  /** Values in order, as the scenario has them. */
  values?: string[];
  /** Words for the values; with these the control is a choice. */
  names?: string[];
}

/** Number beside the controls: an expression with its unit. */
export interface Readout {
  label: string;
  value: string;
  unit: string;
}

/** Answer to a wrong answer; without `if` to any. */
export interface Hint {
  if?: string;
  text: string;
}

export interface Check {
  pass: string;
  hints: Hint[];
}

export type SectionName =
  | "Lesson"
  | "Question"
  | "Hint"
  | "Answer"
  | "For the teacher"
  | "Exercise sheet";

export const SECTIONS: SectionName[] = [
  "Lesson",
  "Question",
  "Hint",
  "Answer",
  "For the teacher",
  "Exercise sheet",
];

export interface Lesson {
  /** Name in addresses: `slow-start`. */
  name: string;
  number: number;
  title: string;
  summary: string;
  minutes: number;
  tcps: string[];
  /** Runs at the start; more than one only where the lesson is about runs. */
  runs: number;
  views: string[];
  scenario: string;
  controls: Control[];
  readouts: Readout[];
  check: Check;
  /** Values by path that answer the question. */
  solution: Record<string, string>;
  sections: Record<SectionName, Text[]>;
}
