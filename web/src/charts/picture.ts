import type { Run } from "../engine";
import type { AppState } from "../app/panel";
import type { Box, Surface } from "./surface";
import type { Theme } from "./theme";

/** Area of a picture between its axes, with the shown spans of time and value. */
export interface Frame {
  box: Box;
  span: readonly [number, number];
  low: number;
  high: number;
  theme: Theme;
  x(time: number): number;
  y(value: number): number;
}

/** Part of a picture that is drawn over the others below it. */
export interface Layer {
  draw(surface: Surface, frame: Frame): void;
  /** Returns the least and greatest value in a span of time. */
  extent?(span: readonly [number, number]): [number, number] | undefined;
}

/** Row of a strip below the axis: a lane of one TCP. */
export interface Lane {
  label: string;
  colour: string;
  draw(surface: Surface, frame: Frame, box: Box): void;
}

/** Entry of a legend, with the value at the time cursor. */
export interface Entry {
  label: string;
  colour: string;
  dashes?: readonly number[];
  shape: "line" | "stroke" | "cross" | "letter" | "box";
  hatch?: string;
  value?(time: number): string;
}

/** Series of numbers behind a picture, for CSV files and tables of values. */
export interface Series {
  name: string;
  unit: string;
  time: Float64Array;
  value: Float64Array;
  /** Step functions hold a value until the next row; points are single events. */
  kind: "step" | "line" | "point";
}

/** What a picture shows of runs, ready to draw. */
export interface Picture {
  title: string;
  /** Sentence for the screen reader. */
  summary: string;
  unit: string;
  label: string;
  /** Whether the axis of values begins at 0. */
  zero: boolean;
  /** Top of the axis if curves rise beyond what has an effect. */
  top?: number;
  layers: Layer[];
  lanes: Lane[];
  entries: Entry[];
  series: Series[];
}

/** What a picture is made from. */
export interface Source {
  runs: Run[];
  state: AppState;
  theme: Theme;
  /** Shown span of time (s). */
  span: readonly [number, number];
}

/** Kind of picture: its tables and how it is made. */
export interface Kind {
  name: string;
  title: string;
  /** Height of the picture (CSS pixels). */
  height: number;
  tables: string[];
  /** Whether the picture is made anew for another span of time. */
  followsSpan?: boolean;
  make(source: Source): Picture;
}
