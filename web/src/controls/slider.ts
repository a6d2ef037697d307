import { fill, h, setText, uniqueId } from "../app/dom";
import { type Dimension, positionOf, quantity, type Scale, valueAt, written } from "./units";

export interface SliderOptions {
  label: string;
  help: string;
  dimension: Dimension;
  scale: Scale;
  /** Text shown for no value, such as `none` or `unlimited`. */
  none?: string;
  /** Whether numbers are written without a unit. */
  bare?: boolean;
  /** Sets the value; null removes it. */
  set(text: string | null): void;
  /** Ends a change: undo returns to the value before. */
  settle(): void;
}

/** Slider with a label and a text field of the same value. */
export class Slider {
  readonly element: HTMLElement;
  readonly #options: SliderOptions;
  readonly #range: HTMLInputElement;
  readonly #field: HTMLInputElement;
  readonly #error = h("p", { class: "field-error", role: "alert", hidden: true });

  constructor(options: SliderOptions) {
    this.#options = options;
    const [range, field] = [uniqueId("slider"), uniqueId("field")];
    const { label, help } = options;
    this.#range = h("input", {
      type: "range",
      id: range,
      min: "0",
      max: String(options.scale.steps),
      step: "1",
      title: help,
    });
    this.#field = h("input", {
      type: "text",
      id: field,
      class: "value",
      autocomplete: "off",
      spellcheck: false,
      "aria-label": `${label}, value with unit`,
    });
    const name = h("label", { htmlFor: range, title: help }, label);
    this.element = h("div", { class: "control" }, name, this.#field, this.#range, this.#error);
    this.#range.addEventListener("input", () => this.#slide());
    this.#range.addEventListener("change", () => options.settle());
    this.#field.addEventListener("change", () => {
      this.#type();
      options.settle();
    });
  }

  /** Shows a value; a slider under the pointer and a field with the focus keep theirs. */
  show(value: string | number | undefined): void {
    const number = quantity(value, this.#options.dimension);
    this.element.hidden = false;
    if (document.activeElement !== this.#field) this.#field.value = this.#text(value, number);
    if (document.activeElement !== this.#range || !this.#range.matches(":active")) {
      this.#range.value = String(number === undefined ? 0 : this.#position(number));
    }
    this.#say();
    this.error("");
  }

  /** Shows what is wrong with this value. */
  error(text: string): void {
    setText(this.#error, text);
    this.#error.hidden = text === "";
    if (text) this.#field.setAttribute("aria-invalid", "true");
    else this.#field.removeAttribute("aria-invalid");
  }

  disable(disabled: boolean): void {
    this.#range.disabled = disabled;
    this.#field.disabled = disabled;
  }

  setLabel(label: string): void {
    const name = this.element.querySelector("label");
    if (name) fill(name, label);
    this.#field.setAttribute("aria-label", `${label}, value with unit`);
  }

  #position(value: number): number {
    return positionOf(this.#options.scale, value);
  }

  #text(value: string | number | undefined, number: number | undefined): string {
    const { none, dimension, bare } = this.#options;
    if (value === undefined || (number === 0 && none)) return none ?? "";
    if (typeof value === "number" && !bare) return written(value, dimension, 6);
    return String(value);
  }

  #slide(): void {
    const { scale, dimension, none, bare } = this.#options;
    const value = valueAt(scale, Number(this.#range.value));
    const text = bare ? String(value) : written(value, dimension);
    const absent = value === 0 && none !== undefined;
    this.#field.value = absent ? none : text;
    this.#say();
    this.#options.set(absent ? null : text);
  }

  #type(): void {
    const text = this.#field.value.trim();
    const { none } = this.#options;
    const number = quantity(text, this.#options.dimension);
    const absent = none !== undefined && (text === "" || text === none || number === 0);
    if (number !== undefined) this.#range.value = String(this.#position(number));
    this.#options.set(absent ? null : text);
  }

  #say(): void {
    this.#range.setAttribute("aria-valuetext", this.#field.value);
  }
}
