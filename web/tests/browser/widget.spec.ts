import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, type FrameLocator, type Page, test } from "@playwright/test";

const folder =
  process.env.FARLINK_WEB_OUT ??
  fileURLToPath(new URL("../../../python/farlink/web", import.meta.url));
const scenario = readFileSync(
  fileURLToPath(new URL("../../../scenarios/geo-lossy.toml", import.meta.url)),
  "utf8",
).replace('"50 MiB"', '"500 kB"');

interface Host {
  traits: Record<string, unknown>;
  setTrait(name: string, value: unknown): void;
  remove(): void;
}

/** Plays anywidget's part: a model with traits, and an element for the widget. */
async function open(page: Page): Promise<FrameLocator> {
  await page.route("**/host.html", (route) =>
    route.fulfill({ contentType: "text/html", body: "<h1>notebook</h1><div id=cell></div>" }),
  );
  await page.goto("host.html");
  const given = {
    module: readFileSync(`${folder}/widget.js`, "utf8"),
    page: readFileSync(`${folder}/single.html`, "utf8"),
    engine: readFileSync(`${folder}/engine.wasm.xz`).toString("base64"),
    toml: scenario,
  };
  await page.evaluate(async ({ module, page, engine, toml }) => {
    const bytes = Uint8Array.from(atob(engine), (character) => character.charCodeAt(0));
    const calls = new Map<string, Set<() => void>>();
    const traits: Record<string, unknown> = {
      ...{ page, toml, tcps: ["sack"], time: 0, measures: {}, error: "", height: 600 },
      ...{ engine: new DataView(bytes.buffer), changes: [["links.1.down.delay", "200 ms"]] },
    };
    const model = {
      get: (name: string) => traits[name],
      set: (name: string, value: unknown) => void (traits[name] = value),
      save_changes: () => undefined,
      on: (event: string, call: () => void) =>
        void calls.set(event, (calls.get(event) ?? new Set()).add(call)),
      off: (event: string, call: () => void) => void calls.get(event)?.delete(call),
    };
    const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
    const widget = (await import(url)) as {
      default: { render(of: { model: unknown; el: HTMLElement }): () => void };
    };
    const el = document.getElementById("cell")!;
    const remove = widget.default.render({ model, el });
    const setTrait = (name: string, value: unknown) => {
      traits[name] = value;
      calls.get(`change:${name}`)?.forEach((call) => call());
    };
    Object.assign(window, { host: { traits, setTrait, remove } });
  }, given);
  return page.frameLocator("iframe");
}

async function trait(page: Page, name: string): Promise<unknown> {
  return page.evaluate((key) => (window as unknown as { host: Host }).host.traits[key], name);
}

test("a widget and its page share scenario, TCPs, time and results", async ({ page }) => {
  page.on("pageerror", (error) => expect(error.message).toBe(""));
  const frame = await open(page);
  await expect(frame.locator(".status")).toContainText("1 run,");
  await expect.poll(() => trait(page, "toml")).toContain("200 ms");
  await expect
    .poll(async () => Object.keys((await trait(page, "measures")) as object))
    .toEqual(["sack"]);

  await frame.getByLabel("Delay, each way", { exact: true }).fill("3");
  await expect.poll(() => trait(page, "toml")).not.toContain("200 ms");

  const set = (name: string, value: unknown) =>
    page.evaluate(
      ([key, to]) => (window as unknown as { host: Host }).host.setTrait(key as string, to),
      [name, value],
    );
  await set("tcps", ["reno", "cubic"]);
  await expect(frame.locator(".status")).toContainText("2 runs,");
  await expect
    .poll(async () => Object.keys((await trait(page, "measures")) as object))
    .toEqual(["reno", "cubic"]);
  await set("time", 1.5);
  await expect.poll(() => trait(page, "time")).toBe(1.5);
  await set("toml", "links = 5");
  await expect.poll(() => trait(page, "error")).not.toBe("");
  await set("height", 300);
  await expect(page.locator("iframe")).toHaveCSS("height", "300px");
  await page.evaluate(() => (window as unknown as { host: Host }).host.remove());
  await expect(page.locator("iframe")).toHaveCount(0);
  await expect(page).toHaveURL(/host\.html$/);
});
