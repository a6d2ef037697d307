import type { Engine, Run } from "../engine";

/** Experiment and view of the page: what an address holds, and what undo goes back to. */
export interface AppState {
  toml: string;
  tcps: string[];
  seed?: number;
  /** Name of the open lesson. */
  lesson?: string;
  /** Shared time cursor (s). */
  time: number;
  /** Shown span of time (s); `to` is Infinity for the whole run. */
  from: number;
  to: number;
  /** TCP of the sequence diagram and of the packet view. */
  focus: string;
  /** Index of the shown flow in the scenario. */
  flow: number;
  /** Link direction of the pictures of throughput and queue, such as `satellite down`. */
  link?: string;
}

/** Part of the page that shows runs. */
export interface Panel {
  element: HTMLElement;
  setRuns(runs: Run[]): void;
  setTime(seconds: number): void;
  setState?(state: AppState): void;
  destroy?(): void;
}

/** Tables and story that a panel needs beyond those of the pictures. */
export interface Needs {
  tables: string[];
  story?: boolean;
}

/** Progress of the newest runs. */
export interface Status {
  kind: "idle" | "running" | "error" | "stopped";
  /** One line for the status bar and the screen reader. */
  text: string;
  line?: number;
  key?: string;
  /** Finished share of the runs, 0 to 1. */
  share?: number;
  /** Time from the change to the picture (ms). */
  milliseconds?: number;
}

/** Shell of the page, as its panels see it. */
export interface App {
  readonly engine: Engine;
  state(): AppState;
  /** Changes the state. A change of TOML, TCPs or seed runs the scenario again. */
  update(change: Partial<AppState>): void;
  /** Changes keys of the TOML; null removes a key. */
  set(edits: [string, string | null][]): Promise<void>;
  load(toml: string, tcps?: string[]): void;
  /** Ends a change (a drag): undo goes back to the state before. */
  settle(): void;
  /** Shows these pictures and no others: `cwnd`, `sequence`, `throughput`, `queue`, `rtt`. */
  show(pictures: string[]): void;
  runs(): Run[];
  onRuns(call: (runs: Run[]) => void): () => void;
  onState(call: (state: AppState) => void): () => void;
  onStatus(call: (status: Status) => void): () => void;
  /**
   * Asks for further tables of the focused TCP, under the name of the asking panel; null takes the
   * request back. The pictures come first: `onRuns` is called a second time with these tables.
   */
  need(panel: string, needs: Needs | null): void;
  /** Announces a sentence to screen readers. */
  announce(text: string): void;
}
