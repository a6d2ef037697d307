import { advance } from "./clock";

/** What the player moves. */
export interface Played {
  time(): number;
  setTime(seconds: number): void;
  span(): { first: number; last: number };
  /** Moves to the next event, or to the one before; returns whether there was one. */
  step(forwards: boolean): boolean;
  /** Called when playing starts or stops. */
  onChange(): void;
}

/** Time between two events where motion is not wanted (ms). */
const STEP = 800;

/** Moves the time while playing. Where the system asks for less motion, it steps by events. */
export class Player {
  speed = 1;
  #direction: 0 | 1 | -1 = 0;
  #frame = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #last = 0;
  readonly #played: Played;

  constructor(played: Played) {
    this.#played = played;
  }

  /** Direction of playing: 1 forwards, -1 backwards, 0 paused. */
  get direction(): 0 | 1 | -1 {
    return this.#direction;
  }

  play(direction: 1 | -1): void {
    this.#stop();
    this.#direction = direction;
    const { first, last } = this.#played.span();
    const time = this.#played.time();
    if (direction === 1 && time >= last) this.#played.setTime(first);
    if (direction === -1 && time <= first) this.#played.setTime(last);
    if (prefersStill()) this.#timer = setInterval(() => this.#stepOn(), STEP);
    else {
      this.#last = performance.now();
      this.#frame = requestAnimationFrame((now) => this.#tick(now));
    }
    this.#played.onChange();
  }

  pause(): void {
    if (this.#direction === 0) return;
    this.#stop();
    this.#played.onChange();
  }

  #stop(): void {
    cancelAnimationFrame(this.#frame);
    clearInterval(this.#timer);
    this.#direction = 0;
  }

  #stepOn(): void {
    if (!this.#played.step(this.#direction === 1)) this.pause();
  }

  #tick(now: number): void {
    const elapsed = Math.max(0, (now - this.#last) / 1000);
    this.#last = now;
    const forwards = this.#direction === 1;
    const next = advance(this.#played.time(), elapsed, this.speed, forwards, this.#played.span());
    this.#played.setTime(next.time);
    if (next.ended) this.pause();
    else if (this.#direction !== 0) {
      this.#frame = requestAnimationFrame((later) => this.#tick(later));
    }
  }
}

/** Returns whether the system asks for less motion. */
export function prefersStill(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
