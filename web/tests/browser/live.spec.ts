import { expect, type Page, test, type WebSocketRoute } from "@playwright/test";

const direction = { rate: "2 Mbit/s", delay: "250 ms", queue: "unlimited", channel: { ber: 1e-6 } };
const state = {
  links: [{ name: "satellite", between: ["server", "client"], down: direction, up: direction }],
  channels_off: [] as [string, string][],
};

function sample(time: number) {
  const row = { link: "satellite", packets: 10 * time, lost: { bit_error: time } };
  const queue = { waiting: 12, waiting_bytes: 18000 };
  const flow = { from: "server", to: "client", from_address: "a:5001", to_address: "b:4711" };
  const tcp = { acked_bytes: 1, srtt_s: 0.52, min_rtt_s: 0.5, cwnd_bytes: 43800 };
  return {
    time,
    late_p99_s: 1e-4,
    links: ["down", "up"].map((way) => ({
      ...{ ...row, direction: way, bytes: 25_000 * time },
      ...queue,
    })),
    flows: [{ ...flow, ...tcp, ssthresh_bytes: 20_000, retransmissions: 3 }],
  };
}

/** Plays the part of the emulation's server; `sockets` has each connection. */
async function emulation(page: Page) {
  const sockets: { route: WebSocketRoute; asked: Record<string, unknown>[] }[] = [];
  await page.route("**/index.html", async (route) => {
    const answer = await route.fetch();
    const meta = '<head><meta name="farlink-live" content="socket">';
    await route.fulfill({ body: (await answer.text()).replace("<head>", meta), response: answer });
  });
  await page.routeWebSocket(/\/socket/, (route) => {
    const asked: Record<string, unknown>[] = [];
    sockets.push({ route, asked });
    route.send(JSON.stringify({ type: "hello", toml: "", tcps: [], every_s: 0.1, state }));
    const samples = [1, 2, 3, 4].map(sample);
    route.send(JSON.stringify({ type: "samples", samples }));
    route.onMessage((text) => {
      const request = JSON.parse(String(text)) as Record<string, unknown>;
      asked.push(request);
      route.send(JSON.stringify({ type: "answer", id: request.id, error: null }));
    });
  });
  await page.goto("index.html");
  return sockets;
}

test("the page of an emulation shows its samples and changes its link", async ({ page }) => {
  const sockets = await emulation(page);
  const live = page.getByRole("region", { name: "Running emulation" });
  await expect(live.getByRole("status")).toContainText("Connected");
  await expect(live.locator(".live-chart", { hasText: "Rate" }).first()).toContainText(
    "satellite down 200 kbit/s",
  );
  await expect(live).toContainText("server to client:4711 cwnd 43.8 kB");
  await expect(live.getByRole("img", { name: /^Queue: .*12/ })).toBeVisible();
  await live.getByLabel("Rate", { exact: true }).fill("72");
  await expect.poll(() => sockets[0]!.asked.length).toBeGreaterThan(0);
  expect(sockets[0]!.asked[0]).toMatchObject({
    do: "set",
    changes: [["links.0.down.rate", expect.stringContaining("bit/s")]],
  });
  await live.getByLabel("Channel on (losses, errors, fades)").uncheck();
  await expect
    .poll(() => sockets[0]!.asked.at(-1))
    .toMatchObject({ do: "channel", on: false, link: "satellite", direction: "down" });
});

test("a broken socket is connected again, and the end is announced", async ({ page }) => {
  const sockets = await emulation(page);
  const status = page.getByRole("region", { name: "Running emulation" }).getByRole("status");
  await expect(status).toContainText("Connected");
  await sockets[0]!.route.close({ code: 1011 });
  await expect.poll(() => sockets.length).toBe(2);
  expect(sockets[1]!.route.url()).toContain("?since=4");
  await expect(status).toContainText("Connected");
  sockets[1]!.route.send('{"type": "end"}');
  await expect(status).toContainText("The emulation ended after 4.0 s");
  await expect(page.getByLabel("Rate", { exact: true }).first()).toBeDisabled();
});

test("a page from another server has no panel of an emulation", async ({ page }) => {
  await page.goto("index.html");
  await expect(page.locator(".live")).toHaveCount(0);
});
