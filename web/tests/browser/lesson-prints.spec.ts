import { expect, type Page, test } from "@playwright/test";
import { lessons } from "./lesson-files";

let page: Page;

test.beforeAll(async ({ browser, baseURL }) => {
  page = await browser.newPage({ ...(baseURL === undefined ? {} : { baseURL }) });
  page.on("pageerror", (error) => expect(error.message).toBe(""));
});

test.afterAll(() => page.close());

test("the printed pages of each lesson take one or two sheets", async () => {
  for (const lesson of lessons) {
    await page.goto(`#lesson=${lesson.name}`);
    await expect(page.locator(".lessons h2")).toHaveText(lesson.title);
    for (const name of ["Print the exercise sheet", "Print the teacher's page"]) {
      // The page stays while it is printed: the event of its end comes later.
      await page.evaluate(() => (window.print = () => undefined));
      await page.getByRole("button", { name }).click();
      const sheets = sheetsOf(await page.pdf({ preferCSSPageSize: true }));
      if (process.env.FARLINK_SHOTS) {
        const path = `${process.env.FARLINK_SHOTS}/${lesson.name}-${name.split(" ").at(-1)!}.pdf`;
        await page.pdf({ preferCSSPageSize: true, path });
      }
      await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
      expect(sheets, `${lesson.name}: ${name}`).toBeLessThanOrEqual(2);
    }
  }
});

function sheetsOf(pdf: Buffer): number {
  return pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;
}

// Pictures of each lesson to look at: FARLINK_SHOTS=DIR npx playwright test lessons.
const LOOKS = [
  { name: "desktop", width: 1280, height: 900 },
  { name: "phone", width: 390, height: 844 },
  { name: "dark", width: 1280, height: 900, dark: true },
  { name: "projector", width: 1920, height: 1080, projector: true },
];

for (const look of process.env.FARLINK_SHOTS ? LOOKS : []) {
  test(`pictures: ${look.name}`, async () => {
    test.setTimeout(120_000);
    await page.setViewportSize({ width: look.width, height: look.height });
    await page.goto("");
    await page.evaluate(
      ([theme, projector]) => {
        localStorage.setItem("farlink-look", JSON.stringify({ theme, projector }));
      },
      [look.dark ? "dark" : "light", look.projector ?? false] as const,
    );
    for (const lesson of lessons) {
      await page.goto(`#lesson=${lesson.name}`);
      await page.reload();
      await expect(page.locator(".lesson-numbers dd").first()).not.toHaveText("–");
      await page.waitForTimeout(700);
      const path = `${process.env.FARLINK_SHOTS!}/${lesson.name}-${look.name}.png`;
      await page.screenshot({ path, fullPage: look.name === "phone" });
    }
  });
}
