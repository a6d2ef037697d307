import { describe, expect, test } from "vitest";
import { History } from "../../src/live/history";
import type { FlowSample, Message, Sample } from "../../src/live/protocol";
import { type Connection, type Events, LiveSocket } from "../../src/live/socket";

function sample(time: number, bytes: number, lost: Record<string, number> = {}): Sample {
  const row = { packets: 0, waiting: 3, waiting_bytes: 4500 };
  return {
    time,
    late_p99_s: 0,
    links: [{ link: "far", direction: "down", bytes, lost, ...row }],
    flows: [],
  };
}

function flow(from: string, to: string, cwnd: number): FlowSample {
  return {
    from,
    to,
    from_address: `${from}:1`,
    to_address: `${to}:2`,
    acked_bytes: 0,
    srtt_s: 0.5,
    min_rtt_s: 0.5,
    cwnd_bytes: cwnd,
    ssthresh_bytes: null,
    retransmissions: 0,
  };
}

describe("History", () => {
  test("rates are differences of totals, also over missed samples", () => {
    const history = new History();
    history.add([sample(0, 0), sample(0.5, 1000), sample(2.5, 5000)]);
    const [curve] = history.rates();
    expect(curve?.name).toBe("far down");
    expect(curve?.value).toEqual([16000, 16000]);
  });

  test("samples that came before are left out, and old ones are dropped", () => {
    const history = new History();
    history.add([sample(1, 0), sample(2, 0)]);
    history.add([sample(1.5, 0), sample(2, 0), sample(100, 0)]);
    expect(history.latest()?.time).toBe(100);
    expect(history.span()).toEqual([40, 100]);
    expect(history.queues()[0]?.time).toEqual([]);
  });

  test("losses are per second and by cause", () => {
    const history = new History();
    history.add([sample(0, 0), sample(1, 0, { bit_error: 4 }), sample(2, 0, { bit_error: 4 })]);
    const [curve] = history.losses();
    expect(curve?.name).toBe("bit error");
    expect(curve?.value).toEqual([NaN, 4, 0]);
  });

  test("a connection has one curve although its sender changes at the start", () => {
    const history = new History();
    const flows = [[flow("client", "server", 10)], [flow("server", "client", 20)], []];
    const [a, b] = [flow("client", "server", 1), flow("server", "client", 2)];
    a.from_address = b.to_address = "10.0.0.3:2";
    a.to_address = b.from_address = "10.0.0.1:1";
    flows[0] = [a];
    flows[1] = [b];
    history.add(flows.map((some, n) => ({ ...sample(n, 0), flows: some })));
    const curves = history.flows((each) => [[`${each.from} cwnd`, each.cwnd_bytes]]);
    expect(curves.map((curve) => [curve.name, curve.value])).toEqual([["server cwnd", [2]]]);
  });
});

class Fake {
  opened: { since: number; events: Events; sent: string[] }[] = [];
  states: Connection[] = [];
  messages: Message[] = [];
  waits: [() => void, number][] = [];
  socket = new LiveSocket({
    open: (since, events) => {
      const wire = { since, events, sent: [] as string[] };
      this.opened.push(wire);
      return { send: (text) => void wire.sent.push(text), close: () => undefined };
    },
    onMessage: (message) => this.messages.push(message),
    onConnection: (state) => this.states.push(state),
    later: (call, seconds) => this.waits.push([call, seconds]),
  });
}

describe("LiveSocket", () => {
  test("connects again after a break, later each time, from the newest sample on", () => {
    const fake = new Fake();
    fake.opened[0]!.events.onOpen();
    const text = JSON.stringify({ type: "samples", samples: [sample(4.5, 0)] });
    fake.opened[0]!.events.onMessage(text);
    for (let n = 0; n < 6; n++) {
      fake.opened[n]!.events.onClose(1006, "");
      fake.waits[n]![0]();
      expect(fake.opened[n + 1]!.since).toBe(4.5);
    }
    expect(fake.waits.map(([, seconds]) => seconds)).toEqual([0.3, 1, 2, 5, 5, 5]);
    fake.opened[6]!.events.onOpen();
    expect(fake.states.at(-1)).toEqual({ kind: "open" });
  });

  test("a request without its answer is refused when the socket breaks", async () => {
    const fake = new Fake();
    const request = { do: "set", changes: [["links.0.down.delay", "1 ms"]] } as const;
    expect(await fake.socket.ask({ do: "set", changes: [] })).toContain("not connected");
    fake.opened[0]!.events.onOpen();
    const answer = fake.socket.ask({ do: "set", changes: [["links.0.down.delay", "1 ms"]] });
    expect(JSON.parse(fake.opened[0]!.sent[0]!)).toEqual({ id: 1, ...request });
    fake.opened[0]!.events.onClose(1006, "");
    expect(await answer).toBe("the connection broke");
  });

  test("no attempt follows the end of the emulation or a refusal", () => {
    const fake = new Fake();
    fake.opened[0]!.events.onMessage('{"type": "end"}');
    fake.opened[0]!.events.onClose(1000, "the emulation ended");
    expect(fake.states.at(-1)).toEqual({ kind: "ended" });
    const refused = new Fake();
    refused.opened[0]!.events.onClose(1013, "16 pages are open");
    expect(refused.states.at(-1)).toEqual({ kind: "refused", reason: "16 pages are open" });
    expect([...fake.waits, ...refused.waits]).toEqual([]);
  });
});
