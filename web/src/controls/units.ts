/** Dimension of a value: its units, and the unit that a bare number has. */
export interface Dimension {
  units: readonly (readonly [string, number])[];
  /** Units to write values with, from small to large. */
  write: readonly (readonly [string, number])[];
}

const TIMES = [
  ["ns", 1e-9],
  ["us", 1e-6],
  ["µs", 1e-6],
  ["ms", 1e-3],
  ["s", 1],
  ["min", 60],
  ["h", 3600],
] as const;
const RATES = [
  ["bit/s", 1],
  ["kbit/s", 1e3],
  ["Mbit/s", 1e6],
  ["Gbit/s", 1e9],
] as const;
const SIZES = [
  ["B", 1],
  ["kB", 1e3],
  ["KiB", 1024],
  ["MB", 1e6],
  ["MiB", 1024 ** 2],
  ["GB", 1e9],
  ["GiB", 1024 ** 3],
] as const;

export const TIME: Dimension = { units: TIMES, write: [TIMES[3], TIMES[4]] };
export const RATE: Dimension = { units: RATES, write: [RATES[1], RATES[2]] };
export const SIZE: Dimension = { units: SIZES, write: [SIZES[0], SIZES[1], SIZES[3], SIZES[5]] };
export const WINDOW: Dimension = { units: SIZES, write: [SIZES[0], SIZES[2], SIZES[4], SIZES[6]] };
export const SHARE: Dimension = { units: [["%", 0.01]], write: [["%", 0.01]] };
export const NUMBER: Dimension = { units: [], write: [] };

/** Returns the number behind a text such as `250 ms` or 0.01; undefined if it has no such form. */
export function quantity(text: unknown, dimension: Dimension): number | undefined {
  if (typeof text === "number") return text;
  if (typeof text !== "string") return undefined;
  const match = /^\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(.*?)\s*$/i.exec(text);
  if (!match) return undefined;
  const number = Number(match[1]!.replaceAll("_", ""));
  if (match[2] === "") return Number.isFinite(number) ? number : undefined;
  const unit = dimension.units.find(([name]) => name === match[2]);
  return unit ? number * unit[1] : undefined;
}

/** Returns a value with the largest unit that leaves a number of at least 1. */
export function written(value: number, dimension: Dimension, digits = 2): string {
  const rounded = Number(value.toPrecision(digits));
  let unit = dimension.write[0];
  for (const row of dimension.write) if (rounded >= row[1] * 0.9999) unit = row;
  if (!unit) return plain(rounded);
  return `${plain(Number((value / unit[1]).toPrecision(digits)))} ${unit[0]}`;
}

function plain(value: number): string {
  return Math.abs(value) >= 1e-4 || value === 0 ? String(value) : value.toExponential();
}

/** Positions of a slider, and the values at them: equal steps are equal ratios. */
export interface Scale {
  least: number;
  greatest: number;
  /** Whether the first position is 0. */
  zero: boolean;
  steps: number;
}

const PER_DECADE = 24;

export function scale(least: number, greatest: number, zero = false): Scale {
  const steps = Math.round(Math.log10(greatest / least) * PER_DECADE) + (zero ? 1 : 0);
  return { least, greatest, zero, steps };
}

/** Returns the value at a position, with two significant digits. */
export function valueAt({ least, greatest, zero, steps }: Scale, position: number): number {
  if (zero && position <= 0) return 0;
  const share = zero ? (position - 1) / (steps - 1) : position / steps;
  const value = least * (greatest / least) ** share;
  return Number(value.toPrecision(2));
}

/** Returns the position that is nearest to a value. */
export function positionOf({ least, greatest, zero, steps }: Scale, value: number): number {
  if (!(value > 0)) return 0;
  const share = Math.log(value / least) / Math.log(greatest / least);
  const inside = Math.min(1, Math.max(0, share));
  return zero ? 1 + Math.round(inside * (steps - 1)) : Math.round(inside * steps);
}
