import type { Table, Values } from "../engine";

/** Kinds of packets, each with a colour and a shape of its own. */
export const KINDS = ["data", "retransmission", "ack", "duplicate", "sack", "control"] as const;

export type Kind = (typeof KINDS)[number];

/** Columns of table `packets`: one row per packet and link direction, in order of `time`. */
export interface Rows {
  count: number;
  /** Time of the offer to the link (s). */
  time: Values;
  /** Start of the transmission (s); NaN for none. */
  departure: Values;
  /** Time at the far end of the link (s); NaN for none. */
  arrival: Values;
  link: Values;
  /** Direction of the link: 0 down, 1 up. */
  direction: Values;
  flow: Values;
  /** Number of the packet, equal in all rows of the packet. */
  number: Values;
  /** 1 in the direction of the flow's data. */
  forward: Values;
  seq: Values;
  len: Values;
  ack: Values;
  window: Values;
  /** Flags of the TCP header. */
  flags: Values;
  /** Number of SACK blocks. */
  sacks: Values;
  retransmission: Values;
  reason: Values;
  cause: Values;
  /** Time of the loss (s); NaN for none. */
  lost?: Values;
  /** Number of transmissions by the link. */
  transmissions?: Values;
  /** Words for `reason`, `cause`, and further columns. */
  names: Record<string, string[]>;
}

const COLUMNS = [
  "time",
  "departure",
  "arrival",
  "link",
  "direction",
  "flow",
  "number",
  "forward",
  "seq",
  "len",
  "ack",
  "window",
  "flags",
  "sacks",
  "retransmission",
  "reason",
  "cause",
] as const;

/** Returns the columns of a table; throws an Error that names a missing column. */
export function rowsOf(table: Table): Rows {
  const columns: Partial<Record<(typeof COLUMNS)[number], Values>> = {};
  for (const name of COLUMNS) {
    const values = table.columns[name];
    if (values === undefined) throw new Error(`Table ${table.name} has no column ${name}.`);
    columns[name] = values;
  }
  const { lost, transmissions } = table.columns;
  return {
    count: table.rows,
    names: table.names,
    ...columns,
    ...(lost === undefined ? {} : { lost }),
    ...(transmissions === undefined ? {} : { transmissions }),
  } as Rows;
}

/** Returns the word for the number of a column, or "" for none. */
export function wordOf(rows: Rows, column: "reason" | "cause", row: number): string {
  const number = rows[column][row]!;
  return rows.names[column]?.[number] ?? "";
}

/** Returns whether the packet was dropped: its cause has a name. */
export function isLost(rows: Rows, row: number): boolean {
  return wordOf(rows, "cause", row) !== "";
}

export const FIN = 1;
export const SYN = 2;
export const RST = 4;

const FLAGS = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];

/** Returns the names of the TCP flags that are set. */
export function flagNames(flags: number): string[] {
  return FLAGS.filter((_, bit) => (flags >> bit) & 1);
}

/** Returns the index in KINDS of a row's packet. */
export function kindOf(rows: Rows, row: number, duplicates: readonly boolean[]): number {
  if (rows.retransmission[row]! > 0) return 1;
  if (rows.flags[row]! & (SYN | FIN | RST)) return 5;
  if (rows.len[row]! > 0) return 0;
  if (rows.sacks[row]! > 0) return 4;
  return duplicates[rows.reason[row]!] === true ? 3 : 2;
}

/** Returns, for each reason, whether an ACK of the reason is a duplicate. */
export function duplicateReasons(rows: Rows): boolean[] {
  return (rows.names.reason ?? []).map((name) => /out.of.order|duplicate/i.test(name));
}
