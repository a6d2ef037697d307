import { fill, h, uniqueId } from "../app/dom";
import type { AppState } from "../app/panel";
import type { Laboratory } from "../app/laboratory";
import type { Run } from "../engine";
import { Chart } from "./chart";
import { Cursor } from "./cursor";
import { linkDirections, chosenDirection } from "./links";
import type { Source } from "./picture";
import { KINDS } from "./pictures";
import type { Theme } from "./theme";
import { TimeView } from "./view";

/** All pictures of the page, with their toolbar. */
export class Pictures {
  readonly element: HTMLElement;
  readonly view: TimeView;
  readonly charts: Chart[];
  readonly #app: Laboratory;
  readonly #cursor = new Cursor();
  readonly #boxes = new Map<Chart, HTMLInputElement>();
  readonly #choices = h("div", { class: "choices" });
  readonly #observer: IntersectionObserver;
  #theme: Theme;
  #runs: Run[] = [];
  #made: AppState;
  #frame = 0;
  #resized = true;
  /** Time of the change whose picture was not drawn yet (performance.now). */
  #asked: number | undefined;

  constructor(app: Laboratory, theme: Theme) {
    this.#app = app;
    this.#theme = theme;
    this.#made = app.state();
    this.view = new TimeView(app);
    const help = h(
      "p",
      { class: "help", id: uniqueId("help") },
      "Drag to zoom in, double-click for all. Click sets the time; Ctrl and wheel, or two fingers, zoom. " +
        "Keys: arrows move the time, Shift and arrows the span, + and - zoom, 0 shows all.",
    );
    this.charts = KINDS.map((kind) => new Chart(kind, this.view, this.#cursor, help.id));
    const chosen = new Set(["cwnd", "sequence", "throughput", "queue"]);
    this.element = h(
      "section",
      { class: "pictures", "aria-label": "Pictures" },
      h("h2", { class: "sr-only" }, "Pictures"),
      this.#toolbar(chosen),
      this.charts.map((chart) => chart.element),
      help,
    );
    for (const chart of this.charts) chart.element.hidden = !chosen.has(chart.kind.name);
    this.#observer = new IntersectionObserver((entries) => this.#watch(entries), {
      rootMargin: "150px",
    });
    for (const chart of this.charts) this.#observer.observe(chart.element);
    const sizes = new ResizeObserver(() => {
      this.#resized = true;
      this.schedule();
    });
    for (const chart of this.charts) sizes.observe(chart.element);
    this.#cursor.onChange(() => this.#point());
    app.onShow((names) => this.show(names));
    this.#setTables();
  }

  setTheme(theme: Theme): void {
    this.#theme = theme;
    for (const chart of this.charts) chart.stale = true;
    this.schedule();
  }

  setRuns(runs: Run[], asked?: number): void {
    this.#runs = runs;
    this.#asked ??= asked;
    for (const chart of this.charts) chart.stale = true;
    this.#fillChoices();
    this.schedule();
  }

  setState(state: AppState): void {
    const { focus, flow, link, from, to } = this.#made;
    if (state.from !== from || state.to !== to) {
      for (const chart of this.charts) if (chart.kind.followsSpan) chart.stale = true;
    }
    if (state.focus !== focus || state.flow !== flow || state.link !== link) {
      for (const chart of this.charts) chart.stale = true;
      this.#fillChoices();
    }
    this.#made = state;
    this.schedule();
  }

  /** Shows the pictures of these names, and hides the others. */
  show(names: string[]): void {
    for (const chart of this.charts) this.#show(chart, names.includes(chart.kind.name));
    this.#setTables();
    this.schedule();
  }

  #show(chart: Chart, shown: boolean): void {
    chart.element.hidden = !shown;
    const box = this.#boxes.get(chart);
    if (box) box.checked = shown;
  }

  /** Draws all visible pictures before the next frame of the browser. */
  schedule(): void {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.drawNow();
    });
  }

  drawNow(all = false): void {
    if (!this.#runs.length) return;
    const charts = this.charts.filter((c) => !c.element.hidden && (c.visible || all));
    for (const chart of charts) {
      if (chart.stale) chart.make(this.#runs, this.#app.state(), this.#theme);
    }
    // A read of sizes lays out the page, so that it happens only after a change of sizes.
    if (this.#resized || all) for (const chart of this.charts) chart.measure();
    this.#resized = false;
    for (const chart of charts) chart.draw(this.#theme);
    this.#point();
    if (this.#asked !== undefined) {
      performance.measure("change-to-picture", { start: this.#asked, end: performance.now() });
      this.#asked = undefined;
    }
  }

  /** Returns the pictures that are shown, made of the newest runs. */
  shown(): Chart[] {
    const charts = this.charts.filter((chart) => !chart.element.hidden);
    for (const chart of charts) {
      if (chart.stale) chart.make(this.#runs, this.#app.state(), this.#theme);
    }
    return charts;
  }

  /** Returns what pictures are made of, in other colours. */
  source(theme: Theme): Source {
    return { runs: this.#runs, state: this.#app.state(), theme, span: this.view.span() };
  }

  #point(): void {
    const time = this.#cursor.time ?? this.#app.state().time;
    for (const chart of this.charts) if (chart.visible && !chart.element.hidden) chart.point(time);
  }

  #setTables(): void {
    const shown = this.charts.filter((chart) => !chart.element.hidden);
    const tables = (charts: Chart[]) => [...new Set(charts.flatMap((chart) => chart.kind.tables))];
    this.#app.setTables(tables(shown.filter((chart) => chart.visible)), tables(shown));
  }

  #watch(entries: IntersectionObserverEntry[]): void {
    for (const entry of entries) {
      const chart = this.charts.find((row) => row.element === entry.target);
      if (chart) chart.visible = entry.isIntersecting;
    }
    this.#setTables();
    this.schedule();
  }

  #toolbar(chosen: Set<string>): HTMLElement {
    const button = (text: string, label: string, act: () => void) =>
      h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    const middle = () => {
      const [from, to] = this.view.span();
      const { time } = this.#app.state();
      return time > from && time < to ? time : (from + to) / 2;
    };
    const boxes = this.charts.map((chart) => {
      const box = h("input", { type: "checkbox", checked: chosen.has(chart.kind.name) });
      this.#boxes.set(chart, box);
      box.addEventListener("change", () => {
        this.#show(chart, box.checked);
        this.#setTables();
        this.schedule();
      });
      return h("label", { class: "check" }, box, chart.kind.title);
    });
    return h(
      "div",
      { class: "toolbar", role: "group", "aria-label": "View of the pictures" },
      button("−", "Zoom out", () => this.view.zoom(2, middle())),
      button("+", "Zoom in", () => this.view.zoom(0.5, middle())),
      button("◀", "Earlier", () => this.view.pan(-0.5)),
      button("▶", "Later", () => this.view.pan(0.5)),
      button("All", "All: show the whole run", () => this.view.all()),
      this.#choices,
      h(
        "details",
        { class: "menu" },
        h("summary", {}, "Pictures"),
        h("div", { class: "drop" }, boxes),
      ),
    );
  }

  /** Fills the lists of TCP (of the sequence diagram), flow and link. */
  #fillChoices(): void {
    const { focus, flow, link } = this.#app.state();
    const tcps = this.#runs.map((run) => run.tcp);
    const flows = this.#runs[0]?.measures.flows.map((row) => row.flow) ?? [];
    const links = linkDirections(this.#runs);
    const at = chosenDirection(this.#runs, link)?.name ?? "";
    const update = (change: Partial<AppState>) => this.#app.update(change);
    const lists = [
      tcps.length > 1
        ? choice("Sequence of", tcps, tcps.includes(focus) ? focus : tcps[0]!, (name) =>
            update({ focus: name }),
          )
        : null,
      flows.length > 1
        ? choice("Flow", flows.slice(0, 200), flows[flow] ?? "", (_, place) =>
            update({ flow: place }),
          )
        : null,
      links.length > 2
        ? choice(
            "Link",
            links.slice(0, 200).map((row) => row.name),
            at,
            (name) => update({ link: name }),
          )
        : null,
    ];
    const key = JSON.stringify([tcps, flows, links.map((row) => row.name)]);
    if (this.#choices.dataset.key === key) {
      // A list that has the focus keeps it.
      const old = [...this.#choices.querySelectorAll("select")];
      lists
        .filter((list) => list !== null)
        .forEach((list, place) => (old[place]!.value = list.querySelector("select")!.value));
      return;
    }
    this.#choices.dataset.key = key;
    fill(this.#choices, lists);
  }
}

function choice(
  label: string,
  names: string[],
  chosen: string,
  act: (name: string, place: number) => void,
): HTMLElement {
  const list = h(
    "select",
    {},
    names.map((name, n) => h("option", { value: String(n), selected: name === chosen }, name)),
  );
  list.addEventListener("change", () => act(names[list.selectedIndex]!, list.selectedIndex));
  return h("label", { class: "choice-list" }, label, list);
}
