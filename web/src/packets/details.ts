import { fill, h } from "../app/dom";
import type { Content } from "./content";
import { describe, type HopStory } from "./text";

/** Panel with header, reason and story of the selected packet. */
export class Details {
  readonly element: HTMLElement;
  readonly #onTime: (seconds: number) => void;

  constructor(onTime: (seconds: number) => void) {
    this.#onTime = onTime;
    this.element = h("div", { class: "packets-details", role: "status", "aria-live": "polite" });
    this.show(undefined, undefined);
  }

  /** Shows the packet of a row, or how to select one. */
  show(content: Content | undefined, row: number | undefined): void {
    if (content === undefined || row === undefined) {
      const hint = "Click a packet, or press the up and down keys, to read its header and story.";
      fill(this.element, h("p", { class: "packets-hint" }, hint));
      return;
    }
    const { title, header, reason, hops } = describe(content.timeline, content.path, row);
    const facts = header.map(([name, value]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value)),
    );
    fill(
      this.element,
      h("h3", {}, title),
      reason === "" ? null : h("p", {}, h("b", {}, "Why it was sent: "), reason),
      h("dl", {}, facts),
      h(
        "ol",
        { "aria-label": "Story of the packet, link by link" },
        hops.map((hop) => this.#hop(content, hop)),
      ),
    );
  }

  #hop(content: Content, hop: HopStory): HTMLElement {
    const { rows } = content.timeline;
    const departure = rows.departure[hop.row]!;
    const time = Number.isNaN(departure) ? rows.time[hop.row]! : departure;
    const name = `${hop.link}, ${hop.from} to ${hop.to}`;
    return h(
      "li",
      { class: hop.lost ? "packets-lost" : "" },
      h("button", { type: "button", onclick: () => this.#onTime(time) }, name),
      h("span", {}, `: ${hop.text}.`),
    );
  }
}
