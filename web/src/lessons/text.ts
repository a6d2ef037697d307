import { h } from "../app/dom";
import type { Text } from "./lesson";

/** Makes the elements of a lesson's text. */
export function render(texts: Text[]): (Node | string)[] {
  return texts.map((text) => {
    if (typeof text === "string") return text;
    const { tag, href, start, children } = text;
    if (tag === "table") return h("div", { class: "table" }, h("table", {}, render(children)));
    const props = href?.startsWith("https:") ? { href, rel: "noreferrer", target: "_blank" } : { href };
    return h(tag as "p", { ...props, start }, render(children));
  });
}
