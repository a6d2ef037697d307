import { expect, test } from "vitest";
import { uniqueId } from "../../src/app/dom";

test("ids differ", () => {
  expect(uniqueId("a")).not.toBe(uniqueId("a"));
});
