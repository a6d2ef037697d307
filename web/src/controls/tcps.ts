import { lookOf, type Theme } from "../charts/theme";
import { fill, h } from "../app/dom";
import type { App } from "../app/panel";
import type { Tcp } from "../engine";

/** Number of TCPs beside each other: one for each colour. */
const MOST = 7;

/** Chips of the TCPs that run side by side, and a list to add one. */
export class TcpChips {
  readonly element: HTMLElement;
  readonly #app: App;
  readonly #settle: () => void;
  readonly #chips = h("ul", { class: "chips", "aria-label": "TCPs side by side" });
  readonly #list = h("select", { name: "add-tcp", "aria-label": "Add a TCP" });
  #tcps: Tcp[] = [];
  #theme: Theme;
  #shown = "";

  constructor(app: App, theme: Theme, settle: () => void) {
    this.#app = app;
    this.#theme = theme;
    this.#settle = settle;
    this.element = h("div", { class: "tcps" }, this.#chips, this.#list);
    this.#list.addEventListener("change", () => {
      const name = this.#list.value;
      if (name) this.#set([...app.state().tcps, name]);
      this.#list.focus();
    });
  }

  setTcps(tcps: Tcp[]): void {
    this.#tcps = tcps;
    this.#shown = "";
    this.show();
  }

  setTheme(theme: Theme): void {
    this.#theme = theme;
    this.#shown = "";
    this.show();
  }

  show(): void {
    const { tcps } = this.#app.state();
    const key = tcps.join(" ");
    if (key === this.#shown) return;
    this.#shown = key;
    fill(
      this.#chips,
      tcps.map((name, place) => {
        const mark = h("span", {
          class: "mark",
          style: { background: lookOf(this.#theme, place).colour },
        });
        const remove = h(
          "button",
          {
            type: "button",
            "aria-label": `Remove ${name}`,
            title: `Remove ${name}`,
            onclick: () => {
              this.#set(tcps.filter((_, n) => n !== place));
              this.#focus(place);
            },
          },
          "×",
        );
        const summary = this.#tcps.find((row) => row.name === name)?.summary ?? "";
        return h("li", { title: summary }, mark, name, remove);
      }),
      tcps.length ? null : h("li", {}, "the scenario's own"),
    );
    const others = this.#tcps.filter((row) => !tcps.includes(row.name));
    this.#list.disabled = tcps.length >= MOST;
    fill(
      this.#list,
      h("option", { value: "" }, "add a TCP"),
      others.map((row) =>
        h("option", { value: row.name, title: row.summary }, `${row.name}: ${row.summary}`),
      ),
    );
  }

  /** Keeps the focus near a chip that was removed. */
  #focus(place: number): void {
    const buttons = this.#chips.querySelectorAll("button");
    (buttons[Math.min(place, buttons.length - 1)] ?? this.#list).focus();
  }

  #set(tcps: string[]): void {
    this.#app.update({ tcps });
    this.#settle();
  }
}
