/** Style of a stroke. */
export interface Pen {
  colour: string;
  width?: number;
  dashes?: readonly number[];
  opacity?: number;
}

export interface TextStyle {
  colour: string;
  size: number;
  align?: "start" | "middle" | "end";
  bold?: boolean;
  /** Colour of an outline behind the text. */
  halo?: string;
  /** Angle in degrees. */
  turn?: number;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Place to draw on: a canvas, or an SVG file. Coordinates are CSS pixels. */
export interface Surface {
  /** Strokes a path; each NaN begins a new part. */
  path(points: ArrayLike<number>, count: number, pen: Pen): void;
  fill(box: Box, colour: string, opacity?: number): void;
  hatch(box: Box, kind: "/" | "|" | ".", colour: string): void;
  text(text: string, x: number, y: number, style: TextStyle): void;
  clip(box: Box, draw: () => void): void;
}

const FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

/** Points of a stroke at a time. The time that a browser takes grows faster than a stroke's points. */
const PIECE = 100;

/** Surface of a canvas. */
export class CanvasSurface implements Surface {
  readonly #context: CanvasRenderingContext2D;

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
  }

  path(points: ArrayLike<number>, count: number, pen: Pen): void {
    const c = this.#context;
    c.strokeStyle = pen.colour;
    c.lineWidth = pen.width ?? 1;
    c.lineJoin = "bevel";
    c.globalAlpha = pen.opacity ?? 1;
    c.setLineDash([...(pen.dashes ?? [])]);
    const most = pen.dashes?.length || pen.opacity !== undefined ? Infinity : PIECE;
    c.beginPath();
    let begun = false;
    let piece = 0;
    for (let n = 0; n < count; n++) {
      const x = points[2 * n]!;
      const y = points[2 * n + 1]!;
      if (Number.isNaN(x) || Number.isNaN(y)) {
        begun = false;
        continue;
      }
      if (begun) c.lineTo(x, y);
      else c.moveTo(x, y);
      begun = true;
      piece += 1;
      if (piece < most) continue;
      c.stroke();
      c.beginPath();
      c.moveTo(x, y);
      piece = 0;
    }
    c.stroke();
    c.globalAlpha = 1;
  }

  fill(box: Box, colour: string, opacity = 1): void {
    this.#context.fillStyle = colour;
    this.#context.globalAlpha = opacity;
    this.#context.fillRect(box.x, box.y, box.width, box.height);
    this.#context.globalAlpha = 1;
  }

  hatch(box: Box, kind: "/" | "|" | ".", colour: string): void {
    const lines = hatchLines(box, kind);
    this.clip(box, () => this.path(lines, lines.length / 2, { colour, width: 1.2 }));
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const c = this.#context;
    c.save();
    c.translate(x, y);
    if (style.turn) c.rotate((style.turn * Math.PI) / 180);
    c.font = `${style.bold ? "bold " : ""}${style.size}px ${FONT}`;
    c.textAlign = style.align === "middle" ? "center" : (style.align ?? "start");
    c.textBaseline = "alphabetic";
    if (style.halo) {
      c.strokeStyle = style.halo;
      c.lineWidth = 3;
      c.strokeText(text, 0, 0);
    }
    c.fillStyle = style.colour;
    c.fillText(text, 0, 0);
    c.restore();
  }

  clip(box: Box, draw: () => void): void {
    const c = this.#context;
    c.save();
    c.beginPath();
    c.rect(box.x, box.y, box.width, box.height);
    c.clip();
    draw();
    c.restore();
  }
}

/** Surface of an SVG file: every stroke is a path, every text a text. */
export class SvgSurface implements Surface {
  readonly #parts: string[] = [];
  #clips = 0;

  path(points: ArrayLike<number>, count: number, pen: Pen): void {
    let d = "";
    let begun = false;
    for (let n = 0; n < count; n++) {
      const [x, y] = [points[2 * n]!, points[2 * n + 1]!];
      if (Number.isNaN(x) || Number.isNaN(y)) {
        begun = false;
        continue;
      }
      d += `${begun ? "L" : "M"}${short(x)} ${short(y)}`;
      begun = true;
    }
    if (!d) return;
    const dashes = pen.dashes?.length ? ` stroke-dasharray="${pen.dashes.join(" ")}"` : "";
    const opacity = pen.opacity === undefined ? "" : ` stroke-opacity="${pen.opacity}"`;
    this.#parts.push(
      `<path d="${d}" fill="none" stroke="${pen.colour}" stroke-width="${pen.width ?? 1}"` +
        `${dashes}${opacity}/>`,
    );
  }

  fill(box: Box, colour: string, opacity = 1): void {
    const shade = opacity === 1 ? "" : ` fill-opacity="${opacity}"`;
    this.#parts.push(`<rect ${boxOf(box)} fill="${colour}"${shade}/>`);
  }

  hatch(box: Box, kind: "/" | "|" | ".", colour: string): void {
    const lines = hatchLines(box, kind);
    this.clip(box, () => this.path(lines, lines.length / 2, { colour, width: 1.2 }));
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const turn = style.turn ? ` transform="rotate(${style.turn} ${short(x)} ${short(y)})"` : "";
    const halo = style.halo
      ? ` stroke="${style.halo}" stroke-width="3" paint-order="stroke" stroke-linejoin="round"`
      : "";
    this.#parts.push(
      `<text x="${short(x)}" y="${short(y)}" font-size="${style.size}" fill="${style.colour}"` +
        ` text-anchor="${style.align ?? "start"}"${style.bold ? ' font-weight="bold"' : ""}` +
        `${halo}${turn}>${escaped(text)}</text>`,
    );
  }

  clip(box: Box, draw: () => void): void {
    this.#clips += 1;
    const id = `c${this.#clips}`;
    this.#parts.push(`<clipPath id="${id}"><rect ${boxOf(box)}/></clipPath>`);
    this.#parts.push(`<g clip-path="url(#${id})">`);
    draw();
    this.#parts.push("</g>");
  }

  /** Returns the file. */
  file(width: number, height: number, title: string): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"` +
      ` viewBox="0 0 ${width} ${height}" font-family="${FONT}" role="img">` +
      `<title>${escaped(title)}</title>\n${this.#parts.join("\n")}\n</svg>\n`
    );
  }
}

/** Characters that XML does not allow, not even escaped. */
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B\u000C\u000E-\u001F]/g;
const MARKS: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Returns text with the characters of markup escaped. */
export function escaped(text: string): string {
  return text.replace(CONTROLS, "").replace(/[&<>"]/g, (mark) => MARKS[mark]!);
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function boxOf(box: Box): string {
  return `x="${short(box.x)}" y="${short(box.y)}" width="${short(box.width)}" height="${short(box.height)}"`;
}

function hatchLines(box: Box, kind: "/" | "|" | "."): number[] {
  const points: number[] = [];
  const step = kind === "/" ? 6 : 5;
  const start = Math.floor((box.x - box.height) / step) * step;
  for (let x = start; x < box.x + box.width; x += step) {
    if (kind === "/") points.push(x, box.y + box.height, x + box.height, box.y, NaN, NaN);
    else if (kind === "|") points.push(x, box.y, x, box.y + box.height, NaN, NaN);
    else {
      const middle = box.y + box.height / 2;
      points.push(x, middle - 0.6, x, middle + 0.6, NaN, NaN);
    }
  }
  return points;
}
