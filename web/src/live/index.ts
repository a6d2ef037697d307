import { h } from "../app/dom";
import type { App, Panel } from "../app/panel";
import "./live.css";
import { LivePanel } from "./panel";

/** Makes the panel of a running emulation, if its server sent the page; otherwise a hidden one. */
export function createLiveLink(app: App): Panel {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="farlink-live"]');
  if (meta) return new LivePanel(app, meta.content);
  return {
    element: h("div", { hidden: true }),
    setRuns: () => undefined,
    setTime: () => undefined,
  };
}
