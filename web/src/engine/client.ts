// The page's side of the engine: requests, a pool of workers, runs side by side.

import { load } from "./load";
import { ownWorker } from "./own-worker";
import { Pool, type MakeWorker } from "./pool";
import type { RawRun, RawTable } from "./protocol";
import type {
  Engine,
  EngineSource,
  LibraryScenario,
  Measures,
  Resolved,
  Run,
  RunOptions,
  RunRequest,
  StoryLine,
  Table,
  Tcp,
} from "./types";

/** Bounds on a run that names none: some 10 s of work, and half of what a worker may have. */
const MOST_EVENTS = 50_000_000;
const MOST_BYTES = 1_000_000_000;

export interface EngineOptions {
  /** Makes a worker that runs `worker.ts`; by default from the file beside the page. */
  worker?: MakeWorker;
  /** Number of workers; by default one per processor, at most 4. */
  workers?: number;
}

/** Opens the engine. Rejects if it cannot be fetched or compiled. */
export async function openEngine(
  source: EngineSource,
  options: EngineOptions = {},
): Promise<Engine> {
  const module = await load(source);
  const processors = typeof navigator === "undefined" ? 1 : navigator.hardwareConcurrency;
  const size = options.workers ?? Math.min(Math.max(processors || 1, 1), 4);
  return new Client(new Pool(module, options.worker ?? ownWorker, size));
}

/** Head of the engine's answer to a run. */
interface Answer {
  tcp: string;
  run: number;
  digest: string;
  events: number;
  simulated: number;
  measures: Measures;
  resolved: Resolved;
  story?: StoryLine[];
}

class Client implements Engine {
  constructor(private readonly pool: Pool) {}

  resolve(toml: string, overrides: [string, string][] = []): Promise<Resolved> {
    return this.ask<Resolved>({ ask: "resolve", toml, overrides });
  }

  edit(toml: string, edits: [path: string, value: string | null][]): Promise<string> {
    return this.ask<string>({ ask: "edit", toml, edits });
  }

  async value(toml: string, path: string): Promise<string | undefined> {
    return (await this.ask<string | null>({ ask: "value", toml, path })) ?? undefined;
  }

  scenarios(): Promise<LibraryScenario[]> {
    return this.ask<LibraryScenario[]>({ ask: "scenarios" });
  }

  tcps(): Promise<Tcp[]> {
    return this.ask<Tcp[]>({ ask: "tcps" });
  }

  version(): Promise<string> {
    return this.ask<string>({ ask: "version" });
  }

  async run(request: RunRequest, options: RunOptions = {}): Promise<Run[]> {
    const tcps: (string | undefined)[] = request.tcps.length > 0 ? request.tcps : [undefined];
    const shares = tcps.map(() => 0);
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const runs = tcps.map(async (tcp, place) => {
      const text = JSON.stringify({
        toml: request.toml,
        tcp,
        run: request.run ?? 0,
        seed: request.seed,
        overrides: request.overrides ?? [],
        tables: request.tables ?? [],
        story: request.story ?? false,
        mostEvents: request.mostEvents ?? MOST_EVENTS,
      });
      const task = { text, mostBytes: request.mostBytes ?? MOST_BYTES };
      const raw = await this.pool.run(task, signal, (share) => {
        shares[place] = share;
        const sum = shares.reduce((all, one) => all + one, 0);
        options.onProgress?.(sum / shares.length);
      });
      return finished(request.toml, raw);
    });
    try {
      return await Promise.all(runs);
    } catch (error) {
      stop.abort();
      await Promise.allSettled(runs);
      throw error;
    }
  }

  close(): void {
    this.pool.close();
  }

  private async ask<T>(request: object): Promise<T> {
    return JSON.parse(await this.pool.ask(JSON.stringify(request))) as T;
  }
}

function finished(toml: string, raw: RawRun): Run {
  const answer = JSON.parse(raw.answer) as Answer;
  return {
    tcp: answer.tcp,
    run: answer.run,
    toml,
    resolved: answer.resolved,
    measures: answer.measures,
    tables: Object.fromEntries(raw.tables.map((table) => [table.name, named(table)])),
    story: answer.story ?? [],
    digest: answer.digest,
    simulated: answer.simulated,
    events: answer.events,
    milliseconds: raw.milliseconds,
  };
}

function named(table: RawTable): Table {
  const worded = table.columns.filter((column) => column.names.length > 0);
  return {
    name: table.name,
    rows: table.rows,
    columns: Object.fromEntries(table.columns.map((column) => [column.name, column.values])),
    names: Object.fromEntries(worded.map((column) => [column.name, column.names])),
  };
}
