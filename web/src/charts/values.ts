import { h } from "../app/dom";
import type { Picture, Series } from "./picture";
import { words } from "./scale";
import { lowerBound, stepAt } from "./thin";

const ROWS = 20;

/** Makes a table of the values of a picture at times of equal distance: its text alternative. */
export function valuesTable(picture: Picture, span: readonly [number, number]): HTMLElement {
  const curves = picture.series.filter((series) => series.kind !== "point");
  const points = picture.series.filter((series) => series.kind === "point");
  const times = Array.from(
    { length: ROWS + 1 },
    (_, n) => span[0] + ((span[1] - span[0]) * n) / ROWS,
  );
  const head = ["time", ...curves.map((s) => s.name), ...points.map((s) => `${s.name} (count)`)];
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `${picture.title}, values` },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          head.map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      h(
        "tbody",
        {},
        times.map((time, n) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, words(time, "s")),
            curves.map((s) => h("td", {}, words(stepAt(s.time, s.value, time), s.unit))),
            points.map((s) => h("td", {}, n === 0 ? 0 : countOf(s, times[n - 1]!, time))),
          ),
        ),
      ),
    ),
  );
}

function countOf(series: Series, from: number, to: number): number {
  return lowerBound(series.time, to) - lowerBound(series.time, from);
}
