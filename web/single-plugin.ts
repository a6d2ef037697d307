import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const INDEX = fileURLToPath(new URL("index.html", import.meta.url));
const ENGINE = fileURLToPath(new URL("public/engine.wasm.xz", import.meta.url));
const INLINE = fileURLToPath(new URL("src/engine/inline-worker.ts", import.meta.url));

/** Start of the element that gets the engine; farlink.browser.files has the same. */
const EMPTY = '<script type="application/octet-stream" id="engine">';

/** Makes workers from texts in the page instead of files beside it. */
export function inlineWorkers(): Plugin {
  return {
    name: "farlink-inline-workers",
    enforce: "pre",
    resolveId: (id) => (id.endsWith("/own-worker") ? INLINE : undefined),
  };
}

/**
 * Joins script and style to one HTML file. Its element `engine` has the engine in base64, or is
 * empty. The policy allows this script and this style by their digests.
 */
export function singleFile(name: string): Plugin {
  return {
    name: "farlink-single-file",
    enforce: "post",
    generateBundle(_, bundle) {
      let [script, style] = ["", ""];
      for (const [file, item] of Object.entries(bundle)) {
        if (item.type === "chunk") script += item.code;
        else if (file.endsWith(".css")) style += String(item.source);
        Reflect.deleteProperty(bundle, file);
      }
      // Both forms mean the same to JavaScript, and nothing to the parser of HTML.
      script = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      this.emitFile({ type: "asset", fileName: name, source: page(script, style) });
    },
  };
}

function page(script: string, style: string): string {
  const policy =
    `default-src 'none'; script-src '${digest(script)}' 'wasm-unsafe-eval'; ` +
    `style-src '${digest(style)}'; img-src data: blob:; worker-src blob:; ` +
    "base-uri 'none'; form-action 'none'";
  const head = readFileSync(INDEX, "utf8")
    .replace(/<link[^>]*rel="icon"[^>]*>\s*|<link[^>]*rel="stylesheet"[^>]*>\s*/g, "")
    .replace(/<script[^>]*><\/script>/, "")
    .replace(/content="default-src[^"]*"/, () => `content="${policy}"`);
  const scripts = `${EMPTY}</script>\n<script>${script}</script>\n`;
  return head
    .replace("</head>", () => `<style>${style}</style>\n</head>`)
    .replace("</body>", () => `${scripts}</body>`);
}

/** Puts the engine into the page, and writes the file. */
export function withEngine(name: string, target: string): Plugin {
  return {
    name: "farlink-with-engine",
    enforce: "post",
    writeBundle(_, bundle) {
      const file = bundle[name];
      if (file?.type !== "asset") return;
      const engine = readFileSync(ENGINE).toString("base64");
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(
        target,
        String(file.source).replace(EMPTY, () => EMPTY + engine),
      );
    },
  };
}

function digest(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
