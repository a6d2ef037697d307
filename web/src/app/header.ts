import type { Pictures } from "../charts";
import { commandOf, fileName } from "../share/command";
import { csvFile, pngFile, save, svgFile } from "../share/files";
import { fill, h, setText } from "./dom";
import type { Laboratory } from "./laboratory";
import { keepLook, type Look } from "./look";

/** Parts of the page on which the header acts. */
export interface Deck {
  app: Laboratory;
  pictures: Pictures;
  look: Look;
  /** Writes the experiment's address, and returns when it is written. */
  write: () => Promise<void>;
  relook: () => void;
  report: (text: string) => void;
}

/** Header of the page: scenario, undo, share, export, look. */
export class Header {
  readonly element: HTMLElement;
  readonly #deck: Deck;
  readonly #undo: HTMLButtonElement;
  readonly #redo: HTMLButtonElement;
  readonly #list = h("select", { name: "scenario", "aria-label": "Scenario of the library" });

  constructor(deck: Deck, ...more: HTMLElement[]) {
    this.#deck = deck;
    const { app } = deck;
    this.#undo = button("Undo", "Undo (Ctrl+Z)", () => app.undo());
    this.#redo = button("Redo", "Redo (Ctrl+Shift+Z)", () => app.redo());
    fill(
      this.#list,
      h("option", { value: "" }, "Scenario ..."),
      app.library().map((row) => h("option", { value: row.name }, `${row.name}: ${row.title}`)),
    );
    this.#list.addEventListener("change", () => {
      const found = app.library().find((row) => row.name === this.#list.value);
      if (found) app.load(found.toml);
    });
    this.element = h(
      "header",
      { class: "top" },
      h("h1", {}, "farlink"),
      this.#list,
      h("div", { class: "buttons" }, this.#undo, this.#redo),
      button(
        "Share",
        "Copy the address, which holds the whole experiment",
        () => void this.#share(),
      ),
      this.#exports(),
      this.#looks(),
      ...more,
    );
  }

  show(): void {
    const { app } = this.#deck;
    this.#undo.disabled = !app.canUndo();
    this.#redo.disabled = !app.canRedo();
    const name = app.runs()[0]?.resolved.name ?? "";
    this.#list.value = app.library().some((row) => row.name === name) ? name : "";
  }

  async #share(): Promise<void> {
    this.#deck.app.settle();
    await this.#deck.write();
    await copy(location.href, this.#deck.report, "Address copied. It holds the whole experiment.");
  }

  #exports(): HTMLElement {
    const { app, pictures, report } = this.#deck;
    const name = () => fileName(app.runs()[0]?.resolved.name);
    const heading = () => {
      const run = app.runs()[0];
      return `${run?.resolved.name ?? "scenario"} (seed ${run?.resolved.seed ?? 1}, run ${run?.run ?? 0})`;
    };
    const attempt = (act: () => Promise<void>) => () => {
      act().catch((error: unknown) => {
        report(`Nothing was saved: ${error instanceof Error ? error.message : String(error)}`);
      });
    };
    const command = async () => {
      const { text, needsFile } = await commandOf(app.engine, app.library(), app.state());
      if (needsFile) save(`${name()}.toml`, app.state().toml, "application/toml");
      await copy(text, report, `Copied: ${text}`);
    };
    const png = async () => {
      await app.complete();
      save(`${name()}.png`, await pngFile(pictures, heading()));
    };
    const svg = async () => {
      await app.complete();
      save(`${name()}.svg`, svgFile(pictures, heading()), "image/svg+xml");
    };
    const csv = async () => {
      await app.complete();
      save(`${name()}.csv`, csvFile(pictures), "text/csv");
    };
    return menu(
      "Export",
      button("TOML", "Save the scenario", () =>
        save(`${name()}.toml`, app.state().toml, "application/toml"),
      ),
      button("Command line", "Copy the command that repeats the experiment", attempt(command)),
      button("PNG", "Save the pictures as pixels", attempt(png)),
      button("SVG", "Save the pictures as vectors", attempt(svg)),
      button("CSV", "Save what the pictures draw", attempt(csv)),
      button("Print", "Print the page", () => window.print()),
    );
  }

  #looks(): HTMLElement {
    const { look, relook } = this.#deck;
    const list = h(
      "select",
      { name: "theme" },
      (["auto", "light", "dark"] as const).map((value) =>
        h("option", { value, selected: value === look.theme }, value),
      ),
    );
    const box = h("input", { type: "checkbox", checked: look.projector, name: "projector" });
    const change = () => {
      look.theme = list.value as Look["theme"];
      look.projector = box.checked;
      keepLook(look);
      relook();
    };
    list.addEventListener("change", change);
    box.addEventListener("change", change);
    return menu(
      "View",
      h("label", { class: "row" }, "Colours", list),
      h("label", { class: "check" }, box, "Projector: large type and lines"),
    );
  }
}

/** Makes a menu that opens below its name; Escape and a press elsewhere close it. */
export function menu(name: string, ...children: HTMLElement[]): HTMLElement {
  const element = h(
    "details",
    { class: "menu" },
    h("summary", {}, name),
    h("div", { class: "drop" }, children),
  );
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.open) return;
    element.open = false;
    element.querySelector("summary")?.focus();
  });
  // A chosen item closes its menu; boxes and lists of a menu leave it open.
  element.addEventListener("click", (event) => {
    if (event.target instanceof HTMLButtonElement) element.open = false;
  });
  document.addEventListener("pointerdown", (event) => {
    if (event.target instanceof Node && !element.contains(event.target)) element.open = false;
  });
  return element;
}

export function button(text: string, title: string, act: () => void): HTMLButtonElement {
  return h("button", { type: "button", title, onclick: act }, text);
}

async function copy(text: string, report: (text: string) => void, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    report(done);
  } catch {
    // Without leave for the clipboard the text is shown to be copied by hand.
    showText(text);
  }
}

function showText(text: string): void {
  const field = h("textarea", { readOnly: true, rows: 4, "aria-label": "Text to copy" });
  field.value = text;
  const dialog = h("dialog", { class: "copy" }, h("p", {}, "Copy this text:"), field);
  const close = button("Close", "Close", () => dialog.close());
  dialog.append(close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  field.select();
}

/** Time for which a sentence stays (ms). */
const NOTICE = 6000;

/** Line about the newest runs, with their buttons. */
export class StatusBar {
  readonly #text = h("span", { class: "status-text" });
  readonly #bar = h("progress", {
    max: 1,
    value: 0,
    "aria-label": "Progress of the runs",
    hidden: true,
  });
  readonly #stop: HTMLButtonElement;
  readonly #on: HTMLButtonElement;
  readonly #live = h("p", { class: "sr-only", role: "status", "aria-live": "polite" });
  readonly element: HTMLElement;
  #slow: ReturnType<typeof setTimeout> | undefined;
  #said: ReturnType<typeof setTimeout> | undefined;
  #noticed = 0;

  constructor(app: Laboratory) {
    this.#stop = button("Stop", "Stop the runs", () => app.stop());
    this.#on = button("Run on", "Run with ten times the bound on events", () => app.runOn());
    this.#stop.hidden = this.#on.hidden = true;
    this.element = h(
      "section",
      { class: "status", "aria-label": "Runs" },
      this.#text,
      this.#bar,
      this.#stop,
      this.#on,
      this.#live,
    );
    app.onAnnounce((text) => this.say(text));
    app.onStatus((status) => {
      const running = status.kind === "running";
      // Quick runs do not make the line flicker.
      if (!running) {
        clearTimeout(this.#slow);
        this.#slow = undefined;
        this.#bar.hidden = this.#stop.hidden = true;
        const line = status.line === undefined ? "" : `line ${status.line}: `;
        // An error in an address stays above the runs that are shown in its place.
        const noticed = status.kind === "idle" && performance.now() < this.#noticed;
        if (noticed) this.#noticed = Math.min(this.#noticed, performance.now() + NOTICE);
        if (!noticed) setText(this.#text, `${line}${status.text}`);
        if (status.kind !== "idle") this.say(`${line}${status.text}`);
      } else {
        this.#bar.value = status.share ?? 0;
        this.#slow ??= setTimeout(() => {
          this.#bar.hidden = this.#stop.hidden = false;
          if (performance.now() >= this.#noticed) setText(this.#text, "Running ...");
        }, 250);
      }
      this.#on.hidden = !(status.kind === "stopped" && status.text.includes("events"));
      this.element.dataset.kind = status.kind;
    });
  }

  /** Shows and announces a sentence. A sentence about an address stays for some seconds after the
   * next runs. */
  tell(text: string, stays = false): void {
    this.#noticed = stays ? Infinity : 0;
    setText(this.#text, text);
    this.say(text);
  }

  /** Announces a sentence to screen readers once things are quiet. */
  say(text: string): void {
    clearTimeout(this.#said);
    this.#said = setTimeout(() => setText(this.#live, text), 400);
  }
}
