import type { Resolved } from "../engine";

/** Returns the value at a path of a resolved scenario, such as `links.0.down.delay`. */
export function at(resolved: Resolved | undefined, path: string): unknown {
  let value: unknown = resolved;
  for (const part of path.split(".")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/** Returns a value that a control can show. */
export function shown(value: unknown): string | number | undefined {
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}

/** Returns the index of the link that matters most: the one with the longest delay. */
export function mainLink(resolved: Resolved, seconds: (text: unknown) => number): number {
  let best = 0;
  resolved.links.forEach((link, place) => {
    const longer = (n: number) => seconds(resolved.links[n]?.down.delay);
    const fading = Object.keys((link.down.channel as object | undefined) ?? {}).length > 0;
    const bestFading =
      Object.keys((resolved.links[best]?.down.channel as object | undefined) ?? {}).length > 0;
    if (longer(place) > longer(best) || (longer(place) === longer(best) && fading && !bestFading)) {
      best = place;
    }
  });
  return best;
}

/** Returns the routers that a link joins: nodes with two links or more that no flow ends at. */
export function routersOf(resolved: Resolved, link: number): string[] {
  const ends = new Set(resolved.flows.flatMap((flow) => [flow.from, flow.to]));
  const nodes = resolved.links[link]?.between ?? [];
  return nodes.filter(
    (node) =>
      !ends.has(node) && resolved.links.filter((row) => row.between.includes(node)).length > 1,
  );
}
