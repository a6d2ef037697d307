import { duplicateReasons, isLost, kindOf, KINDS, type Rows } from "./rows";

/** Fate of a packet on a link. `open` packets were under way when the run ended. */
export const ARRIVED = 0;
export const LOST = 1;
export const OPEN = 2;

/** Share of a link's length after which a packet that the channel lost is drawn as lost. */
export const LOST_AT = 0.6;

/** Number of rows of a block, which is tested as a whole for a span of time. */
export const BLOCK = 256;

/** Rows of one link direction and kind, in order of their departures. */
export interface Group {
  link: number;
  direction: number;
  /** Index in KINDS. */
  kind: number;
  rows: Uint32Array;
  /** Departure of each row, or its offer if the packet never departed. */
  anchor: Float64Array;
  /** Earliest offer and latest end of the rows of each block. */
  blockStart: Float64Array;
  blockEnd: Float64Array;
  /** Mean time from departure to end (s). */
  travel: number;
  /** Lost rows in order of their ends, and these ends. */
  lossRows: Uint32Array;
  lossEnds: Float64Array;
}

/** Index by time of the packets of one flow. */
export interface Timeline {
  rows: Rows;
  flow: number;
  groups: Group[];
  /** End of each row of the table: arrival, loss, or the expected arrival. */
  end: Float64Array;
  /** ARRIVED, LOST or OPEN for each row of the table. */
  fate: Uint8Array;
  /** Number of packets of the flow before each row in the same queue, at most 255. */
  lane: Uint8Array;
  /** Time from departure to arrival by link and direction (2 × link + direction), of the latest. */
  travels: number[];
  /** Ends of lost rows, ascending. */
  losses: Float64Array;
  /** Number of the flow's rows. */
  count: number;
  first: number;
  last: number;
}

const SLICE = 20_000;

/** Builds the index of a flow. Yields every 20,000 rows so that the page can answer in between. */
export function* buildTimeline(rows: Rows, flow: number): Generator<void, Timeline> {
  const { end, fate, travels } = yield* endings(rows);
  const members = yield* membersOf(rows, flow);
  const lane = new Uint8Array(rows.count);
  const groups: Group[] = [];
  const losses: number[] = [];
  let first = Infinity;
  let last = -Infinity;
  let count = 0;
  for (const list of members.values()) {
    const group = makeGroup(rows, end, fate, list);
    groups.push(group);
    for (const loss of group.lossEnds) losses.push(loss);
    count += group.rows.length;
    for (const row of group.rows) {
      first = Math.min(first, rows.time[row]!);
      if (Number.isFinite(end[row]!)) last = Math.max(last, end[row]!);
    }
    yield;
  }
  yield* fillLanes(rows, flow, lane);
  groups.sort((a, b) => a.link - b.link || a.direction - b.direction || a.kind - b.kind);
  return {
    rows,
    flow,
    groups,
    end,
    fate,
    lane,
    travels,
    losses: Float64Array.from(losses).sort(),
    count,
    first: count > 0 ? first : 0,
    last: count > 0 ? Math.max(first, last) : 0,
  };
}

/** Returns the time until which a row's packet is on its link; Infinity for open ones. */
export function untilOf(timeline: Timeline, row: number): number {
  return timeline.fate[row] === OPEN ? Infinity : timeline.end[row]!;
}

/** Runs a generator to its end at once. */
export function complete<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Runs a generator in slices of some milliseconds; resolves to undefined once aborted. */
export async function inSlices<T>(
  steps: Generator<void, T>,
  signal: AbortSignal,
  slice = 8,
): Promise<T | undefined> {
  let until = performance.now() + slice;
  while (!signal.aborted) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() < until) continue;
    await new Promise((resolve) => setTimeout(resolve, 0));
    until = performance.now() + slice;
  }
  return undefined;
}

/** Finds the end and the fate of each row. */
function* endings(rows: Rows): Generator<void, Pick<Timeline, "end" | "fate" | "travels">> {
  const end = new Float64Array(rows.count);
  const fate = new Uint8Array(rows.count);
  const travels = firstTravels(rows);
  for (let row = 0; row < rows.count; row += 1) {
    const key = rows.link[row]! * 2 + rows.direction[row]!;
    const departure = rows.departure[row]!;
    const arrival = rows.arrival[row]!;
    const travel = travels[key] ?? 0;
    if (isLost(rows, row)) {
      fate[row] = LOST;
      end[row] = lossOf(rows, row, travel);
    } else if (Number.isNaN(arrival)) {
      fate[row] = OPEN;
      end[row] = Number.isNaN(departure) ? Infinity : departure + travel;
    } else {
      end[row] = arrival;
      travels[key] = arrival - departure;
    }
    if (row % SLICE === 0) yield;
  }
  return { end, fate, travels };
}

/** Share of a link from which the time of a loss tells its place on the link. */
const PLACED = 0.2;

/** Returns the time at which a lost packet is drawn as lost. */
function lossOf(rows: Rows, row: number, travel: number): number {
  const departure = rows.departure[row]!;
  const known = rows.lost?.[row] ?? rows.arrival[row]!;
  if (Number.isNaN(departure)) return Number.isNaN(known) ? rows.time[row]! : known;
  // A channel decides at the transmission; the packet is drawn as lost on its way.
  return known >= departure + PLACED * travel ? known : departure + LOST_AT * travel;
}

/** Returns the time from departure to arrival of the first packet that each direction delivered. */
function firstTravels(rows: Rows): number[] {
  const travels: number[] = [];
  let missing = 64;
  for (let row = 0; row < rows.count && missing > 0; row += 1) {
    const key = rows.link[row]! * 2 + rows.direction[row]!;
    const travel = rows.arrival[row]! - rows.departure[row]!;
    if (travels[key] !== undefined) missing -= row % 1000 === 999 ? 1 : 0;
    else if (!Number.isNaN(travel)) travels[key] = travel;
  }
  return travels;
}

function* membersOf(rows: Rows, flow: number): Generator<void, Map<number, number[]>> {
  const duplicates = duplicateReasons(rows);
  const members = new Map<number, number[]>();
  for (let row = 0; row < rows.count; row += 1) {
    if (row % SLICE === 0) yield;
    if (rows.flow[row] !== flow) continue;
    const place = rows.link[row]! * 2 + rows.direction[row]!;
    const key = place * KINDS.length + kindOf(rows, row, duplicates);
    const list = members.get(key);
    if (list === undefined) members.set(key, [row]);
    else list.push(row);
  }
  return members;
}

function makeGroup(rows: Rows, end: Float64Array, fate: Uint8Array, list: number[]): Group {
  const anchorOf = (row: number): number => {
    const departure = rows.departure[row]!;
    return Number.isNaN(departure) ? rows.time[row]! : departure;
  };
  let ordered = true;
  for (let i = 1; i < list.length && ordered; i += 1) {
    ordered = anchorOf(list[i - 1]!) <= anchorOf(list[i]!);
  }
  if (!ordered) list.sort((a, b) => anchorOf(a) - anchorOf(b) || a - b);
  const blocks = Math.ceil(list.length / BLOCK);
  const blockStart = new Float64Array(blocks).fill(Infinity);
  const blockEnd = new Float64Array(blocks).fill(-Infinity);
  list.forEach((row, i) => {
    const block = Math.floor(i / BLOCK);
    blockStart[block] = Math.min(blockStart[block]!, rows.time[row]!);
    const until = fate[row] === OPEN ? Infinity : end[row]!;
    blockEnd[block] = Math.max(blockEnd[block]!, until);
  });
  const duplicates = duplicateReasons(rows);
  const sample = list[0]!;
  const lost = list.filter((row) => fate[row] === LOST).sort((a, b) => end[a]! - end[b]! || a - b);
  const arrived = list.filter((row) => fate[row] === ARRIVED);
  const travels = arrived.reduce((sum, row) => sum + end[row]! - anchorOf(row), 0);
  return {
    link: rows.link[sample]!,
    direction: rows.direction[sample]!,
    kind: kindOf(rows, sample, duplicates),
    rows: Uint32Array.from(list),
    anchor: Float64Array.from(list, anchorOf),
    blockStart,
    blockEnd,
    travel: arrived.length > 0 ? travels / arrived.length : 0,
    lossRows: Uint32Array.from(lost),
    lossEnds: Float64Array.from(lost, (row) => end[row]!),
  };
}

/** Counts, for each packet that waits, the packets of the flow that wait before it. */
function* fillLanes(rows: Rows, flow: number, lane: Uint8Array): Generator<void, void> {
  const queues = new Map<number, { rows: number[]; head: number }>();
  for (let row = 0; row < rows.count; row += 1) {
    if (row % SLICE === 0) yield;
    if (rows.flow[row] !== flow || !(rows.departure[row]! > rows.time[row]!)) continue;
    const key = rows.link[row]! * 2 + rows.direction[row]!;
    const queue = queues.get(key) ?? { rows: [], head: 0 };
    queues.set(key, queue);
    while (
      queue.head < queue.rows.length &&
      rows.departure[queue.rows[queue.head]!]! <= rows.time[row]!
    ) {
      queue.head += 1;
    }
    lane[row] = Math.min(255, queue.rows.length - queue.head);
    queue.rows.push(row);
  }
}

/** Returns the first index in `[low, high)` whose value is at least `value`, or `high`. */
export function lowerBound(
  values: ArrayLike<number>,
  value: number,
  low = 0,
  high = values.length,
): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Calls back with each range of a group whose block overlaps a span of time. */
export function eachBlock(
  group: Group,
  from: number,
  to: number,
  call: (low: number, high: number) => void,
): void {
  for (let block = 0; block < group.blockStart.length; block += 1) {
    if (group.blockStart[block]! > to || group.blockEnd[block]! < from) continue;
    const low = block * BLOCK;
    call(low, Math.min(low + BLOCK, group.rows.length));
  }
}
