import type { StoryLine } from "../engine";
import { nodesOf, type Path } from "./path";
import { duplicateReasons, flagNames, kindOf, KINDS, SYN, wordOf } from "./rows";
import { causeText, countText, reasonText } from "./text";
import { LOST, type Timeline } from "./timeline";

/** Most sentences that are made from a table. */
const MOST = 50_000;

/** Duplicate ACKs of one hole that have a sentence each. */
const COUNTED = 3;

const ORDINALS = ["First", "Second", "Third"];

/**
 * Makes sentences from the packets of a flow, for runs whose engine tells no story: handshake,
 * losses, duplicate ACKs, retransmissions and the end.
 */
export function* storyFrom(timeline: Timeline, path: Path): Generator<void, StoryLine[]> {
  const { rows, flow, fate, end } = timeline;
  const duplicates = duplicateReasons(rows);
  const lines: StoryLine[] = [];
  const seen = new Set<number>();
  let [hole, asked] = [-1, 0];
  for (let row = 0; row < rows.count && lines.length < MOST; row += 1) {
    if (row % 20_000 === 19_999) yield;
    if (rows.flow[row] !== flow) continue;
    const kind = KINDS[kindOf(rows, row, duplicates)]!;
    const packet = rows.number[row]!;
    const isFirst = !seen.has(packet);
    seen.add(packet);
    const add = (time: number, text: string): void => {
      lines.push({ time, flow, side: 1 - rows.forward[row]!, text, packet });
    };
    if (isFirst) {
      const asks = kind === "duplicate" || (kind === "sack" && isDuplicate(timeline, row));
      if (asks) [hole, asked] = [rows.ack[row]!, hole === rows.ack[row] ? asked + 1 : 1];
      const text = sentTextOf(timeline, path, row, asks ? asked : 0);
      if (text !== "") add(departureOf(timeline, row), text);
    }
    if (fate[row] === LOST) add(end[row]!, lossText(timeline, path, row));
  }
  return lines.sort((a, b) => a.time - b.time);
}

function departureOf(timeline: Timeline, row: number): number {
  const departure = timeline.rows.departure[row]!;
  return Number.isNaN(departure) ? timeline.rows.time[row]! : departure;
}

function isDuplicate(timeline: Timeline, row: number): boolean {
  return /out.of.order/.test(wordOf(timeline.rows, "reason", row));
}

function nameOf(timeline: Timeline, row: number): string {
  const { seq, len, ack } = timeline.rows;
  if (len[row]! > 0) return `segment ${countText(seq[row]!)}`;
  return Number.isNaN(ack[row]!) ? "a packet" : `the ACK ${countText(ack[row]!)}`;
}

function sentTextOf(timeline: Timeline, path: Path, row: number, asked: number): string {
  const { rows } = timeline;
  const [from] = nodesOf(path, rows.link[row]!, rows.direction[row]!);
  const flags = flagNames(rows.flags[row]!);
  if (rows.retransmission[row]! > 0) {
    return `${from} sends ${nameOf(timeline, row)} again: ${reasonText(wordOf(rows, "reason", row))}.`;
  }
  if (rows.flags[row]! & SYN) {
    return flags.includes("ACK")
      ? `${from} accepts (SYN, ACK).`
      : `${from} opens the connection (SYN).`;
  }
  if (flags.includes("FIN")) return `${from} has sent all its data (FIN).`;
  if (flags.includes("RST")) return `${from} resets the connection (RST).`;
  if (asked > 0 && asked <= COUNTED) {
    return `${ORDINALS[asked - 1]!} duplicate ACK: ${from} still waits for ${countText(rows.ack[row]!)}.`;
  }
  return "";
}

function lossText(timeline: Timeline, path: Path, row: number): string {
  const { rows } = timeline;
  const link = path.hops.get(rows.link[row]!)?.name ?? "a link";
  const name = nameOf(timeline, row);
  const cause = wordOf(rows, "cause", row);
  const subject = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  if (cause === "agent") return `${subject} is dropped by an agent behind ${link}.`;
  return `${subject} is lost on ${link}${cause === "loss" ? "" : `: ${causeText(cause)}`}.`;
}
