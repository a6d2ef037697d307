import { Pictures } from "../charts";
import { words } from "../charts/scale";
import { type Theme, themeOf } from "../charts/theme";
import { Controls } from "../controls";
import type { Engine, Run } from "../engine";
import { createLessons } from "../lessons";
import { createLiveLink } from "../live";
import { createPacketView } from "../packets";
import { AddressBar, type Start } from "../share/address";
import { fill, h, isTyping } from "./dom";
import { Header, StatusBar } from "./header";
import { Laboratory } from "./laboratory";
import { applyLook, loadLook } from "./look";
import { MeasuresTable } from "./measures";
import type { Panel } from "./panel";

export interface MountOptions {
  /** Initial state in place of the address's state; the address then stays unchanged. */
  start?: Start;
}

/** Builds the page into an element. */
export async function mount(
  root: HTMLElement,
  opening: Promise<Engine>,
  options: MountOptions = {},
): Promise<Laboratory> {
  const look = loadLook();
  let theme = themeOf(applyLook(look), look.projector);
  fill(root, h("p", { role: "status", class: "loading" }, "Loading the engine ..."));
  let app: Laboratory;
  try {
    const engine = await opening;
    app = new Laboratory(engine, await engine.scenarios());
  } catch (error) {
    fill(
      root,
      h("p", { role: "alert", class: "error" }, `The engine did not load: ${text(error)}`),
    );
    throw error;
  }
  const pictures = new Pictures(app, theme);
  const controls = new Controls(app, theme);
  const measures = new MeasuresTable();
  const status = new StatusBar(app);
  const address = options.start
    ? undefined
    : new AddressBar(app, (error) => status.tell(text(error), true));
  const relook = () => {
    theme = restyle(applyLook(look), look.projector, pictures, controls);
  };
  const write = () => address?.write() ?? Promise.resolve();
  const report = (line: string) => status.tell(line);
  const header = new Header(
    { app, pictures, look, write, relook, report },
    h("button", { type: "button", onclick: () => app.update({ lesson: "list" }) }, "Lessons"),
  );
  const panels = {
    packets: createPacketView(app),
    lessons: createLessons(app),
    live: createLiveLink(app),
  };
  layOut(root, header, status, pictures, controls, measures, panels);
  connect(app, { header, pictures, controls, measures, status, panels: Object.values(panels) });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", relook);
  addPrinting(app, pictures, () => theme);
  void app.engine.tcps().then((tcps) => controls.tcps.setTcps(tcps));
  try {
    if (options.start) await app.start(options.start);
    else await address?.open();
  } catch (error) {
    app.run();
    status.tell(text(error), true);
  }
  return app;
}

interface Parts {
  header: Header;
  pictures: Pictures;
  controls: Controls;
  measures: MeasuresTable;
  status: StatusBar;
  panels: Panel[];
}

function layOut(
  root: HTMLElement,
  header: Header,
  status: StatusBar,
  pictures: Pictures,
  controls: Controls,
  measures: MeasuresTable,
  panels: Record<"packets" | "lessons" | "live", Panel>,
): void {
  const center = h(
    "div",
    { class: "center", id: "pictures", tabindex: -1 },
    pictures.element,
    panels.packets.element,
    measures.element,
  );
  const skip = h("a", { class: "skip", href: "#pictures" }, "Skip to the pictures");
  skip.addEventListener("click", (event) => {
    event.preventDefault();
    center.focus();
  });
  header.element.prepend(skip);
  fill(
    root,
    header.element,
    status.element,
    panels.live.element,
    h("main", { class: "layout" }, controls.element, center, panels.lessons.element),
  );
}

function connect(app: Laboratory, parts: Parts): void {
  const { header, pictures, controls, measures, status, panels } = parts;
  app.onRuns((runs, asked) => {
    pictures.setRuns(runs, asked);
    measures.setRuns(runs, app.state().flow);
    for (const panel of panels) panel.setRuns(runs);
    header.show();
    status.say(spoken(runs, app.state().flow));
  });
  app.onState((state) => {
    controls.setState(state);
    pictures.setState(state);
    measures.setRuns(app.runs(), state.flow);
    for (const panel of panels) {
      panel.setState?.(state);
      panel.setTime(state.time);
    }
  });
  app.onStatus((news) => controls.showStatus(news));
  app.onSettled(() => header.show());
  controls.setState(app.state());
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
    if (isTyping(event.target)) return;
    event.preventDefault();
    if (event.shiftKey) app.redo();
    else app.undo();
  });
}

function restyle(dark: boolean, projector: boolean, pictures: Pictures, controls: Controls): Theme {
  const theme = themeOf(dark, projector);
  pictures.setTheme(theme);
  controls.tcps.setTheme(theme);
  return theme;
}

/** Pictures are drawn dark on white, and sharper, while the page is printed. */
function addPrinting(app: Laboratory, pictures: Pictures, theme: () => Theme): void {
  const scenario = h("pre", { class: "print-only" });
  document.querySelector(".layout")?.append(scenario);
  window.addEventListener("beforeprint", () => {
    const { toml, tcps } = app.state();
    scenario.textContent = `${toml}\n# TCPs: ${tcps.join(", ")}`;
    pictures.setTheme(themeOf(false));
    pictures.drawNow(true);
  });
  window.addEventListener("afterprint", () => pictures.setTheme(theme()));
}

function spoken(runs: Run[], flow: number): string {
  return runs
    .map((run) => `${run.tcp} ${words(run.measures.flows[flow]?.metrics.goodput, "bit/s")}`)
    .join(", ");
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
