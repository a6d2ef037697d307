import { fill, h } from "../app/dom";
import type { App } from "../app/panel";
import type { Resolved } from "../engine";
import type { Place } from "./list";
import { routersOf } from "./model";

/** Kinds of agents, with what they do. */
export const AGENTS: readonly (readonly [string, string])[] = [
  ["snoop", "snoop: repairs losses of the link from a cache"],
  ["split", "split: ends the connection at the router, and opens another"],
  ["pep", "pep: split by a proxy at each end of the link"],
  ["pepsal", "pepsal: a split at one end, without the sender's help"],
  ["spoof", "spoof: acknowledges in the name of the receiver"],
  ["thin", "thin: forwards one ACK per interval, the newest"],
  ["ackp", "ackp: partial acknowledgments"],
  ["ebsn", "ebsn: notices of a bad state"],
  ["eln", "eln: marks losses of the link"],
  ["seqcache", "seqcache: marks losses from a cache of sequence numbers"],
];

interface Agent {
  kind: string;
  at: string;
  wireless: string;
  enabled?: boolean;
}

/** Control of the agents at the ends of the chosen link. */
export class AgentControl {
  readonly element: HTMLElement;
  readonly #app: App;
  readonly #settle: () => void;
  readonly #lists = h("div");
  /** Agents of the scenario, with one that was added since. */
  #agents: Agent[] = [];

  constructor(app: App, settle: () => void) {
    this.#app = app;
    this.#settle = settle;
    this.element = h("div", { class: "agents" }, this.#lists);
  }

  show(resolved: Resolved, place: Place): void {
    const link = resolved.links[place.link];
    const agents = (resolved.agents as Agent[] | undefined) ?? [];
    this.#agents = agents;
    const routers = routersOf(resolved, place.link);
    if (!link || !routers.length) {
      const text =
        "An agent needs a router at the link, and a flow ends at both nodes of this one.";
      fill(this.#lists, h("p", { class: "note" }, text));
      return;
    }
    if (this.#lists.contains(document.activeElement)) return;
    fill(
      this.#lists,
      routers.map((node) => {
        const agent = agents.find((a) => a.at === node && a.wireless === link.name);
        const kind = agent && agent.enabled !== false ? agent.kind : "";
        const list = h(
          "select",
          { name: `agent-${node}` },
          h("option", { value: "", selected: kind === "" }, "none"),
          AGENTS.map(([value, text]) => h("option", { value, selected: value === kind }, text)),
        );
        list.addEventListener("change", () => {
          this.#write(list.value, node, link.name);
        });
        return h("label", { class: "row" }, `Agent at ${node}`, list);
      }),
    );
  }

  #write(kind: string, node: string, link: string): void {
    const app = this.#app;
    // A list with the focus is not rebuilt, so the agents may have changed meanwhile.
    const number = this.#agents.findIndex((a) => a.at === node && a.wireless === link);
    const base = `agents.${number}`;
    const done = () => this.#settle();
    if (number < 0) {
      // An agent is an entry of a list, which no path can make.
      const { toml } = app.state();
      const text = [toml.trimEnd(), "", "[[agents]]", `at = ${quoted(node)}`];
      text.push(`wireless = ${quoted(link)}`, `kind = ${quoted(kind)}`, "");
      if (kind) {
        this.#agents = [...this.#agents, { at: node, wireless: link, kind }];
        app.update({ toml: text.join("\n") });
      }
      done();
      return;
    }
    const edits: [string, string | null][] =
      kind === ""
        ? [[`${base}.enabled`, "false"]]
        : [
            [`${base}.enabled`, null],
            [`${base}.kind`, kind],
          ];
    app.set(edits).then(done, done);
  }
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
