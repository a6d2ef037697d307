import type { Measures } from "../engine";

/** State that a notebook and the page in it share. */
export interface Shown {
  toml: string;
  tcps: string[];
  time: number;
}

/** Message of the widget to the page in its frame. */
export type ToPage =
  | { type: "open"; engine: ArrayBuffer; shown: Shown; changes: [string, string][] }
  | { type: "show"; shown: Partial<Shown> };

/** Message of the page to the widget. */
export type FromPage =
  | { type: "ready" }
  | { type: "shown"; shown: Shown }
  | { type: "measures"; measures: Record<string, Measures> }
  | { type: "error"; error: string };
