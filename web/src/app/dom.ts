/** Properties, attributes and listeners of an element: `on...` are listeners, `style` is by the CSSOM. */
export type Props = Record<string, unknown>;
export type Child = Node | string | number | null | undefined | false | Child[];

/**
 * Makes an element. Text becomes text nodes, so that no data is ever parsed as markup.
 * Keys with a capital or a known property are set as properties, others as attributes.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setProps(element, props);
  append(element, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** Makes an SVG element with attributes. */
export function svg(tag: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** Replaces the children of an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** Sets the text of an element if it differs, so that live regions announce only changes. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

let last = 0;

/** Returns an id that is unique in the page, for labels and descriptions. */
export function uniqueId(prefix: string): string {
  last += 1;
  return `${prefix}-${last}`;
}

/** Returns whether keys go to a text field, where shortcuts of the page must not act. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  if (target instanceof HTMLInputElement)
    return !["range", "checkbox", "radio"].includes(target.type);
  return target.isContentEditable;
}

function append(element: Element, children: Child[]): void {
  for (const child of children.flat(9) as (Node | string | number | null | undefined | false)[]) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

function setProps(element: HTMLElement, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2).toLowerCase(), value as EventListener);
    } else if (name === "style") {
      for (const [key, text] of Object.entries(value as Record<string, string>)) {
        element.style.setProperty(key, text);
      }
    } else if (name === "class") {
      element.className = value as string;
    } else if (name in element && !name.startsWith("aria") && name !== "role" && name !== "list") {
      (element as unknown as Props)[name] = value;
    } else {
      const text = name.startsWith("aria") ? "true" : "";
      element.setAttribute(name, value === true ? text : (value as string));
    }
  }
}
