import type { Laboratory } from "../app/laboratory";
import { mount } from "../app/mount";
import { openEngine } from "../engine";
import type { FromPage, ToPage } from "./protocol";

/** Builds the page inside the frame of a widget, whose messages have the engine and the state. */
export function mountInFrame(root: HTMLElement): void {
  const host = window.parent;
  let app: Promise<Laboratory> | undefined;
  window.addEventListener("message", (event: MessageEvent<ToPage>) => {
    if (event.source !== host) return;
    const message = event.data;
    const failed = (error: unknown): void => send(host, { type: "error", error: String(error) });
    if (message.type === "open") {
      app ??= open(root, message, host);
      app.catch(failed);
    } else app?.then((laboratory) => show(laboratory, message)).catch(failed);
  });
  send(host, { type: "ready" });
}

async function open(
  root: HTMLElement,
  message: Extract<ToPage, { type: "open" }>,
  host: Window,
): Promise<Laboratory> {
  const { shown, changes } = message;
  const engine = openEngine({ bytes: new Uint8Array(message.engine) });
  const shared = { ...shown, ...(changes.length ? { set: changes } : {}) };
  const app = await mount(root, engine, { start: { kind: "shared", shared } });
  const report = (): void => {
    const { toml, tcps, time } = app.state();
    send(host, { type: "shown", shown: { toml, tcps, time } });
  };
  const measured = (): void => {
    const measures = Object.fromEntries(app.runs().map((run) => [run.tcp, run.measures]));
    send(host, { type: "measures", measures });
    send(host, { type: "error", error: "" });
  };
  app.onState(report);
  app.onRuns(measured);
  app.onStatus(({ kind, text }) => {
    if (kind === "error" || kind === "stopped") send(host, { type: "error", error: text });
  });
  report();
  if (app.runs().length) measured();
  return app;
}

function show(app: Laboratory, message: Extract<ToPage, { type: "show" }>): void {
  app.update(message.shown);
  app.settle();
}

function send(host: Window, message: FromPage): void {
  host.postMessage(message, "*");
}
