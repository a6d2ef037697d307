// Further runs of a lesson that is about runs: the same scenario with other random numbers.

import type { Engine, Run } from "../engine";
import type { AppState } from "../app/panel";

/** Runs an experiment several times, one after the other, and keeps what was run. */
export class Repeats {
  readonly #engine: Engine;
  readonly #changed: () => void;
  #key = "";
  #known = new Map<number, Run[]>();
  #abort = new AbortController();
  #work: Promise<void> = Promise.resolve();

  constructor(engine: Engine, changed: () => void) {
    this.#engine = engine;
    this.#changed = changed;
  }

  /** Returns the finished runs 0 to count - 1, without gaps. */
  finished(count: number): Run[][] {
    const runs: Run[][] = [];
    for (let k = 0; k < count && this.#known.has(k); k++) runs.push(this.#known.get(k)!);
    return runs;
  }

  /** Takes run 0 of the page, and begins the others. Runs of another experiment are dropped. */
  want(first: Run[], state: AppState, count: number): Promise<void> {
    const key = JSON.stringify([state.toml, state.tcps, state.seed]);
    this.#abort.abort();
    this.#abort = new AbortController();
    if (key !== this.#key) this.#known.clear();
    this.#key = key;
    this.#known.set(0, first);
    this.#work = this.#runAll(state, count, this.#abort.signal);
    return this.#work;
  }

  stop(): void {
    this.#abort.abort();
  }

  async #runAll(state: AppState, count: number, signal: AbortSignal): Promise<void> {
    const { toml, tcps, seed } = state;
    for (let run = 1; run < count; run++) {
      if (this.#known.has(run)) continue;
      const request = { toml, tcps, run, ...(seed === undefined ? {} : { seed }) };
      const runs = await this.#engine.run(request, { signal });
      if (signal.aborted) return;
      this.#known.set(run, runs);
      this.#changed();
    }
    this.#changed();
  }
}
