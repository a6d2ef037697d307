import { KIND_NAMES } from "./text";
import { cross, mark, type Pen } from "./pen";
import { CanvasPen, SvgPen } from "./pens";
import { KINDS } from "./rows";
import { paint, type Picture } from "./surface";
import type { Theme } from "./theme";

const HEAD = 34;
const FOOT = 30;

/** Returns a picture as an SVG document with title and legend. */
export function svgOf(picture: Picture, width: number, height: number, title: string): string {
  const pen = new SvgPen();
  whole(pen, picture, width, height, title);
  return pen.document(width, height + HEAD + FOOT, title);
}

/** Draws a picture on a canvas of its own, with title and legend, in twice the pixels. */
export function canvasOf(
  picture: Picture,
  width: number,
  height: number,
  title: string,
): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = width * 2;
  canvas.height = (height + HEAD + FOOT) * 2;
  const context = canvas.getContext("2d")!;
  context.scale(2, 2);
  whole(new CanvasPen(context), picture, width, height, title);
  return canvas;
}

function whole(pen: Pen, picture: Picture, width: number, height: number, title: string): void {
  const { theme } = picture;
  pen.rect(0, 0, width, height + HEAD + FOOT, theme.ground);
  paint(shifted(pen, HEAD), picture, width, height);
  pen.text(12, HEAD / 2, title, { color: theme.text, size: 15, bold: true });
  legend(pen, theme, width, HEAD + height + FOOT / 2);
}

function legend(pen: Pen, theme: Theme, width: number, y: number): void {
  const each = (width - 20) / (KINDS.length + 1);
  KINDS.forEach((kind, i) => {
    const x = 16 + i * each;
    mark(pen, kind, x, y, 9, theme);
    pen.text(x + 12, y, KIND_NAMES[kind], { color: theme.text, size: 11 });
  });
  const x = 16 + KINDS.length * each;
  cross(pen, x, y, 9, theme.loss, 2);
  pen.text(x + 12, y, "lost", { color: theme.text, size: 11 });
}

/** Pen that draws everything lower by an offset. */
function shifted(pen: Pen, by: number): Pen {
  return {
    line: (x1, y1, x2, y2, stroke) => pen.line(x1, y1 + by, x2, y2 + by, stroke),
    rect: (x, y, width, height, fill, alpha) => pen.rect(x, y + by, width, height, fill, alpha),
    polygon: (points, fill, edge) =>
      pen.polygon(
        points.map(([x, y]) => [x, y + by] as const),
        fill,
        edge,
      ),
    circle: (x, y, radius, fill, edge) => pen.circle(x, y + by, radius, fill, edge),
    text: (x, y, text, style) => pen.text(x, y + by, text, style),
    clip: (x, y, width, height, draw) => pen.clip(x, y + by, width, height, draw),
  };
}

/** Gives the user a file. */
export function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
