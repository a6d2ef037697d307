import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, type Page, test } from "@playwright/test";
import { addressOf, GEO, openGeo, slider } from "./page";

/** File of the measured figures, which docs/performance.md quotes. They are not asserted. */
const FILE =
  process.env.FARLINK_WEB_MEASURES ??
  fileURLToPath(new URL("../../../build/web-measures.json", import.meta.url));

const measures: Record<string, number> = {};

test.afterAll(() => {
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, `${JSON.stringify(measures, null, 2)}\n`);
});

function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Number(
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN).toFixed(1),
  );
}

/** Returns the times from a change to its picture since the last call (ms). */
async function pictureTimes(page: Page): Promise<number[]> {
  return page.evaluate(() => {
    const times = performance.getEntriesByName("change-to-picture").map((row) => row.duration);
    performance.clearMeasures("change-to-picture");
    return times;
  });
}

/** Returns the times between frames (ms) while an action goes on. */
async function frames(page: Page, action: () => Promise<void>): Promise<number[]> {
  await page.evaluate(() => {
    const times: number[] = [];
    const state = window as unknown as { frameTimes: number[]; framesEnd: boolean };
    state.frameTimes = times;
    state.framesEnd = false;
    let before = performance.now();
    const next = (now: number) => {
      times.push(now - before);
      before = now;
      if (!state.framesEnd) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  await action();
  return page.evaluate(() => {
    const state = window as unknown as { frameTimes: number[]; framesEnd: boolean };
    state.framesEnd = true;
    return state.frameTimes.slice(1);
  });
}

test("the first load is measured", async ({ page }) => {
  const sizes: Promise<number>[] = [];
  page.on("requestfinished", (request) => {
    sizes.push(request.sizes().then((size) => size.responseBodySize));
  });
  await page.goto(
    `./index.html${await addressOf({ v: 1, toml: GEO, tcps: ["sack", "cubic", "hybla"] })}`,
  );
  await page.waitForFunction(() => performance.getEntriesByName("change-to-picture").length > 0);
  // The size of a request that its page ended is not known.
  const known = (await Promise.allSettled(sizes)).filter((size) => size.status === "fulfilled");
  const bytes = known.reduce((sum, size) => sum + size.value, 0);
  measures.first_load_kB = Math.round(bytes / 1000);
  measures.first_picture_ms = await page.evaluate(() => {
    const row = performance.getEntriesByName("change-to-picture")[0]!;
    return Math.round(row.startTime + row.duration);
  });
  expect(bytes).toBeLessThan(1_200_000);
});

test("the time from slider to picture is measured", async ({ page }) => {
  await openGeo(page);
  await page.waitForTimeout(300);
  const box = (await slider(page, "Delay, each way").boundingBox())!;
  const y = box.y + box.height / 2;
  await pictureTimes(page);
  await page.mouse.move(box.x + 0.72 * box.width, y);
  await page.mouse.down();
  const times: number[] = [];
  for (let n = 0; n < 50; n++) {
    await page.mouse.move(box.x + box.width * (0.72 + 0.15 * Math.sin(n / 6)), y);
    await page.waitForTimeout(50);
  }
  await page.mouse.up();
  await page.waitForTimeout(400);
  times.push(...(await pictureTimes(page)));
  measures.slider_pictures = times.length;
  measures.slider_to_picture_p50_ms = quantile(times, 0.5);
  measures.slider_to_picture_p95_ms = quantile(times, 0.95);
  expect(times.length).toBeGreaterThan(5);
});

test("pictures of a million points stay usable", async ({ page }) => {
  test.setTimeout(120_000);
  const large = GEO.replace("2 Mbit/s", "120 Mbit/s")
    .replace("256 kbit/s", "50 Mbit/s")
    .replace("1 MiB", "32 MiB")
    .replace("packets = 100", "packets = 20000")
    .replace("0.1 %", "0.0001 %");
  await page.goto(`./index.html${await addressOf({ v: 1, toml: large, tcps: ["cubic"] })}`);
  await page.locator(".measures td").first().waitFor();
  const stage = page.getByRole("slider", { name: "Congestion window: time cursor" });
  await stage.focus();
  const times = await frames(page, async () => {
    for (let n = 0; n < 15; n++) await page.keyboard.press(n < 5 ? "+" : "Shift+ArrowRight");
    for (let n = 0; n < 10; n++) await page.keyboard.press("-");
  });
  const text = await page.locator('[data-picture="sequence"] > .sr-only').innerText();
  measures.large_segments = Number(/(\d+) segments/.exec(text)?.[1] ?? 0);
  measures.large_frame_p50_ms = quantile(times, 0.5);
  measures.large_frame_p95_ms = quantile(times, 0.95);
  expect(measures.large_segments).toBeGreaterThan(400_000);
});
