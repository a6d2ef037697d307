import type { Rows } from "./rows";
import { lowerBound } from "./thin";

/** Bins in the width of a picture, about. */
const BINS = 90;
const STEPS = [1, 2, 5, 10];

/** Returns a round width of bins for a span of time (s). */
export function binWidth(span: readonly [number, number]): number {
  const rough = (span[1] - span[0]) / BINS;
  const power = 10 ** Math.floor(Math.log10(rough));
  return (STEPS.find((step) => step * power >= rough * 0.999) ?? 10) * power;
}

const sums = new WeakMap<Rows, Float64Array>();

/** Returns the sums of a column up to each row, from a cache. */
function summed(rows: Rows, column: string): Float64Array {
  let sum = sums.get(rows);
  if (!sum) {
    const values = rows[column]!;
    sum = new Float64Array(values.length + 1);
    for (let n = 0; n < values.length; n++) sum[n + 1] = sum[n]! + values[n]!;
    sums.set(rows, sum);
  }
  return sum;
}

/**
 * Returns the rate of a column of bytes in bins of a span (bit/s), each at the middle of its bin.
 * The last bin ends with the run.
 */
export function rates(
  rows: Rows,
  column: string,
  span: readonly [number, number],
  width: number,
  end: number,
): Rows {
  const sum = summed(rows, column);
  const first = Math.max(0, Math.floor(span[0] / width) - 1);
  const last = Math.min(Math.ceil(span[1] / width) + 1, Math.ceil(end / width));
  const count = Math.max(0, last - first);
  const time = new Float64Array(count);
  const rate = new Float64Array(count);
  let begins = lowerBound(rows.time, first * width);
  for (let n = 0; n < count; n++) {
    const start = (first + n) * width;
    const stop = Math.min(start + width, end);
    const ends = lowerBound(rows.time, start + width, begins);
    time[n] = (start + stop) / 2;
    // A sliver of a bin at the end would be a spike.
    const length = Math.max(stop - start, width / 4);
    rate[n] = (8 * (sum[ends]! - sum[begins]!)) / length;
    begins = ends;
  }
  return { time, rate };
}
