import type { Engine, LibraryScenario, Resolved } from "../engine";
import type { AppState } from "../app/panel";

/** Command line that repeats the experiment. */
export interface Command {
  text: string;
  /** Whether the command reads the exported TOML file. */
  needsFile: boolean;
}

/** Most settings that a command line has; beyond them a file is easier to read. */
const MOST_SETTINGS = 12;

/**
 * Returns `farlink run` with a scenario of the library and the settings that differ, if these
 * settings give the same scenario; else with the exported file.
 */
export async function commandOf(
  engine: Engine,
  library: LibraryScenario[],
  state: AppState,
): Promise<Command> {
  const options: string[] = [];
  if (state.tcps.length) options.push("--tcp", state.tcps.join(","));
  if (state.seed !== undefined) options.push("--seed", String(state.seed));
  const resolved = await engine.resolve(state.toml).catch(() => undefined);
  const base = library.find((row) => row.name === resolved?.name);
  if (resolved && base) {
    const settings = await settingsOf(engine, base, resolved);
    if (settings) {
      const words = settings.flatMap(([path, value]) => ["--set", quoted(`${path}=${value}`)]);
      return {
        text: ["farlink", "run", base.name, ...options, ...words].join(" "),
        needsFile: false,
      };
    }
  }
  const file = `${fileName(resolved?.name)}.toml`;
  return { text: ["farlink", "run", file, ...options].join(" "), needsFile: true };
}

/** Returns a name that is safe as the name of a file. */
export function fileName(name: string | undefined): string {
  const plain = (name ?? "").replace(/[^\w-]+/g, "-").replace(/^-+|-+$/g, "");
  return plain.slice(0, 60) || "scenario";
}

async function settingsOf(
  engine: Engine,
  base: LibraryScenario,
  wanted: Resolved,
): Promise<[string, string][] | undefined> {
  const plain = await engine.resolve(base.toml);
  const settings: [string, string][] = [];
  const same = differences(strip(plain), strip(wanted), "", settings);
  if (!same || settings.length > MOST_SETTINGS) return undefined;
  if (!settings.length) return settings;
  const made = await engine.resolve(base.toml, settings).catch(() => undefined);
  return made && JSON.stringify(strip(made)) === JSON.stringify(strip(wanted))
    ? settings
    : undefined;
}

/** Removes what follows from the rest, and texts that do not change a run. */
function strip(resolved: Resolved): Record<string, unknown> {
  const idle = ["resolved_tcp", "source", "description"];
  return Object.fromEntries(Object.entries(resolved).filter(([key]) => !idle.includes(key)));
}

/** Collects the values that differ; returns false if one is missing, which no setting can express. */
function differences(
  base: unknown,
  wanted: unknown,
  path: string,
  settings: [string, string][],
): boolean {
  if (isTable(wanted)) {
    const before = isTable(base) ? base : {};
    if (Object.keys(before).some((key) => !(key in wanted))) return false;
    return Object.entries(wanted).every(([key, value]) =>
      differences(before[key], value, path ? `${path}.${key}` : key, settings),
    );
  }
  if (Array.isArray(wanted)) {
    if (!Array.isArray(base) || base.length !== wanted.length) return false;
    return wanted.every((value, n) => differences(base[n], value, `${path}.${n}`, settings));
  }
  if (base !== wanted) settings.push([path, String(wanted)]);
  return true;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Quotes a word for a shell. */
function quoted(word: string): string {
  return /^[\w.,=+:/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
