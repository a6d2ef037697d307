import type { Engine, Run } from "../engine";
import type { App, AppState, Needs, Status } from "./panel";
import { type Experiment, Runner, isAbort, statusOf } from "./runner";

const MOST_UNDO = 200;

/** State, runs and history of the page. */
export class Laboratory implements App {
  readonly engine: Engine;
  #state: AppState;
  #runs: Run[] = [];
  #runner: Runner;
  #onRuns = new Set<(runs: Run[]) => void>();
  #onState = new Set<(state: AppState) => void>();
  #onStatus = new Set<(status: Status) => void>();
  #onAnnounce = new Set<(text: string) => void>();
  #needs = new Map<string, Needs>();
  #further: AbortController | undefined;
  #experiment: Experiment | undefined;
  #undo: Experiment[] = [];
  #redo: Experiment[] = [];
  #settled: Experiment | undefined;
  #edits: Promise<void> = Promise.resolve();
  #status: Status = { kind: "idle", text: "" };

  constructor(engine: Engine, state: AppState) {
    this.engine = engine;
    this.#state = state;
    this.#runner = new Runner(
      engine,
      (runs, asked) => this.#publish(runs, asked),
      (status) => this.#report(status),
    );
  }

  state(): AppState {
    return this.#state;
  }

  runs(): Run[] {
    return this.#runs;
  }

  status(): Status {
    return this.#status;
  }

  update(change: Partial<AppState>): void {
    const before = this.#state;
    const next = { ...before, ...change };
    if (Object.hasOwn(change, "seed") && change.seed === undefined) delete next.seed;
    if (Object.hasOwn(change, "lesson") && change.lesson === undefined) delete next.lesson;
    if (!next.tcps.includes(next.focus)) next.focus = next.tcps[0] ?? "";
    this.#state = next;
    for (const call of this.#onState) call(next);
    const other =
      next.toml !== before.toml || next.seed !== before.seed || !same(next.tcps, before.tcps);
    if (other || !this.#experiment) this.run();
    else if (next.focus !== before.focus) this.#runFurther();
  }

  /** Runs the experiment of the state. */
  run(): void {
    const { toml, tcps, seed } = this.#state;
    const experiment = seed === undefined ? { toml, tcps } : { toml, tcps, seed };
    this.#experiment = experiment;
    this.#further?.abort();
    this.#runner.request(experiment);
  }

  stop(): void {
    this.#further?.abort();
    this.#runner.stop();
  }

  runOn(): void {
    this.#runner.runOn();
  }

  /** Edits follow each other, so that each works on the text of the one before. */
  set(edits: [string, string | null][]): Promise<void> {
    const work = this.#edits.then(async () => {
      try {
        const toml = await this.engine.edit(this.#state.toml, edits);
        this.update({ toml });
      } catch (error) {
        this.#report(statusOf(error));
        throw error;
      }
    });
    this.#edits = work.catch(() => undefined);
    return work;
  }

  load(toml: string, tcps?: string[]): void {
    const change: Partial<AppState> = { toml, time: 0, from: 0, to: Infinity, flow: 0 };
    delete this.#state.link;
    this.update(tcps ? { ...change, tcps } : change);
    this.settle();
  }

  /** Ends a change (a drag, a pause of typing): undo goes back to the state of the change before. */
  settle(): void {
    const now = this.#experiment;
    if (!now || now === this.#settled) return;
    if (this.#settled && !equal(this.#settled, now)) {
      this.#undo.push(this.#settled);
      if (this.#undo.length > MOST_UNDO) this.#undo.shift();
      this.#redo = [];
    }
    this.#settled = now;
    for (const call of this.#onState) call(this.#state);
  }

  canUndo(): boolean {
    return this.#undo.length > 0;
  }

  canRedo(): boolean {
    return this.#redo.length > 0;
  }

  undo(): void {
    this.settle();
    this.#step(this.#undo, this.#redo);
  }

  redo(): void {
    this.#step(this.#redo, this.#undo);
  }

  onRuns(call: (runs: Run[]) => void): () => void {
    this.#onRuns.add(call);
    return () => this.#onRuns.delete(call);
  }

  onState(call: (state: AppState) => void): () => void {
    this.#onState.add(call);
    return () => this.#onState.delete(call);
  }

  onStatus(call: (status: Status) => void): () => void {
    this.#onStatus.add(call);
    return () => this.#onStatus.delete(call);
  }

  onAnnounce(call: (text: string) => void): void {
    this.#onAnnounce.add(call);
  }

  announce(text: string): void {
    for (const call of this.#onAnnounce) call(text);
  }

  need(panel: string, needs: Needs | null): void {
    if (needs) this.#needs.set(panel, needs);
    else this.#needs.delete(panel);
    this.#runFurther();
  }

  /** Sets the tables that the visible pictures are made of; missing ones are fetched. */
  setTables(tables: string[]): void {
    this.#runner.setTables(tables);
    const missing = this.#runs.some((run) => tables.some((name) => !(name in run.tables)));
    if (missing && this.#experiment) this.#runner.request(this.#experiment);
  }

  #step(from: Experiment[], to: Experiment[]): void {
    const next = from.pop();
    if (!next) return;
    if (this.#settled) to.push(this.#settled);
    this.#settled = next;
    this.update({ toml: next.toml, tcps: next.tcps, seed: next.seed });
    this.#settled = this.#experiment;
    for (const call of this.#onState) call(this.#state);
  }

  #publish(runs: Run[], asked: number): void {
    this.#runs = runs;
    for (const call of this.#onRuns) call(runs);
    const milliseconds = performance.now() - asked;
    this.#report({ kind: "idle", text: summary(runs, milliseconds), milliseconds });
    this.#runFurther();
  }

  /** Runs the focused TCP again with the tables of further panels. */
  #runFurther(): void {
    this.#further?.abort();
    const experiment = this.#experiment;
    const { focus } = this.#state;
    const known = this.#runs.find((run) => run.tcp === focus) ?? this.#runs[0];
    if (!experiment || !known || this.#needs.size === 0) return;
    const tables = new Set<string>();
    let story = false;
    for (const needs of this.#needs.values()) {
      needs.tables.forEach((name) => tables.add(name));
      story ||= needs.story ?? false;
    }
    const missing = [...tables].filter((name) => !(name in known.tables));
    if (!missing.length && (!story || known.story.length)) return;
    const abort = new AbortController();
    this.#further = abort;
    const wanted = { tables: missing, story };
    this.#runner.further(experiment, focus, wanted, abort.signal).then(
      (run) => {
        if (!run || abort.signal.aborted) return;
        this.#runs = this.#runs.map((old) =>
          old === known
            ? { ...old, tables: { ...old.tables, ...run.tables }, story: run.story }
            : old,
        );
        for (const call of this.#onRuns) call(this.#runs);
      },
      (error: unknown) => {
        if (!isAbort(error)) this.#report(statusOf(error));
      },
    );
  }

  #report(status: Status): void {
    this.#status = status;
    for (const call of this.#onStatus) call(status);
  }
}

function same(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((item, place) => item === b[place]);
}

function equal(a: Experiment, b: Experiment): boolean {
  return a.toml === b.toml && a.seed === b.seed && same(a.tcps, b.tcps);
}

function summary(runs: Run[], milliseconds: number): string {
  const longest = Math.max(0, ...runs.map((run) => run.simulated));
  const count = runs.length === 1 ? "1 run" : `${runs.length} runs`;
  return `${count}, ${longest.toPrecision(3)} s simulated, picture after ${milliseconds.toFixed(0)} ms`;
}
