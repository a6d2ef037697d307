import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  advance,
  changeSpeed,
  defaultSpeed,
  follow,
  keepNear,
  SPEEDS,
  zoom,
} from "../../../src/packets/clock";
import { buildContent, nextPacket, sentenceAt } from "../../../src/packets/content";
import { lineOf, scaleOf, timeAt, yOf } from "../../../src/packets/geometry";
import { drawLadder, stepIn } from "../../../src/packets/ladder";
import { eachMark, sampleOf } from "../../../src/packets/layout";
import { flowsOf, linksOf, pathOf, seconds } from "../../../src/packets/path";
import { escape, SvgPen } from "../../../src/packets/pens";
import { rowsOf } from "../../../src/packets/rows";
import { stateAt } from "../../../src/packets/state";
import { stepFrom } from "../../../src/packets/steps";
import { cut, pointAt } from "../../../src/packets/strip";
import { copiesOf, describe as tell, durationText, timeText } from "../../../src/packets/text";
import { complete, type Group } from "../../../src/packets/timeline";
import { isDark, themeFor } from "../../../src/packets/theme";
import { CAUSES, contentOf, makeRows, row, runOf, scenario, tableOf } from "./made";

const content = contentOf(makeRows(60, (n) => n === 9));

describe("path", () => {
  test("has the sender left, the receiver right, and agents at their node", () => {
    const { places, x, hops, rtt } = content.path;
    expect(places.map((place) => place.names)).toEqual([["server"], ["hub"], ["client"]]);
    expect(places[1]!.agents).toEqual(["snoop"]);
    expect(x[0]).toBe(0);
    expect(x[2]).toBeCloseTo(1);
    expect(x[1]).toBeLessThan(0.4);
    expect([...hops.values()].map((hop) => hop.satellite)).toEqual([false, true]);
    expect(rtt).toBeCloseTo(0.51);
  });

  test("puts alternative stations into one column", () => {
    const base = scenario();
    const other = { ...base.links[1]!, name: "radio-b" };
    const links = [
      { ...base.links[0]!, between: ["fixed", "north"] as [string, string] },
      { ...other, between: ["north", "mobile"] as [string, string] },
      { ...other, name: "b", between: ["fixed", "south"] as [string, string] },
      { ...other, name: "c", between: ["south", "mobile"] as [string, string] },
    ];
    const flows = [{ name: "f", from: "fixed", to: "mobile", app: "file" }];
    const rows = rowsOf(tableOf([0, 1, 2, 3].map((link) => row({ link }))));
    const { places } = pathOf({ ...base, links, flows }, rows, 0);
    expect(places.map((place) => place.names)).toEqual([["fixed"], ["north", "south"], ["mobile"]]);
  });

  test("repeats counted links and flows with their numbers", () => {
    const base = scenario();
    const link = { ...base.links[0]!, name: "left{}", between: ["s{}", "hub"] as [string, string] };
    const flow = { name: "bulk", from: "s{}", to: "hub", app: "bulk", count: 3 };
    const made = { ...base, links: [{ ...link, count: 2 }], flows: [flow] };
    expect(linksOf(made).map((each) => each.name)).toEqual(["left0", "left1"]);
    expect(flowsOf(made)).toEqual([
      { name: "bulk.0", from: "s0", to: "hub" },
      { name: "bulk.1", from: "s1", to: "hub" },
      { name: "bulk.2", from: "s0", to: "hub" },
    ]);
  });

  test("reads times with their units", () => {
    expect(["250 ms", "1.5 s", "2 us", "x", 3].map(seconds)).toEqual([0.25, 1.5, 2e-6, 0, 0]);
  });
});

describe("steps", () => {
  test("forwards visit every event once and backwards the same ones", () => {
    const there: number[] = [];
    for (let at = stepFrom(content.steps, -1, true); at !== undefined;) {
      there.push(at);
      at = stepFrom(content.steps, at, true);
    }
    const back: number[] = [];
    for (let at = stepFrom(content.steps, 1e9, false); at !== undefined;) {
      back.push(at);
      at = stepFrom(content.steps, at, false);
    }
    expect(there.length).toBeGreaterThan(120);
    for (let i = 1; i < there.length; i += 1) expect(there[i]).toBeGreaterThan(there[i - 1]!);
    expect(back.reverse()).toEqual(there);
    for (const loss of content.timeline.losses) expect(there).toContain(loss);
  });

  test("from packet to packet reach each packet once, both ways", () => {
    const { timeline } = content;
    const isFirst = (at: number): boolean => copiesOf(timeline, at)[0] === at;
    const numbers: number[] = [];
    let place = nextPacket(timeline, { anchor: -1, row: -1 }, true, isFirst);
    let last = place;
    while (place !== undefined) {
      numbers.push(timeline.rows.number[place.row]!);
      last = place;
      place = nextPacket(timeline, place, true, isFirst);
    }
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(numbers.length).toBe(new Set(timeline.rows.number).size);
    const back: number[] = [];
    for (place = last; place !== undefined;) {
      back.push(timeline.rows.number[place.row]!);
      place = nextPacket(timeline, place, false, isFirst);
    }
    expect(back.reverse()).toEqual(numbers);
  });

  test("sentence of a time is the last one at or before it", () => {
    const at = content.story[1]!.time;
    expect(sentenceAt(content, -1)).toBe(-1);
    expect(sentenceAt(content, at - 1e-6)).toBe(0);
    expect(sentenceAt(content, at)).toBe(1);
  });
});

describe("text of a packet", () => {
  test("has its header, its reason and its story on each link", () => {
    const { timeline, path } = content;
    const again = timeline.rows.retransmission.findIndex((value) => value === 1);
    const told = tell(timeline, path, again);
    expect(told.title).toBe("Retransmission 13,140 to 14,599");
    expect(told.reason).toBe("third duplicate ACK");
    expect(told.header).toContainEqual(["length", "1,460 B"]);
    expect(told.header).toContainEqual(["flags", "ACK"]);
    expect(told.hops.map((hop) => [hop.link, hop.from, hop.to])).toEqual([
      ["lan", "server", "hub"],
      ["satellite", "hub", "client"],
    ]);
    expect(told.hops[1]!.text).toMatch(/^offered at .* sent at .*arrived at .* later\)$/);
  });

  test("says where, when and why a packet was lost", () => {
    const { timeline, path } = content;
    const lost = timeline.fate.indexOf(1);
    const { hops } = tell(timeline, path, lost);
    expect(hops.at(-1)!.lost).toBe(true);
    expect(hops.at(-1)!.text).toContain("dropped: lost in the channel");
    expect(hops.at(-1)!.text).not.toContain("arrived");
  });

  test("counts the packets before it in the queue", () => {
    const { timeline, path } = content;
    const waits = timeline.lane.findIndex((lane) => lane === 2);
    const text = tell(timeline, path, waits).hops.map((hop) => hop.text);
    expect(text.join()).toMatch(/waited [\d.]+ [µm]s behind \d+ packet/);
  });

  test("gives times and durations readable digits", () => {
    expect(timeText(1.23456, 0.001)).toBe("1.235 s");
    expect([0, 1.5e-6, 0.01234, 0.1, 1.5, 100].map(durationText)).toEqual([
      "0 ms",
      "1.5 µs",
      "12.3 ms",
      "100 ms",
      "1.5 s",
      "100 s",
    ]);
  });
});

describe("clock", () => {
  test("moves by speed and stops at the ends", () => {
    const span = { first: 0, last: 10 };
    expect(advance(1, 0.05, 2, true, span)).toEqual({ time: 1.1, ended: false });
    expect(advance(1, 0.05, 2, false, span).time).toBeCloseTo(0.9);
    expect(advance(9.99, 0.05, 2, true, span)).toEqual({ time: 10, ended: true });
    expect(advance(0, 0.05, 1, false, span)).toEqual({ time: 0, ended: true });
    expect(advance(0, 60, 1, true, span).time).toBeLessThanOrEqual(0.1);
  });

  test("starts at a speed at which a round trip takes seconds", () => {
    expect(defaultSpeed(0.55)).toBe(0.1);
    expect(defaultSpeed(0.02)).toBe(0.005);
    expect(defaultSpeed(0)).toBe(1);
    expect(changeSpeed(1, 1)).toBe(2);
    expect(changeSpeed(SPEEDS[0]!, -1)).toBe(SPEEDS[0]);
  });

  test("keeps the time inside the window and the window near the run", () => {
    const number = fc.double({ min: 0, max: 100, noNaN: true });
    const length = fc.double({ min: 1e-3, max: 50, noNaN: true });
    fc.assert(
      fc.property(number, length, number, (from, size, time) => {
        const span = follow({ from, length: size }, time);
        expect(time).toBeGreaterThanOrEqual(span.from - 1e-9);
        expect(time).toBeLessThanOrEqual(span.from + span.length + 1e-9);
        const near = keepNear({ from: from - 200, length: size }, { first: 0, last: 100 });
        expect(near.from + near.length).toBeGreaterThan(0);
      }),
    );
  });

  test("zooms around a time that stays where it is", () => {
    const span = zoom({ from: 10, length: 4 }, 0.5, 13, { first: 0, last: 100 });
    expect(span).toEqual({ from: 11.5, length: 2 });
  });
});

describe("drawing", () => {
  const frame = { x: 0, y: 0, width: 600, height: 500, gutter: 50, strip: 100 };
  const scale = scaleOf(content.path, frame, 20, { from: 0, length: 2 });

  test("goes down with time and back", () => {
    expect(yOf(scale, 0)).toBe(100);
    expect(timeAt(scale, yOf(scale, 1.25))).toBeCloseTo(1.25);
    const line = lineOf(content.timeline, content.path, 0, scale);
    expect(line.x2).toBeGreaterThan(line.x1);
    expect(line.y2).toBeGreaterThan(line.y1);
  });

  test("as SVG escapes names and has a line for every packet", () => {
    const pen = new SvgPen();
    const theme = themeFor("", false, 1);
    complete(
      drawLadder(pen, { timeline: content.timeline, path: content.path, theme }, scale, 0, 2),
    );
    pen.text(0, 0, '<script>"&', { color: "red", size: 10 });
    const text = pen.document(600, 500, "</title><script>");
    expect(text).not.toContain("<script>");
    expect(text.match(/<line/g)!.length).toBeGreaterThan(40);
    expect(escape("a\u0000<b>")).toBe("a&lt;b&gt;");
  });

  test("follows a route by way of the satellite", () => {
    const route = [
      [0, 0],
      [10, -10],
      [20, 0],
    ] as const;
    expect(pointAt(route, 0)).toEqual([0, 0]);
    expect(pointAt(route, 0.5)[0]).toBeCloseTo(10);
    expect(pointAt(route, 1)).toEqual([20, 0]);
  });

  test("cuts long names and reads the ground's brightness", () => {
    expect(cut("server", 100, 12)).toBe("server");
    expect(cut("a-very-long-name-of-a-node", 60, 12)).toMatch(/^.{7}…$/);
    expect(isDark("rgb(10, 20, 30)")).toBe(true);
    expect(isDark("rgb(250, 250, 250)")).toBe(false);
    expect(isDark("rgba(0, 0, 0, 0)")).toBeUndefined();
  });
});

describe("crowds", () => {
  test("show each k-th packet in motion, so that marks keep their distance", () => {
    const made = Array.from({ length: 4000 }, (_, n) =>
      row({ time: n * 1e-4, departure: n * 1e-4, arrival: 0.25 + n * 1e-4, number: n }),
    );
    const [group] = contentOf(made).timeline.groups;
    for (const width of [60, 300, 1200]) {
      const sample = sampleOf(group!, 0.4, width);
      expect(Math.log2(sample) % 1).toBe(0);
      expect((width * sample) / 2500).toBeGreaterThan(6);
    }
    expect(sampleOf(group!, 5, 300)).toBe(1);
  });

  test("have lines that are two pixels or more apart", () => {
    const made = Array.from({ length: 3000 }, (_, n) =>
      row({ time: n * 1e-4, departure: n * 1e-4, arrival: 0.25 + n * 1e-4, number: n, link: 1 }),
    );
    const crowd = contentOf(made);
    const frame = { x: 0, y: 0, width: 800, height: 600, gutter: 50, strip: 100 };
    for (const length of [0.001, 0.05, 2]) {
      const scale = scaleOf(crowd.path, frame, 20, { from: 0.1, length });
      const stepOf = (group: Group): number => stepIn(crowd.path, scale, group);
      let marks = 0;
      eachMark(crowd.timeline, 0.1, 0.1 + length, stepOf, () => (marks += 1));
      expect(marks).toBeLessThan(1500);
    }
  });

  test("give each loss a cross within two pixels", () => {
    const made = Array.from({ length: 1000 }, (_, n) => {
      const lost = n % 3 === 0;
      const time = n * 1e-3;
      const fate = { arrival: lost ? NaN : time + 0.25, cause: lost ? 1 : CAUSES.length };
      return row({ time, departure: time, number: n, link: 1, ...fate });
    });
    const lossy = contentOf(made);
    const frame = { x: 0, y: 0, width: 800, height: 600, gutter: 50, strip: 100 };
    const scale = scaleOf(lossy.path, frame, 20, { from: 0, length: 2 });
    const theme = themeFor("", false, 1);
    const crosses: number[] = [];
    const pen = new SvgPen();
    const line: SvgPen["line"] = (_, y1, __, y2, stroke) => {
      if (stroke.color === theme.loss && y2 > y1) crosses.push((y1 + y2) / 2);
    };
    complete(drawLadder(Object.assign(pen, { line }), { ...lossy, theme }, scale, 0, 2));
    for (const loss of lossy.timeline.losses) {
      const y = yOf(scale, loss);
      expect(crosses.some((cross) => Math.abs(cross - y) <= 2.5)).toBe(true);
    }
  });
});

test("a loss is drawn at the time of the table where that is on the way", () => {
  const table = tableOf([
    row({}),
    row({ time: 1, departure: 1, arrival: NaN, cause: 1, number: 1 }),
    row({ time: 2, departure: 2, arrival: NaN, cause: 1, number: 2 }),
  ]);
  table.columns.lost = Float64Array.from([NaN, 1, 2.2]);
  const { timeline } = complete(buildContent(runOf(table), 0));
  expect([...timeline.end].map((end) => end.toFixed(2))).toEqual(["0.25", "1.15", "2.20"]);
  expect(stateAt(timeline, 2, 3).share).toBeCloseTo(0.8);
});

test("a run without a story gets sentences from its packets", () => {
  const run = { ...runOf(tableOf(makeRows(60, (n) => n === 9))), story: [] };
  const texts = complete(buildContent(run, 0)).story.map((line) => line.text);
  expect(texts).toEqual([
    "Segment 13,140 is lost on satellite.",
    "First duplicate ACK: client still waits for 13,140.",
    "Second duplicate ACK: client still waits for 13,140.",
    "Third duplicate ACK: client still waits for 13,140.",
    "server sends segment 13,140 again: third duplicate ACK.",
  ]);
});
