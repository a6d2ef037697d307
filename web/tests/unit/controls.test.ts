import { expect, test } from "vitest";
import { CONTROLS } from "../../src/controls/list";
import tables from "../../src/generated/tables.json";

test("every control is of a key that the engine has", () => {
  const paths = new Set(tables.keys.map((key) => key.path));
  expect(CONTROLS.map((control) => control.key).filter((key) => !paths.has(key))).toEqual([]);
});
