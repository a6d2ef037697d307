import { h, fill, setText } from "../app/dom";
import type { Layer, Picture } from "../charts/picture";
import { areaOf, frameOf, render } from "../charts/render";
import { words } from "../charts/scale";
import { CanvasSurface } from "../charts/surface";
import { lookOf, type Theme } from "../charts/theme";
import type { Curve } from "./history";

const HEIGHT = 170;

/** What a moving chart shows. */
export interface LiveKind {
  title: string;
  unit: string;
  label: string;
  /** Value text of a legend's entry. */
  curves(): Curve[];
}

/** Chart of the last minute, with a legend that has the newest values. */
export class LiveChart {
  readonly element: HTMLElement;
  readonly #kind: LiveKind;
  readonly #canvas = h("canvas", { class: "live-canvas" });
  readonly #legend = h("ul", { class: "legend" });
  #names = "";
  #values: HTMLElement[] = [];

  constructor(kind: LiveKind) {
    this.#kind = kind;
    this.#canvas.setAttribute("role", "img");
    this.element = h(
      "figure",
      { class: "live-chart" },
      h("figcaption", {}, h("h3", {}, kind.title), this.#legend),
      this.#canvas,
    );
  }

  /** Draws the curves of a span of time. */
  draw(span: readonly [number, number], theme: Theme): void {
    const curves = this.#kind.curves();
    this.#label(curves, theme);
    const width = this.#canvas.clientWidth;
    if (width < 50) return;
    const height = Math.round((HEIGHT * theme.size) / 12);
    const ratio = window.devicePixelRatio || 1;
    const [columns, rows] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.#canvas.width !== columns || this.#canvas.height !== rows) {
      this.#canvas.width = columns;
      this.#canvas.height = rows;
      this.#canvas.style.setProperty("height", `${height}px`);
    }
    const context = this.#canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.background;
    context.fillRect(0, 0, width, height);
    const picture = this.#picture(curves, theme);
    const frame = frameOf(picture, areaOf(picture, width, height, theme), span, theme);
    render(new CanvasSurface(context), picture, frame);
  }

  #picture(curves: Curve[], theme: Theme): Picture {
    const { title, unit, label } = this.#kind;
    const layers = curves.map((curve, place) => layerOf(curve, lookOf(theme, place), theme));
    return {
      ...{ title, unit, label, layers, summary: title, zero: true },
      ...{ lanes: [], entries: [], series: [] },
    };
  }

  #label(curves: Curve[], theme: Theme): void {
    const names = JSON.stringify([curves.map((curve) => curve.name), theme.palette[0]]);
    if (names !== this.#names) {
      this.#names = names;
      this.#values = curves.map(() => h("span", { class: "value" }));
      fill(
        this.#legend,
        curves.map((curve, place) => {
          const { colour, dashes } = lookOf(theme, place);
          const style = dashes.length ? "dashed" : "solid";
          const line = h("span", {
            class: "live-line",
            style: { "border-top": `3px ${style} ${colour}` },
          });
          return h("li", {}, line, `${curve.name} `, this.#values[place]);
        }),
      );
    }
    const said = curves.map((curve, place) => {
      const text = words(curve.value.at(-1), this.#kind.unit);
      setText(this.#values[place]!, text);
      return `${curve.name} ${text}`;
    });
    this.#canvas.setAttribute("aria-label", `${this.#kind.title}: ${said.join(", ") || "none"}`);
  }
}

function layerOf(curve: Curve, look: ReturnType<typeof lookOf>, theme: Theme): Layer {
  const pen = { colour: look.colour, dashes: look.dashes, width: 1.6 * theme.stroke };
  return {
    draw(surface, frame) {
      const points = new Float64Array(2 * curve.time.length);
      curve.time.forEach((time, n) => {
        points[2 * n] = frame.x(time);
        points[2 * n + 1] = frame.y(curve.value[n] ?? NaN);
      });
      surface.path(points, curve.time.length, pen);
    },
    extent(span) {
      const shown = curve.value.filter((v, n) => Number.isFinite(v) && curve.time[n]! >= span[0]);
      return shown.length ? [0, Math.max(...shown)] : undefined;
    },
  };
}
