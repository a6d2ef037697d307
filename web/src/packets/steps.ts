import { columnsOf, type Path } from "./path";
import { ARRIVED, lowerBound, type Group, type Timeline } from "./timeline";

/** Times at which something happens that a step stops at, as sorted lists. */
export interface Steps {
  lists: ArrayLike<number>[];
}

/** Shortest time between two steps: half the resolution of the engine (s). */
const RESOLUTION = 0.5e-9;

/**
 * Finds the steps of a flow: departures from and arrivals at its ends and agents, losses, and the
 * sentences of the story. Forwarding at other nodes is no step.
 */
export function* buildSteps(
  timeline: Timeline,
  path: Path,
  story: { time: number }[],
): Generator<void, Steps> {
  const lists: ArrayLike<number>[] = [timeline.losses, Float64Array.from(story, (s) => s.time)];
  const acts = path.places.map(
    (place, column) => column === 0 || column === path.places.length - 1 || place.agents.length > 0,
  );
  for (const group of timeline.groups) {
    const [from, to] = columnsOf(path, group.link, group.direction);
    if (acts[from] === true) lists.push(group.anchor);
    if (acts[to] === true) lists.push(arrivals(timeline, group));
    yield;
  }
  return { lists };
}

function arrivals(timeline: Timeline, group: Group): Float64Array {
  const times = Float64Array.from(group.rows, (row) => timeline.end[row]!);
  const kept = times.filter((_, i) => timeline.fate[group.rows[i]!] === ARRIVED);
  for (let i = 1; i < kept.length; i += 1) if (kept[i - 1]! > kept[i]!) return kept.sort();
  return kept;
}

/** Returns the time of the next step after a time, or of the step before it; undefined for none. */
export function stepFrom(steps: Steps, time: number, forwards: boolean): number | undefined {
  let best: number | undefined;
  for (const list of steps.lists) {
    const index = forwards
      ? lowerBound(list, time + RESOLUTION)
      : lowerBound(list, time - RESOLUTION) - 1;
    const value = list[index];
    if (value === undefined) continue;
    if (best === undefined || (forwards ? value < best : value > best)) best = value;
  }
  return best;
}
