import { expect, type Page, test } from "@playwright/test";
import { existsSync, readFileSync } from "node:fs";
import { openGeo, watch } from "./page";

const stage = (page: Page, name = "Congestion window") =>
  page.getByRole("slider", { name: `${name}: time cursor` });

/** Returns the span of time that the pictures show, from the address. */
async function span(page: Page): Promise<[number, number] | undefined> {
  await page.waitForTimeout(450);
  return page.evaluate(async () => {
    const text = location.hash.slice(3).replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const value = JSON.parse(await new Response(stream).text()) as { from?: number; to?: number };
    return value.to === undefined ? undefined : [value.from!, value.to];
  });
}

test("keys, wheel, drag and buttons zoom and move all pictures", async ({ page }) => {
  await openGeo(page, ["sack"]);
  await stage(page).focus();
  await page.keyboard.press("+");
  const zoomed = (await span(page))!;
  expect(zoomed[1] - zoomed[0]).toBeLessThan(60);
  await page.keyboard.press("Shift+ArrowRight");
  expect((await span(page))![0]).toBeGreaterThan(zoomed[0]);
  // The browser's own zoom.
  await page.keyboard.press("Control+0");
  expect(await span(page)).toBeDefined();
  await page.keyboard.press("0");
  expect(await span(page)).toBeUndefined();

  const box = (await stage(page).boundingBox())!;
  const y = box.y + 60;
  await page.mouse.move(box.x + box.width / 2, y);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  const wheeled = (await span(page))!;
  expect(wheeled[1] - wheeled[0]).toBeLessThan(60);
  await page.mouse.dblclick(box.x + box.width / 2, y);
  expect(await span(page)).toBeUndefined();

  await page.mouse.move(box.x + 0.4 * box.width, y);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.5 * box.width, y, { steps: 3 });
  await page.mouse.up();
  const chosen = (await span(page))!;
  expect(chosen[1] - chosen[0]).toBeLessThan(10);
  const toolbar = page.getByRole("group", { name: "View of the pictures" });
  await toolbar.getByRole("button", { name: "All: show the whole run" }).click();
  expect(await span(page)).toBeUndefined();
});

test("the time cursor is one for all pictures, and their legends show its values", async ({
  page,
}) => {
  await openGeo(page, ["sack"]);
  await stage(page).focus();
  await page.keyboard.press("End");
  await expect(stage(page)).not.toHaveAttribute("aria-valuenow", /^0\.?0*$/);
  const time = await stage(page).getAttribute("aria-valuenow");
  expect(Number(time)).toBeGreaterThan(10);
  await expect(stage(page, "Sequence diagram")).toHaveAttribute("aria-valuenow", time!);
  await expect(stage(page)).toHaveAttribute("aria-valuetext", /sack cwnd [\d.]+\s(kB|MB)/);
  await expect(page.locator('[data-picture="cwnd"] .legend .value').first()).toHaveText(/kB|MB/);
  await page.keyboard.press("ArrowLeft");
  await expect(stage(page)).not.toHaveAttribute("aria-valuenow", time!);
  expect(Number(await stage(page).getAttribute("aria-valuenow"))).toBeLessThan(Number(time));
});

test("values of a picture can be read as a table", async ({ page }) => {
  await openGeo(page, ["sack"]);
  const figure = page.locator('[data-picture="cwnd"]');
  await figure.getByText("Values as a table").click();
  await expect(figure.getByRole("columnheader")).toHaveText(["time", "cwnd sack", "ssthresh sack"]);
  await expect(figure.getByRole("row")).toHaveCount(22);
});

for (const [width, height] of [
  [390, 800],
  [1280, 900],
  [1920, 1080],
] as const) {
  test(`nothing is wider than a screen of ${width} pixels`, async ({ page }) => {
    await page.setViewportSize({ width, height });
    await openGeo(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      width,
    );
  });
}

/** Lists controls without a name, ids that occur twice, and texts of too little contrast. */
function faults(): string[] {
  const found: string[] = [];
  const shown = (element: Element) => element.checkVisibility({ visibilityProperty: true });
  for (const element of document.querySelectorAll(
    "button, input, select, textarea, [role=slider]",
  )) {
    const control = element as HTMLInputElement;
    const labels = [...(control.labels ?? [])].map((label) => label.textContent.trim()).join("");
    const name = element.getAttribute("aria-label") ?? (labels || element.textContent.trim());
    if (shown(element) && !name) found.push(`no name: ${element.className} ${element.id}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids)) {
    if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`id twice: ${id}`);
  }
  const channels = (colour: string) =>
    (/rgba?\(([^)]+)\)/.exec(colour)?.[1] ?? "0,0,0,0").split(",").map(Number);
  const light = (colour: number[]) => {
    const [r, g, b] = colour.slice(0, 3).map((v) => {
      const share = v / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  const ground = (element: Element | null): number[] => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  for (const element of document.querySelectorAll("#app *")) {
    const own = [...element.childNodes].some(
      (node) => node.nodeType === 3 && node.textContent?.trim(),
    );
    if (!own || !shown(element) || element.closest("option, .sr-only, .skip, :disabled, svg"))
      continue;
    const [a, b] = [light(channels(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5)
      found.push(`contrast ${ratio.toFixed(2)}: ${element.textContent.slice(0, 40)}`);
  }
  return found;
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`controls have names, and text has contrast, on a ${colorScheme} page`, async ({ page }) => {
    const wrong = watch(page);
    await page.emulateMedia({ colorScheme });
    await openGeo(page);
    expect(await page.evaluate(faults)).toEqual([]);
    const axe = process.env.FARLINK_AXE;
    if (axe && existsSync(axe)) {
      // The page's policy allows no script of a test, which a debugger's session may run all the same.
      await page.evaluate(readFileSync(axe, "utf8"));
      const violations: string[][] = await page.evaluate(
        "axe.run().then((done) => done.violations.map((rule) =>" +
          " [rule.id, ...rule.nodes.slice(0, 5).map((node) => node.html.slice(0, 200))]))",
      );
      expect(violations).toEqual([]);
    }
    expect(wrong).toEqual([]);
  });
}

test("the keyboard reaches header, controls and pictures in order", async ({ page }) => {
  await openGeo(page, ["sack"]);
  await page.locator("body").press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the pictures" })).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Zoom out" })).toBeFocused();
});

test("a printed page has pictures, measures and the scenario, and no controls", async ({
  page,
}) => {
  await openGeo(page, ["sack"]);
  await page.emulateMedia({ media: "print" });
  await expect(page.locator('[data-picture="cwnd"]')).toBeVisible();
  await expect(page.locator(".measures")).toBeVisible();
  await expect(page.locator(".toolbar").first()).toBeHidden();
  await expect(page.getByRole("button", { name: "Share" })).toBeHidden();
});

test("two fingers zoom, and one moves the span", async ({ browser, baseURL }) => {
  const context = await browser.newContext({
    ...(baseURL === undefined ? {} : { baseURL }),
    viewport: { width: 390, height: 800 },
    hasTouch: true,
  });
  const page = await context.newPage();
  await openGeo(page, ["sack"]);
  const session = await context.newCDPSession(page);
  const box = (await stage(page).boundingBox())!;
  const y = box.y + 60;
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...shares: number[]) =>
    session.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: shares.map((share, id) => ({ x: box.x + share * box.width, y, id })),
    });
  await touch("touchStart", 0.5, 0.7);
  await touch("touchMove", 0.4, 0.85);
  await touch("touchMove", 0.3, 0.95);
  await touch("touchEnd");
  const zoomed = (await span(page))!;
  expect(zoomed[1] - zoomed[0]).toBeLessThan(35);
  await touch("touchStart", 0.8);
  await touch("touchMove", 0.6);
  await touch("touchMove", 0.4);
  await touch("touchEnd");
  const moved = (await span(page))!;
  expect(moved[0]).toBeGreaterThan(zoomed[0]);
  // The finger that stays after a pinch does not move the span by its distance to the other.
  await touch("touchStart", 0.2, 0.8);
  await touch("touchMove", 0.2, 0.82);
  const pinched = (await span(page))!;
  await session.send("Input.dispatchTouchEvent", {
    type: "touchEnd",
    touchPoints: [{ x: box.x + 0.82 * box.width, y, id: 1 }],
  });
  await session.send("Input.dispatchTouchEvent", {
    type: "touchMove",
    touchPoints: [{ x: box.x + 0.83 * box.width, y, id: 1 }],
  });
  await touch("touchEnd");
  const stays = (await span(page))!;
  expect(Math.abs(stays[0] - pinched[0])).toBeLessThan(0.1 * (pinched[1] - pinched[0]));
  await context.close();
});
