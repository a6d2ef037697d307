import { fill, h, uniqueId } from "../app/dom";
import { Slider } from "../controls/slider";
import { type Dimension, NUMBER, RATE, type Scale, SHARE, TIME, scale } from "../controls/units";
import { type Direction, nameOf, type Request, type State } from "./protocol";

/** Key of a direction that a slider changes. */
interface Key {
  path: string;
  label: string;
  help: string;
  dimension: Dimension;
  scale: Scale;
  none?: string;
  bare?: boolean;
  read(direction: Direction): string | number | undefined;
  /** Returns the value as TOML; null is no value. */
  write(text: string | null): string;
}

const plain = (text: string | null): string => text ?? "default";

const KEYS: readonly Key[] = [
  {
    path: "rate",
    label: "Rate",
    help: "Rate of the link",
    dimension: RATE,
    scale: scale(1e4, 1e9),
    read: (direction) => direction.rate,
    write: plain,
  },
  {
    path: "delay",
    label: "Delay",
    help: "One-way delay of the link",
    dimension: TIME,
    scale: scale(1e-3, 2, true),
    read: (direction) => direction.delay,
    write: (text) => text ?? "0 ms",
  },
  {
    path: "channel.loss",
    label: "Loss",
    help: "Share of packets lost, each independently",
    dimension: SHARE,
    scale: scale(1e-5, 1, true),
    none: "none",
    read: (direction) => numberOf(direction.channel?.loss),
    write: plain,
  },
  {
    path: "channel.ber",
    label: "Bit errors",
    help: "Probability that a bit is wrong",
    dimension: NUMBER,
    scale: scale(1e-9, 1e-3, true),
    none: "none",
    bare: true,
    read: (direction) => numberOf(direction.channel?.ber),
    write: plain,
  },
  {
    path: "queue",
    label: "Queue (packets)",
    help: "Longest queue in packets",
    dimension: NUMBER,
    scale: scale(1, 1e4, true),
    none: "unlimited",
    bare: true,
    read: ({ queue }) => (typeof queue === "object" ? numberOf(queue.packets) : undefined),
    write: (text) => (text === null ? "unlimited" : `{ packets = ${text} }`),
  },
];

function numberOf(value: unknown): string | number | undefined {
  return typeof value === "number" || typeof value === "string" ? value : undefined;
}

/** Sliders of one direction of a link, and a switch for its channel. */
export class LiveControls {
  readonly element: HTMLElement;
  readonly #ask: (request: Request) => Promise<string | null>;
  readonly #follow: (edits: [string, string | null][]) => void;
  readonly #choice: HTMLSelectElement;
  readonly #channel: HTMLInputElement;
  readonly #too: HTMLInputElement;
  readonly #sliders: Slider[];
  #state: State | undefined;
  /** Newest value of each path that waits for the answer to a request. */
  #waiting = new Map<string, string>();
  #busy = false;

  constructor(
    ask: (request: Request) => Promise<string | null>,
    follow: (edits: [string, string | null][]) => void,
  ) {
    this.#ask = ask;
    this.#follow = follow;
    const choice = uniqueId("live-link");
    this.#choice = h("select", { id: choice, onchange: () => this.#show() });
    this.#channel = h("input", { type: "checkbox", onchange: () => void this.#switch() });
    this.#too = h("input", { type: "checkbox" });
    this.#sliders = KEYS.map((key) => this.#slider(key));
    this.element = h(
      "div",
      { class: "live-controls", role: "group", "aria-label": "Link of the emulation" },
      h("div", { class: "row" }, h("label", { htmlFor: choice }, "Link"), this.#choice),
      this.#sliders.map((slider) => slider.element),
      h("label", { class: "check" }, this.#channel, "Channel on (losses, errors, fades)"),
      h("label", { class: "check" }, this.#too, "Change the simulation below too"),
    );
  }

  /** Shows the settings of the emulation. */
  setState(state: State): void {
    this.#state = state;
    const names = state.links.flatMap((link, number) =>
      (["down", "up"] as const).map((side) => [`${number}.${side}`, `${nameOf(link)} ${side}`]),
    );
    const key = JSON.stringify(names);
    if (this.#choice.dataset.key !== key) {
      this.#choice.dataset.key = key;
      fill(
        this.#choice,
        names.map(([value, text]) => h("option", { value }, text)),
      );
      // The last link is the satellite in most scenarios, the first a LAN.
      this.#choice.value = `${state.links.length - 1}.down`;
    }
    this.#show();
  }

  disable(disabled: boolean): void {
    for (const slider of this.#sliders) slider.disable(disabled);
    this.#channel.disabled = disabled;
  }

  #slider(key: Key): Slider {
    const { label, help, dimension, none, bare } = key;
    const slider: Slider = new Slider({
      ...{ label, help, dimension, scale: key.scale },
      ...(none === undefined ? {} : { none }),
      ...(bare === undefined ? {} : { bare }),
      set: (text) => {
        const path = `links.${this.#choice.value}.${key.path}`;
        this.#waiting.set(path, key.write(text));
        if (this.#too.checked) this.#follow([[path, text]]);
        void this.#send();
      },
      settle: () => undefined,
    });
    return slider;
  }

  /** Sends the newest values, one request at a time. */
  async #send(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    while (this.#waiting.size > 0) {
      const changes = [...this.#waiting];
      this.#waiting.clear();
      const error = await this.#ask({ do: "set", changes });
      const last = changes.at(-1)![0];
      this.#of(last)?.error(error ?? "");
    }
    this.#busy = false;
  }

  async #switch(): Promise<void> {
    const [number, direction] = this.#choice.value.split(".") as [string, string];
    const link = this.#state?.links[Number(number)];
    if (!link) return;
    await this.#ask({ do: "channel", on: this.#channel.checked, link: nameOf(link), direction });
  }

  #of(path: string): Slider | undefined {
    return this.#sliders[KEYS.findIndex((key) => path.endsWith(`.${key.path}`))];
  }

  #show(): void {
    const [number, side] = this.#choice.value.split(".") as [string, "down" | "up"];
    const link = this.#state?.links[Number(number)];
    if (!link) return;
    // A slider keeps its place while its newest value is under way.
    if (!this.#busy) {
      KEYS.forEach((key, place) => this.#sliders[place]!.show(key.read(link[side])));
    }
    const off = this.#state?.channels_off ?? [];
    this.#channel.checked = !off.some(([name, way]) => name === nameOf(link) && way === side);
  }
}
