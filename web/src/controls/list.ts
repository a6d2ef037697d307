import type { Resolved } from "../engine";
import { at, shown } from "./model";
import {
  type Dimension,
  NUMBER,
  RATE,
  type Scale,
  scale,
  SHARE,
  SIZE,
  TIME,
  WINDOW,
} from "./units";

/** Place that the controls act on. */
export interface Place {
  link: number;
  /** Directions of the channel's controls. */
  directions: readonly ("down" | "up")[];
  flow: number;
}

/** Control of a value in the scenario. */
export interface Control {
  name: string;
  section: "Link" | "Losses" | "Transfer";
  label: string;
  /** Path of its key in `tables.json`, with N for an index. */
  key: string;
  help: string;
  dimension: Dimension;
  scale: Scale;
  none?: string;
  bare?: boolean;
  read(resolved: Resolved, place: Place): string | number | undefined;
  write(text: string | null, place: Place, resolved: Resolved): [string, string | null][];
}

type Own = Pick<Control, "name" | "label" | "help" | "dimension" | "scale"> & Partial<Control>;

/** Control of a key of the link, in the given directions. */
function ofLink(key: string, directions: readonly ("down" | "up")[], own: Own): Control {
  return {
    section: "Link",
    key: `links.N.down.${key}`,
    read: (resolved, { link }) => shown(at(resolved, `links.${link}.${directions[0]!}.${key}`)),
    write: (text, { link }) => directions.map((way) => [`links.${link}.${way}.${key}`, text]),
    ...own,
  };
}

/** Control of a key of the channel, in the chosen directions. */
function ofChannel(
  key: string,
  own: Own,
  write?: (text: string | null, base: string, resolved: Resolved) => [string, string | null][],
): Control {
  const base = (link: number, way: string) => `links.${link}.${way}.channel`;
  return {
    section: "Losses",
    key: `links.N.down.channel.${key}`,
    read: (resolved, { link, directions }) =>
      shown(at(resolved, `${base(link, directions[0]!)}.${key}`)),
    write: (text, { link, directions }, resolved) =>
      directions.flatMap((way) =>
        write
          ? write(text, base(link, way), resolved)
          : [[`${base(link, way)}.${key}`, text] as [string, string | null]],
      ),
    ...own,
  };
}

const BURST = "20 ms";
const PERIOD = "20 s";
const FADE = "1 s";

/** Removes a table, or writes a key of it with the other key that it needs. */
function pair(table: string, own: string, other: string, missing: string) {
  return (text: string | null, base: string, resolved: Resolved): [string, string | null][] => {
    const there = at(resolved, `${base}.${table}`) !== undefined;
    if (text === null) return there ? [[`${base}.${table}`, null]] : [];
    const edits: [string, string | null][] = [[`${base}.${table}.${own}`, text]];
    if (!there) edits.push([`${base}.${table}.${other}`, missing]);
    return edits;
  };
}

/** Edits a key of a table that is there; without the table there is nothing to edit. */
function within(table: string, own: string) {
  return (text: string | null, base: string, resolved: Resolved): [string, string | null][] =>
    at(resolved, `${base}.${table}`) === undefined ? [] : [[`${base}.${table}.${own}`, text]];
}

export const CONTROLS: readonly Control[] = [
  ofLink("delay", ["down", "up"], {
    name: "delay",
    label: "Delay, each way",
    help: "Time of the signal through the link, each way",
    dimension: TIME,
    scale: scale(1e-3, 2, true),
  }),
  ofLink("rate", ["down"], {
    name: "rate",
    label: "Rate down",
    help: "Rate of the direction that carries the data in most scenarios",
    dimension: RATE,
    scale: scale(1e4, 1e9),
  }),
  ofLink("rate", ["up"], {
    name: "rate-up",
    label: "Rate up",
    key: "links.N.up.rate",
    help: "Rate of the direction that carries the acknowledgments in most scenarios",
    dimension: RATE,
    scale: scale(1e4, 1e9),
  }),
  ofChannel("loss", {
    name: "loss",
    label: "Loss",
    help: "Probability that a packet is lost, each for itself",
    dimension: SHARE,
    scale: scale(1e-5, 0.3, true),
    none: "none",
  }),
  ofChannel("ber", {
    name: "ber",
    label: "Bit error rate",
    help: "Probability that a bit is damaged; a packet with a damaged bit is lost",
    dimension: NUMBER,
    scale: scale(1e-9, 1e-4, true),
    none: "none",
    bare: true,
  }),
  ofChannel(
    "gilbert.loss",
    {
      name: "burst-loss",
      label: "Loss in bursts",
      help: "Mean loss of the two-state model of Gilbert",
      dimension: SHARE,
      scale: scale(1e-4, 0.3, true),
      none: "none",
    },
    pair("gilbert", "loss", "burst", BURST),
  ),
  ofChannel(
    "gilbert.burst",
    {
      name: "burst",
      label: "Length of bursts",
      help: "Mean length of a burst of losses, as a time or a number of packets",
      dimension: TIME,
      scale: scale(1e-3, 2),
    },
    within("gilbert", "burst"),
  ),
  ofChannel(
    "outage.duration",
    {
      name: "fade",
      label: "Fades",
      help: "Duration of a fade, in which nothing passes",
      dimension: TIME,
      scale: scale(0.01, 20, true),
      none: "none",
    },
    (text, base, resolved) => {
      const edits = pair("outage", "duration", "period", PERIOD)(text, base, resolved);
      return edits.length > 1 ? [...edits, [`${base}.outage.start`, FADE]] : edits;
    },
  ),
  ofChannel(
    "outage.period",
    {
      name: "fade-period",
      label: "Time from fade to fade",
      help: "Time from the beginning of one fade to the next, above the duration of a fade",
      dimension: TIME,
      scale: scale(0.5, 200),
    },
    within("outage", "period"),
  ),
  {
    name: "window",
    section: "Transfer",
    label: "Receive window",
    key: "tcp.receive_window",
    help: "Buffer of the receiver: the sender has at most as much data under way",
    dimension: WINDOW,
    scale: scale(2048, 64 * 1024 ** 2),
    read: (resolved, { flow }) =>
      shown(at(resolved, `resolved_tcp.${flow}.receive_window`)) ??
      shown(at(resolved, "tcp.receive_window")),
    write: (text) => [["tcp.receive_window", text]],
  },
  {
    name: "size",
    section: "Transfer",
    label: "Size",
    key: "flows.N.size",
    help: "Bytes of the transfer",
    dimension: SIZE,
    scale: scale(1e4, 1e9),
    read: (resolved, { flow }) => shown(at(resolved, `flows.${flow}.size`)),
    write: (text, { flow }) => [[`flows.${flow}.size`, text]],
  },
  {
    name: "duration",
    section: "Transfer",
    label: "Duration of the run",
    key: "duration",
    help: "Simulated time at which the run stops; none: it ends when every flow is done",
    dimension: TIME,
    scale: scale(1, 1000, true),
    none: "none",
    read: (resolved) => shown(resolved.duration),
    write: (text) => [["duration", text]],
  },
];

/** Units that the size of a buffer is written in. */
export const BUFFERS: Readonly<
  Record<string, { scale: Scale; dimension: Dimension; start: string }>
> = {
  bdp: { scale: scale(0.05, 20), dimension: NUMBER, start: "1" },
  packets: { scale: scale(1, 10000), dimension: NUMBER, start: "100" },
  bytes: { scale: scale(1000, 1e8), dimension: SIZE, start: "500 kB" },
  time: { scale: scale(0.001, 10), dimension: TIME, start: "200 ms" },
};
