// Prints the digest of each request of a file, or the message of its error, one a line.
// `node tools/digests.mjs ENGINE.wasm.xz REQUESTS.json`
import { readFileSync } from "node:fs";
import { open } from "./abi.mjs";

const [path, file] = process.argv.slice(2);
const engine = await open(path);
for (const request of JSON.parse(readFileSync(file, "utf8"))) {
  const answer = engine.run(request);
  process.stdout.write(`${answer.digest ?? answer.message}\n`);
}
