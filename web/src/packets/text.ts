import { nodesOf, type Path } from "./path";
import { flagNames, kindOf, duplicateReasons, KINDS, wordOf, type Kind, type Rows } from "./rows";
import { OPEN, type Timeline } from "./timeline";

/** Names of the kinds in sentences and in the legend. */
export const KIND_NAMES: Record<Kind, string> = {
  data: "segment",
  retransmission: "retransmission",
  ack: "ACK",
  duplicate: "duplicate ACK",
  sack: "ACK with SACK blocks",
  control: "SYN, FIN or RST",
};

/** Words for the causes of drops. */
const CAUSES: Record<string, string> = {
  congestion: "the queue was full",
  loss: "lost in the channel",
  bit_error: "bit errors",
  checksum: "wrong checksum",
  handoff: "lost in a handoff",
  fade: "the link was in a fade",
  link_give_up: "the link layer gave up",
  policy: "dropped by a policy",
  no_route: "no route",
  hop_limit: "too many hops",
  too_big: "longer than the MTU",
  reassembly: "fragments missing",
  agent: "dropped by an agent",
};

/** Longer words for the reasons of packets that a reader meets first. */
const REASONS: Record<string, string> = {
  "new data": "new data, for which the window has room",
  handshake: "the connection opens",
  "end of the data": "the sender has sent all its data",
  "limited transmit": "new data on one of the first duplicate ACKs (limited transmit)",
  "duplicate ACKs": "duplicate ACKs show that this segment is missing (fast retransmit)",
  "partial ACK": "a partial ACK shows the next hole",
  "SACK hole": "the SACK blocks leave a hole here",
  RACK: "a segment sent later has arrived (RACK)",
  "tail loss probe": "no ACK came for the last segments (tail loss probe)",
  RTO: "no ACK came before the retransmission timer expired (RTO)",
  "after the RTO": "it was in flight when the retransmission timer expired",
  "window probe": "the receive window is closed, and a probe asks whether it opened",
  "every n-th segment": "as many segments arrived as one ACK may acknowledge",
  "every segment": "each segment is acknowledged at once",
  "delayed-ACK timer": "no second segment came before the delayed-ACK timer expired",
  "out-of-order segment": "a segment arrived behind a hole, so the last ACK is repeated",
  "filled hole": "a segment filled a hole",
  "duplicate segment": "a segment arrived that had arrived before",
  "window update": "the application read data, so that the window opened",
  FIN: "the other end has sent all its data",
  "agent's retransmission": "the agent saw the loss and sends its copy",
};

/** Returns the reason of a packet in words. */
export function reasonText(reason: string): string {
  return Object.hasOwn(REASONS, reason) ? REASONS[reason]! : reason;
}

/** Returns a cause of drops in words. */
export function causeText(cause: string): string {
  return CAUSES[cause] ?? cause.replaceAll("_", " ");
}

/** Returns a point in time: seconds with enough decimals for `resolution` (s). */
export function timeText(time: number, resolution = 1e-4): string {
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(resolution) - 1e-9)));
  return `${time.toFixed(decimals)} s`;
}

/** Returns a length of time with three digits and a unit. */
export function durationText(duration: number): string {
  if (duration <= 0) return "0 ms";
  const [factor, unit] = duration < 1e-3 ? [1e6, "µs"] : duration < 1 ? [1e3, "ms"] : [1, "s"];
  const value = duration * factor;
  const decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${String(Number(value.toFixed(decimals)))} ${unit}`;
}

/** Returns a number with thousands separated. */
export function countText(value: number): string {
  if (Number.isNaN(value)) return "none";
  return Number.isFinite(value) ? value.toLocaleString("en-US") : "unlimited";
}

/** Part of a packet's story on one link. */
export interface HopStory {
  link: string;
  from: string;
  to: string;
  text: string;
  lost: boolean;
  /** Row of the table. */
  row: number;
}

/** Header, story and reason of a packet. */
export interface Description {
  title: string;
  header: [string, string][];
  reason: string;
  hops: HopStory[];
}

/** Returns the title of a packet: its kind and its place in the flow. */
export function titleOf(rows: Rows, row: number): string {
  const kind = KINDS[kindOf(rows, row, duplicateReasons(rows))]!;
  const len = rows.len[row]!;
  const seq = rows.seq[row]!;
  const flags = flagNames(rows.flags[row]!).filter((name) => name !== "PSH");
  if (kind === "control") return flags.join(", ");
  if (len === 0 && kind !== "retransmission") {
    return `${kind === "duplicate" ? "Duplicate ACK" : "ACK"} ${countText(rows.ack[row]!)}`;
  }
  const name = kind === "retransmission" ? "Retransmission" : "Segment";
  const span = len > 0 ? `${countText(seq)} to ${countText(seq + len - 1)}` : flags.join(", ");
  return `${name} ${span}`;
}

/** Returns everything that the table has about the packet of a row. */
export function describe(timeline: Timeline, path: Path, row: number): Description {
  const { rows } = timeline;
  const flags = flagNames(rows.flags[row]!);
  const header: [string, string][] = [
    ["seq", countText(rows.seq[row]!)],
    ["length", `${countText(rows.len[row]!)} B`],
    ["ack", flags.includes("ACK") ? countText(rows.ack[row]!) : "none"],
    ["window", `${countText(rows.window[row]!)} B`],
    ["flags", flags.join(" ") || "none"],
    ["SACK blocks", countText(rows.sacks[row]!)],
  ];
  const reason = reasonText(wordOf(rows, "reason", row));
  return {
    title: titleOf(rows, row),
    header,
    reason,
    hops: copiesOf(timeline, row).map((copy) => hopStory(timeline, path, copy)),
  };
}

/** Returns the rows of the packet of a row: one for each link, and for each copy of an agent. */
export function copiesOf(timeline: Timeline, row: number): number[] {
  const number = timeline.rows.number[row]!;
  let index = indexes.get(timeline);
  if (index === undefined) {
    index = indexByNumber(timeline);
    indexes.set(timeline, index);
  }
  return index.get(number) ?? [row];
}

const indexes = new WeakMap<Timeline, { get(number: number): number[] | undefined }>();

function indexByNumber(timeline: Timeline): { get(number: number): number[] | undefined } {
  const { rows, flow } = timeline;
  const members: number[] = [];
  for (let row = 0; row < rows.count; row += 1) if (rows.flow[row] === flow) members.push(row);
  const order = Uint32Array.from(members);
  order.sort((a, b) => rows.number[a]! - rows.number[b]! || a - b);
  return {
    get(number) {
      let low = 0;
      let high = order.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (rows.number[order[middle]!]! < number) low = middle + 1;
        else high = middle;
      }
      const found: number[] = [];
      for (; low < order.length && rows.number[order[low]!] === number; low += 1) {
        found.push(order[low]!);
      }
      return found.length > 0 ? found : undefined;
    },
  };
}

function hopStory(timeline: Timeline, path: Path, row: number): HopStory {
  const { rows } = timeline;
  const [from, to] = nodesOf(path, rows.link[row]!, rows.direction[row]!);
  const link = path.hops.get(rows.link[row]!)?.name ?? `link ${rows.link[row]!}`;
  const cause = wordOf(rows, "cause", row);
  const departure = rows.departure[row]!;
  const parts = [`offered at ${timeText(rows.time[row]!)}`];
  const waited = departure - rows.time[row]!;
  if (waited > 5e-10) {
    const before = queuedBefore(rows, row);
    const behind = before > 0 ? ` behind ${countText(before)} packet${before > 1 ? "s" : ""}` : "";
    parts.push(`waited ${durationText(waited)}${behind}`);
  }
  if (!Number.isNaN(departure)) parts.push(`sent at ${timeText(departure)}`);
  const times = rows.transmissions?.[row] ?? 1;
  if (times > 1) parts.push(`transmitted ${countText(times)} times by the link`);
  if (cause !== "") parts.push(`dropped: ${causeText(cause)}`);
  else if (timeline.fate[row] === OPEN) parts.push("under way when the run ended");
  else {
    const arrival = rows.arrival[row]!;
    parts.push(`arrived at ${timeText(arrival)} (${durationText(arrival - departure)} later)`);
  }
  return { link, from, to, text: parts.join(", "), lost: cause !== "", row };
}

/** Most rows that are read to count the packets of a queue. */
const MOST_READ = 20_000;

/** Counts the packets of all flows that waited before a packet in the same queue. */
export function queuedBefore(rows: Rows, row: number): number {
  let count = 0;
  for (let other = row - 1; other >= Math.max(0, row - MOST_READ); other -= 1) {
    if (rows.link[other] !== rows.link[row] || rows.direction[other] !== rows.direction[row]) {
      continue;
    }
    if (rows.departure[other]! > rows.time[row]!) count += 1;
  }
  return count;
}
