import type { Run, StoryLine } from "../engine";
import { pathOf, type Path } from "./path";
import { rowsOf } from "./rows";
import { storyFrom } from "./story";
import { buildSteps, type Steps } from "./steps";
import { buildTimeline, lowerBound, type Timeline } from "./timeline";

/** Packets of one flow of a run, ready to be drawn. */
export interface Content {
  run: Run;
  timeline: Timeline;
  path: Path;
  steps: Steps;
  /** Sentences of the flow, in order of time. */
  story: StoryLine[];
  storyTimes: Float64Array;
}

/** Builds the content of a flow of a run that has the table `packets`. */
export function* buildContent(run: Run, flow: number): Generator<void, Content> {
  const table = run.tables.packets;
  if (table === undefined) throw new Error(`Run of ${run.tcp} has no table packets.`);
  const rows = rowsOf(table);
  const timeline = yield* buildTimeline(rows, flow);
  const path = pathOf(run.resolved, rows, flow, travelsOf(timeline));
  const told = run.story.filter((line) => line.flow === flow).sort((a, b) => a.time - b.time);
  const story = run.story.length > 0 ? told : yield* storyFrom(timeline, path);
  const steps = yield* buildSteps(timeline, path, story);
  const storyTimes = Float64Array.from(story, (line) => line.time);
  return { run, timeline, path, steps, story, storyTimes };
}

/** Returns the travel of the most frequent kind of packets, by 2 × link + direction (s). */
function travelsOf(timeline: Timeline): (number | undefined)[] {
  const travels: (number | undefined)[] = [];
  const counts: number[] = [];
  for (const { link, direction, travel, rows } of timeline.groups) {
    const key = 2 * link + direction;
    if (travel <= 0 || rows.length <= (counts[key] ?? 0)) continue;
    travels[key] = travel;
    counts[key] = rows.length;
  }
  return travels;
}

/** Tolerance of times in the story (s): half the resolution of the engine. */
const RESOLUTION = 0.5e-9;

/** Returns the index of the last sentence at or before a time, or -1. */
export function sentenceAt(content: Content, time: number): number {
  return lowerBound(content.storyTimes, time + RESOLUTION) - 1;
}

/** Position of a row in the order of departures. */
interface Place {
  anchor: number;
  row: number;
}

/** Returns the row after (or before) a place at which a packet is sent for the first time. */
export function nextPacket(
  timeline: Timeline,
  place: Place,
  forwards: boolean,
  isFirst: (row: number) => boolean,
): Place | undefined {
  let at: Place | undefined = place;
  do at = nextRow(timeline, at, forwards);
  while (at !== undefined && !isFirst(at.row));
  return at;
}

function nextRow(timeline: Timeline, place: Place, forwards: boolean): Place | undefined {
  let best: Place | undefined;
  const sign = forwards ? 1 : -1;
  const compare = (a: Place, b: Place): number => sign * (a.anchor - b.anchor || a.row - b.row);
  for (const group of timeline.groups) {
    let i = lowerBound(group.anchor, place.anchor);
    const at = (n: number): Place => ({ anchor: group.anchor[n]!, row: group.rows[n]! });
    if (forwards) {
      while (i < group.rows.length && compare(at(i), place) <= 0) i += 1;
    } else {
      while (i < group.rows.length && group.anchor[i] === place.anchor) i += 1;
      do i -= 1;
      while (i >= 0 && compare(at(i), place) <= 0);
    }
    if (i < 0 || i >= group.rows.length) continue;
    if (best === undefined || compare(at(i), best) < 0) best = at(i);
  }
  return best;
}
