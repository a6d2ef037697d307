// The engine's functions: texts through linear memory, columns copied out of it.

import type { Failure, RawColumn, RawTable } from "./protocol";

/** Functions of `crates/farlink-web/src/abi.rs`. */
interface Exports {
  memory: WebAssembly.Memory;
  farlink_open(): void;
  farlink_alloc(length: number): number;
  farlink_ask(text: number, length: number): number;
  farlink_start(text: number, length: number): number;
  farlink_step(job: number, events: number): number;
  farlink_share(job: number): number;
  farlink_finish(job: number): number;
  farlink_discard(job: number): void;
  farlink_answer(): number;
  farlink_answer_len(): number;
  farlink_failure(): number;
  farlink_failure_len(): number;
}

const DONE = 1;
const FAILED = 2;

/** The engine refused a request. */
export class Refused extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
    this.name = "Refused";
  }
}

/** Column of an answer: its values are at address `at`. */
interface Place {
  name: string;
  type: "f64" | "u32" | "u8";
  at: number;
  names?: string[];
}

interface Answer {
  tables: { name: string; rows: number; columns: Place[] }[];
}

/** An instance of the engine. All functions throw Refused, or WebAssembly.RuntimeError after a trap. */
export class Native {
  private readonly exports: Exports;
  private readonly encoder = new TextEncoder();
  private readonly decoder = new TextDecoder();

  constructor(module: WebAssembly.Module) {
    const instance = new WebAssembly.Instance(module, {});
    this.exports = instance.exports as unknown as Exports;
    this.exports.farlink_open();
  }

  /** Size of linear memory in bytes. */
  get memory(): number {
    return this.exports.memory.buffer.byteLength;
  }

  /** Answers a request that takes no run. */
  ask(text: string): string {
    this.check(this.exports.farlink_ask(...this.put(text)));
    return this.answer();
  }

  /** Starts a run and returns the number of its job. */
  start(text: string): number {
    this.check(this.exports.farlink_start(...this.put(text)));
    return Number(this.answer());
  }

  /** Handles about `events` further events, and returns whether the run is over. */
  step(job: number, events: number): boolean {
    const status = this.exports.farlink_step(job, events);
    this.check(status);
    return status === DONE;
  }

  share(job: number): number {
    return this.exports.farlink_share(job);
  }

  /** Ends a job. Returns its answer and its tables, and frees its memory. */
  finish(job: number): { answer: string; tables: RawTable[] } {
    this.check(this.exports.farlink_finish(job));
    const answer = this.answer();
    const places = (JSON.parse(answer) as Answer).tables;
    const tables = places.map(({ name, rows, columns }) => ({
      name,
      rows,
      columns: columns.map((place) => this.column(place, rows)),
    }));
    this.exports.farlink_discard(job);
    return { answer, tables };
  }

  discard(job: number): void {
    this.exports.farlink_discard(job);
  }

  /** Message of the panic that led to a trap; empty if there was none. */
  panic(): string {
    const length = this.exports.farlink_failure_len();
    return this.text(this.exports.farlink_failure(), length);
  }

  private column(place: Place, rows: number): RawColumn {
    const { buffer } = this.exports.memory;
    const Kind = { f64: Float64Array, u32: Uint32Array, u8: Uint8Array }[place.type];
    // A view of no values may not begin where an empty vector pretends to be.
    const values = rows === 0 ? new Kind(0) : new Kind(buffer, place.at, rows).slice();
    return {
      name: place.name,
      values: values,
      names: place.names ?? [],
    };
  }

  /** Puts a text into memory that the callee frees. */
  private put(text: string): [number, number] {
    const bytes = this.encoder.encode(text);
    const at = this.exports.farlink_alloc(bytes.length);
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
    return [at, bytes.length];
  }

  private answer(): string {
    return this.text(this.exports.farlink_answer(), this.exports.farlink_answer_len());
  }

  private text(at: number, length: number): string {
    return this.decoder.decode(new Uint8Array(this.exports.memory.buffer, at, length));
  }

  private check(status: number): void {
    if (status === FAILED) throw new Refused(JSON.parse(this.answer()) as Failure);
  }
}
