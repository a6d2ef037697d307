import { eachBlock, lowerBound, type Group, type Timeline, untilOf } from "./timeline";

/** Most marks that the rows of one step of time have. */
const MOST_LINES = 8;

/**
 * Divides the packets of a span of time into marks, each a range of a group's rows, and calls back
 * with each mark. A row of the span is in exactly one mark. Rows share a mark if their departures
 * are in the same step of time and their ends closer than a step. The division depends on the steps
 * alone, so that adjacent spans agree.
 */
export function eachMark(
  timeline: Timeline,
  from: number,
  to: number,
  stepOf: (group: Group) => number,
  call: (group: Group, index: number, count: number) => void,
  groups: readonly Group[] = timeline.groups,
): void {
  for (const group of groups) {
    const least = stepOf(group);
    eachBlock(group, from, to, (low, high) => {
      const step = stepOfBlock(group, low, high, least);
      for (let at = low; at < high;) {
        const until = (Math.floor(group.anchor[at]! / step) + 1) * step;
        const next = lowerBound(group.anchor, until, at + 1, high);
        eachPart(timeline, group, at, next, step, (index, count) => {
          if (count > 1 || overlaps(timeline, group.rows[index]!, from, to)) {
            call(group, index, count);
          }
        });
        at = next;
      }
    });
  }
}

/** Factor on the step where lines would cover the ground, and the rows of a step from which. */
const THINNED = 3;
const CROWD = 1.5;

function stepOfBlock(group: Group, low: number, high: number, least: number): number {
  const steps = (group.anchor[high - 1]! - group.anchor[low]!) / least;
  return high - low > CROWD * steps && high - low > 16 ? THINNED * least : least;
}

/** Divides rows of one step where their ends differ by a step; the last part has the rest. */
function eachPart(
  timeline: Timeline,
  group: Group,
  low: number,
  high: number,
  step: number,
  call: (index: number, count: number) => void,
): void {
  let start = low;
  for (let at = low + 1, parts = 1; at < high && parts < MOST_LINES; at += 1) {
    const jump = timeline.end[group.rows[at]!]! - timeline.end[group.rows[start]!]!;
    if (!(Math.abs(jump) >= step)) continue;
    call(start, at - start);
    start = at;
    parts += 1;
  }
  call(start, high - start);
}

/** Returns whether a row's time on its link overlaps a span. */
export function overlaps(timeline: Timeline, row: number, from: number, to: number): boolean {
  return timeline.rows.time[row]! <= to && untilOf(timeline, row) >= from;
}

/** Distance of the marks of moving packets of one kind (px). */
const APART = 9;

/**
 * Returns the number k, a power of two, of which each k-th packet of a group is drawn in motion, so
 * that marks on a link of `width` pixels do not overlap.
 */
export function sampleOf(group: Group, time: number, width: number): number {
  const first = lowerBound(group.anchor, time - group.travel);
  const moving = lowerBound(group.anchor, time, first) - first;
  const wanted = (moving * APART) / Math.max(1, width);
  return wanted <= 1.5 ? 1 : 2 ** Math.ceil(Math.log2(wanted));
}

/** Counts of packets in a span of time, by kind, and of those that were lost. */
export interface Counts {
  kinds: number[];
  lost: number;
}

/** Counts the packets that a span of time shows, each once per packet and not per link. */
export function countIn(timeline: Timeline, groups: Group[], from: number, to: number): Counts {
  const kinds = [0, 0, 0, 0, 0, 0];
  for (const group of groups) {
    const low = lowerBound(group.anchor, from);
    kinds[group.kind]! += lowerBound(group.anchor, to, low) - low;
  }
  const low = lowerBound(timeline.losses, from);
  return { kinds, lost: lowerBound(timeline.losses, to, low) - low };
}

/** Returns ticks at round times in a span, at most one per `least` seconds. */
export function ticks(from: number, to: number, least: number): { at: number[]; step: number } {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((n) => n * power >= least * (1 - 1e-9)) ?? 10;
  const step = factor * power;
  const at: number[] = [];
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-9; n += 1) {
    at.push(n * step);
  }
  return { at, step };
}
