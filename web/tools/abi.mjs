// The engine under node, by its functions alone: for measurements and for the comparison of digests.
import { readFileSync } from "node:fs";
import { TextDecoder, TextEncoder } from "node:util";
import { gunzipSync } from "node:zlib";

const { WebAssembly } = globalThis;

export const FAILED = 2;

/** Opens the engine of a file, gzipped or not. */
export function open(path) {
  const file = readFileSync(path);
  const module = new WebAssembly.Module(file[0] === 0x1f ? gunzipSync(file) : file);
  const native = new WebAssembly.Instance(module, {}).exports;
  native.farlink_open();
  const put = (text) => {
    const bytes = new TextEncoder().encode(text);
    const at = native.farlink_alloc(bytes.length);
    new Uint8Array(native.memory.buffer, at, bytes.length).set(bytes);
    return [at, bytes.length];
  };
  const answer = () => {
    const at = native.farlink_answer();
    const bytes = new Uint8Array(native.memory.buffer, at, native.farlink_answer_len());
    return JSON.parse(new TextDecoder().decode(bytes));
  };
  return {
    native,
    /** Answers a request that takes no run. */
    ask(request) {
      native.farlink_ask(...put(JSON.stringify(request)));
      return answer();
    },
    /** Runs a request to its end, in slices of `events`. */
    run(request, events = 20_000) {
      if (native.farlink_start(...put(JSON.stringify(request))) === FAILED) return answer();
      const job = answer();
      for (;;) {
        const status = native.farlink_step(job, events);
        if (status === FAILED) return answer();
        if (status !== 0) break;
      }
      native.farlink_finish(job);
      const result = answer();
      native.farlink_discard(job);
      return result;
    },
  };
}
