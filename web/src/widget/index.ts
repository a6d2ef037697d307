// Widget of a notebook (anywidget): the page in a frame, so that neither changes the other's style.
import type { FromPage, Shown, ToPage } from "./protocol";
import "./widget.css";

/** Part of anywidget's model that the widget uses; its traits are those of notebook.py. */
export interface Model {
  get(name: "page"): string;
  get(name: "engine"): DataView | ArrayBuffer;
  get(name: "changes"): [string, string][];
  get(name: "height"): number;
  get<K extends keyof Shown>(name: K): Shown[K];
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, call: () => void): void;
  off(event: string, call: () => void): void;
}

const SHOWN = ["toml", "tcps", "time"] as const;

/** Shows the widget in an element; returns the function that removes it. */
function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const frame = document.createElement("iframe");
  frame.className = "farlink-frame";
  frame.title = "farlink";
  frame.style.setProperty("height", `${model.get("height")}px`);
  const page: Shown = { toml: "", tcps: [], time: 0 };
  const send = (message: ToPage): void => frame.contentWindow?.postMessage(message, "*");

  const receive = (event: MessageEvent<FromPage>): void => {
    if (event.source !== frame.contentWindow) return;
    const message = event.data;
    if (message.type === "ready") send(opening(model));
    else if (message.type === "shown") {
      Object.assign(page, message.shown);
      for (const key of SHOWN) model.set(key, message.shown[key]);
      model.save_changes();
    } else {
      if (message.type === "measures") model.set("measures", message.measures);
      else model.set("error", message.error);
      model.save_changes();
    }
  };
  // What the page itself reported comes back as a change of the model, and is not sent again.
  const changed = (key: keyof Shown) => (): void => {
    const value = model.get(key);
    if (JSON.stringify(value) !== JSON.stringify(page[key])) {
      send({ type: "show", shown: { [key]: value } });
    }
  };
  const resize = (): void => {
    frame.style.setProperty("height", `${model.get("height")}px`);
  };
  const calls = SHOWN.map((key) => [`change:${key}`, changed(key)] as const);
  calls.forEach(([event, call]) => model.on(event, call));
  model.on("change:height", resize);
  window.addEventListener("message", receive);
  frame.srcdoc = model.get("page");
  el.append(frame);
  return () => {
    calls.forEach(([event, call]) => model.off(event, call));
    model.off("change:height", resize);
    window.removeEventListener("message", receive);
    frame.remove();
  };
}

function opening(model: Model): ToPage {
  const given = model.get("engine");
  const view =
    given instanceof ArrayBuffer
      ? new Uint8Array(given)
      : new Uint8Array(given.buffer, given.byteOffset, given.byteLength);
  const shown = { toml: model.get("toml"), tcps: model.get("tcps"), time: model.get("time") };
  return { type: "open", engine: view.slice().buffer, shown, changes: model.get("changes") };
}

export default { render };
