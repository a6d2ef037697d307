// Times runs of the engine under node: the first of each, and the median of the later ones.
// `node tools/bench.mjs [public/engine.wasm.xz]`
import { performance } from "node:perf_hooks";
import { open } from "./abi.mjs";

const path = process.argv[2] ?? new URL("../public/engine.wasm.xz", import.meta.url);
const began = performance.now();
const engine = await open(path);
const opened = performance.now() - began;
const scenarios = Object.fromEntries(
  engine.ask({ ask: "scenarios" }).map((scenario) => [scenario.name, scenario.toml]),
);
const tables = ["state", "segments", "acks", "arrivals", "marks", "limits", "queue", "drops"];
const cases = [
  ["geo-omueti2007", {}],
  ["geo-omueti2007", { tables }],
  ["geo-bursts", {}],
  ["geo-lossy", { tables }],
  ["leo-reconfiguration", {}],
  ["gigabit-cubic", {}],
];
console.log(`open ${opened.toFixed(0)} ms`);
for (const [name, more] of cases) {
  const times = [];
  let result;
  for (let i = 0; i < (name === "gigabit-cubic" ? 3 : 9); i++) {
    const start = performance.now();
    result = engine.run({ toml: scenarios[name], ...more });
    times.push(performance.now() - start);
  }
  const [first, ...rest] = times;
  rest.sort((a, b) => a - b);
  const median = rest[Math.floor(rest.length / 2)];
  const probes = more.tables ? `, ${more.tables.length} tables` : "";
  console.log(
    `${name}${probes}: first ${first.toFixed(0)} ms, then ${median.toFixed(1)} ms, ${result.events} events, ${result.digest}`,
  );
}
