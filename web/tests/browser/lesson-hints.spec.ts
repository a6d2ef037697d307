import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { parse } from "smol-toml";
import { fileOf, lessons, move } from "./lesson-files";

interface Wrong {
  set: Record<string, unknown>;
  hint: number;
}

// The same wrong answers are checked by tools/lessons.py with the native engine on every change.
test.skip(process.env.FARLINK_LONG === undefined, "a long test: make test-long");
for (const lesson of lessons) {
  test(`lesson ${lesson.number}, ${lesson.name}, has a hint for each wrong answer`, async ({
    page,
  }) => {
    const [, head = ""] = readFileSync(fileOf(lesson), "utf8").split("+++\n");
    const { check } = parse(head) as unknown as { check: { wrong: Wrong[] } };
    await page.goto(`#lesson=${lesson.name}`);
    for (const { set, hint } of check.wrong) {
      await page.getByRole("button", { name: "Start again" }).click();
      for (const [path, value] of Object.entries(set)) {
        const control = lesson.controls.find((other) => other.path === path)!;
        await move(page, control, String(value));
      }
      await page.getByRole("button", { name: "Check my answer" }).click();
      const reply = `Not yet. ${lesson.check.hints[hint]!.text}`;
      await expect(page.locator(".lesson-reply")).toHaveText(reply, { timeout: 15_000 });
    }
  });
}
