/** Settings of one direction of a link, as `farlink ctl show --json` has them. */
export interface Direction {
  rate?: string;
  delay?: string;
  queue?: string | Record<string, unknown>;
  channel?: Record<string, unknown>;
}

export interface LinkState {
  name?: string;
  between: string[];
  down: Direction;
  up: Direction;
}

/** Settings of the links, and the directions whose channels are switched off. */
export interface State {
  links: LinkState[];
  channels_off: [string, string][];
}

/** Totals of one direction of a link since the start, and its queue. */
export interface LinkSample {
  link: string;
  direction: string;
  packets: number;
  bytes: number;
  lost: Record<string, number>;
  waiting: number;
  waiting_bytes: number;
}

/** State of a TCP connection; null where the sender cannot be read. */
export interface FlowSample {
  from: string;
  to: string;
  from_address: string;
  to_address: string;
  acked_bytes: number;
  srtt_s: number | null;
  min_rtt_s: number | null;
  cwnd_bytes: number | null;
  ssthresh_bytes: number | null;
  retransmissions: number | null;
}

export interface Sample {
  /** Time since the start of the emulation (s). */
  time: number;
  late_p99_s: number | null;
  links: LinkSample[];
  flows: FlowSample[];
}

/** Message of the emulation's server; docs/emulator/live.md describes each. */
export type Message =
  | { type: "hello"; toml: string; tcps: string[]; every_s: number; state: State }
  | { type: "state"; state: State }
  | { type: "samples"; samples: Sample[] }
  | { type: "answer"; id: number | null; error: string | null }
  | { type: "end" };

/** Request to the emulation, without its number. */
export type Request =
  | { do: "set"; changes: [path: string, value: string][] }
  | { do: "channel"; on: boolean; link: string; direction: string };

/** Returns the name of a link as samples have it. */
export function nameOf(link: LinkState): string {
  return link.name ?? link.between.join("-");
}
