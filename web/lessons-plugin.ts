import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { compile } from "./src/lessons/compile";

const VIRTUAL = "virtual:lessons";
const FOLDER = fileURLToPath(new URL("lessons/", import.meta.url));
const LIBRARY = fileURLToPath(new URL("../scenarios/", import.meta.url));

/** Gives the page the lessons of web/lessons as data: `import lessons from "virtual:lessons"`. */
export function lessons(): Plugin {
  return {
    name: "farlink-lessons",
    resolveId: (id) => (id === VIRTUAL ? `\0${VIRTUAL}` : undefined),
    load(id) {
      if (id !== `\0${VIRTUAL}`) return;
      const files = readdirSync(FOLDER).filter((file) => /^\d+-.*\.md$/.test(file));
      files.forEach((file) => this.addWatchFile(FOLDER + file));
      return `export default ${JSON.stringify(files.sort().map(read))}`;
    },
  };
}

function read(file: string): unknown {
  const library = (name: string) => readFileSync(`${LIBRARY}${name}.toml`, "utf8");
  return compile(file, readFileSync(FOLDER + file, "utf8"), library);
}
