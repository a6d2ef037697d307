import type { Pictures } from "../charts";
import type { Picture } from "../charts/picture";
import { areaOf, frameOf, render } from "../charts/render";
import { CanvasSurface, type Surface, SvgSurface } from "../charts/surface";
import { lowerBound } from "../charts/thin";
import { type Theme, themeOf } from "../charts/theme";

/** Offers a file to save. */
export function save(name: string, content: string | Blob, type = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

interface Sheet {
  width: number;
  height: number;
  draw(surface: Surface): void;
}

const WIDTH = 1000;

/** Lays out all shown pictures below each other, with a title and legends, on white. */
function sheetOf(pictures: Pictures, heading: string): Sheet {
  const theme = themeOf(false);
  const span = pictures.view.span();
  const parts = pictures.shown().map((chart) => {
    const picture = chart.kind.make(pictures.source(theme));
    return { picture, height: chart.kind.height, legend: legendRows(picture, theme) };
  });
  const heights = parts.map(({ height, legend }) => height + 26 + 18 * legend.length);
  const height = 40 + heights.reduce((sum, part) => sum + part, 0);
  return {
    width: WIDTH,
    height,
    draw: (surface) => {
      surface.fill({ x: 0, y: 0, width: WIDTH, height }, theme.background);
      surface.text(heading, 10, 24, { colour: theme.text, size: 16 });
      let top = 40;
      parts.forEach(({ picture, legend, height: tall }, n) => {
        const style = { colour: theme.text, size: 13, bold: true };
        surface.text(picture.title, 10, top + 15, style);
        legend.forEach((row, line) => drawLegend(surface, row, top + 33 + 18 * line, theme));
        const offset = top + 24 + 18 * legend.length;
        const box = areaOf(picture, WIDTH, tall, theme);
        render(shifted(surface, offset), picture, frameOf(picture, box, span, theme));
        top += heights[n]!;
      });
    },
  };
}

type LegendRow = { label: string; x: number; entry: Picture["entries"][number] }[];

function legendRows(picture: Picture, theme: Theme): LegendRow[] {
  const rows: LegendRow[] = [[]];
  let x = 10;
  for (const entry of picture.entries) {
    const width = 40 + entry.label.length * theme.size * 0.58;
    if (x + width > WIDTH - 10 && x > 10) {
      rows.push([]);
      x = 10;
    }
    rows.at(-1)!.push({ label: entry.label, x, entry });
    x += width;
  }
  return rows;
}

function drawLegend(surface: Surface, row: LegendRow, y: number, theme: Theme): void {
  for (const { label, x, entry } of row) {
    const pen = { colour: entry.colour, width: 2 };
    const middle = y - 4;
    if (entry.shape === "box") {
      const box = { x, y: y - 9, width: 20, height: 10 };
      surface.fill(box, entry.colour);
      if (entry.hatch) surface.hatch(box, entry.hatch as "/", "#FFFFFF");
    } else if (entry.shape === "line") {
      surface.path([x, middle, x + 22, middle], 2, { ...pen, dashes: entry.dashes ?? [] });
    } else if (entry.shape === "stroke") {
      surface.path([x + 11, y - 9, x + 11, y + 1], 2, pen);
    } else if (entry.shape === "letter") {
      surface.text("R", x + 11, y, { colour: entry.colour, size: 12, bold: true, align: "middle" });
    } else {
      const [a, b] = [x + 7, x + 15];
      surface.path([a, y - 8, b, y, NaN, NaN, a, y, b, y - 8], 5, pen);
    }
    surface.text(label, x + 28, y, { colour: theme.text, size: theme.size });
  }
}

/** Returns a surface whose origin is further down. */
function shifted(surface: Surface, down: number): Surface {
  const box = <T extends { y: number }>(place: T): T => ({ ...place, y: place.y + down });
  return {
    path: (points, count, pen) => {
      const moved = new Float64Array(2 * count);
      for (let n = 0; n < count; n++) {
        moved[2 * n] = points[2 * n]!;
        moved[2 * n + 1] = points[2 * n + 1]! + down;
      }
      surface.path(moved, count, pen);
    },
    fill: (place, colour, opacity) => surface.fill(box(place), colour, opacity),
    hatch: (place, kind, colour) => surface.hatch(box(place), kind, colour),
    text: (text, x, y, style) => surface.text(text, x, y + down, style),
    clip: (place, draw) => surface.clip(box(place), draw),
  };
}

/** Returns all shown pictures as one SVG file of paths and texts. */
export function svgFile(pictures: Pictures, heading: string): string {
  const sheet = sheetOf(pictures, heading);
  const surface = new SvgSurface();
  sheet.draw(surface);
  return surface.file(sheet.width, sheet.height, heading);
}

/** Returns all shown pictures as one PNG file of twice the size. */
export function pngFile(pictures: Pictures, heading: string): Promise<Blob> {
  const sheet = sheetOf(pictures, heading);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * sheet.width, 2 * sheet.height];
  const context = canvas.getContext("2d");
  if (!context) return Promise.reject(new Error("the browser has no canvas"));
  context.scale(2, 2);
  sheet.draw(new CanvasSurface(context));
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))),
      "image/png",
    );
  });
}

/** Returns what the shown pictures draw of the shown span: a row for each point. */
export function csvFile(pictures: Pictures): string {
  const [from, to] = pictures.view.span();
  const lines = ["picture,series,time_s,value,unit"];
  for (const chart of pictures.shown()) {
    for (const series of chart.picture?.series ?? []) {
      const kept = series.kind === "step" ? 1 : 0;
      const first = Math.max(0, lowerBound(series.time, from) - kept);
      const end = lowerBound(series.time, to + 1e-12);
      const head = `${chart.kind.name},${csv(series.name)}`;
      for (let n = first; n < end; n++) {
        const value = series.value[n]!;
        if (!Number.isNaN(value)) lines.push(`${head},${series.time[n]!},${value},${series.unit}`);
      }
    }
  }
  return `${lines.join("\n")}\n`;
}

/** Quotes a field. A field that a spreadsheet would compute begins with an apostrophe. */
function csv(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
