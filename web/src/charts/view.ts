import type { App } from "../app/panel";

/** Shortest span of time that the pictures show (s). */
const SHORTEST = 1e-4;
const ZOOM = 1.25;

/** Shared span of time of all pictures, and its changes. */
export class TimeView {
  readonly #app: App;

  constructor(app: App) {
    this.#app = app;
  }

  /** End of the longest run (s). */
  end(): number {
    return Math.max(1e-3, ...this.#app.runs().map((run) => run.simulated));
  }

  span(): readonly [number, number] {
    const { from, to } = this.#app.state();
    const end = this.end();
    const last = Math.min(to, end);
    const first = Math.min(Math.max(0, from), last - SHORTEST);
    // A span behind the end of shorter runs shows all.
    return first < last && from < end ? [Math.max(0, first), last] : [0, end];
  }

  /** Shows a span; the whole run again if nothing is left out. */
  show(from: number, to: number): void {
    const end = this.end();
    const length = Math.min(Math.max(to - from, SHORTEST), end);
    const first = Math.min(Math.max(0, from), end - length);
    const last = first + length;
    const whole = first <= 0 && last >= end * (1 - 1e-9);
    this.#app.update(whole ? { from: 0, to: Infinity } : { from: first, to: last });
  }

  /** Zooms by a factor about a time, which stays at its place. */
  zoom(factor: number, about: number): void {
    const [from, to] = this.span();
    this.show(about - (about - from) * factor, about + (to - about) * factor);
  }

  /** Moves the span by a share of its length. */
  pan(share: number): void {
    const [from, to] = this.span();
    const move = share * (to - from);
    const end = this.end();
    const shift = Math.max(-from, Math.min(end - to, move));
    this.show(from + shift, to + shift);
  }

  all(): void {
    this.#app.update({ from: 0, to: Infinity });
  }

  /** Sets the time cursor, and moves the span so that it shows the cursor. */
  moveTo(time: number): void {
    const [from, to] = this.span();
    const at = Math.min(Math.max(0, time), this.end());
    this.#app.update({ time: at });
    if (at < from) this.show(at - 0.1 * (to - from), at + 0.9 * (to - from));
    if (at > to) this.show(at - 0.9 * (to - from), at + 0.1 * (to - from));
  }

  /** Acts on a key; returns whether the key has a function here. */
  key(event: KeyboardEvent): boolean {
    const [from, to] = this.span();
    const { time } = this.#app.state();
    const about = time >= from && time <= to ? time : (from + to) / 2;
    const step = (to - from) / (event.ctrlKey ? 1000 : 100);
    const actions: Record<string, () => void> = {
      "+": () => this.zoom(1 / ZOOM, about),
      "=": () => this.zoom(1 / ZOOM, about),
      "-": () => this.zoom(ZOOM, about),
      "0": () => this.all(),
      ArrowLeft: () => (event.shiftKey ? this.pan(-0.1) : this.moveTo(time - step)),
      ArrowRight: () => (event.shiftKey ? this.pan(0.1) : this.moveTo(time + step)),
      PageUp: () => this.pan(-0.9),
      PageDown: () => this.pan(0.9),
      Home: () => this.moveTo(0),
      End: () => this.moveTo(this.end()),
    };
    const action = actions[event.key];
    action?.();
    return action !== undefined;
  }
}
