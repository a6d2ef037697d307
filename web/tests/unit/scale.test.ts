import fc from "fast-check";
import { expect, test } from "vitest";
import { labels, prefixed, ticks, words } from "../../src/charts/scale";
import {
  positionOf,
  quantity,
  RATE,
  scale,
  SHARE,
  SIZE,
  TIME,
  valueAt,
  WINDOW,
  written,
} from "../../src/controls/units";

test("ticks are round, inside the span, and about as many as asked for", () => {
  expect(ticks(0, 100, 5)).toEqual([0, 20, 40, 60, 80, 100]);
  expect(ticks(5.4, 6.9, 4)).toEqual([5.5, 6, 6.5]);
  fc.assert(
    fc.property(
      fc.double({ min: -1e9, max: 1e9, noNaN: true }),
      fc.double({ min: 1e-6, max: 1e9, noNaN: true }),
      fc.integer({ min: 2, max: 12 }),
      (low, span, count) => {
        fc.pre(low + span > low && span > Math.abs(low) * 1e-6);
        const values = ticks(low, low + span, count);
        expect(values.length).toBeLessThanOrEqual(count + 2);
        for (const value of values) {
          expect(value).toBeGreaterThanOrEqual(low - span * 1e-6);
          expect(value).toBeLessThanOrEqual(low + span * 1.000001);
        }
      },
    ),
  );
});

test("labels of ticks differ from each other", () => {
  expect(labels([0, 0.25, 0.5])).toEqual(["0.00", "0.25", "0.50"]);
  expect(labels([0, 50000, 100000], 1000)).toEqual(["0", "50", "100"]);
});

test("values have a unit with the prefix that suits them", () => {
  expect(prefixed(65535, "B")).toEqual([1e3, "kB"]);
  expect(words(65535, "B")).toBe("65.53\u00A0kB");
  expect(words(0.55, "s")).toBe("550\u00A0ms");
  expect(words(1234567, "")).toBe("1,234,567");
  expect(words(Infinity, "B")).toBe("unlimited");
  expect(words(NaN, "B")).toBe("none");
  expect(words(null, "B")).toBe("none");
});

test("a written value is read as the same value", () => {
  for (const dimension of [TIME, RATE, SIZE, WINDOW, SHARE]) {
    fc.assert(
      fc.property(fc.double({ min: 1e-3, max: 1e9, noNaN: true }), (value) => {
        const rounded = Number(value.toPrecision(2));
        const read = quantity(written(rounded, dimension), dimension)!;
        expect(Math.abs(read / rounded - 1)).toBeLessThan(0.051);
      }),
    );
  }
});

test("texts without a value of the dimension have no quantity", () => {
  expect(quantity("2048 kbit/s", RATE)).toBe(2_048_000);
  expect(quantity("1 %", SHARE)).toBe(0.01);
  expect(quantity("64 KiB", SIZE)).toBe(65536);
  expect(quantity("fast", RATE)).toBeUndefined();
  expect(quantity("3 parsecs", TIME)).toBeUndefined();
  expect(quantity(undefined, TIME)).toBeUndefined();
});

test("the position of a slider and its value agree", () => {
  const delays = scale(1e-3, 2, true);
  expect(valueAt(delays, 0)).toBe(0);
  expect(positionOf(delays, 0)).toBe(0);
  expect(valueAt(delays, delays.steps)).toBeCloseTo(2);
  for (let position = 1; position <= delays.steps; position++) {
    expect(Math.abs(positionOf(delays, valueAt(delays, position)) - position)).toBeLessThanOrEqual(
      1,
    );
  }
  expect(positionOf(delays, 100)).toBe(delays.steps);
});
