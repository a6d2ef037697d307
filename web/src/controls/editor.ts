import { h, setText, uniqueId } from "../app/dom";
import type { App, Status } from "../app/panel";

/** Pause of typing (ms) after which the text is run. */
const PAUSE = 250;

/** Editor of the TOML text, with line numbers and the line of an error marked. */
export class Editor {
  readonly element: HTMLElement;
  readonly #app: App;
  readonly #settle: () => void;
  readonly #text: HTMLTextAreaElement;
  readonly #numbers = h("div", { class: "numbers", "aria-hidden": "true" });
  readonly #mark = h("div", { class: "error-line", hidden: true });
  readonly #error = h("p", { class: "error", role: "alert", hidden: true });
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lines = 0;

  constructor(app: App, settle: () => void) {
    this.#app = app;
    this.#settle = settle;
    const id = uniqueId("toml");
    const error = uniqueId("toml-error");
    this.#error.id = error;
    this.#text = h("textarea", {
      id,
      name: "toml",
      wrap: "off",
      spellcheck: false,
      autocomplete: "off",
      "aria-describedby": error,
    });
    this.#text.setAttribute("autocapitalize", "off");
    this.#text.addEventListener("input", () => this.#typed());
    this.#text.addEventListener("scroll", () => this.#scroll());
    this.#text.addEventListener("blur", () => {
      this.#send();
      this.#settle();
    });
    this.element = h(
      "div",
      { class: "editor" },
      h("label", { htmlFor: id }, "Scenario (TOML)"),
      h("div", { class: "code" }, this.#numbers, this.#mark, this.#text),
      this.#error,
    );
  }

  /** Shows the text of the state, unless it is being typed. */
  show(toml: string): void {
    if (this.#timer !== undefined || this.#text.value === toml) return;
    const { scrollTop, selectionStart, selectionEnd } = this.#text;
    this.#text.value = toml;
    if (document.activeElement === this.#text) {
      this.#text.setSelectionRange(selectionStart, selectionEnd);
    }
    // The assignment causes a layout of the page, so it is made only if it changes something.
    if (scrollTop !== 0) this.#text.scrollTop = scrollTop;
    this.#count();
  }

  /** Shows an error at its line; without one the mark goes. */
  showStatus(status: Status): void {
    if (status.kind === "running") return;
    const wrong = status.kind === "error";
    this.#error.hidden = !wrong;
    const line = status.line === undefined ? "" : `line ${status.line}: `;
    const key = status.key && !status.text.includes(status.key) ? `${status.key}: ` : "";
    setText(this.#error, wrong ? `${line}${key}${status.text}` : "");
    if (wrong) this.#text.setAttribute("aria-invalid", "true");
    else this.#text.removeAttribute("aria-invalid");
    this.#mark.hidden = !wrong || status.line === undefined;
    if (status.line === undefined) return;
    this.#mark.dataset.line = String(status.line);
    this.#scroll();
  }

  #typed(): void {
    this.#count();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#send(), PAUSE);
  }

  #send(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#app.update({ toml: this.#text.value });
  }

  #count(): void {
    const lines = this.#text.value.split("\n").length;
    if (lines === this.#lines) return;
    this.#lines = lines;
    setText(this.#numbers, Array.from({ length: lines }, (_, n) => n + 1).join("\n"));
  }

  #scroll(): void {
    const { scrollTop } = this.#text;
    this.#numbers.style.setProperty("transform", `translateY(${-scrollTop}px)`);
    const line = Number(this.#mark.dataset.line ?? 1);
    const height = parseFloat(getComputedStyle(this.#text).lineHeight) || 18;
    this.#mark.style.setProperty("height", `${height}px`);
    this.#mark.style.setProperty("top", `${8 + (line - 1) * height - scrollTop}px`);
  }
}
