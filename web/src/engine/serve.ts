// The loop of a worker: runs in slices, and looks for messages between them.

import { Native, Refused } from "./native";
import type { FromWorker, RawRun, Task, ToWorker } from "./protocol";

/** Time of a slice in milliseconds. */
const SLICE = 10;
/** Events of the first slice; later ones follow from the measured time. */
const FIRST_EVENTS = 2_000;
const MOST_EVENTS = 1_000_000;
/** Time between two messages about the progress of a run, in milliseconds. */
const REPORT_EVERY = 50;

/** The page's end of the connection. */
export interface Port {
  post(message: FromWorker, transfer: ArrayBuffer[]): void;
}

interface Job {
  id: number;
  task: Task;
  /** Number of the engine's job; undefined before its start. */
  number?: number;
  events: number;
  milliseconds: number;
  reported: number;
}

/** A timer would wait 4 ms; a message to oneself lets those of the page through. */
function afterMessages(): (call: () => void) => void {
  const { port1, port2 } = new MessageChannel();
  let due: (() => void) | undefined;
  port1.onmessage = () => {
    due?.();
  };
  return (call) => {
    due = call;
    port2.postMessage(null);
  };
}

/** State of a worker. `receive` takes the messages of the page in order. */
export class Server {
  private native: Native | undefined;
  private jobs: Job[] = [];
  private isBroken = false;
  private isAwake = false;

  /** `later` calls its argument after the messages that have arrived. */
  constructor(
    private readonly port: Port,
    private readonly later: (call: () => void) => void = afterMessages(),
  ) {}

  receive(message: ToWorker): void {
    if (this.isBroken) return;
    switch (message.type) {
      case "open":
        this.guard(0, () => {
          this.native = new Native(message.module);
        });
        break;
      case "ask":
        this.guard(message.id, (native) => {
          const text = native.ask(message.text);
          this.port.post({ type: "answer", id: message.id, text, memory: native.memory }, []);
        });
        break;
      case "run":
        this.jobs.push({
          id: message.id,
          task: message.task,
          events: FIRST_EVENTS,
          milliseconds: 0,
          reported: performance.now(),
        });
        this.schedule();
        break;
      case "cancel":
        this.cancel(message.id);
        break;
    }
  }

  private schedule(): void {
    if (this.isAwake || this.jobs.length === 0 || this.isBroken) return;
    this.isAwake = true;
    this.later(() => {
      this.slice();
    });
  }

  /** Advances the first job for a slice and puts it behind the others. */
  private slice(): void {
    this.isAwake = false;
    const job = this.jobs.shift();
    if (job === undefined || this.isBroken) return;
    this.guard(job.id, (native) => {
      const began = performance.now();
      const isOver = advance(native, job, began);
      if (!isOver) {
        const memory = native.memory;
        if (memory > job.task.mostBytes) {
          if (job.number !== undefined) native.discard(job.number);
          const message = `the run takes more than ${String(Math.round(job.task.mostBytes / 1e6))} MB of memory`;
          throw new Refused({ kind: "too long", message });
        }
        this.report(native, job);
        this.jobs.push(job);
      } else {
        this.finish(native, job, began);
      }
    });
    this.schedule();
  }

  private finish(native: Native, job: Job, began: number): void {
    const result = native.finish(job.number ?? 0);
    const milliseconds = job.milliseconds + performance.now() - began;
    const run: RawRun = { ...result, milliseconds };
    const buffers = run.tables.flatMap((table) => table.columns.map((c) => c.values.buffer));
    this.port.post({ type: "ran", id: job.id, run, memory: native.memory }, buffers);
  }

  private report(native: Native, job: Job): void {
    const now = performance.now();
    if (now - job.reported < REPORT_EVERY) return;
    job.reported = now;
    const share = native.share(job.number ?? 0);
    this.port.post({ type: "progress", id: job.id, share }, []);
  }

  private cancel(id: number): void {
    const job = this.jobs.find((other) => other.id === id);
    if (job === undefined) return;
    this.jobs = this.jobs.filter((other) => other !== job);
    this.guard(id, (native) => {
      if (job.number !== undefined) native.discard(job.number);
      this.port.post({ type: "canceled", id, memory: native.memory }, []);
    });
  }

  /** Calls the engine, and turns what it throws into a message. */
  private guard(id: number, call: (native: Native) => void): void {
    try {
      call(this.native!);
    } catch (error) {
      if (error instanceof Refused && this.native !== undefined) {
        const { failure } = error;
        this.port.post({ type: "failed", id, failure, memory: this.native.memory }, []);
        return;
      }
      this.isBroken = true;
      this.port.post({ type: "broken", id, message: this.reason(error) }, []);
    }
  }

  private reason(error: unknown): string {
    const text = error instanceof Error ? error.message : String(error);
    try {
      const panic = this.native?.panic() ?? "";
      return panic === "" ? text : panic;
    } catch {
      return text;
    }
  }
}

/** Starts or continues a job until the slice is over. Returns whether the run is over. */
function advance(native: Native, job: Job, began: number): boolean {
  job.number ??= native.start(job.task.text);
  let before = began;
  for (;;) {
    const isOver = native.step(job.number, job.events);
    const now = performance.now();
    if (isOver) return true;
    const took = Math.max(now - before, 0.01);
    const wanted = (job.events * (SLICE / 2)) / took;
    // Never more than twice as many: the next events may be dearer.
    job.events = Math.round(Math.min(Math.max(wanted, 100), 2 * job.events, MOST_EVENTS));
    before = now;
    if (now - began > SLICE / 2) {
      job.milliseconds += now - began;
      return false;
    }
  }
}
