import type { Kind } from "./rows";

/** Look of a line. */
export interface Stroke {
  color: string;
  width: number;
  alpha?: number;
  dash?: readonly number[];
}

/** Look of a text. */
export interface TextStyle {
  color: string;
  size: number;
  align?: "left" | "center" | "right";
  bold?: boolean;
  /** Angle in radians, clockwise. */
  turn?: number;
  /** Colour of an outline that separates the text from lines. */
  halo?: string;
}

/** Surface that takes lines, shapes and texts: a canvas or an SVG. */
export interface Pen {
  line(x1: number, y1: number, x2: number, y2: number, stroke: Stroke): void;
  rect(x: number, y: number, width: number, height: number, fill: string, alpha?: number): void;
  /** Closed polygon. */
  polygon(points: readonly (readonly [number, number])[], fill: string, edge?: Stroke): void;
  circle(x: number, y: number, radius: number, fill: string | undefined, edge?: Stroke): void;
  text(x: number, y: number, text: string, style: TextStyle): void;
  /** Restricts what `draw` draws to a rectangle. */
  clip(x: number, y: number, width: number, height: number, draw: () => void): void;
}

/** Draws the mark of a kind of packets; each kind has a shape of its own. */
export function mark(
  pen: Pen,
  kind: Kind,
  x: number,
  y: number,
  size: number,
  colors: MarkColors,
): void {
  const half = size / 2;
  const color = colors[kind];
  const edge = { color: colors.edge, width: 1 };
  if (kind === "data") pen.rect(x - half * 1.3, y - half * 0.8, size * 1.3, size * 0.8, color);
  else if (kind === "retransmission") {
    const reach = half * 1.5;
    const diamond = [
      [x, y - reach],
      [x + reach, y],
      [x, y + reach],
      [x - reach, y],
    ] as const;
    pen.polygon(diamond, color, edge);
  } else if (kind === "ack") pen.circle(x, y, half * 0.85, color);
  else if (kind === "duplicate") {
    pen.circle(x, y, half * 0.85, colors.ground, { color, width: Math.max(1.5, size / 5) });
  } else if (kind === "sack") {
    pen.circle(x, y, half, color);
    pen.rect(x - half * 0.35, y - half * 0.35, half * 0.7, half * 0.7, colors.ground);
  } else {
    const reach = half * 1.2;
    const triangle = [
      [x, y - reach],
      [x + reach, y + reach * 0.8],
      [x - reach, y + reach * 0.8],
    ] as const;
    pen.polygon(triangle, color, edge);
  }
}

/** Colours of the kinds, and of the edge and the ground of marks. */
export type MarkColors = Record<Kind, string> & { edge: string; ground: string };

/** Draws the cross of a loss. */
export function cross(
  pen: Pen,
  x: number,
  y: number,
  size: number,
  color: string,
  width: number,
): void {
  const half = size / 2;
  pen.line(x - half, y - half, x + half, y + half, { color, width });
  pen.line(x - half, y + half, x + half, y - half, { color, width });
}
