import type { Pen, Stroke, TextStyle } from "./pen";

const FONT = 'system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif';
const NONE: readonly number[] = [];

/** Pen on a canvas. */
export class CanvasPen implements Pen {
  readonly #context: CanvasRenderingContext2D;

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
    context.lineCap = "butt";
    context.textBaseline = "middle";
  }

  line(x1: number, y1: number, x2: number, y2: number, stroke: Stroke): void {
    const context = this.#context;
    this.#set(stroke);
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
    context.globalAlpha = 1;
  }

  rect(x: number, y: number, width: number, height: number, fill: string, alpha = 1): void {
    this.#context.globalAlpha = alpha;
    this.#context.fillStyle = fill;
    this.#context.fillRect(x, y, width, height);
    this.#context.globalAlpha = 1;
  }

  polygon(points: readonly (readonly [number, number])[], fill: string, edge?: Stroke): void {
    const context = this.#context;
    context.beginPath();
    points.forEach(([x, y], i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    context.closePath();
    this.#fillAndStroke(fill, edge);
  }

  circle(x: number, y: number, radius: number, fill: string | undefined, edge?: Stroke): void {
    this.#context.beginPath();
    this.#context.arc(x, y, radius, 0, 2 * Math.PI);
    this.#fillAndStroke(fill, edge);
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const context = this.#context;
    context.save();
    context.translate(x, y);
    if (style.turn !== undefined) context.rotate(style.turn);
    context.font = `${style.bold === true ? "600 " : ""}${String(style.size)}px ${FONT}`;
    context.textAlign = style.align ?? "left";
    if (style.halo !== undefined) {
      context.strokeStyle = style.halo;
      context.lineWidth = 3;
      context.lineJoin = "round";
      context.setLineDash([]);
      context.strokeText(text, 0, 0);
    }
    context.fillStyle = style.color;
    context.fillText(text, 0, 0);
    context.restore();
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    this.#context.save();
    this.#context.beginPath();
    this.#context.rect(x, y, width, height);
    this.#context.clip();
    draw();
    this.#context.restore();
  }

  #set(stroke: Stroke): void {
    const context = this.#context;
    context.strokeStyle = stroke.color;
    context.lineWidth = stroke.width;
    context.globalAlpha = stroke.alpha ?? 1;
    context.setLineDash((stroke.dash ?? NONE) as number[]);
  }

  #fillAndStroke(fill: string | undefined, edge?: Stroke): void {
    if (fill !== undefined) {
      this.#context.fillStyle = fill;
      this.#context.fill();
    }
    if (edge === undefined) return;
    this.#set(edge);
    this.#context.stroke();
    this.#context.globalAlpha = 1;
  }
}

/** Pen that writes SVG. Texts and colours are escaped, because names come from scenarios. */
export class SvgPen implements Pen {
  readonly #parts: string[] = [];
  #clips = 0;

  line(x1: number, y1: number, x2: number, y2: number, stroke: Stroke): void {
    const place = attributes({ x1, y1, x2, y2 });
    this.#parts.push(`<line ${place} ${strokeOf(stroke)}/>`);
  }

  rect(x: number, y: number, width: number, height: number, fill: string, alpha = 1): void {
    const opacity: Record<string, number> = alpha < 1 ? { "fill-opacity": alpha } : {};
    this.#parts.push(`<rect ${attributes({ x, y, width, height, fill, ...opacity })}/>`);
  }

  polygon(points: readonly (readonly [number, number])[], fill: string, edge?: Stroke): void {
    const list = points.map(([x, y]) => `${short(x)},${short(y)}`).join(" ");
    this.#parts.push(`<polygon points="${list}" ${attributes({ fill })} ${strokeOf(edge)}/>`);
  }

  circle(x: number, y: number, radius: number, fill: string | undefined, edge?: Stroke): void {
    const place = attributes({ cx: x, cy: y, r: radius, fill: fill ?? "none" });
    this.#parts.push(`<circle ${place} ${strokeOf(edge)}/>`);
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const anchor = { left: "start", center: "middle", right: "end" }[style.align ?? "left"];
    const turn = style.turn === undefined ? "" : ` rotate(${short((style.turn * 180) / Math.PI)})`;
    const look = attributes({
      "font-size": style.size,
      "text-anchor": anchor,
      fill: style.color,
      ...(style.bold === true ? { "font-weight": 600 } : {}),
      ...(style.halo === undefined
        ? {}
        : { stroke: style.halo, "stroke-width": 3, "paint-order": "stroke" }),
    });
    const place = `transform="translate(${short(x)} ${short(y)})${turn}" dy="0.35em"`;
    this.#parts.push(`<text ${place} ${look}>${escape(text)}</text>`);
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    this.#clips += 1;
    const id = `clip-${this.#clips}`;
    const box = `<rect ${attributes({ x, y, width, height })}/>`;
    this.#parts.push(`<clipPath id="${id}">${box}</clipPath><g clip-path="url(#${id})">`);
    draw();
    this.#parts.push("</g>");
  }

  /** Returns the whole document. */
  document(width: number, height: number, title: string): string {
    const size = attributes({ width, height, viewBox: `0 0 ${width} ${height}` });
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family='${FONT}'>` +
      `<title>${escape(title)}</title>${this.#parts.join("\n")}</svg>\n`
    );
  }
}

function short(value: number): string {
  return String(Number(value.toFixed(2)));
}

function attributes(values: Record<string, string | number>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${typeof value === "number" ? short(value) : escape(value)}"`)
    .join(" ");
}

function strokeOf(stroke: Stroke | undefined): string {
  if (stroke === undefined) return "";
  return attributes({
    stroke: stroke.color,
    "stroke-width": stroke.width,
    ...(stroke.alpha === undefined ? {} : { "stroke-opacity": stroke.alpha }),
    ...(stroke.dash === undefined ? {} : { "stroke-dasharray": stroke.dash.join(" ") }),
  });
}

const ESCAPES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes a text for SVG and drops characters that XML forbids. */
export function escape(text: string): string {
  // eslint-disable-next-line no-control-regex
  const legal = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "");
  return legal.replace(/[&<>"']/g, (c) => ESCAPES[c]!);
}
