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
  const { rows, fate, end } = timeline;
  const departure = rows.departure[row]!;
  if (time < rows.time[row]!) return { phase: "absent", share: 0 };
  const over = time >= end[row]!;
  if (over && fate[row] === LOST)
    return { phase: "lost", share: shareAt(timeline, row, end[row]!) };
  if (!(time >= departure)) return { phase: "waiting", share: 0 };
  if (over && fate[row] !== OPEN) return { phase: "arrived", share: 1 };
  return { phase: "moving", share: shareAt(timeline, row, time) };
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
  const { departure, arrival } = timeline.rows;
  if (Number.isNaN(departure[row]!)) return 0;
  return Number.isNaN(arrival[row]!) ? LOST_AT : 1;
}

/** Calls back with the packets that exist at a time; lost ones remain for `linger` seconds. */
export function eachAt(
  timeline: Timeline,
  time: number,
  linger: number,
  call: (group: Group, row: number, state: PacketState) => void,
): void {
  for (const group of timeline.groups) {
    eachBlock(group, time - linger, time, (low, high) => {
      for (let i = low; i < high; i += 1) {
        const row = group.rows[i]!;
        const until = untilOf(timeline, row);
        if (timeline.rows.time[row]! > time || until < time - linger) continue;
        const state = stateAt(timeline, row, time);
        if (state.phase === "waiting" || state.phase === "moving" || state.phase === "lost") {
          call(group, row, state);
        }
      }
    });
  }
}
