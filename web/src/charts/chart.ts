import { fill, h, setText, svg, uniqueId } from "../app/dom";
import type { AppState } from "../app/panel";
import type { Run } from "../engine";
import { addGestures } from "./gestures";
import type { Entry, Frame, Kind, Picture } from "./picture";
import { areaOf, frameOf, LANE, render } from "./render";
import { words } from "./scale";
import { type Box, CanvasSurface } from "./surface";
import type { Theme } from "./theme";
import { valuesTable } from "./values";
import type { Cursor } from "./cursor";
import type { TimeView } from "./view";

/** One picture of the page: its canvas, legend, cursor and table of values. */
export class Chart {
  readonly kind: Kind;
  readonly element: HTMLElement;
  picture: Picture | undefined;
  readonly #view: TimeView;
  readonly #cursor: Cursor;
  readonly #canvas = h("canvas", { class: "canvas", "aria-hidden": "true" });
  readonly #line = h("div", { class: "cursor" });
  readonly #choice = h("div", { class: "choice", hidden: true });
  readonly #stage: HTMLElement;
  readonly #title = h("h3", { id: uniqueId("picture") });
  readonly #legend = h("ul", { class: "legend" });
  readonly #summary = h("p", { class: "sr-only", id: uniqueId("summary") });
  readonly #values: HTMLDetailsElement;
  #shown: [Element, Entry][] = [];
  #legendKey = "";
  #frame: Frame | undefined;
  #width = 0;
  #height = 0;
  visible = true;
  stale = true;

  constructor(kind: Kind, view: TimeView, cursor: Cursor, help: string) {
    this.kind = kind;
    this.#view = view;
    this.#cursor = cursor;
    this.#title.textContent = kind.title;
    this.#stage = h(
      "div",
      {
        class: "stage",
        tabindex: 0,
        role: "slider",
        "aria-label": `${kind.title}: time cursor`,
        "aria-describedby": `${this.#summary.id} ${help}`,
        "aria-valuemin": "0",
        "aria-valuenow": "0",
        "aria-valuemax": "0",
        style: { height: `${kind.height}px` },
      },
      this.#canvas,
      this.#choice,
      this.#line,
    );
    this.#values = h("details", { class: "values" }, h("summary", {}, "Values as a table"));
    this.#values.addEventListener("toggle", () => this.#fillValues());
    this.element = h(
      "figure",
      { class: "chart", "data-picture": kind.name, "aria-labelledby": this.#title.id },
      h("figcaption", {}, this.#title, this.#legend),
      this.#stage,
      this.#summary,
      this.#values,
    );
    addGestures({
      element: this.#stage,
      view,
      timeAt: (x) => this.#timeAt(x),
      area: () => {
        const box = this.#box();
        return { left: this.#stage.getBoundingClientRect().left + box.x, width: box.width };
      },
      hover: (time) => cursor.set(time),
      choose: (span) => this.#choose(span),
    });
  }

  /** Reads the size of the stage (CSS pixels): all pictures do so before one of them is drawn. */
  measure(): void {
    this.#width = this.#stage.clientWidth;
    this.#height = this.#stage.clientHeight || this.kind.height;
  }

  /** Makes the picture of new runs; drawing follows. */
  make(runs: Run[], state: AppState, theme: Theme): void {
    this.picture = this.kind.make({ runs, state, theme, span: this.#view.span() });
    this.stale = false;
    this.#fit(this.picture, theme);
    setText(this.#title, this.picture.title);
    setText(this.#summary, this.picture.summary);
    this.#fillLegend(theme);
    this.#fillValues();
  }

  /** Gives the stage room for larger type, and for the lanes of many TCPs. */
  #fit(picture: Picture, theme: Theme): void {
    const lanes = Math.max(0, picture.lanes.length - 2) * LANE * theme.size;
    const height = Math.round(this.kind.height * (theme.size / 12) ** 0.7 + lanes);
    const text = `${height}px`;
    if (this.#stage.style.height !== text) this.#stage.style.setProperty("height", text);
  }

  draw(theme: Theme): void {
    if (!this.picture) return;
    const [width, height] = [this.#width, this.#height];
    if (width < 50) return;
    const ratio = Math.max(
      window.devicePixelRatio || 1,
      window.matchMedia("print").matches ? 3 : 1,
    );
    const size = [Math.round(width * ratio), Math.round(height * ratio)] as const;
    if (this.#canvas.width !== size[0] || this.#canvas.height !== size[1]) {
      [this.#canvas.width, this.#canvas.height] = size;
    }
    const context = this.#canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const box = areaOf(this.picture, width, height, theme);
    this.#frame = frameOf(this.picture, box, this.#view.span(), theme);
    render(new CanvasSurface(context), this.picture, this.#frame);
  }

  /** Moves the cursor and shows the values there. */
  point(time: number): void {
    const box = this.#box();
    const [from, to] = this.#view.span();
    const x = box.x + ((time - from) / (to - from)) * box.width;
    const inside = x >= box.x - 1 && x <= box.x + box.width + 1;
    this.#line.hidden = !inside;
    this.#line.style.setProperty("transform", `translateX(${x.toFixed(1)}px)`);
    this.#line.style.setProperty("top", `${box.y}px`);
    this.#line.style.setProperty("height", `${this.#height - box.y - 20}px`);
    const said: string[] = [];
    for (const [element, entry] of this.#shown) {
      const text = entry.value?.(time) ?? "";
      setText(element, text);
      if (text) said.push(`${entry.label} ${text}`);
    }
    if (this.#cursor.time === undefined) {
      this.#stage.setAttribute("aria-valuenow", time.toFixed(4));
      this.#stage.setAttribute("aria-valuemax", this.#view.end().toFixed(4));
      this.#stage.setAttribute("aria-valuetext", `${words(time, "s")}: ${said.join(", ")}`);
    }
  }

  #box(): Box {
    return this.#frame?.box ?? { x: 0, y: 0, width: Math.max(1, this.#width), height: 1 };
  }

  #timeAt(clientX: number): number {
    const box = this.#box();
    const x = clientX - this.#stage.getBoundingClientRect().left - box.x;
    const [from, to] = this.#view.span();
    const share = Math.min(1, Math.max(0, x / box.width));
    return from + share * (to - from);
  }

  #choose(span: readonly [number, number] | undefined): void {
    this.#choice.hidden = span === undefined;
    if (!span || !this.#frame) return;
    const [a, b] = [this.#frame.x(Math.min(...span)), this.#frame.x(Math.max(...span))];
    const { y, height } = this.#frame.box;
    const style = { left: a, width: b - a, top: y, height };
    for (const [name, value] of Object.entries(style)) {
      this.#choice.style.setProperty(name, `${value.toFixed(1)}px`);
    }
  }

  /** Fills the legend, or gives its entries the values of new runs if they are the same. */
  #fillLegend(theme: Theme): void {
    const entries = this.picture?.entries ?? [];
    const key = JSON.stringify([theme.text, entries]);
    if (key === this.#legendKey) {
      this.#shown = this.#shown.map(([value], place) => [value, entries[place]!]);
      return;
    }
    this.#legendKey = key;
    this.#shown = [];
    fill(
      this.#legend,
      entries.map((entry) => {
        const value = h("output", { class: "value" });
        this.#shown.push([value, entry]);
        const name = h("span", {}, entry.label);
        return h(
          "li",
          { class: entry.value ? "" : "plain" },
          swatch(entry, theme),
          name,
          entry.value ? value : null,
        );
      }),
    );
  }

  #fillValues(): void {
    if (!this.#values.open || !this.picture) return;
    const summary = this.#values.querySelector("summary");
    fill(this.#values, summary, valuesTable(this.picture, this.#view.span()));
  }
}

/** Draws the sign of an entry. */
function swatch(entry: Entry, theme: Theme): Element {
  const size = { width: 22, height: 12, viewBox: "0 0 22 12", "aria-hidden": "true" };
  const image = svg("svg", { ...size, class: "swatch" });
  const pen = { stroke: entry.colour, "stroke-width": 2, fill: "none" };
  if (entry.shape === "line") {
    const dashes = (entry.dashes ?? []).join(" ") || "none";
    image.append(svg("path", { ...pen, d: "M0 6H22", "stroke-dasharray": dashes }));
  } else if (entry.shape === "stroke") image.append(svg("path", { ...pen, d: "M11 1V11" }));
  else if (entry.shape === "cross")
    image.append(svg("path", { ...pen, d: "M7 2L15 10M7 10L15 2" }));
  else if (entry.shape === "letter") {
    const text = svg("text", {
      x: 11,
      y: 11,
      "font-size": 12,
      "font-weight": "bold",
      "text-anchor": "middle",
      fill: entry.colour,
    });
    text.textContent = "R";
    image.append(text);
  } else {
    const edge = { stroke: theme.muted, "stroke-width": 0.5 };
    image.append(svg("rect", { x: 1, y: 1, width: 20, height: 10, fill: entry.colour, ...edge }));
    const lines = {
      "/": "M3 11L9 1M10 11L16 1M16 11L21 3",
      "|": "M6 1V11M11 1V11M16 1V11",
      ".": "M5 6h2M10 6h2M15 6h2",
    };
    const d = lines[entry.hatch as "/"] as string | undefined;
    if (d) image.append(svg("path", { d, stroke: "#FFFFFF", "stroke-width": 1.5 }));
  }
  return image;
}
