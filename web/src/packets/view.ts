import { h, isTyping, setText, uniqueId } from "../app/dom";
import type { App, AppState, Panel } from "../app/panel";
import type { Run } from "../engine";
import { fileName } from "../share/command";
import { defaultSpeed, follow, keepNear, zoom, type Span } from "./clock";
import { buildContent, nextPacket, type Content } from "./content";
import { actionOf, Controls, type Actions } from "./controls";
import { Details } from "./details";
import { canvasOf, download, svgOf } from "./files";
import { Legend } from "./legend";
import { flowsOf } from "./path";
import { Player } from "./player";
import { listen } from "./pointer";
import { Sentences } from "./sentences";
import { stepFrom } from "./steps";
import { summaryOf } from "./summary";
import { framesIn, Surface, type Picture } from "./surface";
import { copiesOf, timeText, titleOf } from "./text";
import { isDark, themeFor, type Theme } from "./theme";
import { inSlices } from "./timeline";
import "./packets.css";

/** Round trips that the ladder shows at first. */
const SHOWN_ROUND_TRIPS = 2.4;

/** Width from which two TCPs fit side by side (px). */
const WIDE = 820;

/** Smallest size of a saved ladder (px): title and legend fit. Files are dark on white. */
const FILE = { width: 900, height: 600 };

/** Makes the panel of the packet view. */
export function createPacketView(app: App): Panel {
  return new PacketView(app);
}

class PacketView implements Panel, Actions {
  readonly element: HTMLElement;
  readonly #app: App;
  readonly #canvas = h("canvas", { tabIndex: 0, role: "application" });
  readonly #surface = new Surface(this.#canvas);
  readonly #player: Player;
  readonly #controls: Controls;
  readonly #details: Details;
  readonly #sentences: Sentences;
  readonly #legend = new Legend();
  readonly #status = h(
    "p",
    { class: "packets-status", role: "status" },
    "The packets appear here after the run.",
  );
  readonly #summary = h("p", { class: "sr-only", id: uniqueId("packets") });
  readonly #watchers: { disconnect(): void }[] = [];
  readonly #building = new Map<string, AbortController>();
  #contents: Content[] = [];
  #beside = "";
  #otherRun: AbortController | undefined;
  #runBeside: Run | undefined;
  #span: Span = { from: 0, length: 1 };
  #rtt = -1;
  #selected: { pane: number; row: number } | undefined;
  #theme: Theme = themeFor("", false, 1);
  #visible = false;
  #frame = 0;
  #spoken: ReturnType<typeof setTimeout> | undefined;

  constructor(app: App) {
    this.#app = app;
    this.#player = new Player({
      time: () => this.#time(),
      setTime: (seconds) => this.#report(seconds),
      span: () => this.#limits(),
      step: (forwards) => this.#stepOnce(forwards),
      onChange: () => this.#showMotion(),
    });
    this.#controls = new Controls(this);
    this.#details = new Details((seconds) => this.moveTo(seconds));
    this.#sentences = new Sentences((content, index) => this.#pick(content, index));
    this.element = this.#build();
    this.#watch();
  }

  #build(): HTMLElement {
    this.#canvas.setAttribute("aria-roledescription", "packet ladder");
    this.#canvas.setAttribute("aria-label", "Packets on their way");
    this.#canvas.setAttribute("aria-describedby", this.#summary.id);
    listen(this.#canvas, {
      click: (x, y) => this.#click(x, y),
      pan: (pixels) => this.#pan(pixels),
      zoom: (factor, y) => this.#zoomAt(factor, this.#surface.timeAt(y)),
      hover: (x, y) => this.#hover(x, y),
    });
    const side = h(
      "div",
      { class: "packets-side" },
      this.#sentences.line,
      this.#details.element,
      this.#sentences.list,
    );
    return h(
      "section",
      { class: "packets", "aria-label": "Packets", onkeydown: (e: KeyboardEvent) => this.#key(e) },
      h("h2", {}, "Packets"),
      this.#controls.element,
      this.#status,
      h(
        "div",
        { class: "packets-main" },
        h("div", { class: "packets-canvas" }, this.#canvas, this.#legend.element),
        side,
      ),
      this.#summary,
    );
  }

  #watch(): void {
    const sizes = new ResizeObserver(() => this.#restyle());
    sizes.observe(this.#canvas);
    const shown = new IntersectionObserver((entries) => {
      this.#setVisible(entries.at(-1)?.isIntersecting === true);
    });
    shown.observe(this.element);
    const classes = new MutationObserver(() => this.#restyle());
    for (const target of [document.documentElement, document.body]) {
      classes.observe(target, { attributes: true });
    }
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const change = (): void => this.#restyle();
    scheme.addEventListener("change", change);
    const unlisten = { disconnect: () => scheme.removeEventListener("change", change) };
    this.#watchers.push(sizes, shown, classes, unlisten);
  }

  destroy(): void {
    this.#player.pause();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#spoken);
    for (const watcher of this.#watchers) watcher.disconnect();
    for (const abort of this.#building.values()) abort.abort();
    this.#otherRun?.abort();
    this.#app.need("packets", null);
  }

  // Panel

  setRuns(runs: Run[]): void {
    if (!this.#visible) return;
    const { focus, flow } = this.#app.state();
    const run = runs.find((other) => other.tcp === focus) ?? runs[0];
    if (run === undefined) return;
    if (run.tables.packets !== undefined) this.#prepare(0, run, flow);
    if (this.#beside !== "") this.#besideThese(runs);
    this.#showChoices();
  }

  setTime(seconds: number): void {
    if (!this.#visible) return;
    const moved = follow(this.#span, seconds);
    const { first } = this.#limits();
    const least = first - 0.06 * moved.length;
    this.#span =
      moved.from < least && seconds >= first ? { from: least, length: moved.length } : moved;
    this.#invalidate();
  }

  setState(state: AppState): void {
    const [content] = this.#contents;
    if (content === undefined) return;
    const other = content.run.tcp !== state.focus || content.timeline.flow !== state.flow;
    if (other) this.setRuns(this.#app.runs());
  }

  // Actions

  toggle(direction: 1 | -1): void {
    if (this.#player.direction !== 0) this.#player.pause();
    else this.#player.play(direction);
  }

  step(forwards: boolean): void {
    this.#player.pause();
    this.#stepOnce(forwards);
  }

  jump(toEnd: boolean): void {
    const { first, last } = this.#limits();
    this.moveTo(toEnd ? last : first);
  }

  setSpeed(speed: number): void {
    this.#player.speed = speed;
    this.#showMotion();
  }

  zoom(factor: number): void {
    this.#zoomAt(factor, this.#time());
  }

  showRoundTrips(): void {
    this.#span = { from: this.#span.from, length: this.#usualLength() };
    this.setTime(this.#time());
  }

  showAll(): void {
    const { first, last } = this.#limits();
    const length = Math.max(1e-6, (last - first) * 1.04);
    this.#span = { from: first - 0.02 * length, length };
    this.#invalidate();
  }

  setFlow(flow: number): void {
    this.#app.update({ flow });
  }

  setFocus(tcp: string): void {
    this.#app.update({ focus: tcp });
  }

  setBeside(tcp: string): void {
    this.#beside = tcp;
    this.#runBeside = undefined;
    if (tcp === "") {
      this.#contents = this.#contents.slice(0, 1);
      if (this.#selected?.pane === 1) this.unselect();
      this.#invalidate();
    } else this.#besideThese(this.#app.runs());
    this.#showChoices();
  }

  select(forwards: boolean): void {
    const pane = Math.min(this.#selected?.pane ?? 0, this.#contents.length - 1);
    const content = this.#contents[pane];
    if (content === undefined) return;
    this.#player.pause();
    const { timeline } = content;
    const chosen = this.#selected?.row;
    const start =
      chosen === undefined
        ? { anchor: this.#time(), row: forwards ? -1 : Infinity }
        : {
            anchor: anchorOf(content, copiesOf(timeline, chosen)[0]!),
            row: copiesOf(timeline, chosen)[0]!,
          };
    const isFirst = (row: number): boolean => copiesOf(timeline, row)[0] === row;
    const next = nextPacket(timeline, start, forwards, isFirst);
    if (next === undefined) return;
    this.#choose({ pane, row: next.row });
    this.moveTo(next.anchor);
  }

  unselect(): void {
    this.#choose(undefined);
  }

  save(kind: "svg" | "png"): void {
    const picture = { ...this.#picture(), theme: themeFor("", false, 1) };
    const clientWidth = Math.max(FILE.width, this.#canvas.clientWidth);
    const clientHeight = Math.max(FILE.height, this.#canvas.clientHeight);
    const content = this.#contents[0];
    if (content === undefined) return;
    const { run } = content;
    const tcps = this.#contents.map((other) => other.run.tcp).join(" beside ");
    const name = run.resolved.name ?? "farlink";
    const title = `${name}, ${tcps} (seed ${String(run.resolved.seed)}, run ${String(run.run)})`;
    const stem = `${fileName(name)}-${tcps.replaceAll(" ", "-")}-ladder`;
    if (kind === "svg") {
      const text = svgOf(picture, clientWidth, clientHeight, title);
      download(new Blob([text], { type: "image/svg+xml" }), `${stem}.svg`);
      return;
    }
    canvasOf(picture, clientWidth, clientHeight, title).toBlob((blob) => {
      if (blob !== null) download(blob, `${stem}.png`);
    });
  }

  /** Moves the time and stops playing. */
  moveTo(seconds: number): void {
    this.#player.pause();
    this.#report(seconds);
  }

  #report(seconds: number): void {
    this.#app.update({ time: seconds });
  }

  // Data

  #setVisible(visible: boolean): void {
    if (visible === this.#visible) return;
    this.#visible = visible;
    if (!visible) {
      this.#player.pause();
      this.#app.need("packets", null);
      return;
    }
    this.#app.need("packets", { tables: ["packets"], story: true });
    this.#restyle();
    this.setRuns(this.#app.runs());
    this.setTime(this.#time());
  }

  /** Builds the content of a pane in slices; a newer run replaces an unfinished one. */
  #prepare(pane: number, run: Run, flow: number): void {
    const known = this.#contents[pane];
    const table = run.tables.packets;
    if (known?.run.tables.packets === table && known?.timeline.flow === flow) return;
    const place = String(pane);
    this.#building.get(place)?.abort();
    const abort = new AbortController();
    this.#building.set(place, abort);
    inSlices(buildContent(run, flow), abort.signal).then(
      (content) => {
        if (content !== undefined) this.#show(pane, content);
      },
      (error: unknown) => setText(this.#status, `No packets: ${String(error)}`),
    );
  }

  #show(pane: number, content: Content): void {
    if (pane > 0 && (this.#beside === "" || this.#contents.length === 0)) return;
    this.#contents[pane] = content;
    if (this.#selected?.pane === pane) this.#choose(undefined);
    if (pane === 0) this.#fit(content);
    const { count } = content.timeline;
    setText(this.#status, count === 0 ? "This flow sent no TCP packets." : "");
    this.setTime(this.#time());
    this.#showChoices();
  }

  /** Chooses window and speed when the round trip is another one. */
  #fit(content: Content): void {
    const { rtt } = content.path;
    if (Math.abs(rtt - this.#rtt) <= 0.5 * this.#rtt) return;
    this.#rtt = rtt;
    this.#span = { from: this.#time(), length: this.#usualLength() };
    this.setSpeed(defaultSpeed(rtt));
  }

  #usualLength(): number {
    const { first, last } = this.#limits();
    const whole = Math.max(1e-6, last - first);
    return Math.min(whole * 1.1, this.#rtt > 0 ? SHOWN_ROUND_TRIPS * this.#rtt : whole / 20);
  }

  /** Runs the TCP beside the focused one with its packets. A newer run replaces an unfinished one. */
  #besideThese(runs: Run[]): void {
    this.#otherRun?.abort();
    const abort = new AbortController();
    this.#otherRun = abort;
    this.#runOther(runs, abort.signal).catch((error: unknown) => {
      if (!abort.signal.aborted) setText(this.#status, `No packets beside: ${String(error)}`);
    });
  }

  async #runOther(runs: Run[], signal: AbortSignal): Promise<void> {
    const { toml, seed, flow } = this.#app.state();
    const tcp = this.#beside;
    const drawn = runs.find((run) => run.tcp === tcp);
    if (drawn === undefined) {
      this.setBeside("");
      return;
    }
    const fresh = this.#runBeside?.tcp === tcp && this.#runBeside.digest === drawn.digest;
    if (drawn.tables.packets !== undefined) this.#runBeside = drawn;
    else if (!fresh) {
      const request = { toml, tcps: [tcp], tables: ["packets"], story: true };
      const seeded = seed === undefined ? request : { ...request, seed };
      const [run] = await this.#app.engine.run(seeded, { signal });
      if (this.#beside !== tcp || signal.aborted) return;
      this.#runBeside = run;
    }
    if (this.#runBeside !== undefined) this.#prepare(1, this.#runBeside, flow);
  }

  #time(): number {
    return this.#app.state().time;
  }

  #limits(): { first: number; last: number } {
    const simulated = Math.max(...this.#contents.map((content) => content.timeline.last), 0);
    return { first: 0, last: simulated };
  }

  #stepOnce(forwards: boolean): boolean {
    const times = this.#contents
      .map((content) => stepFrom(content.steps, this.#time(), forwards))
      .filter((time) => time !== undefined);
    if (times.length === 0) return false;
    this.#report(forwards ? Math.min(...times) : Math.max(...times));
    return true;
  }

  // Input

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    const { target } = event;
    const presses = event.key === " " || event.key === "Enter";
    if (target instanceof HTMLButtonElement && presses) return;
    if (target instanceof HTMLInputElement && /^(Arrow|Home|End)/.test(event.key)) return;
    const action = actionOf(event.key, this, this.#player.speed);
    if (action === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  #click(x: number, y: number): void {
    const found = this.#surface.find(x, y);
    const time = this.#surface.timeAt(y);
    if (this.#surface.inGutter(x) && time !== undefined) this.moveTo(Math.max(0, time));
    else this.#choose(found);
  }

  #hover(x: number, y: number): void {
    const found = this.#player.direction === 0 ? this.#surface.find(x, y) : undefined;
    this.#canvas.style.cursor = found === undefined ? "" : "pointer";
    const content = found === undefined ? undefined : this.#contents[found.pane];
    this.#canvas.title = content === undefined ? "" : titleOf(content.timeline.rows, found!.row);
  }

  #pan(pixels: number): void {
    const height = this.#canvas.clientHeight - this.#stripHeight();
    const from = this.#span.from + (pixels * this.#span.length) / Math.max(1, height);
    this.#span = keepNear({ from, length: this.#span.length }, this.#limits());
    this.#invalidate();
  }

  #zoomAt(factor: number, around: number | undefined): void {
    this.#span = zoom(this.#span, factor, around ?? this.#time(), this.#limits());
    this.#invalidate();
  }

  #stripHeight(): number {
    const { clientWidth, clientHeight } = this.#canvas;
    return framesIn(clientWidth, clientHeight, this.#picture())[0]!.strip;
  }

  #choose(selected: { pane: number; row: number } | undefined): void {
    this.#selected = selected;
    const content = selected === undefined ? undefined : this.#contents[selected.pane];
    this.#details.show(content, selected?.row);
    this.#invalidate();
  }

  #pick(content: Content, index: number): void {
    const line = content.story[index];
    if (line === undefined) return;
    if (line.packet !== undefined) this.#chooseNumber(content, line.packet, line.time);
    this.moveTo(line.time);
  }

  /** Selects the packet with a number, sent near a time. */
  #chooseNumber(content: Content, number: number, time: number): void {
    const { timeline } = content;
    const row = rowOfNumber(content, number, time);
    if (row === undefined) return;
    this.#choose({ pane: this.#contents.indexOf(content), row: copiesOf(timeline, row)[0]! });
  }

  // Picture

  #picture(): Picture {
    const selected = this.#contents.map((content, pane) =>
      this.#selected?.pane === pane ? copiesOf(content.timeline, this.#selected.row) : [],
    );
    return {
      contents: this.#contents,
      span: this.#span,
      time: this.#time(),
      selected,
      theme: this.#theme,
    };
  }

  #invalidate(): void {
    if (this.#frame !== 0 || !this.#visible) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw(): void {
    const { clientWidth, clientHeight } = this.#canvas;
    this.#surface.resize(clientWidth, clientHeight, Math.min(3, devicePixelRatio));
    if (this.#contents.length === 0) return;
    const picture = this.#picture();
    if (this.#surface.draw(picture)) this.#invalidate();
    const { time, span } = picture;
    this.#controls.showTime(time, timeText(time, span.length / 1000), this.#limits());
    const content = this.#contents[this.#selected?.pane ?? 0];
    this.#sentences.show(content, time, this.#player.direction !== 0);
    this.#describe();
  }

  /** Writes the summary of the window for screen readers once the window rests. */
  #describe(): void {
    clearTimeout(this.#spoken);
    this.#spoken = setTimeout(() => {
      const content = this.#contents[0];
      if (content !== undefined) setText(this.#summary, summaryOf(content, this.#span));
    }, 400);
  }

  #restyle(): void {
    const style = getComputedStyle(this.element);
    const ground = groundOf(this.element);
    const dark = isDark(ground) ?? isDark(style.color) === false;
    const scale = this.element.closest(".projector") === null ? 1 : 1.35;
    this.#theme = themeFor(ground, dark, scale);
    this.#legend.draw(this.#theme);
    this.#showChoices();
    this.#invalidate();
  }

  #showMotion(): void {
    this.#controls.showMotion(this.#player.direction, this.#player.speed);
    this.#invalidate();
  }

  #showChoices(): void {
    const { focus, flow } = this.#app.state();
    const runs = this.#app.runs();
    const [run] = runs;
    const flows = run === undefined ? [] : flowsOf(run.resolved).map((other) => other.name);
    const wide = this.#canvas.clientWidth >= WIDE;
    if (!wide && this.#beside !== "" && this.#canvas.clientWidth > 0) this.setBeside("");
    const tcps = runs.map((other) => other.tcp);
    this.#controls.showChoices(tcps, focus, this.#beside, flows, flow, wide);
  }
}

function anchorOf(content: Content, row: number): number {
  const { rows } = content.timeline;
  const departure = rows.departure[row]!;
  return Number.isNaN(departure) ? rows.time[row]! : departure;
}

/** Finds a row of a packet by its number: the rows are in order of time, and numbers nearly so. */
function rowOfNumber(content: Content, number: number, time: number): number | undefined {
  const { rows } = content.timeline;
  let low = 0;
  let high = rows.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows.time[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  for (let away = 0; away < rows.count; away += 1) {
    for (const row of [low - 1 - away, low + away]) {
      if (rows.number[row] === number && rows.flow[row] === content.timeline.flow) return row;
    }
  }
  return undefined;
}

/** Returns the colour behind an element as `rgb(...)`, or "" if nothing paints it. */
function groundOf(element: HTMLElement): string {
  for (let at: HTMLElement | null = element; at !== null; at = at.parentElement) {
    const color = getComputedStyle(at).backgroundColor;
    if (isDark(color) !== undefined) return color;
  }
  return "";
}
