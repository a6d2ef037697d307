import { limitLane } from "./band";
import { binWidth, rates } from "./bins";
import { curve, level, marks, strokes } from "./layers";
import { chosenDirection, rateOf } from "./links";
import type { Entry, Kind, Picture, Series, Source } from "./picture";
import { nameOf, numberOf, rowsOf, type Rows } from "./rows";
import { words } from "./scale";
import type { Pen } from "./surface";
import { stepAt } from "./thin";
import { lookOf, widthOf } from "./theme";
import type { Run } from "../engine";

/** Pictures of the page, from top to bottom. */
export const KINDS: readonly Kind[] = [
  {
    name: "cwnd",
    title: "Congestion window",
    height: 250,
    tables: ["state", "marks", "limits", "acks"],
    make: makeCwnd,
  },
  {
    name: "sequence",
    title: "Sequence diagram",
    height: 330,
    tables: ["segments", "acks", "sacks", "drops"],
    make: makeSequence,
  },
  {
    name: "throughput",
    title: "Throughput",
    height: 200,
    tables: ["deliveries"],
    followsSpan: true,
    make: makeThroughput,
  },
  { name: "queue", title: "Queue", height: 200, tables: ["queue", "drops"], make: makeQueue },
  { name: "rtt", title: "Round trip", height: 200, tables: ["state"], make: makeRoundTrip },
];

/** Returns the time at which a flow of a run ends (s). */
function endOf(run: Run, flow: number): number {
  const duration = run.measures.flows[flow]?.metrics.duration;
  return Math.min(run.simulated, duration ? Math.max(duration, lastTime(run, flow)) : Infinity);
}

function lastTime(run: Run, flow: number): number {
  return rowsOf(run, "state", { flow, side: 0 }, ["cwnd"]).time.at(-1) ?? 0;
}

function makeCwnd({ runs, state, theme }: Source): Picture {
  const picture = blank("Congestion window", "cwnd", "B");
  const flow = state.flow;
  let [greatest, offered] = [0, 0];
  runs.forEach((run, place) => {
    const look = lookOf(theme, place);
    const rows = rowsOf(run, "state", { flow, side: 0 }, ["cwnd", "ssthresh"]);
    const end = endOf(run, flow);
    const [cwnd, ssthresh] = [rows.cwnd!, rows.ssthresh!];
    const pen: Pen = { colour: look.colour, width: widthOf(theme, place, runs.length) };
    const thin: Pen = { colour: look.colour, width: theme.stroke, dashes: [3, 2.5], opacity: 0.85 };
    picture.layers.push(curve(rows.time, ssthresh, thin, "step", end));
    picture.layers.push(curve(rows.time, cwnd, pen, "step", end));
    picture.entries.push(steps(`${run.tcp} cwnd`, "B", rows, "cwnd", { ...pen, dashes: [] }));
    picture.entries.push(steps(`${run.tcp} ssthresh`, "B", rows, "ssthresh", thin));
    picture.series.push(series(`cwnd ${run.tcp}`, "B", rows, "cwnd", "step"));
    picture.series.push(series(`ssthresh ${run.tcp}`, "B", rows, "ssthresh", "step"));
    for (const value of cwnd) if (value > greatest && Number.isFinite(value)) greatest = value;
    const windows = rowsOf(run, "acks", { flow, side: 0 }, ["ack", "window"]).window!;
    for (const value of windows) if (value > offered && Number.isFinite(value)) offered = value;
    addLane(picture, run, flow, look.colour, end);
  });
  // A cwnd far above the offered window has no effect: the axis ends at twice that window.
  if (greatest > 4 * offered && offered > 0) picture.top = 2 * offered;
  const label = `offered window ${words(offered, "B")}`;
  if (offered > 0) picture.layers.unshift(level(offered, label, theme.muted));
  const kinds = runs[0]?.tables.limits?.names.limit ?? [];
  addLimitEntries(picture, { runs, state, theme, span: [0, 0] }, kinds);
  picture.summary = runs
    .map((run) => {
      const metrics = run.measures.flows[flow]?.metrics ?? {};
      return `${run.tcp}: ${metrics.timeouts ?? 0} time-outs, ${metrics.fast_retransmits ?? 0} fast retransmits`;
    })
    .join("; ");
  return picture;
}

function addLane(picture: Picture, run: Run, flow: number, colour: string, end: number): void {
  const limits = rowsOf(run, "limits", { flow, side: 0 }, ["limit"]);
  const names = run.tables.limits?.names.limit ?? [];
  const kind = (name: string) => ({ flow, side: 0, kind: numberOf(run, "marks", "kind", name) });
  const events = {
    timeouts: rowsOf(run, "marks", kind("timeout"), []).time,
    fast: rowsOf(run, "marks", kind("fast_retransmit"), []).time,
  };
  picture.lanes.push(limitLane(run.tcp, colour, limits, names, events, end));
}

function addLimitEntries(picture: Picture, source: Source, kinds: string[]): void {
  const { runs, state, theme } = source;
  const used = new Set<number>();
  for (const run of runs) {
    const rows = rowsOf(run, "limits", { flow: state.flow, side: 0 }, ["limit"]);
    for (const limit of rows.limit!) used.add(limit);
  }
  const entry = (label: string, colour: string): Entry => ({ label, colour, shape: "stroke" });
  picture.entries.push(entry("time-out", theme.data), entry("fast retransmit", theme.loss));
  kinds.forEach((name, place) => {
    const look = theme.limits[name];
    if (!look || !used.has(place)) return;
    const { colour, hatch } = look;
    picture.entries.push({ label: `limit: ${look.words}`, colour, hatch, shape: "box" });
  });
}

function makeSequence({ runs, state, theme }: Source): Picture {
  const run = runs.find((row) => row.tcp === state.focus) ?? runs[0];
  const picture = blank(`Sequence diagram${run ? `: ${run.tcp}` : ""}`, "sequence number", "B");
  picture.zero = false;
  if (!run) return picture;
  const end = { flow: state.flow, side: 0 };
  runs.forEach((other, place) => {
    if (other === run) return;
    const look = lookOf(theme, place);
    const rows = rowsOf(other, "acks", end, ["ack", "window"]);
    const pen = { ...look, width: theme.stroke, opacity: 0.75 };
    picture.layers.push(hidden(curve(rows.time, rows.ack!, pen, "step", other.simulated)));
    picture.entries.push(steps(`${other.tcp} ACK`, "B", rows, "ack", look));
  });
  const acks = rowsOf(run, "acks", end, ["ack", "window"]);
  const edge = acks.ack!.map((ack, n) => ack + acks.window![n]!);
  const withEdge: Rows = { time: acks.time, edge };
  const pen = (colour: string, width: number): Pen => ({ colour, width: width * theme.stroke });
  picture.layers.push(
    hidden(curve(acks.time, edge, pen(theme.window, 1.4), "step", run.simulated)),
    curve(acks.time, acks.ack!, pen(theme.ack, 1.4), "step", run.simulated),
  );
  addSegments(picture, run, end, theme);
  picture.entries.push(steps("ACK", "B", acks, "ack", pen(theme.ack, 1.4)));
  picture.entries.push(steps("offered window", "B", withEdge, "edge", pen(theme.window, 1.4)));
  picture.series.push(series("ACK", "B", acks, "ack", "step"));
  picture.series.push(series("offered window", "B", withEdge, "edge", "step"));
  return picture;
}

function addSegments(
  picture: Picture,
  run: Run,
  end: { flow: number; side: number },
  theme: Source["theme"],
): void {
  const own = ["seq", "len"];
  const sent = rowsOf(run, "segments", { ...end, retransmission: 0 }, own);
  const again = rowsOf(run, "segments", { ...end, retransmission: 1 }, own);
  const sacks = rowsOf(run, "sacks", end, ["left", "right"]);
  const drops = rowsOf(run, "drops", { flow: end.flow }, ["seq", "cause"]);
  const width = theme.stroke;
  const add = (rows: Rows, low: string, high: Float64Array, colour: string, wide: number) =>
    picture.layers.push(strokes(rows.time, rows[low]!, high, { colour, width: wide * width }));
  add(sacks, "left", sacks.right!, theme.sack, 1.3);
  add(sent, "seq", ends(sent), theme.data, 1.5);
  add(again, "seq", ends(again), theme.loss, 2.2);
  picture.layers.push(marks(again.time, ends(again), { colour: theme.loss }, "letter"));
  const crosses: Pen = { colour: theme.loss, width: 1.6 * width };
  picture.layers.push(marks(drops.time, drops.seq!, crosses, "cross"));
  const entry = (label: string, colour: string, shape: Entry["shape"]): Entry => ({
    label,
    colour,
    shape,
  });
  picture.entries.push(
    entry("segment", theme.data, "stroke"),
    entry("retransmission", theme.loss, "letter"),
    entry("loss", theme.loss, "cross"),
    entry("SACK block", theme.sack, "stroke"),
  );
  picture.series.push(series("segment", "B", sent, "seq", "point"));
  picture.series.push(series("retransmission", "B", again, "seq", "point"));
  picture.series.push(series("SACK left", "B", sacks, "left", "point"));
  picture.series.push(series("SACK right", "B", sacks, "right", "point"));
  picture.series.push(series("loss", "B", drops, "seq", "point"));
  const causes = new Set([...drops.cause!].map((c) => nameOf(run, "drops", "cause", c)));
  const lost = causes.size ? ` (${[...causes].join(", ")})` : "";
  picture.summary = `${run.tcp}: ${sent.time.length} segments, ${again.time.length} retransmissions, ${drops.time.length} losses${lost}`;
}

function makeThroughput({ runs, state, theme, span }: Source): Picture {
  const at = chosenDirection(runs, state.link);
  const width = binWidth(span);
  const title = at ? `Throughput: ${at.name}, in bins of ${words(width, "s")}` : "Throughput";
  const picture = blank(title, "throughput", "bit/s");
  if (!at) return picture;
  runs.forEach((run, place) => {
    const look = lookOf(theme, place);
    const where = { link: at.link, direction: at.direction };
    const packets = rowsOf(run, "deliveries", where, ["bytes"]);
    const rows = rates(packets, "bytes", span, width, run.simulated);
    const pen = { ...look, width: 1.6 * theme.stroke };
    picture.layers.push(curve(rows.time, rows.rate!, pen, "line"));
    picture.entries.push(steps(run.tcp, "bit/s", rows, "rate", pen));
    picture.series.push(series(run.tcp, "bit/s", rows, "rate", "line"));
  });
  const link = runs[0]?.resolved.links[at.link];
  const rate = rateOf((at.direction ? link?.up : link?.down)?.rate);
  if (rate !== undefined) {
    picture.layers.unshift(level(rate, `link rate ${words(rate, "bit/s")}`, theme.muted));
  }
  picture.summary = runs
    .map((run) => `${run.tcp}: ${words(run.measures.flows[state.flow]?.metrics.goodput, "bit/s")}`)
    .join("; ");
  return picture;
}

function makeQueue({ runs, state, theme }: Source): Picture {
  const at = chosenDirection(runs, state.link);
  const picture = blank(`Queue${at ? `: ${at.name}` : ""}`, "packets", "packets");
  if (!at) return picture;
  const where = { link: at.link, direction: at.direction };
  const summary: string[] = [];
  runs.forEach((run, place) => {
    const look = lookOf(theme, place);
    const rows = rowsOf(run, "queue", where, ["packets"]);
    const pen = { colour: look.colour, width: widthOf(theme, place, runs.length) };
    picture.layers.push(curve(rows.time, rows.packets!, pen, "step", run.simulated));
    const congestion = numberOf(run, "drops", "cause", "congestion");
    const drops = rowsOf(run, "drops", { ...where, cause: congestion }, []);
    const level = drops.time.map((time) => stepAt(rows.time, rows.packets!, time));
    const cross = { colour: look.colour, width: 1.6 * theme.stroke };
    picture.layers.push(marks(drops.time, level, cross, "cross"));
    picture.entries.push(steps(run.tcp, "packets", rows, "packets", pen));
    picture.series.push(series(run.tcp, "packets", rows, "packets", "step"));
    summary.push(`${run.tcp}: ${drops.time.length} drops by a full queue`);
  });
  picture.entries.push({ label: "drop by a full queue", colour: theme.text, shape: "cross" });
  picture.summary = summary.join("; ");
  return picture;
}

function makeRoundTrip({ runs, state, theme }: Source): Picture {
  const picture = blank("Round trip: smoothed RTT and RTO", "time", "s");
  const summary: string[] = [];
  runs.forEach((run, place) => {
    const look = lookOf(theme, place);
    const rows = rowsOf(run, "state", { flow: state.flow, side: 0 }, ["srtt", "rto"]);
    const pen: Pen = { colour: look.colour, width: widthOf(theme, place, runs.length) };
    const thin: Pen = { colour: look.colour, width: theme.stroke, dashes: [3, 2.5], opacity: 0.85 };
    const end = endOf(run, state.flow);
    picture.layers.push(curve(rows.time, rows.rto!, thin, "step", end));
    picture.layers.push(curve(rows.time, rows.srtt!, pen, "step", end));
    picture.entries.push(steps(`${run.tcp} SRTT`, "s", rows, "srtt", pen));
    picture.entries.push(steps(`${run.tcp} RTO`, "s", rows, "rto", thin));
    picture.series.push(series(`SRTT ${run.tcp}`, "s", rows, "srtt", "step"));
    picture.series.push(series(`RTO ${run.tcp}`, "s", rows, "rto", "step"));
    const mean = run.measures.flows[state.flow]?.metrics.rtt_mean;
    summary.push(`${run.tcp}: mean round trip ${words(mean, "s")}`);
  });
  picture.summary = summary.join("; ");
  return picture;
}

function blank(title: string, label: string, unit: string): Picture {
  const lists = { layers: [], lanes: [], entries: [], series: [] };
  return { title, summary: "", unit, label, zero: true, ...lists };
}

/** Legend entry of a curve, with its value at the cursor. */
function steps(
  label: string,
  unit: string,
  rows: Rows,
  column: string,
  pen: { colour: string; dashes?: readonly number[] },
): Entry {
  return {
    label,
    colour: pen.colour,
    ...(pen.dashes ? { dashes: pen.dashes } : {}),
    shape: "line",
    value: (time) => {
      const value = stepAt(rows.time, rows[column]!, time);
      return Number.isNaN(value) ? "–" : words(value, unit);
    },
  };
}

function series(
  name: string,
  unit: string,
  rows: Rows,
  column: string,
  kind: Series["kind"],
): Series {
  return { name, unit, time: rows.time, value: rows[column]!, kind };
}

function ends(rows: Rows): Float64Array {
  return rows.seq!.map((seq, n) => seq + rows.len![n]!);
}

/** Layer that the axis of values does not follow. */
function hidden<T extends object>(layer: T): T {
  return { ...layer, extent: undefined };
}
