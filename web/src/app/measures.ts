import { words } from "../charts/scale";
import { fill, h } from "./dom";
import type { Run } from "../engine";

interface Column {
  head: string;
  unit: string;
  /** Whether more is better, less is better, or neither. */
  better: 1 | -1 | 0;
  of(run: Run, flow: number): number | null | undefined;
}

const metric =
  (name: string) =>
  (run: Run, flow: number): number | null | undefined =>
    run.measures.flows[flow]?.metrics[name];

const COLUMNS: readonly Column[] = [
  { head: "goodput", unit: "bit/s", better: 1, of: metric("goodput") },
  { head: "time", unit: "s", better: -1, of: metric("duration") },
  { head: "retransmissions", unit: "", better: -1, of: metric("segments_retransmitted") },
  { head: "time-outs", unit: "", better: -1, of: metric("timeouts") },
  { head: "fast retransmits", unit: "", better: 0, of: metric("fast_retransmits") },
  { head: "mean RTT", unit: "s", better: -1, of: metric("rtt_mean") },
  { head: "greatest RTT", unit: "s", better: -1, of: metric("rtt_max") },
  {
    head: "use of the link",
    unit: "%",
    better: 1,
    of: (run) =>
      100 * Math.max(0, ...run.measures.links.map((row) => row.metrics.utilisation ?? 0)),
  },
];

/** Table of the measures of each TCP, with the difference to the first. */
export class MeasuresTable {
  readonly #body = h("div", {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": "Measures of each TCP",
  });
  readonly #note = h("p", { class: "note" });
  readonly element = h(
    "section",
    { class: "measures", "aria-label": "Measures" },
    h("h2", {}, "Measures"),
    this.#body,
    this.#note,
  );

  setRuns(runs: Run[], flow: number): void {
    const first = runs[0];
    if (!first) return;
    const rows = runs.map((run) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, run.tcp || "scenario's TCP"),
        COLUMNS.map((column) => {
          const value = column.of(run, flow);
          const cell = h("td", { "data-measure": column.head }, words(value, column.unit));
          if (run !== first) cell.append(difference(column, value, column.of(first, flow)));
          return cell;
        }),
      ),
    );
    fill(
      this.#body,
      h(
        "table",
        {},
        h("caption", { class: "sr-only" }, `Measures of each TCP, beside ${first.tcp}`),
        h("thead", {}, h("tr", {}, ["TCP", ...COLUMNS.map((c) => c.head)].map(headCell))),
        h("tbody", {}, rows),
      ),
    );
    const flows = first.measures.flows;
    const names = flows.length > 1 ? ` Flow ${flows[flow]?.flow ?? ""} of ${flows.length}.` : "";
    const unfinished = runs.filter((run) => run.measures.flows[flow]?.metrics.completed === 0);
    const cut = unfinished.length
      ? ` Not complete: ${unfinished.map((run) => run.tcp).join(", ")}.`
      : "";
    const beside = runs.length > 1 ? `Below each value: the difference to ${first.tcp}. ` : "";
    this.#note.textContent = `${beside}One run of seed ${first.resolved.seed}, the same losses for each TCP.${names}${cut}`;
  }
}

function headCell(text: string): HTMLElement {
  return h("th", { scope: "col" }, text);
}

function difference(
  column: Column,
  value: number | null | undefined,
  base: number | null | undefined,
): Node {
  if (typeof value !== "number" || typeof base !== "number" || value === base) {
    return document.createTextNode("");
  }
  const change = value - base;
  const relative = (100 * change) / base;
  const sign = change > 0 ? "+" : "−";
  const text =
    column.unit === "" || base === 0 || column.unit === "%"
      ? words(Math.abs(change), column.unit)
      : `${Math.abs(relative) >= 100 ? Math.abs(relative).toFixed(0) : Math.abs(relative).toPrecision(2)}\u00A0%`;
  const good = change * column.better;
  const kind = good > 0 ? "better" : good < 0 ? "worse" : "";
  return h("span", { class: `difference ${kind}` }, `${sign}${text}`);
}
