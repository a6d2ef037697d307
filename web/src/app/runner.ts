import { type Engine, type Run, ScenarioError, TooLongError } from "../engine";
import type { Needs, Status } from "./panel";

/** Parts of a run; a change of any part makes another experiment. */
export interface Experiment {
  toml: string;
  tcps: string[];
  seed?: number;
}

/** Bound on the events of a run: some seconds of work. The status bar offers ten times as many. */
const MOST_EVENTS = 20_000_000;
const MOST_BYTES = 800_000_000;
/** Time (ms) for which a run may continue although a newer one waits, so that a drag shows pictures
 * meanwhile. */
const PATIENCE = 90;

interface Job {
  experiment: Experiment;
  /** Time of the change (performance.now); none for tables that follow. */
  asked: number | undefined;
  tables: string[];
  abort: AbortController;
}

/** Pause (ms) after which the tables of pictures that are out of sight follow. */
const FOLLOW = 250;

/**
 * Runs the newest experiment; older ones are cancelled. The tables of the pictures in sight come
 * first, and those of the others when no change follows.
 */
export class Runner {
  #engine: Engine;
  #publish: (runs: Run[], asked: number | undefined) => void;
  #report: (status: Status) => void;
  #current: Job | undefined;
  #waiting: Job | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #follow: ReturnType<typeof setTimeout> | undefined;
  #tables: string[] = [];
  #inSight: string[] = [];
  #mostEvents = MOST_EVENTS;
  #last: Experiment | undefined;

  constructor(
    engine: Engine,
    publish: (runs: Run[], asked: number | undefined) => void,
    report: (status: Status) => void,
  ) {
    this.#engine = engine;
    this.#publish = publish;
    this.#report = report;
  }

  /** Sets the tables to record from now on: those of the pictures in sight, and all. */
  setTables(inSight: string[], all: string[]): void {
    this.#inSight = inSight;
    this.#tables = all;
  }

  /** Runs an experiment as soon as the current one ends, or cancels that if it takes long. */
  request(experiment: Experiment, asked = performance.now()): void {
    if (experiment !== this.#last) this.#mostEvents = MOST_EVENTS;
    this.#last = experiment;
    this.#ask(experiment, this.#inSight, asked);
  }

  /** Runs an experiment again for the tables of all pictures. */
  complete(experiment: Experiment): void {
    this.#ask(experiment, this.#tables, undefined);
  }

  #ask(experiment: Experiment, tables: string[], asked: number | undefined): void {
    clearTimeout(this.#follow);
    const job = { experiment, asked, tables, abort: new AbortController() };
    if (!this.#current) {
      void this.#start(job);
      return;
    }
    const current = this.#current;
    // A change comes first. Its run requests the missing tables when it ends.
    if (asked === undefined && (this.#waiting ?? current).asked !== undefined) return;
    this.#waiting = job;
    if (current.asked === undefined) {
      // Tables that follow can wait; a change cannot.
      current.abort.abort();
      return;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#waiting && this.#current === current) current.abort.abort();
    }, PATIENCE);
  }

  /** Cancels the current runs. Their pictures stay those of the earlier runs. */
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

  #followUp(job: Job): void {
    if (this.#waiting || this.#tables.every((name) => job.tables.includes(name))) return;
    this.#follow = setTimeout(() => this.complete(job.experiment), FOLLOW);
  }

  async #start(job: Job): Promise<void> {
    this.#current = job;
    if (job.asked !== undefined) this.#report({ kind: "running", text: "Running", share: 0 });
    try {
      const runs = await this.#engine.run(
        {
          ...asRequest(job.experiment),
          tables: job.tables,
          mostEvents: this.#mostEvents,
          mostBytes: MOST_BYTES,
        },
        {
          signal: job.abort.signal,
          onProgress: (share) => {
            if (this.#current !== job || job.asked === undefined) return;
            this.#report({ kind: "running", text: "Running", share });
          },
        },
      );
      if (!job.abort.signal.aborted) {
        this.#publish(runs, job.asked);
        this.#followUp(job);
      }
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
