import { readFile } from "node:fs/promises";
import { expect, type Page, test } from "@playwright/test";
import { addressOf, changed, drag, GEO, measure, open, openGeo, slider, watch } from "./page";

const editor = (page: Page) => page.getByLabel("Scenario (TOML)");
const delay = (page: Page) =>
  page.getByRole("textbox", { name: "Delay, each way, value with unit" });

test("a dragged slider changes pictures, numbers and TOML; undo, back and forward go along", async ({
  page,
}) => {
  const wrong = watch(page);
  await openGeo(page);
  await expect(delay(page)).toHaveValue("270 ms");
  const first = await measure(page, "goodput").innerText();
  const picture = page.locator('[data-picture="cwnd"] canvas');
  const before = await picture.screenshot();
  await drag(page, "Delay, each way", 0.35);
  const second = await changed(page, "goodput", first);
  const shown = await delay(page).inputValue();
  expect(shown).not.toBe("270 ms");
  await expect(editor(page)).toHaveValue(new RegExp(`down = .*delay = "${shown}"`));
  await expect(editor(page)).toHaveValue(new RegExp(`up = .*delay = "${shown}"`));
  expect((await picture.screenshot()).equals(before)).toBe(false);

  await page.getByRole("button", { name: "Undo" }).click();
  await expect(measure(page, "goodput")).toHaveText(first);
  await expect(delay(page)).toHaveValue("270 ms");
  await page.getByRole("button", { name: "Redo" }).click();
  await expect(measure(page, "goodput")).toHaveText(second);
  await page.goBack();
  await expect(measure(page, "goodput")).toHaveText(first);
  await page.goForward();
  await expect(measure(page, "goodput")).toHaveText(second);
  await page.reload();
  await expect(measure(page, "goodput")).toHaveText(second);
  expect(wrong).toEqual([]);
});

test("edited TOML moves the slider, and an error is shown at its line while pictures stay", async ({
  page,
}) => {
  await openGeo(page, ["sack"]);
  const first = await measure(page, "goodput").innerText();
  const position = await slider(page, "Delay, each way").inputValue();
  await editor(page).fill(GEO.replaceAll("270 ms", "20 ms"));
  await changed(page, "goodput", first);
  await expect(delay(page)).toHaveValue("20 ms");
  expect(Number(await slider(page, "Delay, each way").inputValue())).toBeLessThan(Number(position));

  const good = await measure(page, "goodput").innerText();
  await editor(page).fill(GEO.replace("bulk", "bulky"));
  const alert = page.locator(".editor .error");
  await expect(alert).toContainText("line 16");
  await expect(alert).toContainText("bulky");
  await expect(page.locator(".error-line")).toBeVisible();
  await expect(measure(page, "goodput")).toHaveText(good);
  await editor(page).fill(GEO);
  await expect(alert).toBeHidden();
  await expect(measure(page, "goodput")).toHaveText(first);
});

test("a value typed with its unit is set, and a wrong one is an error beside its field", async ({
  page,
}) => {
  await openGeo(page, ["sack"]);
  const first = await measure(page, "goodput").innerText();
  await delay(page).fill("0.1 s");
  await delay(page).press("Enter");
  await expect(editor(page)).toHaveValue(/delay = "0.1 s"/);
  const good = await changed(page, "goodput", first);
  await delay(page).fill("3 parsecs");
  await delay(page).press("Enter");
  await expect(page.locator(".control .field-error:visible")).toContainText("parsecs");
  await expect(page.locator(".editor .error")).toContainText("line 10");
  await expect(measure(page, "goodput")).toHaveText(good);
  await delay(page).fill("0.2 s");
  await delay(page).press("Enter");
  await expect(page.locator(".field-error:visible, .editor .error:visible")).toHaveCount(0);
});

test("TCPs, losses, buffer and seed are set by their controls", async ({ page }) => {
  await openGeo(page, ["sack"]);
  await page.getByRole("combobox", { name: "Add a TCP" }).selectOption("bbr");
  await expect(page.locator(".measures tbody tr")).toHaveCount(2);
  await page.getByRole("button", { name: "Remove sack" }).click();
  await expect(page.locator(".measures tbody th")).toHaveText(["bbr"]);
  const before = await measure(page, "retransmissions").innerText();
  await drag(page, "Loss in bursts", 0.6, 3);
  await expect(editor(page)).toHaveValue(/gilbert = \{.*loss = "[\d.]+ %"/);
  await changed(page, "retransmissions", before);
  await page.getByRole("combobox", { name: "Unit of the buffer" }).selectOption("bytes");
  await expect(editor(page)).toHaveValue(/queue = \{ bytes = "500 kB" \}/);
  const seeded = await measure(page, "retransmissions").innerText();
  await page.getByRole("button", { name: "Next seed" }).click();
  await changed(page, "retransmissions", seeded);
});

test("any key is found in the list of keys, set and removed", async ({ page }) => {
  await openGeo(page, ["sack"]);
  await page.getByText("Any other key").click();
  await page.getByLabel("Key", { exact: true }).fill("tcp.initial_window");
  await expect(page.locator(".keys .note")).toContainText("window");
  await page.getByLabel("Value", { exact: true }).fill("30");
  await page.getByRole("button", { name: "Set", exact: true }).click();
  await expect(editor(page)).toHaveValue(/initial_window = 30/);
  await page.locator(".keys").getByRole("button", { name: "Remove" }).click();
  await expect(editor(page)).not.toHaveValue(/initial_window/);
});

test("a key typed before the table of keys has loaded gets its note", async ({ page }) => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(/tables/, async (route) => {
    await held;
    await route.continue();
  });
  await openGeo(page, ["sack"]);
  await page.getByText("Any other key").click();
  await page.getByLabel("Key", { exact: true }).fill("tcp.initial_window");
  await expect(page.locator(".keys .note")).toHaveText("");
  release();
  await expect(page.locator(".keys .note")).toContainText("window");
});

test("an agent is set at a router, and a library scenario is loaded by its name", async ({
  page,
}) => {
  await open(page, "#scenario=geo-pep&tcp=reno");
  const list = page.getByLabel("Agent at hub");
  await expect(list).toHaveValue("pep");
  const before = await measure(page, "goodput").innerText();
  await list.selectOption("");
  await expect(editor(page)).toHaveValue(/enabled = false/);
  await changed(page, "goodput", before);
});

test("an agent that the keyboard changes twice is one agent", async ({ page }) => {
  const lan =
    '\n[[links]]\nname = "lan"\nbetween = ["server", "hub"]\ndown = { rate = "10 Mbit/s", delay = "1 ms" }\n';
  const toml = GEO.replace('["server", "client"]', '["hub", "client"]') + lan;
  await open(page, await addressOf({ v: 1, toml, tcps: ["reno"] }));
  const list = page.getByLabel("Agent at hub");
  await list.focus();
  await list.selectOption("snoop");
  await expect(editor(page)).toHaveValue(/kind = "snoop"/);
  await list.selectOption("split");
  await expect(editor(page)).toHaveValue(/kind = "split"/);
  expect((await editor(page).inputValue()).match(/\[\[agents\]\]/g)).toHaveLength(1);
});

test("the focus stays near a TCP that was removed, and in the list of the sequence diagram", async ({
  page,
}) => {
  await openGeo(page);
  await page.getByRole("button", { name: "Remove cubic" }).press("Enter");
  await expect(page.getByRole("button", { name: "Remove hybla" })).toBeFocused();
  const list = page.getByLabel("Sequence of");
  await list.focus();
  await list.press("ArrowDown");
  await expect(page.getByRole("heading", { name: "Sequence diagram: hybla" })).toBeVisible();
  await expect(list).toBeFocused();
  await delay(page).fill("x ms");
  await delay(page).press("Enter");
  await expect(delay(page)).toHaveAttribute("aria-invalid", "true");
});

test("an address is opened without an entry of its own, and back leads to it", async ({ page }) => {
  await open(page, "#scenario=geo-lossy&tcp=sack");
  await expect(page).toHaveURL(/#s=/);
  const entries = await page.evaluate(() => history.length);
  const first = await measure(page, "goodput").innerText();
  await page.getByRole("button", { name: "Next seed" }).click();
  await changed(page, "goodput", first);
  expect(await page.evaluate(() => history.length)).toBe(entries + 1);
  await page.goBack();
  await expect(measure(page, "goodput")).toHaveText(first);

  await open(page);
  const plain = await measure(page, "goodput").innerText();
  await page.getByRole("button", { name: "Next seed" }).click();
  await changed(page, "goodput", plain);
  await page.goBack();
  await expect(measure(page, "goodput")).toHaveText(plain);
});

test("two tabs keep their own experiments", async ({ context, page }) => {
  const other = await context.newPage();
  await openGeo(page, ["sack"]);
  await openGeo(other, ["cubic"]);
  const first = await measure(page, "goodput").innerText();
  const second = await measure(other, "goodput").innerText();
  await drag(other, "Delay, each way", 0.3, 2);
  await changed(other, "goodput", second);
  await expect(measure(page, "goodput")).toHaveText(first);
  await expect(delay(page)).toHaveValue("270 ms");
});

test("hostile addresses become neither markup nor script, and say in one line what is wrong", async ({
  page,
}) => {
  const wrong = watch(page);
  const markup = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
  const toml = `description = '${markup}'\n# ${markup}\n${GEO}`;
  await open(page, await addressOf({ v: 1, toml, tcps: ["sack"], link: markup, focus: markup }));
  await expect(editor(page)).toHaveValue(toml);
  expect(await page.locator("img, #app script").count()).toBe(0);
  await page.goto("about:blank");
  const named = GEO.replace('"geo-60"', `'${markup}'`);
  await page.goto(`./index.html${await addressOf({ v: 1, toml: named, tcps: ["sack"] })}`);
  await expect(page.locator(".editor .error")).toContainText("<script>");
  expect(await page.locator("img, #app script").count()).toBe(0);

  const damaged = [
    "#s=%%%",
    "#s=AAAA",
    `#s=${"A".repeat(70_000)}`,
    await addressOf({ v: 1, toml: 1, tcps: [] }),
    await addressOf(`{"v":1,"toml":"${"a".repeat(2_000_000)}","tcps":[]}`),
    `#scenario=${encodeURIComponent(markup)}`,
    "#scenario=no-such",
  ];
  for (const hash of damaged) {
    await open(page, hash);
    expect(await page.locator("img, #app script").count()).toBe(0);
    const text = await page.locator(".status-text").innerText();
    expect(text).not.toContain("\n");
  }
  await expect(page.locator(".status-text")).toContainText("no scenario no-such");
  expect(wrong).toEqual([]);
});

test("a scenario that would run for ever is stopped, by the button and by the page", async ({
  page,
}) => {
  test.setTimeout(60_000);
  await openGeo(page, ["sack"]);
  const first = await measure(page, "goodput").innerText();
  const endless = GEO.replaceAll("60 s", "20 h")
    .replaceAll(/\d+ [kM]bit/g, "1 Gbit")
    .replace("1 MiB", "64 MiB")
    .replace(', channel = { loss = "0.1 %" }', "");
  await editor(page).fill(endless);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.locator(".status-text")).toContainText("Stopped");
  await expect(measure(page, "goodput")).toHaveText(first);
  // The page still answers.
  await editor(page).fill(GEO.replaceAll("270 ms", "30 ms"));
  await changed(page, "goodput", first);
  await editor(page).fill(`${endless}# by the bound`);
  await expect(page.locator(".status")).toHaveAttribute("data-kind", "stopped", {
    timeout: 45_000,
  });
  await expect(page.locator(".status-text")).toContainText(/more than .* (memory|events)/);
});

async function exported(page: Page, name: string): Promise<Buffer> {
  await page.locator("summary", { hasText: "Export" }).click();
  const waits = page.waitForEvent("download");
  await page.locator(".drop").getByRole("button", { name, exact: true }).click();
  const path = await (await waits).path();
  return readFile(path);
}

test("exports are TOML, PNG, SVG of paths, CSV, and the command line", async ({
  context,
  page,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await openGeo(page, ["sack", "cubic"]);
  expect((await exported(page, "TOML")).toString()).toBe(GEO);
  expect((await exported(page, "PNG")).subarray(1, 4).toString()).toBe("PNG");
  const svg = (await exported(page, "SVG")).toString();
  const parsed = await page.evaluate((text) => {
    const file = new DOMParser().parseFromString(text, "image/svg+xml");
    const count = (tag: string) => file.getElementsByTagName(tag).length;
    return [count("parsererror"), count("image"), count("path"), count("text")];
  }, svg);
  expect(parsed.slice(0, 2)).toEqual([0, 0]);
  expect(parsed[2]).toBeGreaterThan(50);
  expect(parsed[3]).toBeGreaterThan(50);
  const csv = (await exported(page, "CSV")).toString().trimEnd().split("\n");
  expect(csv[0]).toBe("picture,series,time_s,value,unit");
  expect(csv.filter((line) => line.startsWith("cwnd,cwnd sack,")).length).toBeGreaterThan(100);
  // The status line tells of the copy until the next runs replace it, so the clipboard is read.
  const copied = async (expected: string) => {
    await page.evaluate(() => navigator.clipboard.writeText(""));
    await page.locator("summary", { hasText: "Export" }).click();
    await page.getByRole("button", { name: "Command line" }).click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(expected);
  };
  const waits = page.waitForEvent("download");
  await copied("farlink run geo-60.toml --tcp sack,cubic");
  await waits;
  await open(page, "#scenario=geo-lossy&tcp=sack");
  await delay(page).fill("300 ms");
  await delay(page).press("Enter");
  await expect(editor(page)).toHaveValue(/300 ms/);
  await copied(
    "farlink run geo-lossy --tcp sack --set 'links.1.down.delay=300 ms' --set 'links.1.up.delay=300 ms'",
  );
});

test("an address that was shared opens the same experiment and view", async ({ context, page }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await openGeo(page);
  const stage = page.getByRole("slider", { name: "Congestion window: time cursor" });
  await stage.focus();
  await page.keyboard.press("+");
  await page.keyboard.press("ArrowRight");
  await drag(page, "Delay, each way", 0.4, 2);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.locator(".status-text")).toContainText("Address copied");
  const address = await page.evaluate(() => navigator.clipboard.readText());
  const goodput = await measure(page, "goodput").innerText();
  const other = await context.newPage();
  await other.goto(address);
  await expect(measure(other, "goodput")).toHaveText(goodput);
  const now = await stage.getAttribute("aria-valuenow");
  await expect(
    other.getByRole("slider", { name: "Congestion window: time cursor" }),
  ).toHaveAttribute("aria-valuenow", now!);
});
