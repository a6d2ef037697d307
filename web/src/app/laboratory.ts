import type { Engine, LibraryScenario, Run } from "../engine";
import { type Start, stateOf } from "../share/address";
import { AddressError, type Shared } from "../share/codec";
import type { App, AppState, Needs, Status } from "./panel";
import { type Experiment, Runner, isAbort, statusOf } from "./runner";

const MOST_UNDO = 200;
/** Pause (ms) after which a change becomes a separate entry of the history. */
const SETTLES = 1200;
/** TCPs of the page's first experiment. */
const FIRST_TCPS = ["cubic", "bbr", "hybla"];
const FIRST_SCENARIO = "geo-bursts";
/** Span of time that the page shows first (s). The quick TCPs fill it, and the slow one exceeds it.
 * */
const FIRST_SPAN = 40;

/** State, runs and history of the page. */
export class Laboratory implements App {
  readonly engine: Engine;
  #state: AppState;
  readonly #first: AppState;
  #runs: Run[] = [];
  #runner: Runner;
  #onRuns = new Set<(runs: Run[], asked?: number) => void>();
  #onState = new Set<(state: AppState) => void>();
  #onStatus = new Set<(status: Status) => void>();
  #onAnnounce = new Set<(text: string) => void>();
  #onSettled = new Set<() => void>();
  #onShow = new Set<(pictures: string[]) => void>();
  #library: LibraryScenario[];
  #settling: ReturnType<typeof setTimeout> | undefined;
  #needs = new Map<string, Needs>();
  #tables: string[] = [];
  #further: AbortController | undefined;
  #experiment: Experiment | undefined;
  #undo: Experiment[] = [];
  #redo: Experiment[] = [];
  #settled: Experiment | undefined;
  #edits: Promise<void> = Promise.resolve();
  #waiting = new Map<string, string | null>();
  /** Number of texts that replaced another text. Edits of a replaced text are dropped. */
  #replaced = 0;
  /** Time of the change that an edit is for (performance.now). */
  #asked: number | undefined;
  #status: Status = { kind: "idle", text: "" };

  constructor(engine: Engine, library: LibraryScenario[]) {
    this.engine = engine;
    this.#library = library;
    const first = library.find((row) => row.name === FIRST_SCENARIO) ?? library[0];
    this.#state = stateOf({ toml: first?.toml ?? "", tcps: FIRST_TCPS, from: 0, to: FIRST_SPAN });
    this.#first = this.#state;
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
    this.#runner.request(experiment, this.#asked);
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.settle(), SETTLES);
  }

  stop(): void {
    this.#further?.abort();
    this.#runner.stop();
  }

  runOn(): void {
    this.#runner.runOn();
  }

  /** Edits run one after the other. Waiting edits are joined to one, because a drag requests many.
   * */
  set(edits: [string, string | null][]): Promise<void> {
    this.#asked ??= performance.now();
    for (const [path, value] of edits) {
      this.#waiting.delete(path);
      this.#waiting.set(path, value);
    }
    this.#edits = this.#edits.catch(() => undefined).then(() => this.#edit());
    return this.#edits;
  }

  async #edit(): Promise<void> {
    const edits = [...this.#waiting];
    if (!edits.length) return;
    this.#waiting.clear();
    const asked = this.#asked;
    this.#asked = undefined;
    const replaced = this.#replaced;
    try {
      let [before, toml] = ["", ""];
      do {
        before = this.#state.toml;
        toml = await this.engine.edit(before, edits);
        if (replaced !== this.#replaced) return;
        // Text that was typed meanwhile is edited too.
      } while (before !== this.#state.toml);
      this.#asked = asked;
      this.update({ toml });
    } catch (error) {
      if (replaced !== this.#replaced) return;
      this.#report(statusOf(error));
      throw error;
    } finally {
      this.#asked = undefined;
    }
  }

  /** Drops the waiting edits, because they belong to the replaced text. */
  #dropEdits(): void {
    this.#replaced += 1;
    this.#waiting.clear();
  }

  load(toml: string, tcps?: string[]): void {
    const change: Partial<AppState> = { toml, time: 0, from: 0, to: Infinity, flow: 0 };
    this.#dropEdits();
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
    for (const call of this.#onSettled) call();
  }

  /** Shows the experiment of an address. */
  async start(start: Start): Promise<void> {
    if (start.kind === "shared") this.#replace(stateOf(await this.#changed(start.shared)));
    else if (start.kind === "scenario") {
      const found = this.#library.find((row) => row.name === start.name);
      if (!found) throw new AddressError(`the library has no scenario ${start.name}`);
      this.#replace(stateOf({ toml: found.toml, tcps: start.tcps ?? FIRST_TCPS }));
    } else if (start.kind === "lesson") this.update({ lesson: start.name });
    else if (this.#experiment) this.#replace(this.#first);
    else this.run();
    await this.#edits.catch(() => undefined);
    this.#settled ??= this.#experiment;
  }

  /** Returns an experiment after the changes that its address asks for. */
  async #changed(shared: Shared): Promise<Shared> {
    const { set, ...rest } = shared;
    return set ? { ...rest, toml: await this.engine.edit(rest.toml, set) } : rest;
  }

  #replace(state: AppState): void {
    const known = this.#settled !== undefined;
    this.#dropEdits();
    delete this.#state.link;
    const gone = { seed: undefined, lesson: undefined };
    this.update({ ...gone, ...state });
    if (known) this.#settled = this.#experiment;
    for (const call of this.#onSettled) call();
  }

  library(): LibraryScenario[] {
    return this.#library;
  }

  onSettled(call: () => void): void {
    this.#onSettled.add(call);
  }

  /** Ends a change after the edits that wait. */
  async settled(): Promise<void> {
    await this.#edits.catch(() => undefined);
    this.settle();
  }

  canUndo(): boolean {
    return this.#undo.length > 0;
  }

  canRedo(): boolean {
    return this.#redo.length > 0;
  }

  undo(): void {
    void this.settled().then(() => this.#step(this.#undo, this.#redo));
  }

  redo(): void {
    void this.settled().then(() => this.#step(this.#redo, this.#undo));
  }

  onRuns(call: (runs: Run[], asked?: number) => void): () => void {
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

  show(pictures: string[]): void {
    for (const call of this.#onShow) call(pictures);
  }

  onShow(call: (pictures: string[]) => void): void {
    this.#onShow.add(call);
  }

  announce(text: string): void {
    for (const call of this.#onAnnounce) call(text);
  }

  need(panel: string, needs: Needs | null): void {
    if (needs) this.#needs.set(panel, needs);
    else this.#needs.delete(panel);
    this.#runFurther();
  }

  /** Sets the tables of the pictures in sight, and of all shown pictures; missing ones are fetched. */
  setTables(inSight: string[], all: string[]): void {
    this.#tables = all;
    this.#runner.setTables(inSight, all);
    if (this.#runs.length && !this.#isComplete() && this.#experiment) {
      this.#runner.complete(this.#experiment);
    }
  }

  /** Waits until the runs have the tables of all shown pictures. Rejects if the runs end without. */
  async complete(): Promise<void> {
    const experiment = this.#experiment;
    if (this.#isComplete() || !experiment) return;
    await new Promise<void>((resolve, reject) => {
      const stops = [
        this.onRuns(() => {
          if (!this.#isComplete()) return;
          for (const stop of stops) stop();
          resolve();
        }),
        this.onStatus(({ kind, text }) => {
          if (kind !== "error" && kind !== "stopped") return;
          for (const stop of stops) stop();
          reject(new Error(text));
        }),
      ];
      if (this.#status.kind !== "running") this.#runner.complete(experiment);
    });
  }

  #isComplete(): boolean {
    return this.#runs.every((run) => this.#tables.every((name) => name in run.tables));
  }

  #step(from: Experiment[], to: Experiment[]): void {
    const next = from.pop();
    if (!next) return;
    if (this.#settled) to.push(this.#settled);
    this.#settled = next;
    this.#dropEdits();
    this.update({ toml: next.toml, tcps: next.tcps, seed: next.seed });
    this.#settled = this.#experiment;
    for (const call of this.#onSettled) call();
  }

  #publish(fresh: Run[], asked: number | undefined): void {
    const runs = fresh.map((run) => merged(run, this.#runs));
    this.#runs = runs;
    for (const call of this.#onRuns) call(runs, asked);
    if (asked !== undefined) {
      const milliseconds = performance.now() - asked;
      this.#report({ kind: "idle", text: summary(runs, milliseconds), milliseconds });
    }
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

/** Returns a run with the tables that the same run had before. */
function merged(run: Run, before: Run[]): Run {
  const old = before.find((row) => row.digest === run.digest && row.tcp === run.tcp);
  if (!old?.digest) return run;
  const story = run.story.length ? run.story : old.story;
  return { ...run, tables: { ...old.tables, ...run.tables }, story };
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
