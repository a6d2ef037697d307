// Controls of a lesson: a slider over numbers or listed values, or a choice.

import { fill, h, setText, uniqueId } from "../app/dom";
import type { Control } from "./lesson";
import { numberIn } from "./quantity";

export interface ControlActs {
  /** Sets the value while the control moves. */
  set(control: Control, value: string): void;
  /** Ends a change. */
  settle(): void;
}

/** A control on the page. */
export class ControlView {
  readonly element: HTMLElement;
  readonly control: Control;
  readonly #acts: ControlActs;
  readonly #input: HTMLInputElement | HTMLSelectElement;
  readonly #output = h("output", { class: "lesson-value" });

  constructor(control: Control, acts: ControlActs) {
    this.control = control;
    this.#acts = acts;
    const id = uniqueId("lesson-control");
    this.#input = control.values && control.names ? this.#choice(id) : this.#slider(id);
    this.#input.dataset.path = control.path;
    const label = h("label", { htmlFor: id }, control.label);
    this.element = h("div", { class: "lesson-control" }, label, this.#output, this.#input);
  }

  /** Shows the value that the scenario has. */
  show(text: string): void {
    const { values } = this.control;
    if (this.#input instanceof HTMLInputElement && this.#input.matches(":active")) return;
    if (values) {
      const place = values.findIndex((value) => same(value, text));
      this.#input.value = String(Math.max(0, place));
      this.#say(place < 0 ? text : values[place]!);
    } else {
      this.#input.value = String(numberIn(text, this.control.number ? "" : this.control.unit));
      this.#say(text);
    }
  }

  #choice(id: string): HTMLSelectElement {
    const list = h("select", { id });
    const names = this.control.names ?? [];
    fill(
      list,
      names.map((name, place) => h("option", { value: String(place) }, name)),
    );
    list.addEventListener("change", () => {
      this.#acts.set(this.control, this.control.values![Number(list.value)]!);
      this.#acts.settle();
    });
    this.#output.hidden = true;
    return list;
  }

  #slider(id: string): HTMLInputElement {
    const { values, min, max, step } = this.control;
    const range = h("input", {
      id,
      type: "range",
      min: String(values ? 0 : min),
      max: String(values ? values.length - 1 : max),
      step: String(values ? 1 : step),
    });
    range.addEventListener("input", () => {
      const value = this.#value(range.value);
      this.#say(value);
      this.#acts.set(this.control, value);
    });
    range.addEventListener("change", () => this.#acts.settle());
    return range;
  }

  /** Returns the value of a position as the scenario has it. */
  #value(position: string): string {
    const { values, unit, number } = this.control;
    if (values) return values[Number(position)]!;
    return number || !unit ? position : `${position} ${unit}`;
  }

  #say(text: string): void {
    const { unit } = this.control;
    const plain = /^[\d.]+$/.test(text) && unit ? `${text} ${unit}` : text;
    setText(this.#output, plain);
    this.#input.setAttribute("aria-valuetext", plain);
  }
}

/** Returns whether two texts are the same value: "0.5 s" and "500 ms", "[60, 62]" and "[60,62]". */
function same(a: string, b: string): boolean {
  const [x, y] = [numberIn(a, ""), numberIn(b, "")];
  if (!Number.isNaN(x) || !Number.isNaN(y)) return x === y;
  return a.replace(/\s/g, "") === b.replace(/\s/g, "");
}
