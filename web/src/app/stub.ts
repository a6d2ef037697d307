// Engine with made-up data behind the types of the engine, for work on the page without wasm.
import type { Engine, LibraryScenario, Resolved, Run, RunRequest, Table, Values } from "../engine";

const LIMITS = [
  "handshake",
  "application",
  "send_buffer",
  "receive_window",
  "congestion_window",
  "pacing",
  "recovery",
  "timeouts",
];
const MARKS = ["timeout", "fast_retransmit", "recovery_exit", "established", "closed"];
const TOML = `name = "made-up"

[[links]]
name = "satellite"
between = ["server", "client"]
down = { rate = "2 Mbit/s", delay = "250 ms", channel = { loss = "1 %" } }
up = { rate = "256 kbit/s", delay = "250 ms" }

[[flows]]
from = "server"
to = "client"
size = "5 MB"
`;

/** Makes the stub. */
export function stubEngine(): Engine {
  const library: LibraryScenario[] = [{ name: "made-up", title: "Made-up data", toml: TOML }];
  return {
    resolve: () => Promise.resolve(resolved()),
    edit: (toml, edits) =>
      Promise.resolve(edits.reduce((text, edit) => replaced(text, ...edit), toml)),
    value: (toml, path) => Promise.resolve(found(toml, path)),
    run: (request) => Promise.resolve(runs(request)),
    scenarios: () => Promise.resolve(library),
    tcps: () =>
      Promise.resolve(
        ["reno", "sack", "cubic", "bbr", "hybla"].map((name) => ({
          name,
          summary: "",
          status: "",
        })),
      ),
    version: () => Promise.resolve("stub"),
    close: () => undefined,
  };
}

function pattern(path: string): RegExp {
  const key = path.split(".").at(-1) ?? "";
  return new RegExp(`\\b${key} = ("[^"]*"|[\\w.]+)`);
}

function found(toml: string, path: string): string | undefined {
  return pattern(path).exec(toml)?.[1]?.replaceAll('"', "");
}

function replaced(toml: string, path: string, value: string | null): string {
  return value === null
    ? toml
    : toml.replace(
        pattern(path),
        (_, old: string) =>
          `${path.split(".").at(-1) ?? ""} = ${old.startsWith('"') ? JSON.stringify(value) : value}`,
      );
}

function resolved(): Resolved {
  const direction = { rate: "2 Mbit/s", delay: "250 ms" };
  return {
    name: "made-up",
    seed: 1,
    max_duration: "24 h",
    tcp: {},
    links: [{ name: "satellite", between: ["server", "client"], down: direction, up: direction }],
    flows: [{ name: "flow", from: "server", to: "client", app: "file" }],
  };
}

function runs(request: RunRequest): Run[] {
  const tcps = request.tcps.length ? request.tcps : ["reno"];
  return tcps.map((tcp, place) => {
    const tables = made(place);
    const names = request.tables ?? [];
    return {
      tcp,
      run: 0,
      toml: request.toml,
      resolved: resolved(),
      measures: {
        flows: [
          {
            flow: "flow",
            metrics: { goodput: 1.4e6 - 2e5 * place, timeouts: place, rtt_mean: 0.52 },
          },
        ],
        links: [
          { link: "satellite", direction: "down", derived: [], metrics: { utilisation: 0.7 } },
          { link: "satellite", direction: "up", derived: [], metrics: { utilisation: 0.1 } },
        ],
        run: [],
        events: 1000,
        simulated_s: 60,
      },
      tables: Object.fromEntries(
        names.flatMap((name) => (tables[name] ? [[name, tables[name]]] : [])),
      ),
      story: [],
      digest: "",
      simulated: 60,
      events: 1000,
      milliseconds: 1,
    };
  });
}

/** Makes tables of a window that doubles each round trip and halves at each loss. */
function made(place: number): Record<string, Table> {
  const state: number[][] = [];
  const segments: number[][] = [];
  const acks: number[][] = [];
  const marks: number[][] = [];
  const limits: number[][] = [
    [0, 0],
    [0.55, 4],
  ];
  let [cwnd, ssthresh, seq] = [2920, 65535, 0];
  for (let round = 1; round < 110; round++) {
    const time = round * 0.55;
    for (let sent = 0; sent < cwnd; sent += 1460) {
      segments.push([time + (0.4 * sent) / cwnd, seq, 1460, 0]);
      acks.push([time + 0.55 + (0.4 * sent) / cwnd, seq + 1460, 65535]);
      seq += 1460;
    }
    if (round % (17 + 3 * place) === 0) {
      marks.push([time, 1]);
      limits.push([time, 6], [time + 0.55, 4]);
      segments.push([time + 0.45, seq - 14600, 1460, 1]);
      ssthresh = cwnd / 2;
      cwnd = ssthresh;
    } else cwnd += cwnd < ssthresh ? cwnd : 1460 * (1 + place);
    state.push([time, cwnd, ssthresh, cwnd, 0.55, 1]);
  }
  const times = acks.map((row) => row[0]!);
  return {
    state: table("state", ["cwnd", "ssthresh", "flight", "srtt", "rto"], state),
    segments: table("segments", ["seq", "len", "retransmission"], segments),
    acks: table("acks", ["ack", "window"], acks),
    sacks: table("sacks", ["left", "right"], []),
    marks: table("marks", ["kind"], marks, { kind: MARKS }),
    limits: table("limits", ["limit"], limits, { limit: LIMITS }),
    drops: linkTable(
      "drops",
      ["flow", "bytes", "seq", "cause"],
      marks.map(([time]) => [time! - 0.5, 0, 1500, 0, 0]),
    ),
    queue: linkTable(
      "queue",
      ["packets", "bytes"],
      times.map((t, n) => [t, n % 20, (n % 20) * 1500]),
    ),
    deliveries: linkTable(
      "deliveries",
      ["bytes"],
      state.map(([t, w]) => [t!, w!]),
    ),
  };
}

function columns(names: string[], rows: number[][]): Record<string, Values> {
  rows.sort((a, b) => a[0]! - b[0]!);
  return Object.fromEntries(
    ["time", ...names].map((name, n) => [name, Float64Array.from(rows, (row) => row[n]!)]),
  );
}

function table(
  name: string,
  own: string[],
  rows: number[][],
  names: Record<string, string[]> = {},
): Table {
  const common = { flow: new Uint32Array(rows.length), side: new Uint8Array(rows.length) };
  return { name, rows: rows.length, columns: { ...columns(own, rows), ...common }, names };
}

function linkTable(name: string, own: string[], rows: number[][]): Table {
  const common = { link: new Uint32Array(rows.length), direction: new Uint8Array(rows.length) };
  return { name, rows: rows.length, columns: { ...columns(own, rows), ...common }, names: {} };
}
