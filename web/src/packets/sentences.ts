import { fill, h, setText } from "../app/dom";
import type { Content } from "./content";
import { sentenceAt } from "./content";
import { timeText } from "./text";

/** Most sentences of the list that are in the document. */
const MOST = 160;

/** Shortest time between two announced sentences while packets move (ms). */
const PAUSE = 1500;

/** Sentence of the time in a live region, and the list of all that follows the time. */
export class Sentences {
  readonly line = h("p", { class: "packets-sentence", "aria-live": "polite" });
  readonly list = h("ol", { class: "packets-story", "aria-label": "Events", tabIndex: 0 });
  readonly #onPick: (content: Content, index: number) => void;
  #content: Content | undefined;
  #current = -2;
  #start = 0;
  #announced = -Infinity;

  constructor(onPick: (content: Content, index: number) => void) {
    this.#onPick = onPick;
  }

  /** Shows the sentence of a time. */
  show(content: Content | undefined, time: number, moving: boolean): void {
    const changed = content !== this.#content;
    this.#content = content;
    const current = content === undefined ? -1 : sentenceAt(content, time);
    const calm = !moving || performance.now() - this.#announced >= PAUSE;
    if (calm) this.#announce(content, current);
    if (!changed && current === this.#current) return;
    this.#current = current;
    const outside = current < this.#start || current >= this.#start + this.list.children.length;
    const nearEnd = current - this.#start > MOST - 10 || current - this.#start < 10;
    if (changed || outside || nearEnd) this.#fill(Math.max(0, current - MOST / 2));
    this.#highlight();
  }

  #announce(content: Content | undefined, current: number): void {
    const first = content?.story[0];
    const text =
      content?.story[current]?.text ??
      (first === undefined ? "" : `The first event is at ${timeText(first.time)}.`);
    if (this.line.textContent !== text) this.#announced = performance.now();
    setText(this.line, text);
  }

  #fill(start: number): void {
    const content = this.#content;
    const story = content?.story ?? [];
    if (
      start === this.#start &&
      this.list.children.length > 0 &&
      this.list.dataset.of === key(content)
    ) {
      return;
    }
    this.#start = start;
    this.list.dataset.of = key(content);
    fill(
      this.list,
      story.slice(start, start + MOST).map((line, i) => {
        const pick = (): void => this.#onPick(content!, start + i);
        const time = h("span", { class: "packets-when" }, timeText(line.time));
        return h("li", {}, h("button", { type: "button", onclick: pick }, time, ` ${line.text}`));
      }),
    );
  }

  #highlight(): void {
    for (const button of this.list.querySelectorAll("[aria-current]")) {
      button.removeAttribute("aria-current");
    }
    const item = this.list.children[this.#current - this.#start];
    if (!(item instanceof HTMLElement)) {
      this.list.scrollTop = 0;
      return;
    }
    item.firstElementChild?.setAttribute("aria-current", "true");
    const middle = item.offsetTop - (this.list.clientHeight - item.offsetHeight) / 2;
    this.list.scrollTop = middle;
  }
}

function key(content: Content | undefined): string {
  return content === undefined
    ? ""
    : `${content.run.digest} ${content.run.tcp} ${content.timeline.flow}`;
}
