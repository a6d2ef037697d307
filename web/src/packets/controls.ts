import { fill, h, setText, svg } from "../app/dom";
import { changeSpeed, SPEEDS, speedText } from "./clock";

/** Actions of the controls and keys. */
export interface Actions {
  toggle(direction: 1 | -1): void;
  step(forwards: boolean): void;
  /** Moves to the start or the end of the run. */
  jump(toEnd: boolean): void;
  setSpeed(speed: number): void;
  zoom(factor: number): void;
  /** Shows one round trip, or the whole run. */
  showRoundTrips(): void;
  showAll(): void;
  /** Moves the time and stops playing. */
  moveTo(seconds: number): void;
  setFlow(flow: number): void;
  setFocus(tcp: string): void;
  setBeside(tcp: string): void;
  select(forwards: boolean): void;
  unselect(): void;
  save(kind: "svg" | "png"): void;
}

const ICONS = {
  play: "M4 2 L14 8 L4 14 Z",
  backwards: "M12 2 L2 8 L12 14 Z",
  pause: "M3 2 H7 V14 H3 Z M9 2 H13 V14 H9 Z",
  next: "M3 2 L11 8 L3 14 Z M11 2 H14 V14 H11 Z",
  previous: "M13 2 L5 8 L13 14 Z M2 2 H5 V14 H2 Z",
} as const;

/** Row of buttons, selects and the slider of time. */
export class Controls {
  readonly element: HTMLElement;
  readonly #play = iconButton("play", "Play (space)");
  readonly #backwards = iconButton("backwards", "Play backwards (b)");
  readonly #speed = h("select", { "aria-label": "Speed, simulated time to real time" });
  readonly #slider = h("input", { type: "range", min: "0", step: "any", "aria-label": "Time" });
  readonly #time = h("output", { class: "packets-time" });
  readonly #flow = h("select", { "aria-label": "Flow" });
  readonly #tcp = h("select", { "aria-label": "TCP" });
  readonly #beside = h("select", { "aria-label": "TCP beside it" });
  readonly #choices: HTMLElement;
  #last = "";

  constructor(actions: Actions) {
    const speeds = SPEEDS.map((speed) =>
      h("option", { value: String(speed) }, `${speedText(speed)} ×`),
    );
    fill(this.#speed, speeds);
    this.#play.addEventListener("click", () => actions.toggle(1));
    this.#backwards.addEventListener("click", () => actions.toggle(-1));
    this.#speed.addEventListener("change", () => actions.setSpeed(Number(this.#speed.value)));
    this.#slider.addEventListener("input", () => actions.moveTo(Number(this.#slider.value)));
    this.#flow.addEventListener("change", () => actions.setFlow(Number(this.#flow.value)));
    this.#tcp.addEventListener("change", () => actions.setFocus(this.#tcp.value));
    this.#beside.addEventListener("change", () => actions.setBeside(this.#beside.value));
    this.#choices = h("div", { class: "packets-choices" }, this.#tcp, this.#beside, this.#flow);
    this.element = h(
      "div",
      { class: "packets-controls", role: "toolbar", "aria-label": "Packets" },
      h("div", { class: "packets-group" }, this.#motion(actions)),
      h("label", { class: "packets-group" }, "Speed ", this.#speed),
      h("div", { class: "packets-group" }, views(actions)),
      this.#choices,
      h("div", { class: "packets-group" }, files(actions)),
      h("div", { class: "packets-clock" }, this.#slider, this.#time),
    );
  }

  #motion(actions: Actions): HTMLElement[] {
    const previous = iconButton("previous", "Previous event (left)");
    const next = iconButton("next", "Next event (right)");
    previous.addEventListener("click", () => actions.step(false));
    next.addEventListener("click", () => actions.step(true));
    return [previous, this.#backwards, this.#play, next];
  }

  showMotion(direction: 0 | 1 | -1, speed: number): void {
    setIcon(
      this.#play,
      direction === 1 ? "pause" : "play",
      direction === 1 ? "Pause (space)" : "Play (space)",
    );
    const back = direction === -1;
    setIcon(
      this.#backwards,
      back ? "pause" : "backwards",
      back ? "Pause (space)" : "Play backwards (b)",
    );
    this.#speed.value = String(speed);
  }

  showTime(time: number, text: string, span: { first: number; last: number }): void {
    this.#slider.min = String(span.first);
    this.#slider.max = String(span.last);
    this.#slider.value = String(time);
    this.#slider.setAttribute("aria-valuetext", text);
    setText(this.#time, text);
  }

  /** Offers TCPs and flows; selects without a choice are hidden. */
  showChoices(
    tcps: string[],
    focus: string,
    beside: string,
    flows: string[],
    flow: number,
    wide: boolean,
  ): void {
    const now = JSON.stringify([tcps, focus, beside, flows, flow, wide]);
    if (now === this.#last) return;
    this.#last = now;
    const option = (value: string, text: string): HTMLElement => h("option", { value }, text);
    fill(
      this.#tcp,
      tcps.map((tcp) => option(tcp, tcp)),
    );
    const others = tcps.filter((tcp) => tcp !== focus);
    fill(
      this.#beside,
      option("", "alone"),
      others.map((tcp) => option(tcp, `beside ${tcp}`)),
    );
    fill(
      this.#flow,
      flows.map((name, i) => option(String(i), name)),
    );
    this.#tcp.value = focus;
    this.#beside.value = others.includes(beside) ? beside : "";
    this.#flow.value = String(flow);
    this.#tcp.hidden = tcps.length < 2;
    this.#beside.hidden = tcps.length < 2 || !wide;
    this.#flow.hidden = flows.length < 2;
    this.#choices.hidden = this.#tcp.hidden && this.#flow.hidden;
  }
}

function views(actions: Actions): HTMLElement[] {
  return [
    button("−", "Show more time (-)", () => actions.zoom(1.6)),
    button("+", "Show less time (+)", () => actions.zoom(1 / 1.6)),
    button("RTT", "RTT: show two round trips", () => actions.showRoundTrips()),
    button("All", "All: show the whole run", () => actions.showAll()),
  ];
}

function files(actions: Actions): HTMLElement[] {
  return [
    button("SVG", "Save the ladder as SVG", () => actions.save("svg")),
    button("PNG", "Save the ladder as PNG", () => actions.save("png")),
  ];
}

function button(text: string, name: string, onclick: () => void): HTMLButtonElement {
  return h("button", { type: "button", "aria-label": name, title: name, onclick }, text);
}

function iconButton(icon: keyof typeof ICONS, name: string): HTMLButtonElement {
  const element = h("button", { type: "button", class: "packets-icon" });
  setIcon(element, icon, name);
  return element;
}

function setIcon(element: HTMLElement, icon: keyof typeof ICONS, name: string): void {
  if (element.dataset.icon === icon) return;
  element.dataset.icon = icon;
  element.setAttribute("aria-label", name);
  element.title = name;
  const image = svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" });
  image.append(svg("path", { d: ICONS[icon], fill: "currentColor" }));
  fill(element, image);
}

/** Returns the action of a key, or undefined. */
export function actionOf(key: string, actions: Actions, speed: number): (() => void) | undefined {
  const keys: Record<string, () => void> = {
    " ": () => actions.toggle(1),
    b: () => actions.toggle(-1),
    ArrowRight: () => actions.step(true),
    ArrowLeft: () => actions.step(false),
    ArrowDown: () => actions.select(true),
    ArrowUp: () => actions.select(false),
    "[": () => actions.setSpeed(changeSpeed(speed, -1)),
    "]": () => actions.setSpeed(changeSpeed(speed, 1)),
    Home: () => actions.jump(false),
    End: () => actions.jump(true),
    "+": () => actions.zoom(1 / 1.6),
    "=": () => actions.zoom(1 / 1.6),
    "-": () => actions.zoom(1.6),
    Escape: () => actions.unselect(),
  };
  return Object.hasOwn(keys, key) ? keys[key] : undefined;
}
