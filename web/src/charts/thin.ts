/** Points of a curve that are drawn. */
export interface Points {
  time: Float64Array;
  value: Float64Array;
  count: number;
}

/** Vertical strokes that are drawn, each at a time from `low` to `high`. */
export interface Strokes {
  time: Float64Array;
  low: Float64Array;
  high: Float64Array;
  count: number;
}

/** Returns the first index whose time is `at` or later. */
export function lowerBound(time: Float64Array, at: number, from = 0, to = time.length): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (time[middle]! < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the last value at or before a time, as a step function has it; NaN before the first. */
export function stepAt(time: Float64Array, value: Float64Array, at: number): number {
  const index = lowerBound(time, at);
  if (index < time.length && time[index] === at) {
    // If several rows have this time, the last row is valid.
    let last = index;
    while (last + 1 < time.length && time[last + 1] === at) last += 1;
    return value[last]!;
  }
  return index > 0 ? value[index - 1]! : NaN;
}

/**
 * Thins a curve to the first, least, greatest and last point of each column of a picture, so that
 * the drawn line covers the same pixels. The neighbours outside the span are kept. Gaps (values that
 * are not finite) stay gaps.
 */
export function thinCurve(
  time: Float64Array,
  value: Float64Array,
  span: readonly [number, number],
  columns: number,
): Points {
  const first = Math.max(0, lowerBound(time, span[0]) - 1);
  const end = Math.min(time.length, lowerBound(time, span[1]) + 1);
  if (end - first <= 4 * columns) {
    return {
      time: time.subarray(first, end),
      value: value.subarray(first, end),
      count: end - first,
    };
  }
  const size = 10 * (columns + 3);
  const out = { time: new Float64Array(size), value: new Float64Array(size), count: 0 };
  const keep = (index: number) => {
    out.time[out.count] = time[index]!;
    out.value[out.count] = value[index]!;
    out.count += 1;
  };
  const perSecond = columns / (span[1] - span[0]);
  let index = first;
  while (index < end) {
    const column = columnOf(time[index]!, span[0], perSecond, columns);
    const stop =
      column >= columns ? end : nextColumn(time, index, end, span[0] + (column + 1) / perSecond);
    const kept = extremes(value, index, stop);
    for (let n = 0; n < kept.length; n++) if (n === 0 || kept[n] !== kept[n - 1]) keep(kept[n]!);
    index = stop;
  }
  return out;
}

/** Returns the indices of the first, least, greatest, a missing, and the last value, in order. */
function extremes(value: Float64Array, from: number, to: number): number[] {
  let [least, greatest, gap] = [-1, -1, -1];
  for (let index = from; index < to; index++) {
    const here = value[index]!;
    if (!(here - here === 0)) {
      gap = index;
      continue;
    }
    if (least < 0 || here < value[least]!) least = index;
    if (greatest < 0 || here > value[greatest]!) greatest = index;
  }
  const indices = [from, least, greatest, gap, to - 1].filter((index) => index >= 0);
  return indices.sort((a, b) => a - b);
}

function columnOf(time: number, start: number, perSecond: number, columns: number): number {
  return Math.max(-1, Math.min(columns, Math.floor((time - start) * perSecond)));
}

/** Returns the end of a column by steps that double: columns of many points cost few comparisons. */
function nextColumn(time: Float64Array, index: number, end: number, edge: number): number {
  let [low, step] = [index + 1, 1];
  while (low + step < end && time[low + step]! < edge) {
    low += step;
    step *= 2;
  }
  return Math.max(index + 1, lowerBound(time, edge, low, Math.min(end, low + step + 1)));
}

/**
 * Joins strokes that touch within a column of the picture. The union of the strokes of each column
 * stays the same up to `grain` (the value of a pixel).
 */
export function joinStrokes(
  time: Float64Array,
  low: Float64Array,
  high: Float64Array,
  span: readonly [number, number],
  columns: number,
  grain: number,
): Strokes {
  const first = lowerBound(time, span[0]);
  const end = lowerBound(time, span[1]);
  const perSecond = columns / (span[1] - span[0]);
  const size = end - first;
  const out: Strokes = {
    time: new Float64Array(size),
    low: new Float64Array(size),
    high: new Float64Array(size),
    count: 0,
  };
  let column = -1;
  for (let index = first; index < end; index++) {
    const here = Math.floor((time[index]! - span[0]) * perSecond);
    const last = out.count - 1;
    const touches =
      here === column &&
      low[index]! <= out.high[last]! + grain &&
      high[index]! >= out.low[last]! - grain;
    if (touches) {
      out.low[last] = Math.min(out.low[last]!, low[index]!);
      out.high[last] = Math.max(out.high[last]!, high[index]!);
    } else {
      out.time[out.count] = time[index]!;
      out.low[out.count] = low[index]!;
      out.high[out.count] = high[index]!;
      out.count += 1;
      column = here;
    }
  }
  return out;
}

/** Returns the least and greatest finite value in a span, with the value that holds at its start. */
export function extent(
  time: Float64Array,
  value: Float64Array,
  span: readonly [number, number],
): [number, number] | undefined {
  const first = Math.max(0, lowerBound(time, span[0]) - 1);
  const end = lowerBound(time, span[1]);
  let [low, high] = [Infinity, -Infinity];
  for (let index = first; index < end; index++) {
    const here = value[index]!;
    if (!(here - here === 0)) continue;
    if (here < low) low = here;
    if (here > high) high = here;
  }
  return low <= high ? [low, high] : undefined;
}
