import { yOf, type Scale } from "./geometry";
import { drawLadder, type Scene } from "./ladder";
import { CanvasPen } from "./pens";

/** Ladder that tiles show. */
export interface Ladder {
  scene: Scene;
  scale: Scale;
  box: { x: number; y: number; width: number; height: number };
  /** Device pixels in a CSS pixel. */
  ratio: number;
  /** Text that differs when colours or columns differ. */
  key: string;
}

/** Height of a tile (CSS pixels), and most tiles that are kept. */
const TILE = 128;
const MOST_TILES = 64;

/** Time for drawing tiles in one frame (ms). */
const BUDGET = 5;

/** Time after a change of the scale during which tiles are only stretched (ms). */
const SETTLED = 90;

/** Room above and below a tile for texts and shapes that reach into it (px). */
const MARGIN = 16;

/** Strip of the ladder over a span of time, and what is left to draw of it. */
interface Tile {
  canvas: HTMLCanvasElement;
  work: Generator<void, void> | undefined;
}

/** Tiles of one scale, by number: tile n begins at n times TILE pixels of time. */
interface Level {
  step: number;
  tiles: Map<number, Tile>;
}

/**
 * Keeps tiles of a ladder while its window moves. Each frame draws tiles for some milliseconds;
 * until those of a new scale are complete, the tiles of the old scale are shown stretched.
 */
export class Tiles {
  #of: unknown;
  #key = "";
  #level: Level = { step: 0, tiles: new Map() };
  #old: Level | undefined;
  #changed = -Infinity;

  /** Draws the ladder; returns whether it is complete. */
  draw(context: CanvasRenderingContext2D, ladder: Ladder): boolean {
    this.#renew(ladder);
    const { box, scale } = ladder;
    const seconds = TILE * scale.step;
    const first = Math.floor(scale.from / seconds);
    const last = Math.floor((scale.from + box.height * scale.step) / seconds);
    const settled = this.#old === undefined || performance.now() - this.#changed > SETTLED;
    const complete = settled && this.#work(ladder, first, last);
    if (complete) this.#old = undefined;
    if (this.#old !== undefined) drawLevel(context, ladder, this.#old);
    else drawLevel(context, ladder, this.#level);
    return complete;
  }

  #renew(ladder: Ladder): void {
    const key = `${ladder.key} ${String(ladder.ratio)}`;
    if (this.#of !== ladder.scene.timeline || key !== this.#key) {
      this.#of = ladder.scene.timeline;
      this.#key = key;
      this.#old = undefined;
      this.#level = { step: ladder.scale.step, tiles: new Map() };
    } else if (this.#level.step !== ladder.scale.step) {
      this.#old ??= this.#level;
      this.#changed = performance.now();
      this.#level = { step: ladder.scale.step, tiles: new Map() };
    }
  }

  /** Works on the visible tiles, then on those beside; returns whether the visible are complete. */
  #work(ladder: Ladder, first: number, last: number): boolean {
    const end = performance.now() + BUDGET;
    const order = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    let complete = true;
    for (const number of order) {
      if (!this.#workOn(ladder, number, end)) complete = false;
    }
    if (complete) for (const number of [last + 1, first - 1]) this.#workOn(ladder, number, end);
    const { tiles } = this.#level;
    while (tiles.size > MOST_TILES) tiles.delete(tiles.keys().next().value!);
    return complete;
  }

  #workOn(ladder: Ladder, number: number, end: number): boolean {
    const { tiles } = this.#level;
    let tile = tiles.get(number);
    if (tile === undefined && performance.now() >= end) return false;
    tile ??= makeTile(ladder, number);
    tiles.delete(number);
    tiles.set(number, tile);
    while (tile.work !== undefined && performance.now() < end) {
      if (tile.work.next().done === true) tile.work = undefined;
    }
    return tile.work === undefined;
  }
}

function makeTile(ladder: Ladder, number: number): Tile {
  const { box, ratio, scale, scene } = ladder;
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(box.width * ratio));
  canvas.height = Math.round(TILE * ratio);
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, -box.x * ratio, 0);
  const from = number * TILE * scale.step;
  const margin = MARGIN * scale.step;
  const to = from + TILE * scale.step;
  const local = { ...scale, from, top: 0 };
  const work = drawLadder(new CanvasPen(context), scene, local, from - margin, to + margin);
  return { canvas, work };
}

/** Draws the tiles of a level where they belong, stretched if the level has another scale. */
function drawLevel(context: CanvasRenderingContext2D, ladder: Ladder, level: Level): void {
  const { box, scale, ratio } = ladder;
  const seconds = TILE * level.step;
  const snap = (y: number): number => Math.round(y * ratio) / ratio;
  for (const [number, tile] of level.tiles) {
    const top = snap(yOf(scale, number * seconds));
    const bottom = snap(yOf(scale, (number + 1) * seconds));
    if (bottom < box.y || top > box.y + box.height) continue;
    context.drawImage(tile.canvas, box.x, top, box.width, bottom - top);
  }
}
