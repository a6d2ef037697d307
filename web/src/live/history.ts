import type { FlowSample, LinkSample, Sample } from "./protocol";

/** Span (s) that is kept and shown. */
export const SPAN = 60;

/** Span (s) over which rates are averaged. */
const WINDOW = 0.5;

/** Values over time of one curve; NaN begins a gap. */
export interface Curve {
  name: string;
  time: number[];
  value: number[];
}

/** Samples of the last minute. */
export class History {
  #samples: Sample[] = [];

  add(samples: Sample[]): void {
    const newest = this.#samples.at(-1)?.time ?? -1;
    this.#samples.push(...samples.filter((sample) => sample.time > newest));
    const first = (this.#samples.at(-1)?.time ?? 0) - SPAN - WINDOW;
    const keep = this.#samples.findIndex((sample) => sample.time >= first);
    if (keep > 0) this.#samples.splice(0, keep);
  }

  latest(): Sample | undefined {
    return this.#samples.at(-1);
  }

  /** Returns the shown span of time: a minute that ends with the newest sample. */
  span(): [number, number] {
    const end = this.latest()?.time ?? 0;
    return end < SPAN ? [0, Math.max(end, 5)] : [end - SPAN, end];
  }

  /** Rate of each direction of each link (bit/s). */
  rates(): Curve[] {
    return this.#byLink((row, before, seconds) => (8 * (row.bytes - before.bytes)) / seconds);
  }

  /** Packets in the queue of each direction of each link. */
  queues(): Curve[] {
    return this.#byLink((row) => row.waiting);
  }

  /** Lost packets per second, by cause, over all links. */
  losses(): Curve[] {
    const causes = new Set(
      this.#samples.flatMap((sample) => sample.links.flatMap((row) => Object.keys(row.lost))),
    );
    return [...causes].sort().map((cause) => {
      const total = (sample: Sample): number =>
        sample.links.reduce((sum, row) => sum + (row.lost[cause] ?? 0), 0);
      const curve: Curve = { name: cause.replaceAll("_", " "), time: [], value: [] };
      this.#samples.forEach((sample, place) => {
        const before = this.#before(place);
        curve.time.push(sample.time);
        curve.value.push(
          before ? (total(sample) - total(before)) / (sample.time - before.time) : NaN,
        );
      });
      return curve;
    });
  }

  /** A value of each TCP connection; null and absent connections leave gaps. */
  flows(names: (flow: FlowSample) => [string, number | null][]): Curve[] {
    const curves = new Map<string, Curve>();
    const senders = this.#senders();
    this.#samples.forEach((sample, place) => {
      for (const flow of sample.flows) {
        if (senders.get(pairOf(flow)) !== flow.from_address) continue;
        for (const [name, value] of names(flow)) {
          const curve = curves.get(name) ?? { name, time: [], value: [] };
          curves.set(name, curve);
          const gone =
            curve.time.length > 0 && curve.time.at(-1) !== this.#samples[place - 1]?.time;
          if (gone) {
            curve.time.push(curve.time.at(-1)!);
            curve.value.push(NaN);
          }
          curve.time.push(sample.time);
          curve.value.push(value ?? NaN);
        }
      }
    });
    return [...curves.values()].filter((curve) => curve.value.some(Number.isFinite));
  }

  /** Returns the newest sender of each connection: its first packets may name the other end. */
  #senders(): Map<string, string> {
    const flows = this.#samples.flatMap((sample) => sample.flows);
    return new Map(flows.map((flow) => [pairOf(flow), flow.from_address]));
  }

  #byLink(value: (row: LinkSample, before: LinkSample, seconds: number) => number): Curve[] {
    const rows = this.latest()?.links ?? [];
    return rows.map((row, number) => {
      const curve: Curve = { name: `${row.link} ${row.direction}`, time: [], value: [] };
      this.#samples.forEach((sample, place) => {
        const before = this.#before(place);
        const [now, then] = [sample.links[number], before?.links[number]];
        if (!before || !now || !then) return;
        curve.time.push(sample.time);
        curve.value.push(value(now, then, sample.time - before.time));
      });
      return curve;
    });
  }

  /** Returns the sample that is `WINDOW` before another, or the first one. */
  #before(place: number): Sample | undefined {
    const sample = this.#samples[place]!;
    let before = place - 1;
    while (before > 0 && this.#samples[before]!.time > sample.time - WINDOW) before -= 1;
    return this.#samples[before];
  }
}

function pairOf(flow: FlowSample): string {
  return [flow.from_address, flow.to_address].sort().join(" ");
}

/** Returns the name of a connection: hosts, and the port at its opener. */
export function flowName(flow: FlowSample): string {
  return `${flow.from} to ${flow.to}:${flow.to_address.split(":").at(-1) ?? ""}`;
}
