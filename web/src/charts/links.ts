import type { Run } from "../engine";

/** Direction of a link, as the tables number it. */
export interface LinkDirection {
  /** Name such as `satellite down`. */
  name: string;
  link: number;
  direction: number;
  /** Largest share of the run in which it was used, over all TCPs. */
  used: number;
}

/** Returns the directions of all links, in the order of the scenario. */
export function linkDirections(runs: Run[]): LinkDirection[] {
  const first = runs[0];
  if (!first) return [];
  const links = [...new Set(first.measures.links.map((row) => row.link))];
  return first.measures.links.map((row, place) => ({
    name: `${row.link} ${row.direction}`,
    link: links.indexOf(row.link),
    direction: row.direction === "up" ? 1 : 0,
    used: Math.max(...runs.map((run) => run.measures.links[place]?.metrics.utilisation ?? 0)),
  }));
}

/** Returns the chosen direction, or the most used one. */
export function chosenDirection(runs: Run[], name?: string): LinkDirection | undefined {
  const all = linkDirections(runs);
  return (
    all.find((row) => row.name === name) ??
    all.reduce<LinkDirection | undefined>(
      (best, row) => (best && best.used >= row.used ? best : row),
      undefined,
    )
  );
}

const RATES: Readonly<Record<string, number>> = {
  "bit/s": 1,
  "kbit/s": 1e3,
  "Mbit/s": 1e6,
  "Gbit/s": 1e9,
};

/** Returns a rate such as `2 Mbit/s` in bit/s; undefined if it varies. */
export function rateOf(text: unknown): number | undefined {
  if (typeof text === "number") return text;
  if (typeof text !== "string") return undefined;
  const match = /^([\d.e+-]+) *(\w*bit\/s)$/.exec(text);
  const factor = match ? RATES[match[2]!] : undefined;
  return match && factor !== undefined ? Number(match[1]) * factor : undefined;
}
