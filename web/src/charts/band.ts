import type { Frame, Lane } from "./picture";
import type { Rows } from "./rows";
import type { Box, Surface } from "./surface";
import { lowerBound } from "./thin";
import type { Theme } from "./theme";

/** Events above the band of a TCP: time-outs and fast retransmits. */
export interface Events {
  timeouts: Float64Array;
  fast: Float64Array;
}

/**
 * Lane of a sender's limits. Each column of pixels shows the shares of its time, with ticks of
 * time-outs (tall) and fast retransmits (short) above.
 */
export function limitLane(
  label: string,
  colour: string,
  rows: Rows,
  names: string[],
  events: Events,
  end: number,
): Lane {
  return {
    label,
    colour,
    draw: (surface, frame, box) => {
      const ticksHeight = Math.round(box.height * 0.42);
      const band = { ...box, y: box.y + ticksHeight, height: box.height - ticksHeight - 1 };
      drawBand(surface, frame, band, rows, names, end);
      drawTicks(surface, frame, { ...box, height: ticksHeight }, events);
    },
  };
}

function drawBand(
  surface: Surface,
  frame: Frame,
  box: Box,
  rows: Rows,
  names: string[],
  end: number,
): void {
  const columns = Math.max(1, Math.round(box.width));
  const table = shares(rows.time, rows.limit!, names.length, frame.span, end, columns);
  let low = new Float64Array(columns).fill(box.y + box.height);
  for (let kind = 0; kind < names.length; kind++) {
    const look = frame.theme.limits[names[kind]!];
    if (!look) continue;
    const top = low.map((y, n) => y - box.height * table[kind]![n]!);
    for (const [first, last] of equalColumns(low, top)) {
      const height = low[first]! - top[first]!;
      if (height < 0.05) continue;
      const part = { x: box.x + first, y: top[first]!, width: last - first, height };
      surface.fill(part, look.colour);
      if (look.hatch && part.width > 3) surface.hatch(part, look.hatch, "#FFFFFF");
    }
    low = top;
  }
}

/** Returns runs of columns that have the same edges. */
function equalColumns(low: Float64Array, top: Float64Array): [number, number][] {
  const runs: [number, number][] = [];
  for (let n = 0; n < low.length; n++) {
    const last = runs.at(-1);
    const same =
      last && Math.abs(low[n]! - low[last[0]]!) < 1e-3 && Math.abs(top[n]! - top[last[0]]!) < 1e-3;
    if (same) last[1] = n + 1;
    else runs.push([n, n + 1]);
  }
  return runs;
}

/**
 * Returns, for each kind, the share of each column of time in which it holds. A row's kind holds
 * until the next row, and the last one until `end`.
 */
export function shares(
  time: Float64Array,
  kind: Float64Array,
  kinds: number,
  span: readonly [number, number],
  end: number,
  columns: number,
): Float64Array[] {
  const table = Array.from({ length: kinds }, () => new Float64Array(columns));
  const width = (span[1] - span[0]) / columns;
  const first = Math.max(0, lowerBound(time, span[0]) - 1);
  for (let row = first; row < time.length && time[row]! < span[1]; row++) {
    const begins = Math.max(time[row]!, span[0]);
    const ends = Math.min(row + 1 < time.length ? time[row + 1]! : end, span[1]);
    const shareOf = table[kind[row]!];
    if (!shareOf || !(ends > begins)) continue;
    const from = Math.floor((begins - span[0]) / width);
    const to = Math.min(columns - 1, Math.floor((ends - span[0]) / width));
    for (let column = from; column <= to; column++) {
      const left = Math.max(begins, span[0] + column * width);
      const right = Math.min(ends, span[0] + (column + 1) * width);
      shareOf[column] = Math.min(1, shareOf[column]! + Math.max(0, right - left) / width);
    }
  }
  return table;
}

function drawTicks(surface: Surface, frame: Frame, box: Box, events: Events): void {
  const kinds: [Float64Array, number, keyof Theme & ("loss" | "data")][] = [
    [events.fast, 0.6, "loss"],
    [events.timeouts, 1, "data"],
  ];
  for (const [time, share, colour] of kinds) {
    const out: number[] = [];
    let before = NaN;
    const end = lowerBound(time, frame.span[1]);
    for (let n = lowerBound(time, frame.span[0]); n < end; n++) {
      const x = Math.round(frame.x(time[n]!) * 2) / 2;
      if (x === before) continue;
      before = x;
      const bottom = box.y + box.height;
      out.push(x, bottom - 1, x, bottom - 1 - share * (box.height - 2), NaN, NaN);
    }
    const pen = { colour: frame.theme[colour], width: 1.4 * frame.theme.stroke };
    surface.path(out, out.length / 2, pen);
  }
}
