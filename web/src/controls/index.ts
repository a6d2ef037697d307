import { fill, h } from "../app/dom";
import type { Laboratory } from "../app/laboratory";
import type { AppState, Status } from "../app/panel";
import type { Theme } from "../charts/theme";
import { type Resolved, ScenarioError } from "../engine";
import { AgentControl } from "./agent";
import { BufferControl } from "./buffer";
import { Editor } from "./editor";
import { KeyAdder } from "./keys";
import { type Control, CONTROLS, type Place } from "./list";
import { mainLink } from "./model";
import { Slider } from "./slider";
import { TcpChips } from "./tcps";
import { quantity, TIME } from "./units";

type Ways = "down" | "up" | "both";

/** Controls of the experiment and the TOML beside them, each of which changes the other. */
export class Controls {
  readonly element: HTMLElement;
  readonly editor: Editor;
  readonly tcps: TcpChips;
  readonly #app: Laboratory;
  readonly #sliders = new Map<Control, Slider>();
  readonly #buffer: BufferControl;
  readonly #agents: AgentControl;
  readonly #links = h("select", { name: "link" });
  readonly #ways = h("select", { name: "direction" });
  readonly #seed = h("input", { type: "text", inputMode: "numeric", name: "seed", class: "value" });
  #resolved: Resolved | undefined;
  #link: number | undefined;
  #ways_: Ways | undefined;
  #names = "";
  #toml = "";

  constructor(app: Laboratory, theme: Theme) {
    this.#app = app;
    const settle = () => app.settle();
    this.tcps = new TcpChips(app, theme, settle);
    this.editor = new Editor(app, settle);
    this.#buffer = new BufferControl(app, () => void app.settled());
    this.#agents = new AgentControl(app, settle);
    for (const control of CONTROLS) this.#sliders.set(control, this.#slider(control));
    this.#links.addEventListener("change", () => {
      this.#link = this.#links.selectedIndex;
      this.#ways_ = undefined;
      this.#show();
    });
    fill(
      this.#ways,
      ["down", "up", "both"].map((value) => h("option", { value }, value)),
    );
    this.#ways.addEventListener("change", () => {
      this.#ways_ = this.#ways.value as Ways;
      this.#show();
    });
    this.element = h(
      "section",
      { class: "controls", "aria-label": "Controls" },
      this.#groups(),
      new KeyAdder(app, settle).element,
      this.editor.element,
    );
  }

  setState(state: AppState): void {
    this.tcps.show();
    this.editor.show(state.toml);
    if (document.activeElement !== this.#seed) this.#showSeed();
    if (state.toml === this.#toml) return;
    this.#toml = state.toml;
    void this.#resolve(state.toml);
  }

  showStatus(status: Status): void {
    this.editor.showStatus(status);
    if (status.kind === "idle") for (const slider of this.#sliders.values()) slider.error("");
    if (status.kind !== "error" || !status.key) return;
    const key = status.key.replace(/\.\d+(?=\.|$)/g, ".N").replace(".up.", ".down.");
    for (const [control, slider] of this.#sliders) {
      if (control.key === key || status.key === control.key) slider.error(status.text);
    }
  }

  async #resolve(toml: string): Promise<void> {
    try {
      const resolved = await this.#app.engine.resolve(toml);
      if (toml !== this.#app.state().toml) return;
      this.#resolved = resolved;
      this.#show();
    } catch (error) {
      // The run of the same text reports its error.
      if (!(error instanceof ScenarioError)) throw error;
    }
  }

  #groups(): HTMLElement[] {
    const of = (section: Control["section"]) =>
      [...this.#sliders].filter(([c]) => c.section === section).map(([, slider]) => slider.element);
    const next = h(
      "button",
      { type: "button", title: "Other losses of the same kind", onclick: () => this.#nextSeed() },
      "Next seed",
    );
    this.#seed.addEventListener("change", () => {
      this.#setSeed(this.#seed.value.trim());
      this.#app.settle();
    });
    return [
      group("TCPs", this.tcps.element),
      group(
        "Link",
        h("label", { class: "row" }, "Link", this.#links),
        of("Link"),
        this.#buffer.element,
      ),
      group("Losses", h("label", { class: "row" }, "Direction", this.#ways), of("Losses")),
      group("Agents", this.#agents.element),
      group("Transfer", of("Transfer"), h("label", { class: "row" }, "Seed", this.#seed), next),
    ];
  }

  #slider(control: Control): Slider {
    const { label, help, dimension, scale, none, bare } = control;
    return new Slider({
      label,
      help,
      dimension,
      scale,
      ...(none === undefined ? {} : { none }),
      ...(bare === undefined ? {} : { bare }),
      set: (text) => {
        if (!this.#resolved) return;
        const edits = control.write(text, this.#place(), this.#resolved);
        if (!edits.length) return;
        this.#app.set(edits).catch((error: unknown) => {
          this.#sliders.get(control)?.error(error instanceof Error ? error.message : String(error));
        });
      },
      settle: () => void this.#app.settled(),
    });
  }

  #place(): Place {
    const resolved = this.#resolved;
    const link = this.#link ?? (resolved ? mainLink(resolved, seconds) : 0);
    const ways = this.#ways_ ?? (resolved ? usualWays(resolved, link) : "down");
    const directions = ways === "both" ? (["down", "up"] as const) : ([ways] as const);
    return { link, directions, flow: this.#app.state().flow };
  }

  #show(): void {
    const resolved = this.#resolved;
    if (!resolved) return;
    const names = resolved.links.map((link) => link.name).join("\n");
    if (names !== this.#names) {
      this.#names = names;
      this.#link = undefined;
      this.#ways_ = undefined;
      fill(
        this.#links,
        resolved.links
          .slice(0, 300)
          .map((link) => h("option", {}, `${link.name}: ${link.between.join(" – ")}`)),
      );
    }
    const place = this.#place();
    this.#links.selectedIndex = place.link;
    this.#ways.value = place.directions.length === 2 ? "both" : place.directions[0]!;
    for (const [control, slider] of this.#sliders) {
      const value = control.read(resolved, place);
      slider.show(value);
      // Key without a place in this scenario, such as the size of an endless flow.
      const absent = value === undefined && control.none === undefined;
      slider.element.hidden = absent && !["burst", "fade-period"].includes(control.name);
      slider.disable(absent);
    }
    this.#agents.show(resolved, place);
    this.#buffer.show(resolved, this.#app.state().toml, place).catch(() => undefined);
    this.#showSeed();
  }

  #showSeed(): void {
    this.#seed.value = String(this.#app.state().seed ?? this.#resolved?.seed ?? 1);
  }

  #nextSeed(): void {
    this.#setSeed(String(Number(this.#seed.value) + 1));
    this.#app.settle();
  }

  #setSeed(text: string): void {
    const seed = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(seed)) {
      this.#showSeed();
      return;
    }
    this.#app.update({ seed });
  }
}

function seconds(text: unknown): number {
  return quantity(text, TIME) ?? 0;
}

/** Returns both directions if the channels of both are equal and lose packets, else down. */
function usualWays(resolved: Resolved, link: number): Ways {
  const row = resolved.links[link];
  const down = JSON.stringify(row?.down.channel ?? {});
  const up = JSON.stringify(row?.up.channel ?? {});
  return down === up && down !== "{}" ? "both" : "down";
}

function group(title: string, ...children: Parameters<typeof h>[2][]): HTMLElement {
  return h("fieldset", {}, h("legend", {}, title), ...children);
}
