import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eachMark, overlaps, ticks } from "../../../src/packets/layout";
import { eachAt, shareAt, stateAt } from "../../../src/packets/state";
import { ARRIVED, LOST, lowerBound, OPEN, type Timeline } from "../../../src/packets/timeline";
import { CAUSES, contentOf, makeRows, row, type Row } from "./made";

/** Packets with any waits, travels and fates, on four link directions. */
const rows: fc.Arbitrary<Row[]> = fc.array(
  fc
    .record({
      time: fc.double({ min: 0, max: 10, noNaN: true }),
      wait: fc.double({ min: 0, max: 1, noNaN: true }),
      travel: fc.double({ min: 1e-6, max: 1, noNaN: true }),
      link: fc.nat(1),
      direction: fc.nat(1),
      number: fc.nat(40),
      len: fc.constantFrom(0, 1460),
      retransmission: fc.nat(1),
      fate: fc.constantFrom("arrived", "dropped", "lost", "queued", "moving"),
    })
    .map(({ time, wait, travel, fate, ...rest }) => {
      const departure = fate === "dropped" || fate === "queued" ? NaN : time + wait;
      const arrival = fate === "arrived" ? departure + travel : NaN;
      const cause = fate === "dropped" ? 0 : fate === "lost" ? 1 : CAUSES.length;
      return row({ ...rest, time, departure, arrival, cause });
    }),
  { minLength: 1, maxLength: 700 },
);

const instant = fc.double({ min: -0.5, max: 13, noNaN: true });

describe("state of a packet", () => {
  test("is the same whichever way the time came", () => {
    fc.assert(
      fc.property(rows, fc.array(instant, { minLength: 2, maxLength: 20 }), (made, times) => {
        const { timeline } = contentOf(made);
        const forwards = [...times].sort((a, b) => a - b);
        const there = forwards.map((time) => picture(timeline, time));
        const back = [...forwards].reverse().map((time) => picture(timeline, time));
        expect(back.reverse()).toEqual(there);
      }),
      { numRuns: 30 },
    );
  });

  test("is never both lost and arrived, and ends as the table has it", () => {
    fc.assert(
      fc.property(rows, (made) => {
        const { timeline } = contentOf(made);
        for (let i = 0; i < timeline.rows.count; i += 1) {
          const { phase } = stateAt(timeline, i, 1e9);
          const fate = timeline.fate[i]!;
          const named = timeline.rows.cause[i]! < CAUSES.length;
          expect(fate === LOST).toBe(named);
          expect(phase === "lost").toBe(named);
          expect(phase === "arrived").toBe(!Number.isNaN(timeline.rows.arrival[i]!) && !named);
        }
      }),
    );
  });

  test("passes through its phases in order and never moves back", () => {
    const order = ["absent", "waiting", "moving", "arrived", "lost"];
    fc.assert(
      fc.property(rows, (made) => {
        const { timeline } = contentOf(made);
        for (let i = 0; i < Math.min(20, timeline.rows.count); i += 1) {
          let before = { phase: "absent", share: 0 };
          for (let n = -10; n <= 65; n += 1) {
            const state = stateAt(timeline, i, n / 5);
            expect(order.indexOf(state.phase)).toBeGreaterThanOrEqual(order.indexOf(before.phase));
            expect(state.share).toBeGreaterThanOrEqual(before.share);
            expect(state.share).toBeLessThanOrEqual(1);
            before = state;
          }
        }
      }),
      { numRuns: 20 },
    );
  });

  test("of all packets at a time is found without a scan of the table", () => {
    fc.assert(
      fc.property(rows, instant, (made, time) => {
        const { timeline } = contentOf(made);
        const expected: number[] = [];
        for (let i = 0; i < timeline.rows.count; i += 1) {
          const { phase } = stateAt(timeline, i, time);
          if (phase === "waiting" || phase === "moving") expected.push(i);
        }
        expect(picture(timeline, time).map(([i]) => i)).toEqual(expected);
      }),
    );
  });
});

describe("marks of a window", () => {
  test("have each row of the window exactly once, at any step", () => {
    fc.assert(
      fc.property(
        rows,
        instant,
        fc.double({ min: 0.001, max: 10, noNaN: true }),
        fc.double({ min: 1e-6, max: 1, noNaN: true }),
        (made, from, length, step) => {
          const { timeline } = contentOf(made);
          const drawn = new Map<number, number>();
          eachMark(
            timeline,
            from,
            from + length,
            () => step,
            (group, index, count) => {
              for (let i = index; i < index + count; i += 1) {
                const at = group.rows[i]!;
                drawn.set(at, (drawn.get(at) ?? 0) + 1);
              }
            },
          );
          for (let i = 0; i < timeline.rows.count; i += 1) {
            if (overlaps(timeline, i, from, from + length)) expect(drawn.get(i)).toBe(1);
            else expect(drawn.get(i) ?? 0).toBeLessThanOrEqual(1);
          }
        },
      ),
    );
  });

  test("are the same in two adjacent windows as in their union", () => {
    const { timeline } = contentOf(makeRows(400, (n) => n % 37 === 5));
    const marks = (from: number, to: number): Set<string> => {
      const found = new Set<string>();
      eachMark(
        timeline,
        from,
        to,
        () => 0.01,
        (group, index, count) => {
          found.add(`${group.link} ${group.direction} ${group.kind} ${index} ${count}`);
        },
      );
      return found;
    };
    expect(new Set([...marks(0, 2), ...marks(2, 4)])).toEqual(marks(0, 4));
  });

  test("number at most some per pixel when a thousand rows share it", () => {
    const made = Array.from({ length: 5000 }, (_, n) =>
      row({ time: n * 1e-5, departure: n * 1e-5, arrival: 0.25 + n * 1e-5, number: n }),
    );
    const { timeline } = contentOf(made);
    let marks = 0;
    let covered = 0;
    eachMark(
      timeline,
      0,
      1,
      () => 0.01,
      (_, __, count) => {
        marks += 1;
        covered += count;
      },
    );
    expect(covered).toBe(5000);
    expect(marks).toBeLessThan(60);
  });
});

describe("index", () => {
  test("finds the first value that is not below", () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer(), (values, value) => {
        const sorted = [...values].sort((a, b) => a - b);
        const expected = sorted.findIndex((other) => other >= value);
        expect(lowerBound(sorted, value)).toBe(expected < 0 ? sorted.length : expected);
      }),
    );
  });

  test("leaves out the packets of other flows", () => {
    const { timeline } = contentOf([row({}), row({ flow: 1, number: 1 }), row({ number: 2 })]);
    expect(timeline.count).toBe(2);
  });

  test("counts the packets that wait before a packet", () => {
    const made = [0, 1, 2].map((n) => row({ number: n, departure: n * 0.1, arrival: 0.3 + n }));
    const { timeline } = contentOf(made);
    expect([...timeline.lane]).toEqual([0, 0, 1]);
  });

  test("keeps packets that were under way at the end of the run apart", () => {
    const made = [row({}), row({ time: 1, departure: 1, arrival: NaN, number: 1 })];
    const { timeline } = contentOf(made);
    expect([...timeline.fate]).toEqual([ARRIVED, OPEN]);
    expect(stateAt(timeline, 1, 1.125)).toEqual({ phase: "moving", share: 0.5 });
  });

  test("draws a loss in the channel on the way and a full queue at the node", () => {
    const made = [
      row({}),
      row({ time: 1, departure: 1, arrival: NaN, cause: 1, number: 1 }),
      row({ time: 2, departure: NaN, arrival: NaN, cause: 0, number: 2 }),
    ];
    const { timeline } = contentOf(made);
    expect(stateAt(timeline, 1, 5).phase).toBe("lost");
    expect(stateAt(timeline, 1, 5).share).toBeCloseTo(0.6);
    expect(stateAt(timeline, 2, 5)).toEqual({ phase: "lost", share: 0 });
    expect(stateAt(timeline, 1, 1.1).phase).toBe("moving");
  });
});

test("ticks are at round times, no closer than asked", () => {
  const { at, step } = ticks(0.31, 1.02, 0.13);
  expect(step).toBeCloseTo(0.2);
  expect(at.map((time) => time.toFixed(2))).toEqual(["0.40", "0.60", "0.80", "1.00"]);
});

function picture(timeline: Timeline, time: number): [number, string, number][] {
  const found: [number, string, number][] = [];
  eachAt(timeline, time, 0, (_, at, phase) => {
    if (phase !== "lost") found.push([at, phase, shareAt(timeline, at, time)]);
  });
  return found.sort((a, b) => a[0] - b[0]);
}
