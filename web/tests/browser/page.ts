import { expect, type Page } from "@playwright/test";

/** Scenario of a 60 s transfer over a geostationary satellite. */
export const GEO = `name = "geo-60"
duration = "60 s"

[tcp]
receive_window = "1 MiB"

[[links]]
name = "satellite"
between = ["server", "client"]
down = { rate = "2 Mbit/s", delay = "270 ms", queue = { packets = 100 }, channel = { loss = "0.1 %" } }
up = { rate = "256 kbit/s", delay = "270 ms" }

[[flows]]
from = "server"
to = "client"
app = "bulk"
duration = "60 s"
`;

/** Watches what no page may do: errors, and requests to another host. */
export function watch(page: Page): string[] {
  const wrong: string[] = [];
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") wrong.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    const own = url.hostname === "127.0.0.1" || ["data:", "blob:"].includes(url.protocol);
    if (!own) wrong.push(`request: ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return wrong;
}

/** Opens the page with an address, and waits for the measures of its runs. */
export async function open(page: Page, hash = ""): Promise<void> {
  // Another address of the same page would not load it anew.
  if (page.url() !== "about:blank") await page.goto("about:blank");
  await page.goto(`./index.html${hash}`);
  await page.locator(".measures td").first().waitFor();
}

/** Packs an experiment as the page does. */
export async function addressOf(value: unknown): Promise<string> {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return `#s=${Buffer.from(await new Response(stream).arrayBuffer()).toString("base64url")}`;
}

/** Opens the 60 s transfer over the satellite with three TCPs. */
export async function openGeo(page: Page, tcps = ["sack", "cubic", "hybla"]): Promise<void> {
  await open(page, await addressOf({ v: 1, toml: GEO, tcps }));
}

/** Returns the cell of a measure of the TCP at a place. */
export function measure(page: Page, name: string, place = 0) {
  return page.locator(`.measures td[data-measure="${name}"]`).nth(place);
}

/** Returns the slider with a label. */
export function slider(page: Page, label: string) {
  return page.getByRole("slider", { name: label, exact: true });
}

/** Drags a slider from its place to a share of its width, in steps. */
export async function drag(page: Page, label: string, share: number, steps = 8): Promise<void> {
  const box = await slider(page, label).boundingBox();
  if (!box) throw new Error(`no slider ${label}`);
  const input = slider(page, label);
  const value = Number(await input.inputValue());
  const most = Number(await input.getAttribute("max"));
  const thumb = 8;
  const x = (part: number) => box.x + thumb + part * (box.width - 2 * thumb);
  await page.mouse.move(x(value / most), box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(x(share), box.y + box.height / 2, { steps });
  await page.mouse.up();
}

/** Waits until a measure differs from a text and stays: a drag shows the runs on its way, too. */
export async function changed(page: Page, name: string, before: string): Promise<string> {
  await expect(measure(page, name)).not.toHaveText(before);
  let [last, text] = ["", await measure(page, name).innerText()];
  while (last !== text) {
    await page.waitForTimeout(500);
    [last, text] = [text, await measure(page, name).innerText()];
    if ((await page.locator(".status").getAttribute("data-kind")) === "running") last = "";
  }
  return text;
}
