import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import lessons from "virtual:lessons";
import type { Run } from "../../src/engine";
import { compile } from "../../src/lessons/compile";
import { type Scope, evaluate, parse, settingsOf } from "../../src/lessons/expression";
import { numberIn, quantity, readable } from "../../src/lessons/quantity";
import { replyTo } from "../../src/lessons/question";
import { scopeOf } from "../../src/lessons/scope";
import { halfWidth, studentQuantile } from "../../src/lessons/student";

const scope: Scope = {
  runs: 3,
  tcps: ["reno", "sack"],
  setting: (path) => ({ "tcp.rto_min": 0.25, on: true, kind: "snoop" })[path] ?? NaN,
  metric: (name, places, run) => (name === "goodput" ? 10 * (run + 1) + places.length : NaN),
};
const value = (text: string) => evaluate(parse(text), scope);

describe("expressions", () => {
  it.each([
    ["1 + 2 * 3 - 4 / 2", 5],
    ["(1 + 2) * -3", -9],
    ["648 * 1024", 663552],
    ["10e6 * 0.55 / 8", 687500],
    ["1 < 2 <= 2", true],
    ["1 < 2 < 2", false],
    ["not 1 > 2 and 2 > 1", true],
    ["1 > 2 or 3 != 4", true],
    ["goodput", 10],
    ["goodput('reno', 'near')", 12],
    ["mean(goodput)", 20],
    ["setting('tcp.rto_min') == 0.25", true],
    ["not setting('on')", false],
    ["setting(\"kind\") == 'snoop'", true],
    ["tcps == 'reno,sack' and runs == 3", true],
    ["min(3, 2) + max(3, 2) + abs(-1)", 6],
    ["other > 1 or other <= 1", false],
  ])("%s", (text, expected) => {
    expect(value(text)).toEqual(expected);
  });

  it.each(["", "1 +", "(1", "1 2", "a.b", "goodput('a'", "1 = 2", "x; y", "'open", "[1]", "a ? b"])(
    "refuses %j",
    (text) => {
      expect(() => parse(text)).toThrow();
    },
  );

  it("refuses depth without end", () => {
    expect(() => parse("(".repeat(100_000))).toThrow("too deep");
    expect(() => parse("-".repeat(100_000))).toThrow("too deep");
  });

  it("never runs code, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        try {
          expect(["number", "string", "boolean"]).toContain(typeof value(text));
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
    );
  });

  it("names the settings that it asks for", () => {
    const text = "setting('a.b') > 1 and not (goodput < -setting('c') or max(setting('d'), 1) > 2)";
    expect(settingsOf(parse(text))).toEqual(["a.b", "c", "d"]);
  });
});

describe("quantities", () => {
  it.each([
    ["275 ms", 0.275],
    ["648 KiB", 663552],
    ["2 Mbit/s", 2e6],
    ["0.001 %", 0.00001],
    ["14", 14],
    ["true", true],
    ["snoop", "snoop"],
    ["[60, 62]", "[60, 62]"],
  ])("%s", (text, expected) => {
    expect(quantity(text)).toEqual(expected);
  });

  it("are read in the unit of a control", () => {
    expect(numberIn("1 MiB", "KiB")).toBe(1024);
    expect(numberIn("0.3 s", "ms")).toBe(300);
  });

  it.each([
    [0.0931, "%", "9.31 %"],
    [905978, "bit/s", "906 kbit/s"],
    [8.94e6, "bit/s", "8.94 Mbit/s"],
    [0.093, "s", "93 ms"],
    [4.504, "s", "4.50 s"],
    [NaN, "s", "–"],
    [3, "", "3"],
    [true, "", "true"],
  ])("%d %s reads %s", (number, unit, text) => {
    expect(readable(number, unit)).toBe(text);
  });
});

describe("intervals", () => {
  // Tables of Student's distribution.
  it.each([
    [1, 12.7062],
    [2, 4.30265],
    [5, 2.57058],
    [19, 2.09302],
    [30, 2.04227],
    [120, 1.97993],
  ])("t(0.975, %d)", (degrees, expected) => {
    expect(studentQuantile(0.975, degrees)).toBeCloseTo(expected, 4);
  });

  it("have no width for one value", () => {
    expect(halfWidth([1])).toBeNaN();
    expect(halfWidth([1, 1, 1])).toBe(0);
    expect(halfWidth([0, 2])).toBeCloseTo(12.7062, 3);
  });
});

describe("scopes", () => {
  const run = (tcp: string, goodput: number): Run =>
    ({
      tcp,
      measures: {
        flows: [
          { flow: "near", metrics: { goodput } },
          { flow: "far", metrics: { goodput: 2 * goodput, rtt_mean: null } },
        ],
        links: [
          { link: "a", direction: "down", derived: [], metrics: { utilisation: 0.5 } },
          { link: "a", direction: "up", derived: [], metrics: { utilisation: 0.25 } },
        ],
        run: [{ metrics: { jain: 0.9 } }],
        agents: [{ agent: "snoop", at: "base", wireless: "a", metrics: { cached: 3 } }],
        events: 1,
        simulated_s: 1,
      },
    }) as unknown as Run;
  const found = scopeOf([[run("reno", 1), run("sack", 10)]], new Map([["a", "5 ms"]]));

  it.each([
    ["goodput", 1],
    ["goodput('far')", 2],
    ["goodput('sack')", 10],
    ["goodput('sack', 'far')", 20],
    ["goodput('far', 'sack')", 20],
    ["utilisation('a.up')", 0.25],
    ["jain", 0.9],
    ["cached", 3],
    ["setting('a')", 0.005],
  ])("%s", (text, expected) => {
    expect(evaluate(parse(text), found)).toBe(expected);
  });

  it("have no number where there is none", () => {
    for (const text of ["rtt_mean('far')", "nothing", "setting('b')", "goodput('vegas')"])
      expect(evaluate(parse(text), found)).toBeNaN();
  });
});

describe("replies", () => {
  const [lesson] = lessons;
  const at = (duration: number, window: number, delay: number): Scope => ({
    runs: 1,
    tcps: ["sack"],
    setting: (path) => (path === "tcp.initial_window" ? window : delay),
    metric: () => duration,
  });

  it.each([
    [4.5, 2, 0.1, 0],
    [3.3, 13, 0.275, 1],
    [4.5, 2, 0.275, 2],
    [2.8, 20, 0.275, 3],
  ])("%d s with %d segments over %d s", (duration, window, delay, hint) => {
    expect(replyTo(lesson!, at(duration, window, delay))).toEqual({
      right: false,
      text: lesson!.check.hints[hint]!.text,
    });
  });

  it("is right for the solution", () => {
    expect(replyTo(lesson!, at(2.88, 14, 0.275)).right).toBe(true);
  });
});

describe("files", () => {
  const folder = fileURLToPath(new URL("../../lessons/", import.meta.url));
  const source = readFileSync(`${folder}01-slow-start.md`, "utf8");
  const read = (text: string) => compile("01-a.md", text, () => "");

  it("are all read, in order", () => {
    expect(lessons.length).toBe(readdirSync(folder).filter((name) => /^\d/.test(name)).length);
    expect(lessons.map((lesson) => lesson.number)).toEqual(lessons.map((_, place) => place + 1));
  });

  it("name their scenario after the lesson", () => {
    for (const lesson of lessons)
      expect(lesson.scenario).toContain(`name = "lesson-${lesson.name}"`);
  });

  it("have controls for what solves them, with values that the control has", () => {
    for (const lesson of lessons) {
      for (const [path, solved] of Object.entries(lesson.solution)) {
        const control = lesson.controls.find((other) => other.path === path);
        expect(control, `${lesson.name}: ${path}`).toBeDefined();
        if (control?.values) expect(control.values).toContain(solved);
        else expect(numberIn(solved, control!.unit) % control!.step!).toBeCloseTo(0, 9);
      }
    }
  });

  it("have room to write on each exercise sheet", () => {
    for (const lesson of lessons) {
      const sheet = JSON.stringify(lesson.sections["Exercise sheet"]);
      expect(sheet.match(/"hr"/g)!.length).toBeGreaterThanOrEqual(5);
    }
  });

  it("never become markup", () => {
    expect(() => read(source.replace("## Question", "## Question\n\n<img src=x>"))).toThrow("html");
    expect(() => read(source.replace("## Question", "## Question\n\n[a](javascript:b)"))).toThrow(
      "https",
    );
  });

  it("name the mistake", () => {
    expect(() => read("# Title")).toThrow("+++");
    expect(() => read(source.replace("## Hint", "## Tip"))).toThrow("Tip");
    expect(() => read(source.replace('value = "duration"', 'value = "duration +"'))).toThrow("end");
  });
});
