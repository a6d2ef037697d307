// Messages between the page and a worker of the engine.

/** Failure of a request, as the engine has it. */
export interface Failure {
  kind: "scenario" | "too long" | "internal";
  message: string;
  line?: number;
  key?: string;
}

/** A run of one TCP. `text` is the request of the engine as JSON. */
export interface Task {
  text: string;
  mostBytes: number;
}

export type ToWorker =
  | { type: "open"; module: WebAssembly.Module }
  | { type: "ask"; id: number; text: string }
  | { type: "run"; id: number; task: Task }
  | { type: "cancel"; id: number };

/** A column of the engine, copied out of linear memory. */
export interface RawColumn {
  name: string;
  values: Float64Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;
  names: string[];
}

export interface RawTable {
  name: string;
  rows: number;
  columns: RawColumn[];
}

/** Results of a run: the engine's answer as JSON, its tables, and the time that the engine took. */
export interface RawRun {
  answer: string;
  tables: RawTable[];
  milliseconds: number;
}

/** `memory` is the size of the worker's linear memory in bytes, which never shrinks. */
export type FromWorker =
  | { type: "answer"; id: number; text: string; memory: number }
  | { type: "ran"; id: number; run: RawRun; memory: number }
  | { type: "failed"; id: number; failure: Failure; memory: number }
  | { type: "progress"; id: number; share: number }
  | { type: "canceled"; id: number; memory: number }
  /** The engine trapped, and the worker is of no further use. */
  | { type: "broken"; id: number; message: string };
