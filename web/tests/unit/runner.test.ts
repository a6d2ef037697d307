// Order of runs: a change comes before tables that follow.
import { expect, it, vi } from "vitest";
import { Runner } from "../../src/app/runner";
import type { Engine, Run, RunOptions } from "../../src/engine";

/** Engine whose runs end when the test says so, or when they are aborted. */
class Held {
  readonly signals: AbortSignal[] = [];
  readonly ends: (() => void)[] = [];

  run(_: unknown, options: RunOptions): Promise<Run[]> {
    const signal = options.signal!;
    this.signals.push(signal);
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      this.ends.push(() => resolve([]));
    });
  }
}

const experiment = (toml: string) => ({ toml, tcps: ["sack"] });

function started(): { held: Held; runner: Runner } {
  const held = new Held();
  const runner = new Runner(held as unknown as Engine, vi.fn(), vi.fn());
  runner.setTables(["state"], ["state", "queue"]);
  return { held, runner };
}

it("aborts tables that follow at once when a change arrives", async () => {
  const { held, runner } = started();
  runner.complete(experiment("a"));
  runner.request(experiment("b"));
  expect(held.signals[0]!.aborted).toBe(true);
  await vi.waitFor(() => expect(held.signals).toHaveLength(2));
  expect(held.signals[1]!.aborted).toBe(false);
});

it("lets the run of a change finish while a newer change waits", async () => {
  const { held, runner } = started();
  runner.request(experiment("a"));
  runner.request(experiment("b"));
  expect(held.signals[0]!.aborted).toBe(false);
  held.ends[0]!();
  await vi.waitFor(() => expect(held.signals).toHaveLength(2));
});

it("keeps the run of a change when tables are asked for meanwhile", async () => {
  vi.useFakeTimers();
  try {
    const { held, runner } = started();
    runner.request(experiment("a"));
    runner.complete(experiment("a"));
    await vi.advanceTimersByTimeAsync(1000);
    expect(held.signals).toHaveLength(1);
    expect(held.signals[0]!.aborted).toBe(false);
    held.ends[0]!();
    await vi.advanceTimersByTimeAsync(1000);
    expect(held.signals).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});
