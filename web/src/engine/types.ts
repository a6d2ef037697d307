// Public face of the engine: requests, results and errors. Times are seconds, sizes bytes, rates
// bit/s, as the traces and metrics in `src/generated/tables.json` define them.

/** What is wrong with a scenario, and where. */
export interface EngineError {
  message: string;
  /** Line of the TOML text, from 1. */
  line?: number;
  /** Path of the key: `links.0.down.delay`. */
  key?: string;
}

/**
 * Values of a column. Times are seconds in a Float64Array. 64-bit integers are a Float64Array too,
 * exact below 2^53; NaN means none, Infinity an unlimited window. Flags are 0 and 1.
 */
export type Values = Float64Array | Uint32Array | Uint8Array;

/** A trace. The first column is `time`, in ascending order. */
export interface Table {
  name: string;
  rows: number;
  columns: Record<string, Values>;
  /** Words for the numbers of a column: `names["cause"][columns["cause"][row]]`. */
  names: Record<string, string[]>;
}

/** A sentence about an event of a run. */
export interface StoryLine {
  time: number;
  /** Index in the scenario's flows. */
  flow: number;
  /** End of the flow: 0 sends its data, 1 receives it. */
  side: number;
  text: string;
  /** Number of the packet in table `packets`. */
  packet?: number;
}

/** Values of metrics by name; null means that there was nothing to measure. */
export type Metrics = Record<string, number | null>;

/** Derived value of a channel: name, value, and the number of its stage. */
export type Derived = Record<string, unknown>;

export interface FlowMeasures {
  flow: string;
  metrics: Metrics;
}

export interface LinkMeasures {
  link: string;
  direction: "down" | "up";
  derived: Derived[];
  metrics: Metrics;
}

export interface AgentMeasures {
  agent: string;
  at: string;
  wireless: string;
  metrics: Metrics;
}

export interface HandoffMeasures {
  host: string;
  metrics: Metrics;
}

/** Metrics of a run: flows, links in both directions, the run as a whole, agents, handoffs. */
export interface Measures {
  flows: FlowMeasures[];
  links: LinkMeasures[];
  run: { metrics: Metrics }[];
  events: number;
  simulated_s: number;
  agents?: AgentMeasures[];
  handoffs?: HandoffMeasures[];
}

/** One run of a scenario with one TCP. */
export interface Run {
  tcp: string;
  run: number;
  /** Text of the request. */
  toml: string;
  /** Scenario of this run with all defaults: TCP, seed and overrides are in it. */
  resolved: Resolved;
  measures: Measures;
  /** Tables that the request asked for, by name. */
  tables: Record<string, Table>;
  story: StoryLine[];
  /** Digest over the bits of all numbers; equal to that of the native engine. */
  digest: string;
  /** Simulated seconds. */
  simulated: number;
  events: number;
  /** Time that the engine took. */
  milliseconds: number;
}

/** Scenario with all defaults, as `farlink run --json` has it. */
export interface Resolved {
  name?: string;
  seed: number;
  duration?: string;
  max_duration: string;
  tcp: Record<string, unknown>;
  links: ResolvedLink[];
  flows: ResolvedFlow[];
  [key: string]: unknown;
}

export interface ResolvedLink {
  name: string;
  between: [string, string];
  down: Record<string, unknown>;
  up: Record<string, unknown>;
  [key: string]: unknown;
}

export interface ResolvedFlow {
  name: string;
  from: string;
  to: string;
  app: string;
  [key: string]: unknown;
}

export interface RunRequest {
  toml: string;
  /** TCPs, each of which runs the whole scenario; empty means the scenario's own. */
  tcps: string[];
  /** Number of the run, from 0. */
  run?: number;
  /** Seed in place of the scenario's. */
  seed?: number;
  /** Values by path: `["links.0.down.delay", "300 ms"]`. */
  overrides?: [string, string][];
  /** Tables to record: `state`, `queue`, ... or `packets`. */
  tables?: string[];
  story?: boolean;
  /** Bound on the events of each run. */
  mostEvents?: number;
  /** Bound on the engine's memory. */
  mostBytes?: number;
}

export interface RunOptions {
  signal?: AbortSignal;
  /** Called with the finished share of all runs, 0 to 1. */
  onProgress?(share: number): void;
}

export interface LibraryScenario {
  name: string;
  title: string;
  toml: string;
}

export interface Tcp {
  name: string;
  summary: string;
  status: string;
}

export interface Engine {
  /** Checks a scenario and fills in its defaults. */
  resolve(toml: string, overrides?: [string, string][]): Promise<Resolved>;
  /**
   * Changes values in the TOML text and keeps comments and order. Paths are those of overrides;
   * null removes a key.
   */
  edit(toml: string, edits: [path: string, value: string | null][]): Promise<string>;
  /** Value of a key as the text has it, strings without quotes; undefined if it is not there. */
  value(toml: string, path: string): Promise<string | undefined>;
  /**
   * Runs each TCP on the same seed and losses. Rejects with ScenarioError, TooLongError,
   * EngineFailure, or the AbortError of the signal.
   */
  run(request: RunRequest, options?: RunOptions): Promise<Run[]>;
  scenarios(): Promise<LibraryScenario[]>;
  tcps(): Promise<Tcp[]>;
  version(): Promise<string>;
  /** Ends the workers. */
  close(): void;
}

/** Place of the engine: a URL of `engine.wasm.xz` (or `.wasm`), or its bytes, compressed or not. */
export type EngineSource = { url: string } | { bytes: Uint8Array };

/** A scenario, an override or an edit is wrong. */
export class ScenarioError extends Error implements EngineError {
  readonly line?: number;
  readonly key?: string;

  constructor(error: EngineError) {
    super(error.message);
    this.name = "ScenarioError";
    if (error.line !== undefined) this.line = error.line;
    if (error.key !== undefined) this.key = error.key;
  }
}

/** A run passed its bound on events or memory, or cannot be finished. */
export class TooLongError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TooLongError";
  }
}

/** The engine failed: a bug, or no memory. The next call has a fresh worker. */
export class EngineFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EngineFailure";
  }
}
