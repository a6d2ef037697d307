// Points that a curve does not need.
import { expect, it } from "vitest";
import { extend } from "../../src/charts/layers";

function extended(points: [number, number][]): number[] {
  const out: number[] = [];
  for (const [x, y] of points) extend(out, x, y);
  return out;
}

it("keeps the two ends of a level part of a curve", () => {
  const points: [number, number][] = [
    [0, 5],
    [1, 5],
    [2, 5],
    [3, 5],
    [3, 7],
    [4, 7],
    [5, 7],
  ];
  expect(extended(points)).toEqual([0, 5, 3, 5, 3, 7, 5, 7]);
});

it("keeps gaps", () => {
  const points: [number, number][] = [
    [0, 5],
    [1, NaN],
    [2, NaN],
    [3, NaN],
    [4, 5],
  ];
  expect(extended(points)).toHaveLength(10);
});
