import { eachBlock, LOST, LOST_AT, OPEN, type Group, type Timeline, untilOf } from "./timeline";

export type Phase = "absent" | "waiting" | "moving" | "arrived" | "lost";

/** State of a packet on a link at one time. */
export interface PacketState {
  phase: Phase;
  /** Share of the link behind the packet, 0 to 1. */
  share: number;
}

/** Returns the state of a row at a time; a function of both alone, so that motion can reverse. */
export function stateAt(timeline: Timeline, row: number, time: number): PacketState {
  const phase = phaseAt(timeline, row, time);
  return { phase, share: phase === "arrived" ? 1 : shareAt(timeline, row, time) };
}

/** Returns the phase of a row at a time. */
export function phaseAt(timeline: Timeline, row: number, time: number): Phase {
  const { rows, fate, end } = timeline;
  if (time < rows.time[row]!) return "absent";
  const over = time >= end[row]!;
  if (over && fate[row] === LOST) return "lost";
  if (!(time >= rows.departure[row]!)) return "waiting";
  return over && fate[row] !== OPEN ? "arrived" : "moving";
}

/** Returns the share of the link that a packet has passed at a time. */
export function shareAt(timeline: Timeline, row: number, time: number): number {
  const { rows, fate, end } = timeline;
  const departure = rows.departure[row]!;
  if (!(time > departure)) return 0;
  const whole = end[row]! - departure;
  const shown = endShare(timeline, row);
  if (whole <= 0 || fate[row] === OPEN) return Math.min(shown, (time - departure) / whole || shown);
  return Math.min(shown, ((time - departure) / whole) * shown);
}

/** Returns the share of the link at which a row's line ends. */
export function endShare(timeline: Timeline, row: number): number {
  if (timeline.fate[row] !== LOST) return 1;
  const { rows, travels, end } = timeline;
  const departure = rows.departure[row]!;
  if (Number.isNaN(departure)) return 0;
  const travel = travels[2 * rows.link[row]! + rows.direction[row]!] ?? 0;
  return travel > 0 ? Math.min(1, (end[row]! - departure) / travel) : LOST_AT;
}

/**
 * Calls back with the packets that wait or move at a time, and for `linger` seconds with lost ones.
 */
export function eachAt(
  timeline: Timeline,
  time: number,
  linger: number,
  call: (group: Group, row: number, phase: Phase, index: number) => void,
): void {
  const { rows } = timeline;
  for (const group of timeline.groups) {
    eachBlock(group, time - linger, time, (low, high) => {
      for (let i = low; i < high; i += 1) {
        const row = group.rows[i]!;
        const until = untilOf(timeline, row);
        if (rows.time[row]! > time || until < time - linger) continue;
        const phase = phaseAt(timeline, row, time);
        if (phase !== "arrived") call(group, row, phase, i);
      }
    });
  }
}
