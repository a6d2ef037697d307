import { expect, type Page, test } from "@playwright/test";
import { lessons, move } from "./lesson-files";

let page: Page;

test.beforeAll(async ({ browser, baseURL }) => {
  page = await browser.newPage({ ...(baseURL === undefined ? {} : { baseURL }) });
  page.on("pageerror", (error) => expect(error.message).toBe(""));
});

test.afterAll(() => page.close());

for (const lesson of lessons) {
  test(`lesson ${lesson.number}, ${lesson.name}, is answered with its controls`, async () => {
    await page.goto(`#lesson=${lesson.name}`);
    await expect(page.locator(".lessons h2")).toHaveText(lesson.title);
    const check = page.getByRole("button", { name: "Check my answer" });
    await check.click();
    await expect(page.locator(".lesson-reply")).toHaveText(/^Not yet/);
    for (const [path, value] of Object.entries(lesson.solution)) {
      await move(
        page,
        lesson.controls.find((control) => control.path === path)!,
        value,
      );
    }
    await check.click();
    await expect(page.locator(".lesson-reply")).toHaveText("✓ Right!", { timeout: 15_000 });
    await expect(page.locator(".lesson-answer")).toBeVisible();
  });
}

test("progress is kept, and the list shows it", async () => {
  await page.reload();
  await page.getByRole("button", { name: "List" }).click();
  const items = page.locator(".lesson-list li");
  await expect(items).toHaveCount(lessons.length);
  await expect(items.filter({ hasText: "✓" })).toHaveCount(lessons.length);
  await items.first().getByRole("button").click();
  await expect(page.locator(".lesson-place")).toHaveText(/^Lesson 1 of \d+, answered$/);
});

test("three wrong answers offer the right one, which moves the controls", async () => {
  await page.goto("#lesson=slow-start");
  const slider = page.locator('[data-path="tcp.initial_window"]');
  const show = page.getByRole("button", { name: "Show the answer" });
  for (const segments of ["2", "13", "20"]) {
    await slider.fill(segments);
    await expect(show).toBeHidden();
    await page.getByRole("button", { name: "Check my answer" }).click();
    await expect(page.locator(".lesson-reply")).toHaveText(/^Not yet/);
  }
  await show.click();
  await expect(slider).toHaveValue("14");
  await expect(page.locator(".lesson-numbers dd").first()).toHaveText("2.88 s");
});

test("next, back and close work with the keyboard, and the browser's back", async () => {
  await page.goto("#lesson=slow-start");
  await page.getByRole("button", { name: "Next ▶" }).press("Enter");
  await expect(page.locator(".lessons h2")).toHaveText(lessons[1]!.title);
  await expect(page.locator('[data-path="tcp.receive_window"]')).toHaveValue("64");
  await page.getByRole("button", { name: "◀ Back" }).press("Enter");
  await expect(page.locator(".lessons h2")).toHaveText(lessons[0]!.title);
  await expect(page.locator('[data-path="tcp.initial_window"]')).toHaveValue("2");
  await page.goBack();
  await expect(page.locator(".lessons h2")).toHaveText(lessons[1]!.title);
  await expect(page.locator('[data-path="tcp.receive_window"]')).toHaveValue("64");
  await page.goForward();
  await expect(page.locator(".lessons h2")).toHaveText(lessons[0]!.title);
  await page.getByRole("button", { name: "Close the lessons" }).press("Enter");
  await expect(page.locator(".lessons")).toBeHidden();
  // The address holds that no lesson is open.
  await page.goBack();
  await expect(page.locator(".lessons h2")).toHaveText(lessons[0]!.title);
  await page.goForward();
  await expect(page.locator(".lessons")).toBeHidden();
});

test("a scenario that cannot be run is no answer", async () => {
  await page.goto("#lesson=slow-start");
  await page.getByRole("button", { name: "Controls" }).click();
  await page.locator(".code textarea").fill("name = 1");
  await page.getByRole("button", { name: "Check my answer" }).click();
  await expect(page.locator(".lesson-reply")).toHaveText(/^Not yet. This cannot be run/);
  await page.getByRole("button", { name: "Start again" }).click();
  await expect(page.locator(".lesson-numbers dd").first()).toHaveText("4.50 s");
});

test("a lesson that does not exist shows the list", async () => {
  await page.goto("#lesson=nothing");
  await expect(page.locator(".lesson-list li")).toHaveCount(lessons.length);
});
