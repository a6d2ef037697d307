import { expect, test } from "vitest";
import { shares } from "../../src/charts/band";
import { CanvasSurface, escaped, SvgSurface } from "../../src/charts/surface";

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

test("strokes a long path in pieces that join, and a dashed path whole", () => {
  const drawn: string[] = [];
  const context = new Proxy({} as CanvasRenderingContext2D, {
    get: (_, name) => (x: number) => {
      if (name === "stroke") drawn.push("stroke");
      if (name === "moveTo" || name === "lineTo") drawn.push(`${name} ${x}`);
    },
    set: () => true,
  });
  const points = Array.from({ length: 250 }, (_, n) => [n, n % 2]).flat();
  new CanvasSurface(context).path(points, 250, { colour: "red" });
  expect(drawn.filter((call) => call === "stroke")).toHaveLength(3);
  expect(drawn[drawn.indexOf("stroke") - 1]).toBe("lineTo 99");
  expect(drawn[drawn.indexOf("stroke") + 1]).toBe("moveTo 99");
  expect(drawn.filter((call) => call.startsWith("lineTo"))).toHaveLength(249);
  drawn.length = 0;
  new CanvasSurface(context).path(points, 250, { colour: "red", dashes: [3, 2] });
  expect(drawn.filter((call) => call === "stroke")).toHaveLength(1);
});
