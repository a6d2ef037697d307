import type { Laboratory } from "../app/laboratory";
import type { AppState } from "../app/panel";
import { isName, type Shared, pack, unpack } from "./codec";

/** Pause (ms) after which a change of the view is in the address. */
const PAUSE = 300;

/** Start of the page that an address asks for. */
export type Start =
  | { kind: "shared"; shared: Shared }
  | { kind: "scenario"; name: string; tcps?: string[] }
  | { kind: "lesson"; name: string }
  | { kind: "none" };

/** Reads `#s=...`, `#scenario=NAME&tcp=a,b` or `#lesson=NAME`. Throws AddressError. */
export async function readAddress(hash: string): Promise<Start> {
  const fields = new Map<string, string>();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, ...rest] = part.split("=");
    if (name) fields.set(name, rest.join("="));
  }
  const packed = fields.get("s");
  if (packed !== undefined) return { kind: "shared", shared: await unpack(packed) };
  const lesson = fields.get("lesson");
  if (isName(lesson)) return { kind: "lesson", name: lesson };
  const name = fields.get("scenario");
  if (!isName(name)) return { kind: "none" };
  const tcps = fields.get("tcp")?.replaceAll("%2B", "+").split(",").filter(isName).slice(0, 7);
  return tcps?.length ? { kind: "scenario", name, tcps } : { kind: "scenario", name };
}

/** Returns what the address of a state holds. */
export function sharedOf(state: AppState): Shared {
  const { toml, tcps, seed, lesson, time, from, to, focus, flow, link } = state;
  return {
    toml,
    tcps,
    ...(seed === undefined ? {} : { seed }),
    ...(lesson === undefined ? {} : { lesson }),
    ...(time > 0 ? { time: Number(time.toFixed(6)) } : {}),
    ...(Number.isFinite(to) ? { from, to } : {}),
    ...(focus && focus !== tcps[0] ? { focus } : {}),
    ...(flow > 0 ? { flow } : {}),
    ...(link === undefined ? {} : { link }),
  };
}

/** Returns the state that an address asks for. */
export function stateOf(shared: Shared): AppState {
  const { toml, tcps, seed, lesson, time, from, to, focus, flow, link } = shared;
  return {
    toml,
    tcps,
    time: time ?? 0,
    from: from ?? 0,
    to: to ?? Infinity,
    focus: focus ?? tcps[0] ?? "",
    flow: flow ?? 0,
    ...(seed === undefined ? {} : { seed }),
    ...(lesson === undefined ? {} : { lesson }),
    ...(link === undefined ? {} : { link }),
  };
}

/**
 * Keeps the address of the page: each settled experiment is an entry of the browser's history, and a
 * change of the view replaces the newest entry.
 */
export class AddressBar {
  readonly #app: Laboratory;
  readonly #failed: (error: unknown) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #entry: string;
  #lesson: string | undefined;
  #reading = 0;
  #writing = 0;
  /** Number of addresses that are being opened. */
  #opening = 0;

  constructor(app: Laboratory, failed: (error: unknown) => void) {
    this.#app = app;
    this.#failed = failed;
    this.#entry = experimentOf(app.state());
    this.#lesson = app.state().lesson;
    window.addEventListener("popstate", () => void this.#read());
    app.onState((state) => {
      if (state.lesson === this.#lesson) this.#later();
      // The lesson loads its scenario in the same turn.
      else queueMicrotask(() => void this.write());
      this.#lesson = state.lesson;
    });
    app.onSettled(() => void this.write());
  }

  /** Writes the state into the address at once. */
  async write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const state = this.#app.state();
    const experiment = experimentOf(state);
    // An address that is opened has its entry already.
    const fresh = experiment !== this.#entry && this.#opening === 0;
    this.#entry = experiment;
    this.#writing += 1;
    const turn = this.#writing;
    const hash = `#s=${await pack(sharedOf(state))}`;
    // A write that began later has the newer state; an entry of its own stays.
    if (turn !== this.#writing && !fresh) return;
    if (hash === location.hash) return;
    if (fresh) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  }

  #later(): void {
    if (experimentOf(this.#app.state()) !== this.#entry) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.write(), PAUSE);
  }

  /** Shows the experiment of the page's address. Throws AddressError. */
  async open(): Promise<void> {
    this.#reading += 1;
    const turn = this.#reading;
    clearTimeout(this.#timer);
    const start = await readAddress(location.hash);
    if (turn !== this.#reading) return;
    this.#opening += 1;
    try {
      await this.#app.start(start);
      this.#entry = experimentOf(this.#app.state());
    } finally {
      this.#opening -= 1;
    }
  }

  async #read(): Promise<void> {
    try {
      await this.open();
    } catch (error) {
      this.#failed(error);
    }
  }
}

function experimentOf({ toml, tcps, seed, lesson }: AppState): string {
  return JSON.stringify([toml, tcps, seed, lesson]);
}
