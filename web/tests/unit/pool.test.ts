// The pool around workers that trap, hang or cannot be started.
import { describe, expect, it, vi } from "vitest";
import { EngineFailure, ScenarioError, TooLongError } from "../../src/engine";
import { Pool, type WorkerLike } from "../../src/engine/pool";
import type { FromWorker, RawRun, ToWorker } from "../../src/engine/protocol";

const MODULE = {} as WebAssembly.Module;
const TASK = { text: "{}", mostBytes: 1e9 };
const RUN: RawRun = { answer: "{}", tables: [], milliseconds: 1 };

/** Worker whose answers the test gives. */
class Scripted implements WorkerLike {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly received: ToWorker[] = [];
  isEnded = false;

  postMessage(message: ToWorker): void {
    this.received.push(message);
  }

  terminate(): void {
    this.isEnded = true;
  }

  /** Numbers of the runs that the worker got. */
  get runs(): number[] {
    return this.received.flatMap((message) => (message.type === "run" ? [message.id] : []));
  }

  say(message: FromWorker): void {
    this.onmessage?.({ data: message } as MessageEvent<FromWorker>);
  }
}

function pool(size: number): { pool: Pool; workers: Scripted[] } {
  const workers: Scripted[] = [];
  const make = (): WorkerLike => {
    const worker = new Scripted();
    workers.push(worker);
    return worker;
  };
  return { pool: new Pool(MODULE, make, size), workers };
}

function signal(): AbortSignal {
  return new AbortController().signal;
}

const ignore = (): void => undefined;

describe("pool", () => {
  it("gives each run to the worker with the fewest", async () => {
    const { pool: two, workers } = pool(2);
    const runs = [1, 2, 3].map(() => two.run(TASK, signal(), ignore));
    expect(workers.map((worker) => worker.runs)).toEqual([[1, 3], [2]]);
    for (const worker of workers) {
      for (const id of worker.runs) worker.say({ type: "ran", id, run: RUN, memory: 0 });
    }
    expect(await Promise.all(runs)).toEqual([RUN, RUN, RUN]);
  });

  it("rejects the run at which the engine trapped, and starts the others again", async () => {
    const { pool: one, workers } = pool(1);
    const broken = one.run(TASK, signal(), ignore);
    const other = one.run(TASK, signal(), ignore);
    const [first] = workers;
    const [at, behind] = first!.runs;
    first!.say({ type: "broken", id: at!, message: "index out of bounds" });
    await expect(broken).rejects.toBeInstanceOf(EngineFailure);
    await expect(broken).rejects.toThrow(/index out of bounds/);
    expect(first!.isEnded).toBe(true);
    expect(workers[1]!.received[0]).toMatchObject({ type: "open" });
    expect(workers[1]!.runs).toEqual([behind]);
    workers[1]!.say({ type: "ran", id: behind!, run: RUN, memory: 0 });
    expect(await other).toEqual(RUN);
  });

  it("ends a worker that does not answer a cancellation, and keeps its other runs", async () => {
    vi.useFakeTimers();
    const { pool: one, workers } = pool(1);
    const controller = new AbortController();
    const hung = one.run(TASK, controller.signal, ignore);
    const other = one.run(TASK, signal(), ignore);
    controller.abort();
    await expect(hung).rejects.toMatchObject({ name: "AbortError" });
    expect(workers).toHaveLength(1);
    vi.advanceTimersByTime(1000);
    vi.useRealTimers();
    expect(workers[0]!.isEnded).toBe(true);
    expect(workers[1]!.runs).toEqual([2]);
    workers[1]!.say({ type: "ran", id: 2, run: RUN, memory: 0 });
    expect(await other).toEqual(RUN);
  });

  it("keeps a worker that answers a cancellation", async () => {
    vi.useFakeTimers();
    const { pool: one, workers } = pool(1);
    const controller = new AbortController();
    const run = one.run(TASK, controller.signal, ignore);
    controller.abort();
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
    workers[0]!.say({ type: "canceled", id: 1, memory: 0 });
    vi.advanceTimersByTime(1000);
    vi.useRealTimers();
    expect(workers).toHaveLength(1);
    expect(workers[0]!.isEnded).toBe(false);
  });

  it("rejects all if a worker cannot be started", async () => {
    const { pool: one, workers } = pool(1);
    const run = one.run(TASK, signal(), ignore);
    const asked = one.ask("{}");
    workers[0]!.onerror?.({ message: "blocked" } as ErrorEvent);
    await expect(run).rejects.toThrow(/blocked/);
    await expect(asked).rejects.toBeInstanceOf(EngineFailure);
  });

  it("turns failures of the engine into errors with line and key", async () => {
    const { pool: one, workers } = pool(1);
    const wrong = one.ask("{}");
    const long = one.run(TASK, signal(), ignore);
    const failure = { kind: "scenario", message: "no", line: 3, key: "a.b" } as const;
    workers[0]!.say({ type: "failed", id: 1, failure, memory: 0 });
    workers[0]!.say({
      type: "failed",
      id: 2,
      failure: { kind: "too long", message: "long" },
      memory: 0,
    });
    await expect(wrong).rejects.toBeInstanceOf(ScenarioError);
    await expect(wrong).rejects.toMatchObject({ line: 3, key: "a.b", message: "no" });
    await expect(long).rejects.toBeInstanceOf(TooLongError);
  });

  it("replaces an idle worker whose memory has grown", async () => {
    const { pool: one, workers } = pool(1);
    const run = one.run(TASK, signal(), ignore);
    workers[0]!.say({ type: "ran", id: 1, run: RUN, memory: 900_000_000 });
    await run;
    expect(workers[0]!.isEnded).toBe(true);
    void one.ask("{}").catch(ignore);
    expect(workers).toHaveLength(2);
  });

  it("refuses requests once it is closed", async () => {
    const { pool: one, workers } = pool(1);
    const run = one.run(TASK, signal(), ignore);
    one.close();
    await expect(run).rejects.toBeInstanceOf(EngineFailure);
    await expect(one.ask("{}")).rejects.toBeInstanceOf(EngineFailure);
    expect(workers[0]!.isEnded).toBe(true);
  });
});
