import type { Frame, Layer } from "./picture";
import type { Pen, Surface } from "./surface";
import { extent, joinStrokes, lowerBound, thinCurve } from "./thin";

/** Curve that keeps each value until the next (a step function), or joins points by lines. */
export function curve(
  time: Float64Array,
  value: Float64Array,
  pen: Pen,
  kind: "step" | "line",
  end = Infinity,
): Layer {
  return {
    extent: (span) => extent(time, value, span),
    draw: (surface, frame) => {
      // A dash is longer than a pixel, and dashing costs a browser more than drawing.
      const wanted = frame.box.width / (pen.dashes?.length ? 2 : 1);
      const points = thinCurve(time, value, frame.span, Math.ceil(wanted));
      const out: number[] = [];
      let before = NaN;
      for (let n = 0; n < points.count; n++) {
        const x = frame.x(points.time[n]!);
        const y = frame.y(finite(points.value[n]!));
        if (kind === "step" && !Number.isNaN(before)) extend(out, x, before);
        extend(out, x, y);
        before = y;
      }
      const stop = frame.x(Math.min(end, frame.span[1]));
      if (kind === "step" && points.count && !Number.isNaN(before)) {
        if (stop > out.at(-2)!) extend(out, stop, before);
      }
      surface.path(out, out.length / 2, pen);
    },
  };
}

/** Appends a point. A third point at the same height replaces the second. */
export function extend(out: number[], x: number, y: number): void {
  const last = out.length;
  if (last >= 4 && out[last - 1] === y && out[last - 3] === y) out[last - 2] = x;
  else out.push(x, y);
}

/** Vertical strokes from `low` to `high`, such as segments over sequence numbers. */
export function strokes(
  time: Float64Array,
  low: Float64Array,
  high: Float64Array,
  pen: Pen,
): Layer {
  return {
    extent: (span) => {
      const [a, b] = [extent(time, low, span), extent(time, high, span)];
      return a && b ? [a[0], b[1]] : undefined;
    },
    draw: (surface, frame) => {
      const { width, height } = frame.box;
      const grain = (frame.high - frame.low) / height / 2;
      const joined = joinStrokes(time, low, high, frame.span, Math.ceil(width), grain);
      const out = new Float64Array(6 * joined.count);
      for (let n = 0; n < joined.count; n++) {
        const x = frame.x(joined.time[n]!);
        const [bottom, top] = [frame.y(joined.low[n]!), frame.y(joined.high[n]!)];
        // A stroke of less than a pixel and a half would vanish.
        out.set([x, Math.max(bottom, top + 1.5), x, top, NaN, NaN], 6 * n);
      }
      surface.path(out, 3 * joined.count, pen);
    },
  };
}

const MOST_LETTERS = 40;
/** Number of crosses above which each is smaller. */
const CROWD = 80;

/** Crosses, or letters, at points, at most one per pixel. */
export function marks(
  time: Float64Array,
  value: Float64Array,
  pen: Pen,
  shape: "cross" | "letter",
): Layer {
  return {
    draw: (surface, frame) => {
      const first = lowerBound(time, frame.span[0]);
      const end = lowerBound(time, frame.span[1]);
      if (shape === "letter") {
        if (end - first > MOST_LETTERS) return;
        const size = frame.theme.size - 1;
        for (let n = first; n < end; n++) {
          const style = { colour: pen.colour, size, bold: true, halo: frame.theme.background };
          const [x, y] = [frame.x(time[n]!), frame.y(value[n]!) - 4];
          surface.text("R", x, y, { ...style, align: "middle" });
        }
        return;
      }
      crosses(surface, frame, time, value, [first, end], pen);
    },
  };
}

function crosses(
  surface: Surface,
  frame: Frame,
  time: Float64Array,
  value: Float64Array,
  [first, end]: [number, number],
  pen: Pen,
): void {
  const out: number[] = [];
  const seen = new Set<number>();
  const r = (end - first > CROWD ? 2 : 3.5) * frame.theme.stroke;
  for (let n = first; n < end; n++) {
    const [x, y] = [frame.x(time[n]!), frame.y(value[n]!)];
    if (Number.isNaN(y)) continue;
    const pixel = Math.round(x) * 16384 + Math.round(y);
    if (seen.has(pixel)) continue;
    seen.add(pixel);
    out.push(x - r, y - r, x + r, y + r, NaN, NaN, x - r, y + r, x + r, y - r, NaN, NaN);
  }
  surface.path(out, out.length / 2, pen);
}

/** Line at a value, such as a link's rate, if it is within the axis; its label at the right. */
export function level(value: number, label: string, colour: string): Layer {
  return {
    draw: (surface, frame) => {
      if (!(value >= frame.low && value <= frame.high)) return;
      const { x, width } = frame.box;
      const y = frame.y(value);
      surface.path([x, y, x + width, y], 2, { colour, dashes: [5, 3], width: frame.theme.stroke });
      const { size } = frame.theme;
      // A label above a line at the top would be cut.
      const above = y - frame.box.y > 1.3 * size;
      surface.text(label, x + width - 4, above ? y - 4 : y + size, {
        colour,
        size: size - 1,
        align: "end",
        halo: frame.theme.background,
      });
    },
  };
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : NaN;
}
