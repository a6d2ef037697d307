// Serves the built page on loopback for the browser tests: `node tests/serve.mjs PORT [FOLDER]`.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const port = Number(process.argv[2] ?? 4173);
const built = fileURLToPath(new URL("../../python/farlink/web", import.meta.url));
const root = process.argv[3] ?? process.env.FARLINK_WEB_OUT ?? built;
const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
  ".xz": "application/octet-stream",
};

// Texts are sent compressed, as static hosts and `farlink live` do.
const shrinks = new Set([".html", ".js", ".css", ".json", ".svg"]);

createServer((request, response) => {
  const path = new URL(request.url ?? "/", "http://host").pathname;
  const file = normalize(join(root, path === "/" ? "index.html" : decodeURIComponent(path)));
  if (!file.startsWith(normalize(root) + sep)) {
    response.writeHead(403).end();
    return;
  }
  readFile(file).then(
    (body) => {
      const type = types[extname(file)] ?? "application/octet-stream";
      const headers = { "content-type": type, "cache-control": "no-store" };
      if (!shrinks.has(extname(file))) {
        response.writeHead(200, headers).end(body);
        return;
      }
      response.writeHead(200, { ...headers, "content-encoding": "gzip" }).end(gzipSync(body));
    },
    () => response.writeHead(404).end("not found"),
  );
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/`));
