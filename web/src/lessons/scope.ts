// Values that the expressions of a lesson are about: measures of its runs, and settings.

import type { Metrics, Run } from "../engine";
import type { Scope } from "./expression";
import { type Value, quantity } from "./quantity";

/** Makes the scope of some runs: a list of TCPs for each run. `settings` are texts by path. */
export function scopeOf(runs: Run[][], settings: Map<string, string>): Scope {
  const tcps = runs[0]?.map((run) => run.tcp) ?? [];
  return {
    runs: runs.length,
    tcps,
    setting: (path) => settingOf(settings, path),
    metric: (name, places, run) => metricOf(runs[run] ?? [], name, places),
  };
}

function settingOf(settings: Map<string, string>, path: string): Value {
  const text = settings.get(path);
  return text === undefined ? NaN : quantity(text);
}

/** Finds a metric by its name and the places named with it: a TCP, a flow, `link.direction`. */
function metricOf(runs: Run[], name: string, places: string[]): number {
  const tcps = runs.map((run) => run.tcp);
  const tcp = places.find((place) => tcps.includes(place));
  const place = places.find((other) => other !== tcp);
  const run = tcp === undefined ? runs[0] : runs.find((other) => other.tcp === tcp);
  if (!run) return NaN;
  for (const [at, metrics] of rows(run)) {
    if (name in metrics && (place === undefined || place === at)) return metrics[name] ?? NaN;
  }
  return NaN;
}

function rows(run: Run): [string, Metrics][] {
  const { flows, links, run: whole, agents = [] } = run.measures;
  return [
    ...flows.map((row): [string, Metrics] => [row.flow, row.metrics]),
    ...links.map((row): [string, Metrics] => [`${row.link}.${row.direction}`, row.metrics]),
    ...whole.map((row): [string, Metrics] => ["", row.metrics]),
    ...agents.map((row): [string, Metrics] => [row.at, row.metrics]),
  ];
}
