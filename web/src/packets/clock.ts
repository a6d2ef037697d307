/** Simulated seconds per second, from slow to fast. */
export const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/** Time that one round trip takes on the screen at the default speed (s). */
const SHOWN_ROUND_TRIP = 4;

/** Returns the speed at which a round trip takes some four seconds. */
export function defaultSpeed(rtt: number): number {
  const wanted = rtt > 0 ? rtt / SHOWN_ROUND_TRIP : 1;
  const distance = (speed: number): number => Math.abs(Math.log(speed / wanted));
  return SPEEDS.reduce((best, speed) => (distance(speed) < distance(best) ? speed : best));
}

/** Returns the next speed in the list, faster or slower. */
export function changeSpeed(speed: number, by: 1 | -1): number {
  const at = SPEEDS.reduce(
    (best, value, i) => (Math.abs(value - speed) < Math.abs(SPEEDS[best]! - speed) ? i : best),
    0,
  );
  return SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, at + by))]!;
}

/** Returns a speed as text: `1/20` or `5`. */
export function speedText(speed: number): string {
  return speed < 1 ? `1/${String(Math.round(1 / speed))}` : String(speed);
}

/** Longest time between two frames that moves the clock (s); a hidden page does not jump. */
const LONGEST_FRAME = 0.1;

/** Returns the time after a frame, and whether the end of the span is reached. */
export function advance(
  time: number,
  elapsed: number,
  speed: number,
  forwards: boolean,
  span: { first: number; last: number },
): { time: number; ended: boolean } {
  const change = Math.min(elapsed, LONGEST_FRAME) * speed * (forwards ? 1 : -1);
  const next = Math.min(span.last, Math.max(span.first, time + change));
  return { time: next, ended: next === (forwards ? span.last : span.first) };
}

/** Window of time of the ladder: a start and a length (s). */
export interface Span {
  from: number;
  length: number;
}

/** Share of the window before which the time stays while packets move. */
const AHEAD = 0.7;

/** Moves a window so that it shows a time: as little as possible, with room in front of it. */
export function follow(span: Span, time: number): Span {
  const { from, length } = span;
  if (time > from + AHEAD * length) return { from: time - AHEAD * length, length };
  if (time < from + (1 - AHEAD) * length) return { from: time - (1 - AHEAD) * length, length };
  return span;
}

/** Shortest window (s). */
const SHORTEST = 1e-6;

/** Changes the length of a window by a factor around a fixed time; keeps it near the run. */
export function zoom(
  span: Span,
  factor: number,
  around: number,
  limits: { first: number; last: number },
): Span {
  const longest = Math.max(SHORTEST, (limits.last - limits.first) * 1.1);
  const length = Math.min(longest, Math.max(SHORTEST, span.length * factor));
  const share = (around - span.from) / span.length;
  return keepNear({ from: around - share * length, length }, limits);
}

/** Keeps at least a tenth of a window inside the run. */
export function keepNear(span: Span, limits: { first: number; last: number }): Span {
  const low = limits.first - 0.9 * span.length;
  const high = limits.last - 0.1 * span.length;
  return { from: Math.min(Math.max(low, high), Math.max(low, span.from)), length: span.length };
}
