import { h, fill, uniqueId } from "../app/dom";
import type { App } from "../app/panel";

/** Key of a scenario, as the table of keys of the engine describes it. */
export interface Key {
  /** Path, with N for an index: `links.N.down.delay`. */
  path: string;
  description: string;
  unit?: string;
  default?: unknown;
  choices?: string[];
}

const files = import.meta.glob<{ default: { keys?: Key[] } }>("../generated/tables.json");

/** Returns the table of keys; it is loaded when it is first wanted. */
export async function loadKeys(): Promise<Key[]> {
  const load = files["../generated/tables.json"];
  return load ? ((await load()).default.keys ?? []) : [];
}

/** List of all keys that can be searched; a chosen one is set to a value. */
export class KeyAdder {
  readonly element: HTMLElement;
  readonly #app: App;
  readonly #settle: () => void;
  readonly #search: HTMLInputElement;
  readonly #value: HTMLInputElement;
  readonly #help = h("p", { class: "note", id: uniqueId("key-help") });
  readonly #error = h("p", { class: "field-error", role: "alert", hidden: true });
  readonly #list = h("datalist", { id: uniqueId("keys") });
  readonly #choices = h("datalist", { id: uniqueId("choices") });
  #keys: Key[] = [];

  constructor(app: App, settle: () => void) {
    this.#app = app;
    this.#settle = settle;
    this.#search = field("key", "Key, such as tcp.mss");
    this.#search.setAttribute("list", this.#list.id);
    this.#search.setAttribute("aria-describedby", this.#help.id);
    this.#value = field("key-value", "value");
    this.#value.setAttribute("list", this.#choices.id);
    const add = h("button", { type: "submit" }, "Set");
    const remove = h("button", { type: "button", onclick: () => this.#write(null) }, "Remove");
    const form = h(
      "form",
      { class: "key-form" },
      h("label", {}, "Key", this.#search),
      h("label", {}, "Value", this.#value),
      h("div", { class: "buttons" }, add, remove),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#write(this.#value.value);
    });
    this.#search.addEventListener("input", () => void this.#chosen());
    this.element = h(
      "details",
      { class: "keys" },
      h("summary", {}, "Any other key"),
      form,
      this.#help,
      this.#error,
      this.#list,
      this.#choices,
    );
    this.element.addEventListener("toggle", () => void this.#open());
  }

  async #open(): Promise<void> {
    if (this.#keys.length) return;
    this.#keys = await loadKeys();
    fill(
      this.#list,
      this.#keys.map((key) =>
        h("option", {
          value: key.path.replaceAll(".N.", ".0."),
          label: key.description.slice(0, 90),
        }),
      ),
    );
    // A key typed while the table was loading gets its note now.
    if (this.#search.value) await this.#chosen();
  }

  /** Shows the note of the typed key, and fills in its value unless one was typed meanwhile. */
  async #chosen(): Promise<void> {
    const path = this.#search.value.trim();
    const general = path.replace(/\.\d+(?=\.|$)/g, ".N");
    const key = this.#keys.find((row) => row.path === general || row.path === path);
    const initial = key?.default === undefined ? "" : ` Default: ${JSON.stringify(key.default)}.`;
    const unit = key?.unit ? ` A ${key.unit}.` : "";
    this.#help.textContent = key ? `${key.description}${unit}${initial}` : "";
    fill(
      this.#choices,
      key?.choices?.map((value) => h("option", { value })),
    );
    if (!key) return;
    const typed = this.#value.value;
    const value = await this.#app.engine.value(this.#app.state().toml, path).catch(() => undefined);
    if (this.#search.value.trim() === path && this.#value.value === typed) {
      this.#value.value = value ?? "";
    }
  }

  #write(value: string | null): void {
    const path = this.#search.value.trim();
    if (!path) return;
    this.#error.hidden = true;
    this.#app.set([[path, value]]).then(
      () => this.#settle(),
      (error: unknown) => {
        this.#error.textContent = error instanceof Error ? error.message : String(error);
        this.#error.hidden = false;
      },
    );
  }
}

function field(name: string, placeholder: string): HTMLInputElement {
  return h("input", { type: "text", name, placeholder, autocomplete: "off", spellcheck: false });
}
