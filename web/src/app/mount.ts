import type { Engine } from "../engine";
import { createLessons } from "../lessons";
import { createLiveLink } from "../live";
import { createPacketView } from "../packets";
import { fill, h, setText } from "./dom";
import { Laboratory } from "./laboratory";
import type { Panel } from "./panel";

/** Builds the page into an element. */
export async function mount(root: HTMLElement, opening: Promise<Engine>): Promise<Laboratory> {
  fill(root, h("p", { role: "status" }, "Loading the engine ..."));
  const engine = await opening;
  const library = await engine.scenarios();
  const toml = library[0]?.toml ?? "";
  const tcps = ["cubic", "bbr", "hybla"];
  const app = new Laboratory(engine, {
    toml,
    tcps,
    time: 0,
    from: 0,
    to: Infinity,
    focus: "cubic",
    flow: 0,
  });
  const status = h("p", { role: "status", class: "status" });
  const panels: Panel[] = [createPacketView(app), createLessons(app), createLiveLink(app)];
  fill(
    root,
    h("header", {}, h("h1", {}, "farlink")),
    status,
    panels.map((panel) => panel.element),
  );
  app.onRuns((runs) => panels.forEach((panel) => panel.setRuns(runs)));
  app.onState((state) => {
    panels.forEach((panel) => {
      panel.setTime(state.time);
      panel.setState?.(state);
    });
  });
  app.onStatus((news) => setText(status, news.text));
  app.run();
  return app;
}
