import { lineOf, waitX, yOf, type Line, type Scale } from "./geometry";
import { eachMark, sampleOf, ticks } from "./layout";
import { columnsOf, endsOf, type Path } from "./path";
import { cross, mark, type Pen, type Stroke } from "./pen";
import { duplicateReasons, flagNames, kindOf, KINDS, wordOf, type Kind, type Rows } from "./rows";
import { eachAt, shareAt } from "./state";
import { causeText, timeText } from "./text";
import type { Theme } from "./theme";
import { LOST, lowerBound, type Group, type Timeline } from "./timeline";

/** Flow as the ladder draws it. */
export interface Scene {
  timeline: Timeline;
  path: Path;
  theme: Theme;
}

/** Kinds in the order in which they are drawn: the rare ones last, above the others. */
const ORDER: readonly Kind[] = ["ack", "duplicate", "sack", "data", "control", "retransmission"];

const WIDTHS: Record<Kind, number> = {
  data: 1.6,
  retransmission: 2.4,
  ack: 1.2,
  duplicate: 1.6,
  sack: 1.6,
  control: 1.6,
};
const DASHES: Partial<Record<Kind, readonly number[]>> = {
  retransmission: [7, 3],
  duplicate: [2, 2],
  sack: [4, 2],
};

/** Distances between lines (px) from which lines have their full width, shapes, and labels. */
const FULL = 3.5;
const SHAPES = 9;
const LABELS = 15;

/** Distance below which lines are drawn as one (px). */
const MERGED = 2;

/** Number of lines after which drawing may pause. */
const SLICE = 60;

/**
 * Draws the grid of time, the columns and the packets of a span of time. Yields every 60 lines, so
 * that the page can show a frame in between.
 */
export function* drawLadder(
  pen: Pen,
  scene: Scene,
  scale: Scale,
  from: number,
  to: number,
): Generator<void, void> {
  drawGrid(pen, scene, scale, from, to);
  const { timeline } = scene;
  const main = mainLink(scene.path);
  const stepOf = (group: Group): number => stepIn(scene.path, scale, group);
  for (const kind of ORDER) {
    const groups = timeline.groups.filter((group) => KINDS[group.kind] === kind);
    const marks: [Group, number, number][] = [];
    const keep = (...mark: [Group, number, number]): number => marks.push(mark);
    eachMark(timeline, from, to, stepOf, keep, groups);
    for (const [i, [group, index, count]] of marks.entries()) {
      drawMark(pen, scene, scale, group, index, count, group.link === main);
      if (i % SLICE === SLICE - 1) yield;
    }
  }
  for (const group of timeline.groups) drawLosses(pen, scene, scale, group, from, to);
}

/** Returns the time between departures below which the lines of a group are drawn as one. */
export function stepIn(path: Path, scale: Scale, group: Group): number {
  return MERGED * scale.step * slopeOf(path, scale, group);
}

/** Returns the vertical distance of two lines of a group that are one pixel apart. */
function slopeOf(path: Path, scale: Scale, group: Group): number {
  const [from, to] = columnsOf(path, group.link, group.direction);
  const width = Math.abs((scale.columns[to] ?? 0) - (scale.columns[from] ?? 0));
  return Math.hypot(1, group.travel / scale.step / Math.max(1, width));
}

/** Returns the link with the longest delay, which has the labels. */
export function mainLink(path: Path): number {
  let main = -1;
  let longest = -1;
  for (const hop of path.hops.values()) {
    const travel = Math.max(...hop.travels);
    if (travel > longest) [main, longest] = [hop.link, travel];
  }
  return main;
}

function drawGrid(pen: Pen, scene: Scene, scale: Scale, from: number, to: number): void {
  const { path, theme } = scene;
  const top = yOf(scale, from);
  const bottom = yOf(scale, to);
  const left = scale.columns[0]!;
  const right = scale.columns.at(-1)!;
  const { at, step } = ticks(from, to, 44 * theme.scale * scale.step);
  for (const time of at) {
    const y = yOf(scale, time);
    pen.line(left, y, right, y, { color: theme.grid, width: 1 });
    const style = { color: theme.muted, size: 11 * theme.scale, align: "right" } as const;
    const label = timeText(Math.abs(time) < step / 2 ? 0 : time, step);
    if (time >= 0) pen.text(left - 14 * theme.scale, y, label, style);
  }
  for (const x of scale.columns) {
    pen.line(x, top, x, bottom, { color: theme.nodeEdge, width: 1.5 * theme.scale });
  }
  for (const hop of path.hops.values()) {
    if (!hop.satellite) continue;
    const x = (scale.columns[hop.columns[0]]! + scale.columns[hop.columns[1]]!) / 2;
    pen.line(x, top, x, bottom, { color: theme.nodeEdge, width: 1, dash: [1, 5] });
  }
}

function drawMark(
  pen: Pen,
  scene: Scene,
  scale: Scale,
  group: Group,
  index: number,
  count: number,
  labelled: boolean,
): void {
  const { timeline, path, theme } = scene;
  const row = group.rows[index]!;
  const kind = KINDS[group.kind]!;
  const line = lineOf(timeline, path, row, scale);
  const gap = gapBefore(group, index, scale.step) / slopeOf(path, scale, group);
  const stroke = strokeFor(kind, theme, gap >= FULL, count);
  const wait = line.y1 - yOf(scale, timeline.rows.time[row]!);
  if (wait >= 1.5) {
    const x = waitX(timeline, path, row, scale);
    pen.line(x, line.y1 - wait, x, line.y1, { color: stroke.color, width: 1.5, alpha: 0.45 });
  }
  if (line.x1 === line.x2) return;
  pen.line(line.x1, line.y1, line.x2, line.y2, stroke);
  if (count > 1) drawEnds(pen, scene, scale, group, index, count);
  if (gap < SHAPES * theme.scale) return;
  const lost = timeline.fate[row] === LOST;
  if (!lost) arrow(pen, line, stroke.color, 5 * theme.scale);
  if (Math.abs(line.x2 - line.x1) < 30) return;
  const middle = lost ? 0.5 : 0.62;
  const x = line.x1 + (line.x2 - line.x1) * middle;
  mark(pen, kind, x, line.y1 + (line.y2 - line.y1) * middle, 7 * theme.scale, theme);
  if (labelled && gap >= LABELS * theme.scale) label(pen, scene, line, row, count);
}

/** Length of the marks at the ends of packets whose lines are drawn as one (px), and their number. */
const END = 5;
const MOST_ENDS = 24;

/** Draws short marks where packets of a common line depart and arrive. */
function drawEnds(
  pen: Pen,
  scene: Scene,
  scale: Scale,
  group: Group,
  index: number,
  count: number,
): void {
  const { timeline, path, theme } = scene;
  const last = group.anchor[index + count - 1]! - group.anchor[index]!;
  if (last / scale.step < count) return;
  const stroke = { color: theme[KINDS[group.kind]!], width: 1 };
  for (let i = index; i < index + Math.min(count, MOST_ENDS); i += 1) {
    const { x1, y1, x2, y2 } = lineOf(timeline, path, group.rows[i]!, scale);
    const side = x2 > x1 ? END : -END;
    pen.line(x1, y1, x1 + side, y1, stroke);
    if (timeline.fate[group.rows[i]!] !== LOST) pen.line(x2 - side, y2, x2, y2, stroke);
  }
}

/** Returns the distance to the departure before (px). */
function gapBefore(group: Group, index: number, step: number): number {
  if (index === 0) return Infinity;
  return (group.anchor[index]! - group.anchor[index - 1]!) / step;
}

/** Lines in a crowd are thin and pale; a line of several packets is thicker. */
function strokeFor(kind: Kind, theme: Theme, full: boolean, count: number): Stroke {
  const dash = DASHES[kind];
  const color = theme[kind];
  if (!full && kind !== "retransmission") return { color, width: 1, alpha: 0.55 };
  const width = (WIDTHS[kind] + Math.min(3, 0.6 * Math.log2(count))) * theme.scale;
  return dash === undefined ? { color, width } : { color, width, dash };
}

function arrow(pen: Pen, line: Line, color: string, size: number): void {
  const length = Math.hypot(line.x2 - line.x1, line.y2 - line.y1);
  const ux = (line.x2 - line.x1) / length;
  const uy = (line.y2 - line.y1) / length;
  const x = line.x2 - ux * size * 1.4;
  const y = line.y2 - uy * size * 1.4;
  const half = size * 0.5;
  const points = [
    [line.x2, line.y2],
    [x - uy * half, y + ux * half],
    [x + uy * half, y - ux * half],
  ] as const;
  pen.polygon(points, color);
}

function label(pen: Pen, scene: Scene, line: Line, row: number, count: number): void {
  const { timeline, theme } = scene;
  const { rows } = timeline;
  const kind = KINDS[kindOf(rows, row, duplicateReasons(rows))]!;
  const more = count > 1 ? ` and ${count - 1} more` : "";
  const leftwards = line.x2 < line.x1;
  const turn = Math.atan2(line.y2 - line.y1, line.x2 - line.x1) + (leftwards ? Math.PI : 0);
  const along = 0.3;
  const size = 10.5 * theme.scale;
  const x = line.x1 + (line.x2 - line.x1) * along + Math.sin(turn) * size * 0.75;
  const y = line.y1 + (line.y2 - line.y1) * along - Math.cos(turn) * size * 0.75;
  pen.text(x, y, shortName(rows, row, kind) + more, {
    color: theme[kind],
    size,
    align: "center",
    turn,
    halo: theme.ground,
  });
}

/** Returns the flags of a SYN, FIN or RST, the sequence number of data, or the number of an ACK. */
function shortName(rows: Rows, row: number, kind: Kind): string {
  if (kind === "control") return flagNames(rows.flags[row]!).join(" ");
  const number = rows.len[row]! > 0 ? rows.seq[row]! : rows.ack[row]!;
  return number.toLocaleString("en-US");
}

/** Distance below which two crosses are drawn as one (px). */
const CROSSES = 2;

/** Distance of crosses from which the cause is written beside them (px). */
const CAUSES = 30;

function drawLosses(
  pen: Pen,
  scene: Scene,
  scale: Scale,
  group: Group,
  from: number,
  to: number,
): void {
  const { timeline, path, theme } = scene;
  const size = 10 * theme.scale;
  const apart = CROSSES * scale.step;
  let at = lowerBound(group.lossEnds, from);
  while (at < group.lossEnds.length && group.lossEnds[at]! <= to) {
    const row = group.lossRows[at]!;
    const before = group.lossEnds[at - 1] ?? -Infinity;
    const line = lineOf(timeline, path, row, scale);
    const near = group.lossEnds[at]! - before < 0.7 * size * scale.step;
    cross(pen, line.x2, line.y2, near ? size / 2 : size, theme.loss, 2 * theme.scale);
    if (group.lossEnds[at]! - before >= CAUSES * theme.scale * scale.step) {
      const [near, far] = endsOf(path, group);
      const leftwards = far < near;
      const style = { color: theme.loss, size: 11 * theme.scale, halo: theme.ground };
      const cause = causeText(wordOf(timeline.rows, "cause", row));
      const align = leftwards ? "right" : "left";
      pen.text(line.x2 + (leftwards ? -size : size), line.y2, cause, { ...style, align });
    }
    at = lowerBound(group.lossEnds, group.lossEnds[at]! + apart, at + 1);
  }
}

/** Draws the lines of the rows of a selected packet above the ladder. */
export function drawSelection(pen: Pen, scene: Scene, scale: Scale, rows: readonly number[]): void {
  const { timeline, path, theme } = scene;
  for (const row of rows) {
    const line = lineOf(timeline, path, row, scale);
    const x = waitX(timeline, path, row, scale);
    const offered = yOf(scale, timeline.rows.time[row]!);
    const color = theme.select;
    pen.line(x, offered, x, line.y1, { color, width: 7 * theme.scale, alpha: 0.7 });
    pen.line(line.x1, line.y1, line.x2, line.y2, { color, width: 7 * theme.scale, alpha: 0.7 });
    const middle = { color: theme.text, width: 2 * theme.scale };
    pen.line(line.x1, line.y1, line.x2, line.y2, middle);
    if (timeline.fate[row] === LOST) {
      cross(pen, line.x2, line.y2, 12 * theme.scale, theme.loss, 3 * theme.scale);
    }
  }
}

/** Draws the time: a line, and the packets on their links at that time. */
export function drawCursor(pen: Pen, scene: Scene, scale: Scale, time: number): void {
  const { timeline, path, theme } = scene;
  const y = yOf(scale, time);
  const right = scale.columns.at(-1)!;
  pen.line(scale.columns[0]! - 10, y, right + 10, y, {
    color: theme.cursor,
    width: 1.5 * theme.scale,
  });
  const samples = new Map<Group, number>();
  eachAt(timeline, time, 0, (group, row, phase, index) => {
    if (phase !== "moving") return;
    const [from, to] = endsOf(path, group);
    const x1 = scale.columns[from] ?? 0;
    const width = (scale.columns[to] ?? 0) - x1;
    let sample = samples.get(group);
    if (sample === undefined) {
      sample = sampleOf(group, time, Math.abs(width) / theme.scale);
      samples.set(group, sample);
    }
    if (index % sample > 0) return;
    const x = x1 + width * shareAt(timeline, row, time);
    mark(pen, KINDS[group.kind]!, x, y, 8 * theme.scale, theme);
  });
}
