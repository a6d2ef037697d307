import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const port = Number(process.env.FARLINK_WEB_PORT ?? 4173);

// Tests run in the system's Chromium against the built page. `npm run build` makes it first.
export default defineConfig({
  testDir: "tests/browser",
  outputDir: "../build/web-tests",
  fullyParallel: false,
  workers: 1,
  // Parts of CI run side by side on two processors, so slowness is no failure.
  timeout: 90_000,
  expect: { timeout: 20_000 },
  reporter: [["list"]],
  use: {
    baseURL: `http://127.0.0.1:${String(port)}/`,
    viewport: { width: 1280, height: 900 },
    launchOptions: {
      ...(existsSync(chromium) ? { executablePath: chromium } : {}),
      args: [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
  webServer: {
    command: `node tests/serve.mjs ${String(port)}`,
    url: `http://127.0.0.1:${String(port)}/index.html`,
    reuseExistingServer: true,
  },
});
