import { type Engine, type Run, ScenarioError, TooLongError } from "../engine";
import type { Needs, Status } from "./panel";

/** What is run: a change of any part makes another experiment. */
export interface Experiment {
  toml: string;
  tcps: string[];
  seed?: number;
}

/** Tables that the pictures are made of. */
export const PICTURES = ["state", "marks", "limits", "queue", "deliveries", "acks"];
/** Tables of the sequence diagram. */
export const SEQUENCE = ["segments", "sacks", "drops"];

/** Bound on the events of a run: some seconds of work. The status bar offers ten times as many. */
const MOST_EVENTS = 20_000_000;
const MOST_BYTES = 800_000_000;
/** Time (ms) for which a run may finish although a newer one waits: a drag shows pictures meanwhile. */
const PATIENCE = 90;

interface Job {
  experiment: Experiment;
  /** Time of the change (performance.now). */
  asked: number;
  abort: AbortController;
}

/** Runs the newest experiment; older ones are cancelled. */
export class Runner {
  #engine: Engine;
  #publish: (runs: Run[], asked: number) => void;
  #report: (status: Status) => void;
  #current: Job | undefined;
  #waiting: Job | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tables = [...PICTURES, ...SEQUENCE];
  #mostEvents = MOST_EVENTS;
  #last: Experiment | undefined;

  constructor(
    engine: Engine,
    publish: (runs: Run[], asked: number) => void,
    report: (status: Status) => void,
  ) {
    this.#engine = engine;
    this.#publish = publish;
    this.#report = report;
  }

  /** Sets the tables to record, for runs from now on. */
  setTables(tables: string[]): void {
    this.#tables = tables;
  }

  /** Runs an experiment as soon as the current one ends, or cancels that if it takes long. */
  request(experiment: Experiment, asked = performance.now()): void {
    if (experiment !== this.#last) this.#mostEvents = MOST_EVENTS;
    this.#last = experiment;
    const job = { experiment, asked, abort: new AbortController() };
    if (!this.#current) {
      void this.#start(job);
      return;
    }
    this.#waiting = job;
    const current = this.#current;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#waiting && this.#current === current) current.abort.abort();
    }, PATIENCE);
  }

  /** Cancels the current runs; their pictures stay those of before. */
  stop(): void {
    this.#waiting = undefined;
    this.#current?.abort.abort();
    this.#report({ kind: "stopped", text: "Stopped. The pictures are those of the run before." });
  }

  /** Repeats the last experiment with ten times the bound on events. */
  runOn(): void {
    if (!this.#last) return;
    this.#mostEvents *= 10;
    this.request(this.#last);
  }

  /** Runs one TCP with further tables, for a panel. */
  async further(experiment: Experiment, tcp: string, needs: Needs, signal: AbortSignal) {
    const runs = await this.#engine.run(
      {
        ...asRequest({ ...experiment, tcps: tcp ? [tcp] : [] }),
        tables: needs.tables,
        story: needs.story ?? false,
        mostEvents: this.#mostEvents,
        mostBytes: MOST_BYTES,
      },
      { signal },
    );
    return runs[0];
  }

  async #start(job: Job): Promise<void> {
    this.#current = job;
    this.#report({ kind: "running", text: "Running", share: 0 });
    try {
      const runs = await this.#engine.run(
        {
          ...asRequest(job.experiment),
          tables: this.#tables,
          mostEvents: this.#mostEvents,
          mostBytes: MOST_BYTES,
        },
        {
          signal: job.abort.signal,
          onProgress: (share) => {
            if (this.#current === job) this.#report({ kind: "running", text: "Running", share });
          },
        },
      );
      if (!job.abort.signal.aborted) this.#publish(runs, job.asked);
    } catch (error) {
      if (!isAbort(error) && !this.#waiting) this.#report(statusOf(error));
    } finally {
      this.#current = undefined;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      const next = this.#waiting;
      this.#waiting = undefined;
      if (next) void this.#start(next);
    }
  }
}

function asRequest(experiment: Experiment) {
  const { toml, tcps, seed } = experiment;
  return seed === undefined ? { toml, tcps } : { toml, tcps, seed };
}

export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** Returns an error as one line with line and key. */
export function statusOf(error: unknown): Status {
  if (error instanceof ScenarioError) {
    return {
      kind: "error",
      text: error.message,
      ...(error.line === undefined ? {} : { line: error.line }),
      ...(error.key === undefined ? {} : { key: error.key }),
    };
  }
  if (error instanceof TooLongError) {
    return { kind: "stopped", text: `${error.message}. Shorten it, or export it for farlink run.` };
  }
  return { kind: "error", text: error instanceof Error ? error.message : String(error) };
}
