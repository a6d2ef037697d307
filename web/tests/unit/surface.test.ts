import { expect, test } from "vitest";
import { shares } from "../../src/charts/band";
import { escaped, SvgSurface } from "../../src/charts/surface";

test("text in an SVG file is never markup", () => {
  expect(escaped('<script>"&"</script>\u0000')).toBe(
    "&lt;script&gt;&quot;&amp;&quot;&lt;/script&gt;",
  );
  const surface = new SvgSurface();
  surface.text("</text><script>", 1, 2, { colour: "#000", size: 12 });
  expect(surface.file(10, 10, "<title>")).not.toMatch(/<script|<title><title/);
});

test("a missing number begins a new part of a path", () => {
  const surface = new SvgSurface();
  surface.path([0, 0, 1, 1, NaN, NaN, 5, 5, 6, 6.123], 5, { colour: "#000" });
  expect(surface.file(10, 10, "")).toContain('d="M0 0L1 1M5 5L6 6.12"');
});

test("shares of the limits of a column add up to the time that is known", () => {
  const time = Float64Array.of(0, 2, 2.5, 7);
  const kind = Float64Array.of(0, 1, 0, 1);
  const table = shares(time, kind, 2, [0, 10], 8, 5);
  const sums = [...table[0]!.keys()].map((n) => table[0]![n]! + table[1]![n]!);
  expect(sums.map((sum) => Number(sum.toFixed(9)))).toEqual([1, 1, 1, 1, 0]);
  expect(table[1]![1]).toBeCloseTo(0.25);
});
