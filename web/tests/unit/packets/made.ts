import type { Resolved, Run, Table } from "../../../src/engine";
import { buildContent, type Content } from "../../../src/packets/content";
import { complete } from "../../../src/packets/timeline";

export const REASONS = [
  "new data",
  "third duplicate ACK",
  "RTO",
  "second segment",
  "out-of-order segment",
  "handshake",
];
export const CAUSES = ["congestion", "loss", "bit_error"];

/** One row of table `packets`. */
export interface Row {
  time: number;
  link: number;
  direction: number;
  flow: number;
  number: number;
  forward: number;
  seq: number;
  len: number;
  ack: number;
  window: number;
  flags: number;
  sacks: number;
  retransmission: number;
  reason: number;
  departure: number;
  arrival: number;
  cause: number;
}

const FLOATS = new Set(["time", "departure", "arrival", "seq", "ack", "window"]);

/** Makes table `packets` of rows in any order. */
export function tableOf(rows: Row[]): Table {
  const sorted = [...rows].sort((a, b) => a.time - b.time);
  const columns: Table["columns"] = {};
  const names = Object.keys(row({})) as (keyof Row)[];
  for (const name of names) {
    const values = sorted.map((each) => each[name]);
    columns[name] = FLOATS.has(name) ? Float64Array.from(values) : Uint32Array.from(values);
  }
  return { name: "packets", rows: rows.length, columns, names: { reason: REASONS, cause: CAUSES } };
}

/** Makes a row of a data segment that crosses link 0, with changes. */
export function row(change: Partial<Row>): Row {
  return {
    time: 0,
    link: 0,
    direction: 0,
    flow: 0,
    number: 0,
    forward: 1,
    seq: 0,
    len: 1460,
    ack: 0,
    window: 65535,
    flags: 16,
    sacks: 0,
    retransmission: 0,
    reason: 0,
    departure: 0,
    arrival: 0.25,
    cause: CAUSES.length,
    ...change,
  };
}

const LINKS = [
  { name: "lan", from: "server", to: "hub", rate: 10e6, delay: 0.005 },
  { name: "satellite", from: "hub", to: "client", rate: 1e6, delay: 0.25 },
];

/** Scenario of the made-up packets: server, hub, satellite, client. */
export function scenario(): Resolved {
  return {
    name: "made-up",
    seed: 1,
    max_duration: "24 h",
    tcp: {},
    links: LINKS.map((link) => {
      const direction = { rate: `${link.rate / 1e6} Mbit/s`, delay: `${link.delay * 1000} ms` };
      return { name: link.name, between: [link.from, link.to], down: direction, up: direction };
    }),
    flows: [{ name: "download", from: "server", to: "client", app: "file" }],
    agents: [{ at: "hub", kind: "snoop", wireless: "satellite", enabled: true }],
  };
}

/** Rounds to the engine's resolution, so that equal times are equal numbers. */
function exact(time: number): number {
  return Math.round(time * 1e9) / 1e9;
}

/** Makes packets of a sender with a doubling window over the links of `scenario`. */
export function makeRows(segments: number, isLost: (segment: number) => boolean): Row[] {
  const rows: Row[] = [];
  const free = new Map<number, number>();
  let number = 0;
  const send = (offered: number, forward: boolean, header: Partial<Row>, lost: boolean): number => {
    number += 1;
    let time = offered;
    for (const link of forward ? [0, 1] : [1, 0]) {
      const { rate, delay } = LINKS[link]!;
      const key = link * 2 + (forward ? 0 : 1);
      const departure = Math.max(time, free.get(key) ?? 0);
      const size = ((header.len ?? 0) + 40) * 8;
      free.set(key, exact(departure + size / rate));
      const dropped = lost && link === 1;
      const arrival = dropped ? NaN : exact(departure + size / rate + delay);
      const place = { link, direction: forward ? 0 : 1, forward: forward ? 1 : 0, number };
      const cause = dropped ? 1 : CAUSES.length;
      rows.push(row({ ...header, ...place, time, departure, arrival, cause }));
      if (dropped) return NaN;
      time = arrival;
    }
    return time;
  };
  let window = 2;
  let start = 0;
  for (let next = 0; next < segments; window = Math.min(64, window * 2)) {
    const last = Math.min(segments, next + window);
    const misses: number[] = [];
    let now = start;
    for (; next < last; next += 1) {
      const arrival = send(start, true, { seq: next * 1460 }, isLost(next));
      if (Number.isNaN(arrival)) {
        misses.push(next);
        continue;
      }
      const held = misses.length > 0;
      const ack = (misses[0] ?? next + 1) * 1460;
      const about = { len: 0, ack, reason: held ? 4 : 3, sacks: held ? 1 : 0 };
      now = send(arrival, false, about, false);
    }
    for (const segment of misses) {
      const about = { seq: segment * 1460, retransmission: 1, reason: 1 };
      const arrival = send(now, true, about, false);
      now = send(arrival, false, { len: 0, ack: next * 1460, reason: 3 }, false);
    }
    start = now;
  }
  return rows;
}

/** Makes a run of a table. */
export function runOf(table: Table, tcp = "sack"): Run {
  const lost = table.columns.cause!.findIndex((cause) => cause < CAUSES.length);
  const story = [{ time: 0, flow: 0, side: 0, text: "The connection opens.", packet: 1 }];
  if (lost >= 0) {
    const time = table.columns.time![lost]!;
    const packet = table.columns.number![lost]!;
    story.push({ time, flow: 0, side: 0, text: "A segment is lost.", packet });
  }
  return {
    tcp,
    run: 0,
    toml: "",
    resolved: scenario(),
    measures: { flows: [], links: [], run: [], events: 0, simulated_s: 0 },
    tables: { packets: table },
    story,
    digest: tcp,
    simulated: 60,
    events: 0,
    milliseconds: 0,
  };
}

/** Builds the content of flow 0 of rows. */
export function contentOf(rows: Row[]): Content {
  return complete(buildContent(runOf(tableOf(rows)), 0));
}
