import type { MarkColors } from "./pen";

/** Colours and sizes of the packet view. */
export interface Theme extends MarkColors {
  name: "light" | "dark";
  text: string;
  muted: string;
  grid: string;
  loss: string;
  cursor: string;
  node: string;
  nodeEdge: string;
  select: string;
  /** Factor on type, lines and marks: 1, or 1.5 on a projector. */
  scale: number;
}

// Colours of Okabe and Ito 2008, as in the figures of the Python package; light variants on dark.
const LIGHT: Theme = {
  name: "light",
  data: "#0072B2",
  retransmission: "#D55E00",
  ack: "#009E73",
  duplicate: "#007A59",
  sack: "#8E4FB0",
  control: "#1A1A1A",
  edge: "#FFFFFF",
  ground: "#FFFFFF",
  text: "#1A1A1A",
  muted: "#5E5E5E",
  grid: "#D8D8D8",
  loss: "#C1272D",
  cursor: "#1A1A1A",
  node: "#F1F3F5",
  nodeEdge: "#5E5E5E",
  select: "#F0C400",
  scale: 1,
};

const DARK: Theme = {
  name: "dark",
  data: "#56B4E9",
  retransmission: "#FF9E4A",
  ack: "#2FD0A0",
  duplicate: "#2FD0A0",
  sack: "#D6A4F0",
  control: "#F0F0F0",
  edge: "#14171A",
  ground: "#14171A",
  text: "#F0F0F0",
  muted: "#B0B6BC",
  grid: "#474E56",
  loss: "#FF6B6B",
  cursor: "#F0F0F0",
  node: "#262B30",
  nodeEdge: "#B0B6BC",
  select: "#F0E442",
  scale: 1,
};

/** Returns the theme for a ground (CSS colour as `rgb(...)`), at a scale. */
export function themeFor(ground: string, dark: boolean, scale: number): Theme {
  const theme = dark ? DARK : LIGHT;
  const color = ground === "" ? theme.ground : ground;
  return { ...theme, ground: color, edge: color, scale };
}

/** Returns whether a CSS colour `rgb(r, g, b)` is darker than middle grey; undefined if unknown. */
export function isDark(color: string): boolean | undefined {
  const parts = /rgba?\(([\d.]+)[, ]+([\d.]+)[, ]+([\d.]+)(?:[,/ ]+([\d.]+))?\)/.exec(color);
  if (parts === null || parts[4] === "0") return undefined;
  return 0.299 * Number(parts[1]) + 0.587 * Number(parts[2]) + 0.114 * Number(parts[3]) < 128;
}
