import type { TimeView } from "./view";

/** What a picture gives to its gestures. */
export interface Target {
  element: HTMLElement;
  view: TimeView;
  /** Time at a horizontal place of the window (CSS pixels). */
  timeAt: (clientX: number) => number;
  /** Returns left side and width of the area between the axes, in places of the window. */
  area: () => { left: number; width: number };
  /** Shows the time under the pointer in all pictures; undefined when the pointer left. */
  hover: (time: number | undefined) => void;
  /** Shows a chosen span while it is dragged. */
  choose: (span: readonly [number, number] | undefined) => void;
}

interface Touch {
  x: number;
  time: number;
}

/** Distance (CSS pixels) from which on a press is a drag. */
const DRAG = 5;

/**
 * Adds wheel, pinch and drag. A drag chooses a span; with Shift or by touch it moves the span. Two
 * fingers zoom, and so do Ctrl and the wheel. The wheel alone zooms while the picture has the
 * focus.
 */
export function addGestures(target: Target): void {
  const { element, view } = target;
  element.addEventListener(
    "wheel",
    (event) => {
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (sideways) {
        event.preventDefault();
        view.pan((event.deltaX || event.deltaY) / 600);
      } else if (event.ctrlKey || event.metaKey || document.activeElement === element) {
        event.preventDefault();
        view.zoom(
          Math.exp(event.deltaY / (event.ctrlKey ? 200 : 400)),
          target.timeAt(event.clientX),
        );
      }
    },
    { passive: false },
  );
  element.addEventListener("dblclick", () => view.all());
  element.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    // Ctrl with + and - is the browser's own zoom.
    if (event.ctrlKey && !event.key.startsWith("Arrow")) return;
    if (view.key(event)) event.preventDefault();
  });
  new Pointers(target);
}

class Pointers {
  readonly #target: Target;
  readonly #down = new Map<number, Touch>();
  #start: { x: number; time: number; moves: boolean } | undefined;
  #dragged = false;

  constructor(target: Target) {
    this.#target = target;
    const { element } = target;
    element.addEventListener("pointerdown", (event) => this.#press(event));
    element.addEventListener("pointermove", (event) => this.#move(event));
    element.addEventListener("pointerup", (event) => this.#release(event, true));
    element.addEventListener("pointercancel", (event) => this.#release(event, false));
    element.addEventListener("pointerleave", () => {
      if (!this.#down.size) target.hover(undefined);
    });
  }

  #press(event: PointerEvent): void {
    if (event.button !== 0) return;
    const time = this.#target.timeAt(event.clientX);
    this.#down.set(event.pointerId, { x: event.clientX, time });
    this.#target.element.setPointerCapture(event.pointerId);
    const moves = event.shiftKey || event.pointerType === "touch";
    if (this.#down.size === 1) {
      this.#start = { x: event.clientX, time, moves };
      this.#dragged = false;
    } else {
      this.#dragged = true;
      this.#target.choose(undefined);
    }
  }

  #move(event: PointerEvent): void {
    const { view, timeAt } = this.#target;
    const touch = this.#down.get(event.pointerId);
    if (!touch || !this.#start) {
      if (event.pointerType === "mouse") this.#target.hover(timeAt(event.clientX));
      return;
    }
    if (this.#down.size > 1) {
      touch.x = event.clientX;
      this.#pinch();
      return;
    }
    if (Math.abs(event.clientX - this.#start.x) > DRAG) this.#dragged = true;
    if (!this.#dragged) return;
    const now = timeAt(event.clientX);
    if (this.#start.moves) {
      const [from, to] = view.span();
      view.pan((this.#start.time - now) / (to - from));
    } else this.#target.choose([this.#start.time, now]);
  }

  /** Keeps the times of both fingers below them. */
  #pinch(): void {
    const [a, b] = [...this.#down.values()] as [Touch, Touch];
    const { view } = this.#target;
    if (Math.abs(a.x - b.x) < 12) return;
    const bounds = this.#target.area();
    const perPixel = (b.time - a.time) / (b.x - a.x);
    if (!(perPixel > 0)) return;
    const from = a.time - (a.x - bounds.left) * perPixel;
    view.show(from, from + bounds.width * perPixel);
  }

  #release(event: PointerEvent, chosen: boolean): void {
    const start = this.#start;
    if (!this.#down.delete(event.pointerId) || !start) return;
    this.#target.choose(undefined);
    const [rest] = this.#down.values();
    if (rest) {
      // The finger that stays moves the span on from where it is.
      this.#start = { x: rest.x, time: this.#target.timeAt(rest.x), moves: true };
      return;
    }
    this.#start = undefined;
    const { view, timeAt } = this.#target;
    const now = timeAt(event.clientX);
    if (!chosen) return;
    if (!this.#dragged) view.moveTo(now);
    else if (!start.moves) view.show(Math.min(start.time, now), Math.max(start.time, now));
  }
}
