import { h } from "../app/dom";
import { cross, mark } from "./pen";
import { CanvasPen } from "./pens";
import { KINDS } from "./rows";
import { KIND_NAMES } from "./text";
import type { Theme } from "./theme";

/** Legend of the marks: shape and name of each kind, and of a loss. */
export class Legend {
  readonly element = h("ul", { class: "packets-legend", "aria-label": "Marks" });
  readonly #samples: HTMLCanvasElement[] = [];

  constructor() {
    for (const name of [...KINDS.map((kind) => KIND_NAMES[kind]), "lost"]) {
      const sample = h("canvas", { "aria-hidden": "true" });
      this.#samples.push(sample);
      this.element.append(h("li", {}, sample, name));
    }
  }

  /** Draws the marks in the colours of a theme. */
  draw(theme: Theme): void {
    const size = 16 * theme.scale;
    this.#samples.forEach((sample, i) => {
      sample.width = size * 2;
      sample.height = size * 2;
      sample.style.width = `${size}px`;
      sample.style.height = `${size}px`;
      const context = sample.getContext("2d");
      if (context === null) return;
      context.scale(2, 2);
      const pen = new CanvasPen(context);
      const kind = KINDS[i];
      if (kind === undefined) cross(pen, size / 2, size / 2, 10 * theme.scale, theme.loss, 2);
      else mark(pen, kind, size / 2, size / 2, 9 * theme.scale, theme);
    });
  }
}
