// Picture of the lesson on means: the runs of each TCP, and the interval of the mean after n runs.

import { fill, h, svg } from "../app/dom";
import type { Run } from "../engine";
import { readable } from "./quantity";
import { halfWidth, mean } from "./student";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [400, 300, 62, 8, 10, 36];
const MOST_RUNS = 60;

/** Picture of goodput over the number of runs. */
export class Funnel {
  readonly #picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  readonly #legend = h("ul", { class: "legend" });
  readonly element = h(
    "figure",
    { class: "lesson-funnel" },
    h("figcaption", {}, "Goodput: a dot for each run, and the 95 % interval of the mean so far"),
    this.#legend,
    this.#picture,
  );

  /** Draws the runs; `count` are wanted. */
  draw(runs: Run[][], count: number): void {
    const tcps = runs[0]?.map((run) => run.tcp) ?? [];
    const values = tcps.map((_, place) =>
      runs.map((row) => row[place]?.measures.flows[0]?.metrics.goodput ?? NaN),
    );
    const top = 1.08 * Math.max(1, ...values.flat().filter(Number.isFinite));
    this.#picture.replaceChildren(...axes(top));
    values.forEach((row, place) => this.#picture.append(...series(row, place, top)));
    const texts = tcps.map((tcp, place) => interval(tcp, values[place]!));
    this.#picture.setAttribute("aria-label", `${runs.length} of ${count} runs. ${texts.join("; ")}`);
    fill(
      this.#legend,
      texts.map((text, place) =>
        h("li", {}, h("span", { class: `lesson-mark tcp-${place}` }), text),
      ),
    );
  }
}

function interval(tcp: string, values: number[]): string {
  const half = halfWidth(values);
  const share = Number.isNaN(half) ? "" : ` ± ${readable(half / mean(values), "%")}`;
  return `${tcp}: ${readable(mean(values), "bit/s")}${share}`;
}

const x = (run: number) => LEFT + ((WIDTH - LEFT - RIGHT) * run) / (MOST_RUNS + 1);

function y(value: number, top: number): number {
  const share = Math.min(1, Math.max(0, value / top));
  return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);
}

function axes(top: number): SVGElement[] {
  const made: SVGElement[] = [];
  const step = niceStep(top / 4);
  for (let value = 0; value <= top; value += step) {
    const height = y(value, top);
    made.push(line("lesson-grid", LEFT, height, WIDTH - RIGHT, height));
    made.push(label(readable(value, "bit/s"), LEFT - 6, height + 4, "end"));
  }
  for (const run of [1, 10, 20, 30, 40, 50, 60]) {
    made.push(label(String(run), x(run), HEIGHT - BOTTOM + 16, "middle"));
  }
  return [...made, label("runs", (LEFT + WIDTH) / 2, HEIGHT - 4, "middle")];
}

/** Dots of the runs, and from the second on the interval after so many. */
function series(values: number[], place: number, top: number): SVGElement[] {
  const made: SVGElement[] = [];
  const means: string[] = [];
  values.forEach((value, k) => {
    const known = values.slice(0, k + 1);
    const centre = mean(known);
    const half = halfWidth(known);
    const across = x(k + 1) + 2 * place - 1;
    means.push(`${across},${y(centre, top)}`);
    if (!Number.isNaN(half)) {
      const bar = line("", across, y(centre - half, top), across, y(centre + half, top));
      bar.setAttribute("class", `lesson-bar tcp-${place}`);
      made.push(bar);
    }
    const dot = { cx: across, cy: y(value, top), r: 2.6, class: `lesson-dot tcp-${place}` };
    made.push(svg("circle", dot));
  });
  made.push(svg("polyline", { points: means.join(" "), class: `lesson-mean tcp-${place}` }));
  return made;
}

function line(name: string, x1: number, y1: number, x2: number, y2: number): SVGElement {
  return svg("line", { x1, y1, x2, y2, class: name });
}

function label(text: string, at: number, height: number, anchor: string): SVGElement {
  const element = svg("text", { x: at, y: height, "text-anchor": anchor });
  element.textContent = text;
  return element;
}

/** Returns 1, 2 or 5 times a power of ten, at least `step`. */
function niceStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return power * ([1, 2, 5].find((factor) => factor * power >= step) ?? 10);
}
