import fc from "fast-check";
import { expect, test } from "vitest";
import {
  extent,
  joinStrokes,
  lowerBound,
  stepAt,
  thinCurve,
  type Points,
} from "../../src/charts/thin";

const values = fc.oneof(
  { weight: 8, arbitrary: fc.double({ min: -1e6, max: 1e6, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(NaN, Infinity) },
);

const curves = fc
  .array(fc.tuple(fc.double({ min: 0, max: 100, noNaN: true }), values), { maxLength: 800 })
  .map((rows) => rows.sort((a, b) => a[0] - b[0]))
  .map((rows) => ({
    time: Float64Array.from(rows, (row) => row[0]),
    value: Float64Array.from(rows, (row) => row[1]),
  }));

const spans = fc
  .tuple(
    fc.double({ min: -5, max: 60, noNaN: true }),
    fc.double({ min: 0.5, max: 60, noNaN: true }),
  )
  .map(([from, length]) => [from, from + length] as const);

function kept(points: Points): [number, number][] {
  return Array.from({ length: points.count }, (_, n) => [points.time[n]!, points.value[n]!]);
}

test("thinning keeps the first, least, greatest and last value of each column", () => {
  fc.assert(
    fc.property(
      curves,
      spans,
      fc.integer({ min: 1, max: 40 }),
      ({ time, value }, span, columns) => {
        const points = kept(thinCurve(time, value, span, columns));
        const width = (span[1] - span[0]) / columns;
        for (let column = 0; column < columns; column++) {
          const [left, right] = [span[0] + column * width, span[0] + (column + 1) * width];
          // Rounding may put a point at an edge into either column, so such a column is not judged.
          const atEdge = (t: number) => Math.min(Math.abs(t - left), Math.abs(t - right)) < 1e-9;
          if (time.some(atEdge)) continue;
          const inside = (t: number) => t >= left && t < right;
          const here = [...time.keys()].filter((n) => inside(time[n]!));
          const finite = here.map((n) => value[n]!).filter((v) => Number.isFinite(v));
          const thin = points.filter(([t]) => inside(t)).map((row) => row[1]);
          if (!here.length) continue;
          // NaN is no member for toContain, and 0 is not -0.
          const holds = (wanted: number) => thin.some((v) => v === wanted || Object.is(v, wanted));
          expect(holds(value[here[0]!]!) && holds(value[here.at(-1)!]!)).toBe(true);
          if (!finite.length) continue;
          expect(holds(Math.min(...finite))).toBe(true);
          expect(holds(Math.max(...finite))).toBe(true);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("thinned points are points of the curve, in order, and few", () => {
  fc.assert(
    fc.property(
      curves,
      spans,
      fc.integer({ min: 1, max: 40 }),
      ({ time, value }, span, columns) => {
        const points = thinCurve(time, value, span, columns);
        expect(points.count).toBeLessThanOrEqual(Math.max(4 * columns, 5 * (columns + 3)));
        const rows = new Set([...time.keys()].map((n) => `${time[n]!} ${value[n]!}`));
        kept(points).forEach(([t, v], n) => {
          expect(rows).toContain(`${t} ${v}`);
          if (n) expect(t).toBeGreaterThanOrEqual(points.time[n - 1]!);
        });
      },
    ),
    { numRuns: 300 },
  );
});

test("a gap within a column stays a gap", () => {
  const time = Float64Array.from({ length: 1000 }, (_, n) => n / 100);
  const value = Float64Array.from(time, (_, n) => (n === 505 ? NaN : n));
  const points = thinCurve(time, value, [0, 10], 10);
  expect(kept(points).some(([t, v]) => t === 5.05 && Number.isNaN(v))).toBe(true);
});

test("joined strokes cover what the strokes of their column cover", () => {
  const strokes = fc
    .array(
      fc.tuple(
        fc.double({ min: 0, max: 10, noNaN: true }),
        fc.nat(300),
        fc.integer({ min: 1, max: 9 }),
      ),
      {
        maxLength: 300,
      },
    )
    .map((rows) => rows.sort((a, b) => a[0] - b[0]));
  fc.assert(
    fc.property(strokes, fc.integer({ min: 1, max: 30 }), (rows, columns) => {
      const time = Float64Array.from(rows, (row) => row[0]);
      const low = Float64Array.from(rows, (row) => row[1]);
      const high = Float64Array.from(rows, (row) => row[1] + row[2]);
      const joined = joinStrokes(time, low, high, [0, 10], columns, 0);
      const covered = (t: Float64Array, a: Float64Array, b: Float64Array, count: number) => {
        const set = new Set<string>();
        for (let n = 0; n < count; n++) {
          const column = Math.floor((t[n]! * columns) / 10);
          for (let y = a[n]!; y < b[n]!; y++) set.add(`${column} ${y}`);
        }
        return set;
      };
      const before = time.filter((t) => t < 10).length;
      expect(covered(joined.time, joined.low, joined.high, joined.count)).toEqual(
        covered(time, low, high, before),
      );
    }),
    { numRuns: 200 },
  );
});

test("a step holds its value until the next row", () => {
  const time = Float64Array.of(1, 2, 2, 3);
  const value = Float64Array.of(10, 20, 21, 30);
  expect(stepAt(time, value, 0.5)).toBeNaN();
  expect([1, 1.9, 2, 2.5, 3, 9].map((at) => stepAt(time, value, at))).toEqual([
    10, 10, 21, 21, 30, 30,
  ]);
  expect(lowerBound(time, 2)).toBe(1);
});

test("the extent of a span includes the value that holds at its start", () => {
  const time = Float64Array.of(0, 5, 10);
  const value = Float64Array.of(7, 3, Infinity);
  expect(extent(time, value, [2, 4])).toEqual([7, 7]);
  expect(extent(time, value, [2, 20])).toEqual([3, 7]);
  expect(extent(new Float64Array(0), new Float64Array(0), [0, 1])).toBeUndefined();
});

test("a million points thin to a picture in a few milliseconds", () => {
  const count = 1_000_000;
  const time = Float64Array.from({ length: count }, (_, n) => n / 1000);
  const value = Float64Array.from({ length: count }, (_, n) => Math.sin(n / 77) * n);
  const points = thinCurve(time, value, [0, 1000], 1000);
  expect(points.count).toBeLessThan(5100);
});
