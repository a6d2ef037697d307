// Values of scenarios with their units, read and written.

export type Value = number | string | boolean;

const UNITS: Record<string, number> = {
  "%": 0.01,
  ns: 1e-9,
  us: 1e-6,
  ms: 1e-3,
  s: 1,
  min: 60,
  h: 3600,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  "bit/s": 1,
  "kbit/s": 1e3,
  "Mbit/s": 1e6,
  "Gbit/s": 1e9,
};
const NUMBER = /^([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(\S*)$/;

/** Returns a value of a scenario in its base unit: s, B, bit/s; other texts as they are. */
export function quantity(text: string): Value {
  const trimmed = text.trim();
  if (trimmed === "true" || trimmed === "false") return trimmed === "true";
  const match = NUMBER.exec(trimmed);
  if (!match) return trimmed;
  const [, number = "", unit = ""] = match;
  const factor = unit === "" ? 1 : UNITS[unit];
  return factor === undefined ? trimmed : rounded(Number(number) * factor);
}

/** Returns the number of a value in a given unit, such as 648 for "648 KiB" in KiB. */
export function numberIn(text: string, unit: string): number {
  const value = quantity(text);
  return typeof value === "number" ? rounded(value / (UNITS[unit] ?? 1)) : NaN;
}

/** Writes a number in a base unit with a readable prefix. */
export function readable(value: Value, unit: string): string {
  if (typeof value !== "number") return String(value);
  if (Number.isNaN(value)) return "–";
  if (unit === "%") return `${digits(value * 100)} %`;
  if (unit === "bit/s" || unit === "B") return prefixed(value, unit);
  if (unit === "s" && value !== 0 && Math.abs(value) < 0.2) return `${digits(value * 1e3)} ms`;
  return unit ? `${digits(value)} ${unit}` : digits(value);
}

function prefixed(value: number, unit: string): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${digits(value / 1e6)} M${unit}`;
  return size >= 1e3 ? `${digits(value / 1e3)} k${unit}` : `${digits(value)} ${unit}`;
}

/** Writes three significant digits, and whole numbers whole. */
function digits(value: number): string {
  if (!Number.isFinite(value)) return "∞";
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return String(Math.round(value));
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(decimals, 6));
}

/** Removes the noise of binary fractions, so that 275 ms are 0.275 s. */
function rounded(value: number): number {
  return Number(value.toPrecision(12));
}
