import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "@playwright/test";

const folder =
  process.env.FARLINK_WEB_OUT ??
  fileURLToPath(new URL("../../../python/farlink/web", import.meta.url));
const mark = '<script type="application/octet-stream" id="engine">';

test("the page as one file opens from a disk and asks for nothing else", async ({ page }, info) => {
  const engine = readFileSync(`${folder}/engine.wasm.xz`).toString("base64");
  const html = readFileSync(`${folder}/single.html`, "utf8").replace(mark, () => mark + engine);
  const path = info.outputPath("farlink.html");
  writeFileSync(path, html);
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => expect(error.message).toBe(""));
  page.on("console", (line) => expect(line.type(), line.text()).not.toBe("error"));
  const address = pathToFileURL(path).href;
  await page.goto(`${address}#scenario=geo-lossy&tcp=sack`);
  await expect(page.locator(".status")).toContainText("1 run,");
  await page.getByLabel("Delay, each way", { exact: true }).fill("10");
  await expect(page).toHaveURL(/#s=/);
  expect(requests.filter((url) => !url.startsWith("blob:") && !url.startsWith(address))).toEqual(
    [],
  );
});
