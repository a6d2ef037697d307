import type { Span } from "./clock";
import type { Content } from "./content";
import { distance, lineOf, scaleOf, timeAt, waitX, yOf, type Frame, type Scale } from "./geometry";
import { drawCursor, drawLadder, drawSelection, stepIn, type Scene } from "./ladder";
import { eachMark } from "./layout";
import type { Pen } from "./pen";
import { CanvasPen } from "./pens";
import { drawStrip, type Spot } from "./strip";
import type { Theme } from "./theme";
import { Tiles } from "./tiles";
import { complete, type Group } from "./timeline";

/** What the surface shows. */
export interface Picture {
  /** One flow, or two side by side. */
  contents: Content[];
  span: Span;
  time: number;
  /** Rows of the selected packet of each content. */
  selected: number[][];
  theme: Theme;
}

/** Distance up to which a click reaches a packet (px). */
const REACH = 12;

/** Share of the future that the ground covers. */
const VEIL = 0.62;

/** Canvas with the path picture and the ladder. */
export class Surface {
  readonly canvas: HTMLCanvasElement;
  #width = 0;
  #height = 0;
  #ratio = 1;
  #picture: Picture | undefined;
  #spots: Spot[][] = [];
  #layers: Tiles[] = [];

  constructor(canvas: HTMLCanvasElement) {
    this.canvas = canvas;
  }

  /** Sets the size in CSS pixels and the device pixels in each. */
  resize(width: number, height: number, ratio: number): void {
    if (width === this.#width && height === this.#height && ratio === this.#ratio) return;
    [this.#width, this.#height, this.#ratio] = [width, height, ratio];
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
  }

  /** Draws a picture; returns whether parts of the ladder are still to be drawn. */
  draw(picture: Picture): boolean {
    this.#picture = picture;
    const context = this.canvas.getContext("2d");
    if (context === null || this.#width === 0) return false;
    context.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    context.fillStyle = picture.theme.ground;
    context.fillRect(0, 0, this.#width, this.#height);
    const frames = framesIn(this.#width, this.#height, picture);
    const pen = new CanvasPen(context);
    let unfinished = false;
    this.#spots = picture.contents.map((content, i) => {
      const frame = frames[i]!;
      const scale = scaleIn(content, frame, picture);
      const box = ladderBox(frame);
      const tiles = (this.#layers[i] ??= new Tiles());
      const scene = sceneOf(content, picture.theme);
      pen.clip(box.x, box.y, box.width, box.height, () => {
        const key = JSON.stringify([picture.theme, box, scale.columns]);
        if (!tiles.draw(context, { scene, scale, box, ratio: this.#ratio, key })) unfinished = true;
        drawAbove(pen, content, frame, scale, picture, picture.selected[i] ?? []);
      });
      return drawHead(pen, content, frame, scale, picture);
    });
    return unfinished;
  }

  /** Returns the content and row of the packet nearest to a point, within reach. */
  find(x: number, y: number): { pane: number; row: number } | undefined {
    const picture = this.#picture;
    if (picture === undefined) return undefined;
    const frames = framesIn(this.#width, this.#height, picture);
    const pane = frames.findIndex((frame) => x >= frame.x && x <= frame.x + frame.width);
    const [frame, content] = [frames[pane], picture.contents[pane]];
    if (frame === undefined || content === undefined) return undefined;
    const scale = scaleIn(content, frame, picture);
    const inStrip = y < frame.y + frame.strip;
    const row = inStrip
      ? nearestSpot(this.#spots[pane] ?? [], x, y)
      : nearestRow(content, scale, picture, x, y);
    return row === undefined ? undefined : { pane, row };
  }

  /** Returns the time at a height; undefined in the path picture. */
  timeAt(y: number): number | undefined {
    const picture = this.#picture;
    const content = picture?.contents[0];
    if (picture === undefined || content === undefined) return undefined;
    const frame = framesIn(this.#width, this.#height, picture)[0]!;
    if (y < frame.y + frame.strip) return undefined;
    return timeAt(scaleIn(content, frame, picture), y);
  }

  /** Returns whether a point is in the column with the labels of time. */
  inGutter(x: number): boolean {
    const picture = this.#picture;
    if (picture === undefined) return false;
    return framesIn(this.#width, this.#height, picture).some(
      (frame) => x >= frame.x && x < frame.x + frame.gutter,
    );
  }
}

function sceneOf(content: Content, theme: Theme): Scene {
  return { timeline: content.timeline, path: content.path, theme };
}

/** Divides a surface into frames: one, or two side by side. */
export function framesIn(width: number, height: number, picture: Picture): Frame[] {
  const count = Math.max(1, picture.contents.length);
  const scale = picture.theme.scale;
  const each = width / count;
  const digits = timeDigits(picture);
  const gutter = (16 + 6.2 * digits) * scale;
  const strip = Math.min(170 * scale, Math.max(118 * scale, height * 0.27));
  return Array.from({ length: count }, (_, i) => ({
    x: i * each,
    y: 0,
    width: each,
    height,
    gutter,
    strip,
  }));
}

/** Returns the number of characters of a label of time. */
function timeDigits(picture: Picture): number {
  const last = Math.max(1, picture.span.from + picture.span.length);
  const fine = Math.max(0, Math.ceil(-Math.log10(picture.span.length / 10)));
  return Math.floor(Math.log10(last)) + 1 + (fine > 0 ? fine + 1 : 0) + 2;
}

function scaleIn(content: Content, frame: Frame, picture: Picture): Scale {
  return scaleOf(content.path, frame, marginOf(frame, picture.theme), picture.span);
}

function marginOf(frame: Frame, theme: Theme): number {
  return (frame.width < 500 ? 26 : 32) * theme.scale;
}

function ladderBox(frame: Frame): { x: number; y: number; width: number; height: number } {
  const { x, y, width, height, strip } = frame;
  return { x, y: y + strip, width, height: height - strip };
}

function drawAbove(
  pen: Pen,
  content: Content,
  frame: Frame,
  scale: Scale,
  picture: Picture,
  selected: number[],
): void {
  const { theme, time } = picture;
  const scene = sceneOf(content, theme);
  const box = ladderBox(frame);
  const y = Math.max(box.y, yOf(scale, time));
  const below = box.y + box.height - y;
  const left = scale.columns[0]! - 9 * theme.scale;
  if (below > 0) pen.rect(left, y, box.x + box.width - left, below, theme.ground, VEIL);
  drawSelection(pen, scene, scale, selected);
  drawCursor(pen, scene, scale, time);
}

function drawHead(
  pen: Pen,
  content: Content,
  frame: Frame,
  scale: Scale,
  picture: Picture,
): Spot[] {
  const { theme, time, contents } = picture;
  const bottom = frame.y + frame.strip;
  const stroke = { color: theme.grid, width: 1 };
  pen.line(frame.x, bottom - 0.5, frame.x + frame.width, bottom - 0.5, stroke);
  if (contents.length > 1) {
    const style = { color: theme.text, size: 13 * theme.scale, bold: true };
    pen.text(frame.x + 8, frame.y + 12 * theme.scale, content.run.tcp, style);
  }
  return drawStrip(pen, sceneOf(content, theme), frame, scale.columns, time);
}

/** Draws a picture with any pen, without tiles: for files. */
export function paint(pen: Pen, picture: Picture, width: number, height: number): void {
  const frames = framesIn(width, height, picture);
  pen.rect(0, 0, width, height, picture.theme.ground);
  picture.contents.forEach((content, i) => {
    const frame = frames[i]!;
    const scale = scaleIn(content, frame, picture);
    const box = ladderBox(frame);
    const { from, length } = picture.span;
    pen.clip(box.x, box.y, box.width, box.height, () => {
      complete(drawLadder(pen, sceneOf(content, picture.theme), scale, from, from + length));
      drawSelection(pen, sceneOf(content, picture.theme), scale, picture.selected[i] ?? []);
      drawCursor(pen, sceneOf(content, picture.theme), scale, picture.time);
    });
    drawHead(pen, content, frame, scale, picture);
  });
}

function nearestSpot(spots: Spot[], x: number, y: number): number | undefined {
  let best: number | undefined;
  let least = REACH;
  for (const spot of spots) {
    const away = Math.hypot(spot.x - x, spot.y - y);
    if (away < least) [best, least] = [spot.row, away];
  }
  return best;
}

function nearestRow(
  content: Content,
  scale: Scale,
  picture: Picture,
  x: number,
  y: number,
): number | undefined {
  const { timeline, path } = content;
  const { from, length } = picture.span;
  let best: number | undefined;
  let least = REACH;
  const stepOf = (group: Group): number => stepIn(path, scale, group);
  eachMark(timeline, from, from + length, stepOf, (group, index, count) => {
    for (let i = index; i < index + count; i += 1) {
      const row = group.rows[i]!;
      const line = lineOf(timeline, path, row, scale);
      const lane = waitX(timeline, path, row, scale);
      const offered = yOf(scale, timeline.rows.time[row]!);
      const wait = { x1: lane, y1: offered, x2: lane, y2: line.y1 };
      const away = Math.min(distance(line, x, y), distance(wait, x, y) + 0.5);
      if (away < least) [best, least] = [row, away];
    }
  });
  return best;
}
