// The engine in this thread, and the pool around workers that fail.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openEngine, ScenarioError, TooLongError, type Engine } from "../../src/engine";
import type { WorkerLike } from "../../src/engine/pool";
import type { FromWorker, ToWorker } from "../../src/engine/protocol";
import { Server } from "../../src/engine/serve";

const WASM = fileURLToPath(new URL("../../public/engine.wasm.xz", import.meta.url));

/** Worker that runs in this thread. Messages are copied as between threads. */
class Inline implements WorkerLike {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  protected readonly server: Server;
  protected isEnded = false;

  constructor() {
    const post = (message: FromWorker, transfer: ArrayBuffer[]): void => {
      const data = structuredClone(message, { transfer });
      queueMicrotask(() => {
        if (!this.isEnded) this.onmessage?.(new MessageEvent("message", { data }));
      });
    };
    // Node handles many messages of a channel before its timers.
    this.server = new Server({ post }, (call) => {
      setImmediate(() => {
        if (!this.isEnded) call();
      });
    });
  }

  postMessage(message: ToWorker): void {
    setImmediate(() => {
      if (!this.isEnded) this.server.receive(message);
    });
  }

  terminate(): void {
    this.isEnded = true;
  }
}

const GEO = `# A satellite.
[[links]]
name = "sat"
between = ["server", "client"]
down = { rate = "2 Mbit/s", delay = "250 ms", channel = { loss = 0.01 } }

[[flows]]
from = "server"
to = "client"
size = "1 MB"
`;

const ENDLESS = GEO.replace('size = "1 MB"', 'size = "1000 GB"').replace("2 Mbit", "2 Gbit");

describe.skipIf(!existsSync(WASM))("engine", () => {
  let engine: Engine;
  let made: Inline[] = [];

  beforeAll(async () => {
    made = [];
    engine = await openEngine(
      { bytes: readFileSync(WASM) },
      {
        worker: () => {
          const worker = new Inline();
          made.push(worker);
          return worker;
        },
        workers: 2,
      },
    );
  });

  afterAll(() => {
    engine.close();
  });

  it("resolves a scenario and names line and key of an error", async () => {
    const resolved = await engine.resolve(GEO, [["seed", "7"]]);
    expect(resolved.seed).toBe(7);
    expect(resolved.links[0]?.up).toMatchObject({ delay: "250 ms" });
    const wrong = engine.resolve(GEO.replace("250 ms", "250"));
    await expect(wrong).rejects.toBeInstanceOf(ScenarioError);
    await expect(wrong).rejects.toMatchObject({ line: 5, key: "links.0.down.delay" });
    await expect(engine.resolve("a = = 1")).rejects.toMatchObject({ line: 1 });
  });

  it("edits and reads values in the text", async () => {
    const text = await engine.edit(GEO, [
      ["links.0.down.delay", "20 ms"],
      ["links.0.down.channel.loss", null],
    ]);
    expect(text).toContain('down = { rate = "2 Mbit/s", delay = "20 ms" }');
    expect(text).toContain("# A satellite.");
    expect(await engine.value(text, "links.0.down.delay")).toBe("20 ms");
    expect(await engine.value(text, "links.0.down.channel.loss")).toBeUndefined();
  });

  it("lists scenarios, TCPs and its version", async () => {
    const scenarios = await engine.scenarios();
    expect(scenarios.map((s) => s.name)).toContain("geo-omueti2007");
    expect(scenarios.every((s) => s.title.length > 10)).toBe(true);
    const tcps = await engine.tcps();
    expect(tcps.map((t) => t.name)).toEqual(expect.arrayContaining(["sack", "linux-cubic"]));
    expect(await engine.version()).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it("runs each TCP and gives tables, measures and a digest", async () => {
    const shares: number[] = [];
    const runs = await engine.run(
      { toml: GEO, tcps: ["reno", "linux-cubic"], tables: ["state", "drops", "queue"] },
      { onProgress: (share) => shares.push(share) },
    );
    expect(runs.map((run) => run.tcp)).toEqual(["reno", "linux-cubic"]);
    expect(shares.at(-1)).toBe(1);
    for (const run of runs) {
      const { state, drops } = run.tables;
      expect(Object.keys(run.tables).sort()).toEqual(["drops", "queue", "state"]);
      expect(state?.columns.time).toBeInstanceOf(Float64Array);
      expect(state?.rows).toBe(state?.columns.time?.length);
      expect(drops?.names.cause).toContain("loss");
      expect(drops?.names.link).toEqual(["sat"]);
      expect(run.measures.flows[0]?.metrics.goodput).toBeGreaterThan(1e4);
      expect(run.digest).toMatch(/^[0-9a-f]{16}$/);
    }
    expect(runs[0]?.digest).not.toBe(runs[1]?.digest);
  });

  it("gives the same digest whatever runs beside it", async () => {
    const request = { toml: GEO, tcps: ["sack"], tables: ["state"] };
    const [first] = await engine.run(request);
    const beside = await Promise.all([1, 2, 3, 4].map(() => engine.run(request)));
    for (const [run] of beside) expect(run?.digest).toBe(first?.digest);
  });

  it("stops a run when its signal is aborted, and runs on afterwards", async () => {
    const controller = new AbortController();
    const run = engine.run({ toml: ENDLESS, tcps: [] }, { signal: controller.signal });
    setTimeout(() => {
      controller.abort();
    }, 60);
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
    expect(await engine.run({ toml: GEO, tcps: ["sack"] })).toHaveLength(1);
  });

  it("refuses a run above its bound on events or memory", async () => {
    const events = engine.run({ toml: ENDLESS, tcps: [], mostEvents: 100_000 });
    await expect(events).rejects.toBeInstanceOf(TooLongError);
    const bytes = engine.run({ toml: ENDLESS, tcps: [], tables: ["acks"], mostBytes: 3e7 });
    await expect(bytes).rejects.toThrow(/30 MB/);
    expect(await engine.run({ toml: GEO, tcps: ["sack"] })).toHaveLength(1);
  });

  it("cancels the other runs of a request if one fails", async () => {
    const run = engine.run({ toml: ENDLESS, tcps: ["sack", "no-such"] });
    await expect(run).rejects.toBeInstanceOf(ScenarioError);
  });
});
