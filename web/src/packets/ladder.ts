import { lineOf, waitX, xAt, yOf, type Line, type Scale } from "./geometry";
import { eachMark, ticks } from "./layout";
import type { Path } from "./path";
import { cross, mark, type Pen, type Stroke } from "./pen";
import { duplicateReasons, flagNames, kindOf, KINDS, wordOf, type Kind, type Rows } from "./rows";
import { eachAt } from "./state";
import { causeText, timeText } from "./text";
import type { Theme } from "./theme";
import { LOST, type Group, type Timeline } from "./timeline";

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

/** Distances to the packet before (px) from which a line has its full width, its shapes, its label. */
const FULL = 3;
const SHAPES = 9;
const LABELS = 15;

/** Draws the grid of time, the columns and the packets of a span of time. */
export function drawLadder(pen: Pen, scene: Scene, scale: Scale, from: number, to: number): void {
  drawGrid(pen, scene, scale, from, to);
  const { timeline } = scene;
  const main = mainLink(scene.path);
  for (const kind of ORDER) {
    const groups = timeline.groups.filter((group) => KINDS[group.kind] === kind);
    const draw = (group: Group, index: number, count: number): void => {
      drawMark(pen, scene, scale, group, index, count, group.link === main);
    };
    eachMark(timeline, from, to, scale.step, draw, groups);
  }
  drawLosses(pen, scene, scale, from, to);
}

/** Returns the link with the longest delay, which has the labels. */
export function mainLink(path: Path): number {
  let main = -1;
  let longest = -1;
  for (const hop of path.hops.values()) {
    if (hop.delay > longest) [main, longest] = [hop.link, hop.delay];
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
  const gap = gapBefore(group, index, scale.step);
  const stroke = strokeFor(kind, theme, gap >= FULL, count);
  const wait = line.y1 - yOf(scale, timeline.rows.time[row]!);
  if (wait >= 1.5) {
    const x = waitX(timeline, path, row, scale);
    pen.line(x, line.y1 - wait, x, line.y1, { color: stroke.color, width: 1.5, alpha: 0.45 });
  }
  if (line.x1 === line.x2) return;
  pen.line(line.x1, line.y1, line.x2, line.y2, stroke);
  if (gap < SHAPES * theme.scale) return;
  const lost = timeline.fate[row] === LOST;
  if (!lost) arrow(pen, line, stroke.color, 5 * theme.scale);
  if (Math.abs(line.x2 - line.x1) < 30) return;
  const middle = lost ? 0.5 : 0.62;
  const x = line.x1 + (line.x2 - line.x1) * middle;
  mark(pen, kind, x, line.y1 + (line.y2 - line.y1) * middle, 7 * theme.scale, theme);
  if (labelled && gap >= LABELS * theme.scale) label(pen, scene, line, row, count);
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

function drawLosses(pen: Pen, scene: Scene, scale: Scale, from: number, to: number): void {
  const { timeline, path, theme } = scene;
  const size = 10 * theme.scale;
  let below = -Infinity;
  const draw = (group: Group, index: number, count: number): void => {
    for (let i = index; i < index + count; i += 1) {
      const row = group.rows[i]!;
      if (timeline.fate[row] !== LOST) continue;
      const line = lineOf(timeline, path, row, scale);
      const place = Math.round(line.y2);
      if (place === below) continue;
      cross(pen, line.x2, line.y2, size, theme.loss, 2 * theme.scale);
      if (Math.abs(place - below) >= LABELS * theme.scale) {
        const style = { color: theme.loss, size: 11 * theme.scale, halo: theme.ground };
        const leftwards = line.x2 < line.x1;
        pen.text(
          line.x2 + (leftwards ? -size : size),
          line.y2,
          causeText(wordOf(timeline.rows, "cause", row)),
          {
            ...style,
            align: leftwards ? "right" : "left",
          },
        );
      }
      below = place;
    }
  };
  eachMark(timeline, from, to, scale.step, draw);
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
  const taken = new Set<number>();
  eachAt(timeline, time, 0, (group, row, state) => {
    if (state.phase !== "moving") return;
    const x = xAt(timeline, path, row, time, scale);
    const key = Math.round(x / 3) * KINDS.length + group.kind;
    if (taken.has(key)) return;
    taken.add(key);
    mark(pen, KINDS[group.kind]!, x, y, 8 * theme.scale, theme);
  });
}
