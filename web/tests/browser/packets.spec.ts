import { expect, test, type Page } from "@playwright/test";
import { addressOf, open as openPage } from "./page";

const TOML = `
name = "one-loss"

[tcp]
initial_window = 4
delayed_ack = "off"
mss = "1460 B"

[[links]]
name = "lan"
between = ["server", "gateway"]
down = { rate = "10 Mbit/s", delay = "5 ms" }

[[links]]
name = "satellite"
between = ["gateway", "client"]
down = { rate = "2 Mbit/s", delay = "270 ms", channel = { scripted_loss = { packets = [9], min_size = "100 B" } } }
up = { rate = "1 Mbit/s", delay = "270 ms" }

[[flows]]
name = "download"
from = "server"
to = "client"
size = "200 kB"
`;

/** Returns the slider of the time. */
const slider = (page: Page) => page.locator(".packets").getByRole("slider", { name: "Time" });

const time = async (page: Page): Promise<number> => Number(await slider(page).inputValue());

/** Opens the page with a transfer that loses one segment, and the packet view in sight. */
async function open(page: Page, at = 0, tcps = ["sack"]): Promise<void> {
  await openPage(page, await addressOf({ v: 1, toml: TOML, tcps, time: at }));
  await page.locator(".packets").scrollIntoViewIfNeeded();
  await expect(slider(page)).not.toHaveAttribute("max", "0");
  await expect.poll(() => time(page)).toBe(at);
}

test("plays, pauses, steps and goes back", async ({ page }) => {
  await open(page, 1);
  const view = page.locator(".packets");
  await view.getByRole("button", { name: "Play (space)" }).click();
  await expect.poll(() => time(page)).toBeGreaterThan(1.02);
  await view.getByRole("button", { name: "Pause (space)" }).click();
  await page.waitForTimeout(50);
  const paused = await time(page);
  await page.waitForTimeout(80);
  expect(await time(page)).toBe(paused);
  await view.getByRole("button", { name: /^Next event/ }).click();
  await expect.poll(() => time(page)).toBeGreaterThan(paused);
  const next = await time(page);
  await view.getByRole("button", { name: /^Next event/ }).click();
  await expect.poll(() => time(page)).toBeGreaterThan(next);
  await view.getByRole("button", { name: /^Previous event/ }).click();
  await expect.poll(() => time(page)).toBe(next);
  await view.getByRole("button", { name: /^Play backwards/ }).click();
  await expect.poll(() => time(page)).toBeLessThan(next - 0.02);
});

test("tells the story of a packet that is clicked", async ({ page }) => {
  await open(page);
  const lost = page.locator(".packets-story button", { hasText: /loses segment/i }).first();
  await lost.click();
  const details = page.locator(".packets-details");
  await expect(details.locator("h3")).toContainText("Segment");
  await expect(details.locator(".packets-lost")).toContainText("dropped");
  const canvas = page.locator(".packets canvas").first();
  await page.keyboard.press("Escape");
  await expect(details.locator("h3")).toHaveCount(0);
  const box = (await canvas.boundingBox())!;
  for (let y = 0.5; y < 0.95 && (await details.locator("h3").count()) === 0; y += 0.02) {
    await canvas.click({ position: { x: box.width * 0.6, y: box.height * y } });
  }
  await expect(details.locator("dl")).toContainText("window");
  await expect(details).toContainText("Why it was sent:");
  await expect(details.locator("ol li")).not.toHaveCount(0);
});

test("works with the keyboard alone", async ({ page }) => {
  await open(page);
  const canvas = page.locator(".packets canvas").first();
  await canvas.focus();
  await page.keyboard.press("ArrowDown");
  const title = page.locator(".packets-details h3");
  const first = await title.textContent();
  await page.keyboard.press("ArrowDown");
  await expect(title).not.toHaveText(first!);
  await page.keyboard.press("ArrowUp");
  await expect(title).toHaveText(first!);
  await page.keyboard.press("End");
  await expect.poll(() => time(page)).toBeGreaterThan(5);
  const end = await time(page);
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => time(page)).toBeLessThan(end);
  await page.keyboard.press("Home");
  await expect.poll(() => time(page)).toBe(0);
  const speed = page.getByLabel("Speed, simulated time to real time");
  const before = Number(await speed.inputValue());
  await page.keyboard.press("]");
  expect(Number(await speed.inputValue())).toBeGreaterThan(before);
  await page.keyboard.press("Space");
  await expect.poll(() => time(page)).toBeGreaterThan(0);
  await page.keyboard.press("Space");
  await expect(page.getByRole("button", { name: "Play (space)" })).toBeVisible();
  await expect(page.locator(".packets-sentence")).not.toBeEmpty();
});

test("shows two TCPs side by side and saves the ladder", async ({ page }) => {
  await page.setViewportSize({ width: 1900, height: 1000 });
  await open(page, 0, ["sack", "reno"]);
  await page.getByLabel("TCP beside it").selectOption("reno");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save the ladder as SVG" }).click(),
  ]);
  expect(file.suggestedFilename()).toBe("one-loss-sack-beside-reno-ladder.svg");
});

test.describe("with less motion", () => {
  test.use({ contextOptions: { reducedMotion: "reduce" } });

  test("plays by steps from event to event", async ({ page }) => {
    await open(page);
    expect(await time(page)).toBe(0);
    await page.getByRole("button", { name: "Play (space)" }).click();
    await page.waitForTimeout(300);
    expect(await time(page)).toBe(0);
    await expect.poll(() => time(page)).toBeGreaterThan(0);
  });
});
