/** Colours of the pictures, those of the figures of `farlink run --plot`. */
export interface Theme {
  background: string;
  text: string;
  muted: string;
  grid: string;
  /** Colours of TCPs in order (Okabe and Ito 2008, without yellow). */
  palette: readonly string[];
  data: string;
  loss: string;
  ack: string;
  window: string;
  sack: string;
  limits: Readonly<Record<string, LimitLook>>;
  /** Size of text (px) and factor of line widths: larger for a projector. */
  size: number;
  stroke: number;
}

/** Colour and hatch of a limit; colours of similar lightness differ in their hatch. */
export interface LimitLook {
  colour: string;
  hatch: "" | "/" | "|" | ".";
  words: string;
}

export const LIMITS: Readonly<Record<string, LimitLook>> = {
  handshake: { colour: "#BDBDBD", hatch: "", words: "handshake" },
  application: { colour: "#EDEDED", hatch: "", words: "application" },
  send_buffer: { colour: "#C7A6DB", hatch: ".", words: "send buffer" },
  receive_window: { colour: "#F0C35A", hatch: "/", words: "receive window" },
  congestion_window: { colour: "#9CC9EA", hatch: "", words: "congestion window" },
  pacing: { colour: "#7FCBA4", hatch: "|", words: "pacing" },
  recovery: { colour: "#E07B54", hatch: "", words: "recovery" },
  timeouts: { colour: "#3A3A3A", hatch: "", words: "time-outs" },
};

const LIGHT: Theme = {
  background: "#FFFFFF",
  text: "#1A1A1A",
  muted: "#5F5F5F",
  grid: "#E2E2E2",
  palette: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"],
  data: "#1A1A1A",
  loss: "#C1272D",
  ack: "#009E73",
  window: "#E69F00",
  sack: "#8E4FB0",
  limits: LIMITS,
  size: 12,
  stroke: 1,
};

const DARK: Theme = {
  ...LIGHT,
  background: "#15181C",
  text: "#E9E9E9",
  muted: "#A6ABB2",
  grid: "#30353B",
  palette: ["#4DA6E8", "#F2814A", "#2FBF93", "#E09CC4", "#F0B440", "#8FD0F7", "#F5F5F5"],
  data: "#E9E9E9",
  loss: "#FF6B6B",
  ack: "#2FBF93",
  window: "#F0B440",
  sack: "#C08BE0",
  limits: {
    ...LIMITS,
    application: { colour: "#4C5258", hatch: "", words: "application" },
    timeouts: { colour: "#F5F5F5", hatch: "", words: "time-outs" },
  },
};

/** Returns the colours of a scheme, with larger type and lines for a projector. */
export function themeOf(dark: boolean, projector = false): Theme {
  const theme = dark ? DARK : LIGHT;
  return projector ? { ...theme, size: 17, stroke: 1.9 } : theme;
}

const DASHES: readonly (readonly number[])[] = [
  [],
  [6, 2.5],
  [2, 2],
  [9, 2.5, 2, 2.5],
  [5, 2, 1.5, 2, 1.5, 2],
  [13, 3],
];

/** Colour and dashes of the TCP at a place; neighbours differ in both, also in black and white. */
export function lookOf(theme: Theme, place: number): { colour: string; dashes: readonly number[] } {
  return {
    colour: theme.palette[place % theme.palette.length]!,
    dashes: DASHES[place % DASHES.length]!,
  };
}

/**
 * Width of the solid curve of a TCP (CSS pixels). Curves that are drawn first are wider, so that each
 * of several equal curves is seen.
 */
export function widthOf(theme: Theme, place: number, count: number): number {
  return theme.stroke * (1.4 + Math.min(1.8, 0.6 * (count - 1 - place)));
}
