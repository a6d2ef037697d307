import { h, setText } from "../app/dom";
import type { App, Panel } from "../app/panel";
import { type Theme, themeOf } from "../charts/theme";
import { LiveChart, type LiveKind } from "./chart";
import { LiveControls } from "./controls";
import { flowName, History } from "./history";
import type { Message } from "./protocol";
import { type Connection, LiveSocket, openSocket } from "./socket";

/** Panel of a running emulation: moving charts, controls of its links, state of the connection. */
export class LivePanel implements Panel {
  readonly element: HTMLElement;
  readonly #status = h("p", { role: "status", class: "live-status" });
  readonly #late = h("p", { class: "note" });
  readonly #history = new History();
  readonly #charts: LiveChart[];
  readonly #controls: LiveControls;
  readonly #socket: LiveSocket;
  readonly #looks: MutationObserver;
  #frame = 0;

  constructor(app: App, place: string) {
    this.#charts = kindsOf(this.#history).map((kind) => new LiveChart(kind));
    this.#controls = new LiveControls(
      (request) => this.#socket.ask(request),
      // A value that the scenario's text refuses is shown by the simulation's own status.
      (edits) => void app.set(edits).catch(() => undefined),
    );
    this.#controls.disable(true);
    this.element = h(
      "section",
      { class: "live", "aria-label": "Running emulation" },
      h("header", {}, h("h2", {}, "Running emulation"), this.#status, this.#late),
      h(
        "div",
        { class: "live-body" },
        this.#controls.element,
        h(
          "div",
          { class: "live-charts" },
          this.#charts.map((chart) => chart.element),
        ),
      ),
    );
    this.#looks = new MutationObserver(() => this.#draw());
    this.#looks.observe(document.documentElement, { attributeFilter: ["data-theme", "class"] });
    this.#socket = new LiveSocket({
      open: openSocket(place),
      onMessage: (message) => this.#receive(message),
      onConnection: (state) => this.#tell(state),
    });
  }

  setRuns(): void {
    // The charts show the emulation alone.
  }

  setTime(): void {
    // The emulation has its own clock.
  }

  destroy(): void {
    this.#looks.disconnect();
    this.#socket.close();
  }

  #receive(message: Message): void {
    if (message.type === "hello" || message.type === "state") {
      this.#controls.setState(message.state);
    } else if (message.type === "samples") {
      this.#history.add(message.samples);
      this.#draw();
    }
  }

  #tell(state: Connection): void {
    this.#status.dataset.kind = state.kind;
    this.#controls.disable(state.kind !== "open");
    setText(this.#status, this.#words(state));
  }

  #words(state: Connection): string {
    const seconds = this.#history.latest()?.time.toFixed(1) ?? "0.0";
    switch (state.kind) {
      case "connecting":
        return "Connecting to the emulation ...";
      case "open":
        return "Connected. Changes hold for packets from now on.";
      case "broken":
        return `The connection broke. Next attempt in ${state.wait} s.`;
      case "ended":
        return `The emulation ended after ${seconds} s. The curves show its last minute.`;
      case "refused":
        return `The emulation refused this page: ${state.reason}.`;
    }
  }

  #draw(): void {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const root = document.documentElement;
      const theme: Theme = themeOf(
        root.dataset.theme === "dark",
        root.classList.contains("projector"),
      );
      const span = this.#history.span();
      for (const chart of this.#charts) chart.draw(span, theme);
      const latest = this.#history.latest();
      if (!latest) return;
      const late = ((latest.late_p99_s ?? 0) * 1e3).toFixed(2);
      setText(
        this.#late,
        `${latest.time.toFixed(0)} s; 99 % of packets late by ${late} ms or less`,
      );
    });
  }
}

function kindsOf(history: History): LiveKind[] {
  return [
    { title: "Rate", unit: "bit/s", label: "rate", curves: () => history.rates() },
    { title: "Queue", unit: "packets", label: "packets", curves: () => history.queues() },
    {
      title: "Windows of the senders",
      unit: "B",
      label: "window",
      curves: () =>
        history.flows((flow) => [
          [`${flowName(flow)} cwnd`, flow.cwnd_bytes],
          [`${flowName(flow)} ssthresh`, flow.ssthresh_bytes],
        ]),
    },
    {
      title: "Round-trip time",
      unit: "s",
      label: "srtt",
      curves: () => history.flows((flow) => [[flowName(flow), flow.srtt_s]]),
    },
    { title: "Losses per second", unit: "", label: "packets", curves: () => history.losses() },
  ];
}
