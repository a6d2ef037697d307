import type { Frame } from "./geometry";
import { columnsOf, endsOf, type Hop, type Path } from "./path";
import { cross, mark, type Pen } from "./pen";
import type { Scene } from "./ladder";
import { sampleOf } from "./layout";
import { KINDS } from "./rows";
import { eachAt, shareAt } from "./state";
import type { Theme } from "./theme";
import type { Group } from "./timeline";

/** Point of the path picture. */
type Point = readonly [number, number];

/** Distance of the lanes of the two directions from the middle of a link (px). */
const LANE = 5;

/** Most packets that are drawn one by one in a queue. */
const MOST_QUEUED = 18;

/** Draws the path from above: nodes, links, and every packet where it is at a time. */
export function drawStrip(
  pen: Pen,
  scene: Scene,
  frame: Frame,
  columns: number[],
  time: number,
): Spot[] {
  const { path, theme } = scene;
  const base = baseOf(frame, theme);
  for (const hop of path.hops.values()) drawLink(pen, hop, columns, frame, theme);
  const spots = drawPackets(pen, scene, frame, columns, time);
  path.places.forEach((place, column) => {
    const last = column === path.places.length - 1;
    drawNode(pen, columns[column]!, base, theme, column === 0 || last, place.agents.length > 0);
  });
  drawNames(pen, path, columns, frame, theme);
  return spots;
}

/** Place of a drawn packet, for clicks. */
export interface Spot {
  x: number;
  y: number;
  row: number;
}

function baseOf(frame: Frame, theme: Theme): number {
  return frame.y + frame.strip - 42 * theme.scale;
}

/** Returns the corners of a link from one end to the other, by way of its satellite. */
function route(hop: Hop, columns: number[], frame: Frame, theme: Theme): Point[] {
  const base = baseOf(frame, theme);
  const [a, b] = [columns[hop.columns[0]]!, columns[hop.columns[1]]!];
  if (!hop.satellite) {
    return [
      [a, base],
      [b, base],
    ];
  }
  return [
    [a, base],
    [(a + b) / 2, frame.y + 22 * theme.scale],
    [b, base],
  ];
}

/** Returns the point at a share of the length of a route. */
export function pointAt(points: readonly Point[], share: number): Point {
  const lengths = points
    .slice(1)
    .map(([x, y], i) => Math.hypot(x - points[i]![0], y - points[i]![1]));
  let left = share * lengths.reduce((sum, length) => sum + length, 0);
  for (const [i, length] of lengths.entries()) {
    if (left <= length || i === lengths.length - 1) {
      const part = length === 0 ? 0 : left / length;
      const [[x1, y1], [x2, y2]] = [points[i]!, points[i + 1]!];
      return [x1 + (x2 - x1) * part, y1 + (y2 - y1) * part];
    }
    left -= length;
  }
  return points[0] ?? [0, 0];
}

function drawLink(pen: Pen, hop: Hop, columns: number[], frame: Frame, theme: Theme): void {
  const points = route(hop, columns, frame, theme);
  for (let i = 1; i < points.length; i += 1) {
    const [x1, y1] = points[i - 1]!;
    const [x2, y2] = points[i]!;
    for (const side of [-LANE, LANE]) {
      const stroke = { color: theme.grid, width: theme.scale };
      pen.line(x1, y1 + side * theme.scale, x2, y2 + side * theme.scale, stroke);
    }
  }
  if (hop.satellite) satellite(pen, points[1]![0], points[1]![1], theme);
}

function satellite(pen: Pen, x: number, y: number, theme: Theme): void {
  const s = theme.scale;
  const edge = { color: theme.nodeEdge, width: s };
  for (const side of [-1, 1]) {
    const [near, far] = [x + side * 11 * s, x + side * 27 * s];
    const panel = [
      [near, y - 5 * s],
      [far, y - 5 * s],
      [far, y + 5 * s],
      [near, y + 5 * s],
    ] as const;
    pen.polygon(panel, theme.node, edge);
    pen.line((near + far) / 2, y - 5 * s, (near + far) / 2, y + 5 * s, edge);
    pen.line(x, y, near, y, edge);
  }
  const body = [
    [x - 6 * s, y - 8 * s],
    [x + 6 * s, y - 8 * s],
    [x + 6 * s, y + 8 * s],
    [x - 6 * s, y + 8 * s],
  ] as const;
  pen.polygon(body, theme.node, edge);
}

function drawNode(
  pen: Pen,
  x: number,
  y: number,
  theme: Theme,
  isEnd: boolean,
  hasAgent: boolean,
): void {
  const s = theme.scale;
  const edge = { color: hasAgent ? theme.text : theme.nodeEdge, width: (hasAgent ? 2.5 : 1.5) * s };
  if (!isEnd) {
    pen.circle(x, y, 9 * s, theme.node, edge);
    return;
  }
  const screen = [
    [x - 11 * s, y - 9 * s],
    [x + 11 * s, y - 9 * s],
    [x + 11 * s, y + 5 * s],
    [x - 11 * s, y + 5 * s],
  ] as const;
  pen.polygon(screen, theme.node, edge);
  pen.line(x - 7 * s, y + 9 * s, x + 7 * s, y + 9 * s, edge);
  pen.line(x, y + 5 * s, x, y + 9 * s, edge);
}

/** Writes the names of nodes and agents, each cut to the room it has. */
function drawNames(pen: Pen, path: Path, columns: number[], frame: Frame, theme: Theme): void {
  const s = theme.scale;
  const base = baseOf(frame, theme);
  path.places.forEach((place, column) => {
    const x = columns[column]!;
    const room = roomOf(columns, column, frame);
    const name = cut(place.names.join(" or "), room, 12 * s);
    const style = { size: 12 * s, align: "center", halo: theme.ground } as const;
    pen.text(x, base + 20 * s, name, { ...style, color: theme.text, bold: true });
    const agents = cut(place.agents.join(", "), room, 11 * s);
    if (agents !== "")
      pen.text(x, base + 33 * s, agents, { ...style, size: 11 * s, color: theme.muted });
  });
}

function roomOf(columns: number[], column: number, frame: Frame): number {
  const x = columns[column]!;
  const left = column === 0 ? 2 * (x - frame.x) : x - columns[column - 1]!;
  const right =
    column === columns.length - 1 ? 2 * (frame.x + frame.width - x) : columns[column + 1]! - x;
  return Math.min(left, right) - 4;
}

/** Cuts a text to a width, with an ellipsis. */
export function cut(text: string, room: number, size: number): string {
  const most = Math.max(1, Math.floor(room / (0.58 * size)));
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

function drawPackets(
  pen: Pen,
  scene: Scene,
  frame: Frame,
  columns: number[],
  time: number,
): Spot[] {
  const { timeline, path, theme } = scene;
  const s = theme.scale;
  const spots: Spot[] = [];
  const routes = new Map<number, Point[]>();
  for (const hop of path.hops.values()) routes.set(hop.link, route(hop, columns, frame, theme));
  const samples = new Map<Group, number>();
  const queues = new Map<number, number>();
  eachAt(timeline, time, path.rtt / 4, (group, row, phase, index) => {
    const points = routes.get(group.link);
    if (points === undefined) return;
    const key = group.link * 2 + group.direction;
    const [from, to] = endsOf(path, group);
    const forwards = to >= from;
    if (phase === "waiting") {
      const place = queues.get(key) ?? 0;
      queues.set(key, place + 1);
      if (place >= MOST_QUEUED) return;
      const [x, y] = queuePoint(columns[from]!, baseOf(frame, theme), place, forwards, s);
      mark(pen, KINDS[group.kind]!, x, y, 5 * s, theme);
      spots.push({ x, y, row });
      return;
    }
    if (phase === "moving") {
      let sample = samples.get(group);
      if (sample === undefined) {
        sample = sampleOf(group, time, Math.abs(columns[to]! - columns[from]!) / s);
        samples.set(group, sample);
      }
      if (index % sample > 0) return;
    }
    const passed = shareAt(timeline, row, time);
    const [x, middle] = pointAt(points, group.direction === 0 ? passed : 1 - passed);
    const y = middle + (forwards ? -LANE : LANE) * s;
    if (phase === "lost") cross(pen, x, y, 10 * s, theme.loss, 2.5 * s);
    else mark(pen, KINDS[group.kind]!, x, y, 8 * s, theme);
    spots.push({ x, y, row });
  });
  const most = Math.max(1, ...samples.values());
  if (most > 1) {
    const style = { color: theme.muted, size: 11 * s, align: "right", halo: theme.ground } as const;
    const text = `1 mark = up to ${String(most)} packets`;
    pen.text(frame.x + frame.width - 8, frame.y + 12 * s, text, style);
  }
  for (const [key, count] of queues) {
    const [from, to] = columnsOf(path, key >> 1, key & 1);
    const [x, y] = queuePoint(columns[from]!, baseOf(frame, theme), MOST_QUEUED, to >= from, s);
    const style = { color: theme.text, size: 11 * s, halo: theme.ground } as const;
    if (count > 3)
      pen.text(x, y - 2 * s, String(count), { ...style, align: to >= from ? "left" : "right" });
  }
  return spots;
}

/** Returns the place in a stack of waiting packets above a node: three in a row. */
function queuePoint(x: number, base: number, place: number, forwards: boolean, s: number): Point {
  const column = place % 3;
  const height = Math.floor(place / 3);
  return [x + (forwards ? 1 : -1) * (4 + column * 8) * s, base - (16 + height * 7) * s];
}
