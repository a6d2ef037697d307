import type { Span } from "./clock";
import { columnsOf, type Path } from "./path";
import { endShare } from "./state";
import type { Timeline } from "./timeline";

/** Part of the canvas that one flow has: path picture above, ladder below (CSS pixels). */
export interface Frame {
  x: number;
  y: number;
  width: number;
  height: number;
  /** Width of the labels of time. */
  gutter: number;
  /** Height of the path picture. */
  strip: number;
}

/** Places of columns and times on a canvas. */
export interface Scale {
  /** Centre of each column. */
  columns: number[];
  /** Time at `top`. */
  from: number;
  top: number;
  /** Seconds in a pixel. */
  step: number;
}

/** Line of a packet on one link. */
export interface Line {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

/** Returns the centre of each column in a frame. */
export function columnsIn(path: Path, frame: Frame, margin: number): number[] {
  const left = frame.x + frame.gutter + margin;
  const width = frame.width - frame.gutter - 2 * margin;
  return path.x.map((share) => left + share * width);
}

/** Returns the scale of a frame's ladder for a window of time. */
export function scaleOf(path: Path, frame: Frame, margin: number, span: Span): Scale {
  return {
    columns: columnsIn(path, frame, margin),
    from: span.from,
    top: frame.y + frame.strip,
    step: span.length / Math.max(1, frame.height - frame.strip),
  };
}

/** Returns the height of a time. */
export function yOf(scale: Scale, time: number): number {
  return scale.top + (time - scale.from) / scale.step;
}

/** Returns the time at a height. */
export function timeAt(scale: Scale, y: number): number {
  return scale.from + (y - scale.top) * scale.step;
}

/** Returns the line of a row from its departure to its end, or undefined if it never departed. */
export function lineOf(timeline: Timeline, path: Path, row: number, scale: Scale): Line {
  const { rows } = timeline;
  const [from, to] = columnsOf(path, rows.link[row]!, rows.direction[row]!);
  const x1 = scale.columns[from] ?? 0;
  const x2 = scale.columns[to] ?? 0;
  const departure = rows.departure[row]!;
  const start = Number.isNaN(departure) ? rows.time[row]! : departure;
  const end = Math.min(timeline.end[row]!, start + 1e6);
  return {
    x1,
    y1: yOf(scale, start),
    x2: x1 + (x2 - x1) * endShare(timeline, row),
    y2: yOf(scale, end),
  };
}

/** Offset of the first lane of a queue from its node, and distance of the lanes (px). */
const LANE_FIRST = 3;
const LANE_NEXT = 2.5;
const LANES = 6;

/** Returns the place of the line that shows a packet's wait at its node. */
export function waitX(timeline: Timeline, path: Path, row: number, scale: Scale): number {
  const { rows, lane } = timeline;
  const [from, to] = columnsOf(path, rows.link[row]!, rows.direction[row]!);
  const side = to >= from ? 1 : -1;
  return (scale.columns[from] ?? 0) + side * (LANE_FIRST + LANE_NEXT * (lane[row]! % LANES));
}

/** Returns the distance of a point from a line. */
export function distance(line: Line, x: number, y: number): number {
  const dx = line.x2 - line.x1;
  const dy = line.y2 - line.y1;
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : ((x - line.x1) * dx + (y - line.y1) * dy) / length;
  const share = Math.min(1, Math.max(0, along));
  return Math.hypot(line.x1 + share * dx - x, line.y1 + share * dy - y);
}
