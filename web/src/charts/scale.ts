/** Rounded steps of an axis, as multiples of a power of ten. */
const STEPS = [1, 2, 2.5, 5, 10];

/** Returns round values from `low` to `high`, about `count` of them. */
export function ticks(low: number, high: number, count: number): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return Number.isFinite(low) ? [low] : [];
  const rough = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (STEPS.find((factor) => factor * power >= rough * 0.999) ?? 10) * power;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => tidy((first + n) * step));
}

/** Returns labels with one number of decimals, which distinguishes all values. */
export function labels(values: readonly number[], factor = 1): string[] {
  const scaled = values.map((value) => value / factor);
  const finest = Math.min(...scaled.slice(1).map((value, n) => value - scaled[n]!));
  let decimals = 0;
  while (
    decimals < 9 &&
    scaled.some((v) => Math.abs(v - Number(v.toFixed(decimals))) > Math.abs(finest) / 100)
  ) {
    decimals += 1;
  }
  return scaled.map((value) => value.toFixed(Number.isFinite(finest) ? decimals : 2));
}

const PREFIXES: readonly (readonly [number, string])[] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** Returns the factor and the unit with the prefix that suits the largest value. */
export function prefixed(largest: number, unit: string): [number, string] {
  if (unit === "s") return largest > 0 && largest < 1 ? [1e-3, "ms"] : [1, "s"];
  if (unit !== "B" && unit !== "bit/s") return [1, unit];
  const row = PREFIXES.find(([factor]) => largest >= factor);
  return row ? [row[0], row[1] + unit] : [1, unit];
}

/** Returns a value with four significant digits and its unit. */
export function words(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "none";
  if (!Number.isFinite(value)) return "unlimited";
  const [factor, text] = prefixed(Math.abs(value), unit);
  const digits = digitsOf(value / factor);
  return text ? `${digits}\u00A0${text}` : digits;
}

function digitsOf(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
  if (size < 1e-3) return value.toExponential(2);
  const whole = Math.floor(Math.log10(size)) + 1;
  const text = value.toFixed(Math.max(0, 4 - Math.max(whole, 1)));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function tidy(value: number): number {
  return Number(value.toPrecision(12));
}
