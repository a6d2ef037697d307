import fc from "fast-check";
import { expect, test } from "vitest";
import { readAddress, sharedOf, stateOf } from "../../src/share/address";
import { AddressError, MOST_CHARACTERS, pack, type Shared, unpack } from "../../src/share/codec";

const names = fc.stringMatching(/^[a-z][a-z0-9+-]{0,12}$/);
const experiments: fc.Arbitrary<Shared> = fc.record(
  {
    toml: fc.string({ unit: "grapheme", maxLength: 500 }),
    tcps: fc.uniqueArray(names, { maxLength: 7 }),
    seed: fc.nat(),
    lesson: names,
    time: fc.double({ min: 0, max: 1e6, noNaN: true }),
    focus: names,
    flow: fc.nat(1000),
    link: fc.string({ maxLength: 100 }),
    set: fc.array(fc.tuple(fc.string(), fc.string()), { maxLength: 5 }),
  },
  { requiredKeys: ["toml", "tcps"] },
);

test("an address gives back the experiment that it was made of", async () => {
  await fc.assert(
    fc.asyncProperty(experiments, async (shared) => {
      const text = await pack(shared);
      expect(text).toMatch(/^[\w-]*$/);
      expect(await unpack(text)).toEqual(JSON.parse(JSON.stringify(shared)));
    }),
    { numRuns: 100 },
  );
});

test("a state goes into an address and back", async () => {
  const state = {
    ...stateOf({ toml: "a = 1", tcps: ["reno", "bbr"] }),
    time: 3,
    from: 1,
    to: 8,
    focus: "bbr",
    flow: 2,
    link: "satellite down",
    seed: 7,
  };
  expect(stateOf(await unpack(await pack(sharedOf(state))))).toEqual(state);
});

test("each of 1,000 damaged addresses is an error in one line, or an experiment of checked types", async () => {
  const text = await pack({ toml: 'name = "a"\n'.repeat(40), tcps: ["sack", "cubic"], seed: 3 });
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  const alphabet = "ABCXYZabcxyz0189-_<>&\"'%=\u0000é ";
  for (let n = 0; n < 1000; n++) {
    const at = random(text.length);
    const letter = alphabet[random(alphabet.length)]!;
    const damaged = [
      text.slice(0, at),
      text.slice(0, at) + letter + text.slice(at + 1),
      text.slice(0, at) + letter + text.slice(at),
      text.slice(0, at) + text.slice(at + 1 + random(5)),
    ][n % 4]!;
    try {
      const shared = await unpack(damaged);
      expect(typeof shared.toml).toBe("string");
      expect(shared.tcps.every((name) => /^[\w.+-]+$/.test(name))).toBe(true);
    } catch (error) {
      expect(error).toBeInstanceOf(AddressError);
      expect((error as Error).message).not.toContain("\n");
    }
  }
});

async function deflated(value: unknown): Promise<string> {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return Buffer.from(await new Response(stream).arrayBuffer()).toString("base64url");
}

test("an address that unpacks to too much is refused while it unpacks", async () => {
  const bomb = await deflated(`{"v":1,"toml":"${"a".repeat(20_000_000)}","tcps":[]}`);
  expect(bomb.length).toBeLessThan(MOST_CHARACTERS);
  await expect(unpack(bomb)).rejects.toThrow(/more than 400000 bytes/);
  await expect(unpack("A".repeat(MOST_CHARACTERS + 1))).rejects.toThrow(/characters/);
});

test.each([
  [[], "no experiment"],
  [{ v: 2, toml: "", tcps: [] }, "another version"],
  [{ v: 1, toml: 3, tcps: [] }, "no scenario"],
  [{ v: 1, toml: "", tcps: ["<img src=x>"] }, "list of TCPs"],
  [{ v: 1, toml: "", tcps: Array(8).fill("a") }, "list of TCPs"],
  ["null", "no experiment"],
  ["not json", "no JSON"],
])("an address with %j is refused", async (value, message) => {
  await expect(unpack(await deflated(value))).rejects.toThrow(message);
});

test("values of other types in an address are left out", async () => {
  const hostile = {
    v: 1,
    toml: "",
    tcps: [],
    seed: "1",
    time: -1,
    from: 5,
    to: 2,
    focus: "<b>",
    flow: 0.5,
    link: 9,
    set: [["links.0.down.delay"]],
    lesson: "../x",
    __proto__: { a: 1 },
  };
  expect(await unpack(await deflated(hostile))).toEqual({ toml: "", tcps: [] });
});

test("short addresses name a scenario or a lesson", async () => {
  expect(await readAddress("#scenario=geo-pep&tcp=reno,westwood%2B")).toEqual({
    kind: "scenario",
    name: "geo-pep",
    tcps: ["reno", "westwood+"],
  });
  expect(await readAddress("#lesson=slow-start")).toEqual({ kind: "lesson", name: "slow-start" });
  expect(await readAddress("#pictures")).toEqual({ kind: "none" });
  expect(await readAddress("")).toEqual({ kind: "none" });
});
