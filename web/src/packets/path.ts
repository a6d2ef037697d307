import type { Resolved } from "../engine";
import type { Rows } from "./rows";

/** Node of the path picture. Nodes at the same distance from the sender share a column. */
export interface Place {
  names: string[];
  /** Kinds of the agents at the nodes. */
  agents: string[];
}

/** Link between two columns. */
export interface Hop {
  link: number;
  name: string;
  /** Columns of the two ends, in the direction `down`. */
  columns: [number, number];
  nodes: [string, string];
  /** Time from departure to arrival, of both directions (s): delay and transmission. */
  travels: [number, number];
  /** Whether the link is drawn by way of a satellite. */
  satellite: boolean;
}

/** Path of one flow: columns from sender to receiver, and its links. */
export interface Path {
  places: Place[];
  hops: Map<number, Hop>;
  /** Centre of each column, 0 (sender) to 1 (receiver). */
  x: number[];
  /** Round trip without queues (s). */
  rtt: number;
}

/** Single link with the names of its nodes. */
export interface Link {
  name: string;
  between: [string, string];
  delay: number;
}

const UNITS: Record<string, number> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  min: 60,
  h: 3600,
};

/** Returns the seconds of a time such as `250 ms`, or 0. */
export function seconds(text: unknown): number {
  if (typeof text !== "string") return 0;
  const match = /^\s*([\d.eE+-]+)\s*([a-zµ]+)\s*$/.exec(text);
  return match === null ? 0 : Number(match[1]) * (UNITS[match[2]!] ?? 0);
}

/** Returns the links of a scenario one by one: counted ones are repeated, with their numbers. */
export function linksOf(scenario: Resolved): Link[] {
  return scenario.links.flatMap((link) =>
    numbered(link.count, (n) => ({
      name: link.name.replaceAll("{}", n),
      between: [link.between[0].replaceAll("{}", n), link.between[1].replaceAll("{}", n)] as [
        string,
        string,
      ],
      delay: Math.max(delayOf(link.down), delayOf(link.up)),
    })),
  );
}

/** Returns name and ends of each flow of a scenario; counted ones are repeated. */
export function flowsOf(scenario: Resolved): { name: string; from: string; to: string }[] {
  const nodes = new Set(linksOf(scenario).flatMap((link) => link.between));
  const wrapped = (pattern: string, n: string): string => {
    if (!pattern.includes("{}")) return pattern;
    let count = 0;
    while (nodes.has(pattern.replaceAll("{}", String(count)))) count += 1;
    return pattern.replaceAll("{}", String(Number(n) % Math.max(1, count)));
  };
  return scenario.flows.flatMap((flow) =>
    numbered(flow.count, (n, count) => ({
      name:
        count > 1 && !flow.name.includes("{}")
          ? `${flow.name}.${n}`
          : flow.name.replaceAll("{}", n),
      from: wrapped(flow.from, n),
      to: wrapped(flow.to, n),
    })),
  );
}

function numbered<T>(value: unknown, make: (n: string, count: number) => T): T[] {
  const count = typeof value === "number" ? value : 1;
  return Array.from({ length: count }, (_, n) => make(String(n), count));
}

/** Returns the delay of a direction, or of its channel's constant part. */
function delayOf(direction: Record<string, unknown>): number {
  const channel = direction.channel as Record<string, Record<string, unknown>> | undefined;
  return Math.max(seconds(direction.delay), seconds(channel?.internet_delay?.constant));
}

/** Shortest delay of a link by way of a satellite without the word in its name (s). */
const FAR = 0.1;

/**
 * Finds the path of a flow from the links that its packets used. `travels` has the times that
 * packets took, by 2 × link + direction; the delays of the scenario stand in for missing ones.
 */
export function pathOf(
  scenario: Resolved,
  rows: Rows,
  flow: number,
  travels: readonly (number | undefined)[] = [],
): Path {
  const links = linksOf(scenario);
  const ends = flowEnds(flowsOf(scenario), flow, links);
  const used = usedLinks(rows, flow, links);
  const depth = depths(used, links, ends.from, ends.to);
  const last = Math.max(1, ...depth.values());
  const places: Place[] = Array.from({ length: last + 1 }, () => ({ names: [], agents: [] }));
  for (const [name, column] of depth) places[column]!.names.push(name);
  for (const agent of agentsOf(scenario)) {
    const column = depth.get(agent.at);
    if (column !== undefined) places[column]!.agents.push(agent.kind);
  }
  const hops = new Map<number, Hop>();
  for (const number of used) {
    const link = links[number]!;
    const satellite = /sat|geo|leo|meo/i.test(link.name) || link.delay >= FAR;
    const columns: [number, number] = [depth.get(link.between[0])!, depth.get(link.between[1])!];
    const took = (direction: number): number => travels[2 * number + direction] ?? link.delay;
    hops.set(number, {
      link: number,
      name: link.name,
      nodes: link.between,
      columns,
      travels: [took(0), took(1)],
      satellite,
    });
  }
  return { places, hops, x: positions(places.length, hops), rtt: roundTrip(hops) };
}

function flowEnds(
  flows: { from: string; to: string }[],
  flow: number,
  links: Link[],
): { from: string; to: string } {
  const first = links[0]?.between[0] ?? "sender";
  return flows[flow] ?? { from: first, to: links.at(-1)?.between[1] ?? "receiver" };
}

function usedLinks(rows: Rows, flow: number, links: Link[]): number[] {
  const used = new Set<number>();
  for (let row = 0; row < rows.count; row += 1) {
    if (rows.flow[row] === flow) used.add(rows.link[row]!);
  }
  const known = [...used].filter((link) => link < links.length).sort((a, b) => a - b);
  return known.length > 0 ? known : links.map((_, number) => number);
}

/** Returns the column of each node: its distance from the sender; the receiver has the last. */
function depths(used: number[], links: Link[], from: string, to: string): Map<string, number> {
  const depth = new Map([[from, 0]]);
  let grown = true;
  while (grown) {
    grown = false;
    for (const number of used) {
      const [a, b] = links[number]!.between;
      for (const [near, far] of [
        [a, b],
        [b, a],
      ] as const) {
        const steps = depth.get(near);
        if (steps !== undefined && (depth.get(far) ?? Infinity) > steps + 1) {
          depth.set(far, steps + 1);
          grown = true;
        }
      }
    }
  }
  const last = Math.max(1, ...depth.values());
  for (const number of used) {
    for (const name of links[number]!.between) if (!depth.has(name)) depth.set(name, last);
  }
  if (depth.has(to)) depth.set(to, Math.max(depth.get(to)!, last));
  return depth;
}

function agentsOf(scenario: Resolved): { at: string; kind: string }[] {
  const agents = scenario.agents;
  if (!Array.isArray(agents)) return [];
  return (agents as Record<string, unknown>[])
    .filter((agent) => agent.enabled !== false)
    .map((agent) => ({ at: String(agent.at), kind: String(agent.kind) }));
}

/** Places columns so that the links with the longest travels are the widest, three to one. */
function positions(count: number, hops: Map<number, Hop>): number[] {
  const longest = Math.max(1e-9, ...[...hops.values()].map((hop) => Math.max(...hop.travels)));
  const widths = Array.from({ length: count - 1 }, () => 1);
  for (const hop of hops.values()) {
    const [low, high] = [Math.min(...hop.columns), Math.max(...hop.columns)];
    if (high !== low + 1) continue;
    widths[low] = Math.max(widths[low]!, 1 + 2 * Math.sqrt(Math.max(...hop.travels) / longest));
  }
  const total = widths.reduce((sum, width) => sum + width, 0);
  const x = [0];
  for (const width of widths) x.push(x.at(-1)! + width / total);
  return x;
}

function roundTrip(hops: Map<number, Hop>): number {
  const parts = new Map<string, number>();
  for (const hop of hops.values()) {
    const key = [...hop.columns].sort().join();
    parts.set(key, Math.max(parts.get(key) ?? 0, hop.travels[0] + hop.travels[1]));
  }
  return [...parts.values()].reduce((sum, part) => sum + part, 0);
}

/** Returns the columns between which a packet moves on a link direction. */
export function columnsOf(path: Path, link: number, direction: number): [number, number] {
  const columns = path.hops.get(link)?.columns ?? [0, path.places.length - 1];
  return direction === 0 ? [columns[0], columns[1]] : [columns[1], columns[0]];
}

const ends = new WeakMap<object, [number, number]>();

/** Returns the columns of a group; kept, because motion asks for them with every packet. */
export function endsOf(
  path: Path,
  group: { link: number; direction: number },
): readonly [number, number] {
  let found = ends.get(group);
  if (found === undefined) {
    found = columnsOf(path, group.link, group.direction);
    ends.set(group, found);
  }
  return found;
}

/** Returns the names of the nodes between which a packet moves on a link direction. */
export function nodesOf(path: Path, link: number, direction: number): [string, string] {
  const nodes = path.hops.get(link)?.nodes ?? ["?", "?"];
  return direction === 0 ? [nodes[0], nodes[1]] : [nodes[1], nodes[0]];
}
