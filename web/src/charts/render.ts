import type { Frame, Picture } from "./picture";
import { labels, prefixed, ticks } from "./scale";
import type { Box, Surface } from "./surface";
import type { Theme } from "./theme";

/** Height of a lane below the axis, in sizes of the text. */
export const LANE = 1.75;

/** Returns the area between the axes of a picture; its sides are the same for all pictures. */
export function areaOf(picture: Picture, width: number, height: number, theme: Theme): Box {
  const { size } = theme;
  const left = Math.round(size * (width < 500 ? 4.4 : 5.6));
  const top = Math.round(size * 1.7);
  const lanes = Math.round(picture.lanes.length * size * LANE);
  const bottom = Math.round(size * 1.9) + lanes + (lanes ? 4 : 0);
  return { x: left, y: top, width: width - left - 10, height: Math.max(30, height - top - bottom) };
}

/** Returns the frame of a picture for a span of time, with the axis of values fitted to it. */
export function frameOf(
  picture: Picture,
  box: Box,
  span: readonly [number, number],
  theme: Theme,
): Frame {
  let [low, high] = picture.zero ? [0, 0] : [Infinity, -Infinity];
  for (const layer of picture.layers) {
    const range = layer.extent?.(span);
    if (!range) continue;
    low = Math.min(low, range[0]);
    high = Math.max(high, range[1]);
  }
  if (picture.top !== undefined) high = Math.min(high, picture.top);
  if (!(low <= high)) [low, high] = [0, 1];
  if (low === high) high = low + (Math.abs(low) || 1);
  const margin = 0.06 * (high - low);
  high += margin;
  if (!picture.zero) low -= margin;
  const perSecond = box.width / (span[1] - span[0]);
  const perValue = box.height / (high - low);
  return {
    box,
    span,
    low,
    high,
    theme,
    x: (time) => box.x + (time - span[0]) * perSecond,
    y: (value) => box.y + (high - value) * perValue,
  };
}

/** Draws a picture: grid, axes, layers, and the lanes below. */
export function render(surface: Surface, picture: Picture, frame: Frame): void {
  const { box, theme } = frame;
  const { size } = theme;
  const count = Math.max(2, Math.floor(box.height / (size * 3.4)));
  const [factor, unit] = prefixed(
    Math.max(Math.abs(frame.low), Math.abs(frame.high)),
    picture.unit,
  );
  const values = ticks(frame.low, frame.high, count).filter((v) => !picture.zero || v >= 0);
  const texts = labels(values, factor);
  values.forEach((value, n) => {
    const y = Math.round(frame.y(value)) + 0.5;
    surface.path([box.x, y, box.x + box.width, y], 2, { colour: theme.grid });
    surface.text(texts[n]!, box.x - 6, y + size * 0.35, { colour: theme.text, size, align: "end" });
  });
  const unitText = unit && unit !== picture.label ? ` (${unit})` : "";
  surface.text(`${picture.label}${unitText}`, 2, size * 1.1, { colour: theme.muted, size });
  const lanesTop = box.y + box.height + 4;
  const laneHeight = size * LANE;
  const bottom = lanesTop + picture.lanes.length * laneHeight;
  drawTimes(surface, frame, bottom);
  surface.clip(box, () => picture.layers.forEach((layer) => layer.draw(surface, frame)));
  const { x, y, width, height } = box;
  const corner = [x - 0.5, y, x - 0.5, y + height + 0.5, x + width, y + height + 0.5];
  surface.path(corner, 3, { colour: theme.text, width: theme.stroke });
  picture.lanes.forEach((lane, n) => {
    const place = { x, y: lanesTop + n * laneHeight, width, height: laneHeight - 3 };
    const fits = Math.min(size, (x - 8) / (0.64 * Math.max(lane.label.length, 1)));
    const style = { colour: theme.text, size: fits, align: "end" as const };
    surface.text(lane.label, x - 6, place.y + place.height - 2, style);
    surface.fill({ x: 0, y: place.y + 2, width: 3, height: place.height - 2 }, lane.colour);
    surface.clip(place, () => lane.draw(surface, frame, place));
  });
}

function drawTimes(surface: Surface, frame: Frame, bottom: number): void {
  const { box, theme, span } = frame;
  const { size } = theme;
  const times = ticks(span[0], span[1], Math.max(2, Math.floor(box.width / (size * 7))));
  const texts = labels(times);
  times.forEach((time, n) => {
    const x = Math.round(frame.x(time)) + 0.5;
    if (x < box.x || x > box.x + box.width + 1) return;
    surface.path([x, box.y, x, box.y + box.height], 2, { colour: theme.grid });
    const last = n === times.length - 1;
    const align = x > box.x + box.width - size * 1.5 ? "end" : "middle";
    const text = last ? `${texts[n]!} s` : texts[n]!;
    surface.text(text, x, bottom + size * 1.25, { colour: theme.text, size, align });
  });
}
