import { fill, h } from "../app/dom";
import type { App } from "../app/panel";
import type { Resolved } from "../engine";
import { BUFFERS, type Place } from "./list";
import { at } from "./model";
import { Slider } from "./slider";

const WORDS: Readonly<Record<string, string>> = {
  unlimited: "unlimited",
  bdp: "× bandwidth-delay product",
  packets: "packets",
  bytes: "bytes",
  time: "time at the rate",
};

/** Control of the buffer: its unit in a list, and a slider for that unit. */
export class BufferControl {
  readonly element: HTMLElement;
  readonly #app: App;
  readonly #settle: () => void;
  readonly #list: HTMLSelectElement;
  readonly #place = h("div");
  #slider: Slider | undefined;
  #kind = "";
  #turn = 0;
  #at: Place = { link: 0, directions: ["down"], flow: 0 };

  constructor(app: App, settle: () => void) {
    this.#app = app;
    this.#settle = settle;
    this.#list = h(
      "select",
      { "aria-label": "Unit of the buffer", name: "buffer" },
      Object.entries(WORDS).map(([value, text]) => h("option", { value }, text)),
    );
    this.#list.addEventListener("change", () => {
      this.#write(BUFFERS[this.#list.value]?.start ?? null);
      settle();
    });
    const help = "Room of the queue before the link, in direction down";
    const name = h("label", { title: help }, "Buffer, counted in ", this.#list);
    this.element = h("div", { class: "buffer" }, name, this.#place);
  }

  async show(resolved: Resolved, toml: string, place: Place): Promise<void> {
    this.#at = place;
    this.#turn += 1;
    const turn = this.#turn;
    const base = `links.${place.link}.down.queue`;
    // A resolved scenario has bytes in place of bandwidth-delay products and times.
    const written = (key: string) =>
      this.#app.engine.value(toml, `${base}.${key}`).catch(() => undefined);
    const [bdp, time] = await Promise.all([written("bdp"), written("time")]);
    // Workers answer in any order, so the answer to a newer text may have arrived already.
    if (turn !== this.#turn) return;
    const queue = at(resolved, base);
    const table = typeof queue === "object" && queue !== null ? queue : {};
    const kind =
      bdp !== undefined
        ? "bdp"
        : time !== undefined
          ? "time"
          : (Object.keys(table)[0] ?? "unlimited");
    this.#list.value = kind in WORDS ? kind : "unlimited";
    this.#make(this.#list.value);
    const value = bdp ?? time ?? (table as Record<string, string | number>)[kind];
    this.#slider?.show(value);
  }

  #make(kind: string): void {
    if (kind === this.#kind) return;
    this.#kind = kind;
    const buffer = BUFFERS[kind];
    this.#slider = buffer
      ? new Slider({
          label: "Buffer",
          help: `Room of the queue before the link: ${WORDS[kind] ?? kind}`,
          dimension: buffer.dimension,
          scale: buffer.scale,
          bare: kind !== "bytes" && kind !== "time",
          set: (text) => this.#write(text),
          settle: this.#settle,
        })
      : undefined;
    fill(this.#place, this.#slider?.element);
  }

  #write(text: string | null): void {
    const base = `links.${this.#at.link}.down.queue`;
    const kind = this.#list.value;
    const whole = kind === this.#kind ? [] : ([[base, null]] as [string, null][]);
    const edit: [string, string] =
      kind === "unlimited" ? [base, "unlimited"] : [`${base}.${kind}`, text ?? "1"];
    const value = text ?? "1";
    // A packet is one or more whole ones.
    if (kind === "packets") edit[1] = String(Math.max(1, Math.round(Number(value) || 1)));
    this.#app.set([...whole, edit]).catch(() => undefined);
  }
}
