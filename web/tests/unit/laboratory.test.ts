// State of the page while the engine's answers are late.
import { expect, test } from "vitest";
import { Laboratory } from "../../src/app/laboratory";
import type { Engine, Run } from "../../src/engine";

/** Engine whose answers to edits and runs the test gives. */
function lateEngine() {
  const edits: ((toml: string) => void)[] = [];
  const runs: ((runs: Run[]) => void)[] = [];
  const asked: string[] = [];
  const engine = {
    edit: (toml: string) =>
      new Promise<string>((resolve) => {
        asked.push(toml);
        edits.push(resolve);
      }),
    run: (_: unknown, options: { signal?: AbortSignal } = {}) =>
      new Promise<Run[]>((resolve, reject) => {
        runs.push(resolve);
        options.signal?.addEventListener("abort", () => reject(options.signal?.reason as Error));
      }),
  };
  const library = [{ name: "geo-bursts", title: "", toml: "first" }];
  return { app: new Laboratory(engine as unknown as Engine, library), asked, edits, runs };
}

const turn = () => new Promise((wake) => setTimeout(wake, 5));

test("an edit whose text was replaced meanwhile is dropped", async () => {
  const { app, edits } = lateEngine();
  const done = app.set([["seed", "2"]]);
  await turn();
  app.load("second");
  edits[0]!("first, edited");
  await done;
  expect(app.state().toml).toBe("second");
});

test("an edit is repeated on a text that was typed meanwhile", async () => {
  const { app, asked, edits } = lateEngine();
  const done = app.set([["seed", "2"]]);
  await turn();
  app.update({ toml: "typed" });
  edits[0]!("first, edited");
  await turn();
  expect(asked).toEqual(["first", "typed"]);
  edits[1]!("typed, edited");
  await done;
  expect(app.state().toml).toBe("typed, edited");
});

test("undo waits for an edit under way", async () => {
  const { app, edits } = lateEngine();
  app.run();
  app.settle();
  const done = app.set([["seed", "2"]]);
  app.undo();
  await turn();
  edits[0]!("first, edited");
  await done;
  await turn();
  expect(app.state().toml).toBe("first");
  app.redo();
  await turn();
  expect(app.state().toml).toBe("first, edited");
});

test("waiting for further tables ends when the runs are stopped", async () => {
  const { app, runs } = lateEngine();
  app.run();
  runs[0]!([{ tcp: "cubic", tables: {}, simulated: 1, digest: "", story: [] } as unknown as Run]);
  await turn();
  app.setTables([], ["queue"]);
  const complete = app.complete();
  await turn();
  app.stop();
  await expect(complete).rejects.toThrow(/Stopped/);
});
