// The engine under node, by its functions alone: for measurements and for the comparison of digests.
import { readFileSync } from "node:fs";
import { TextDecoder, TextEncoder } from "node:util";
import xz from "xz-decompress";

const { Blob, Response, WebAssembly } = globalThis;

export const FAILED = 2;

/** Opens the engine of a file, compressed by xz or not. */
export async function open(path) {
  const file = readFileSync(path);
  const plain = new xz.XzReadableStream(new Blob([file]).stream());
  const isPacked = file[0] === 0xfd;
  const module = await WebAssembly.compile(
    isPacked ? await new Response(plain).arrayBuffer() : file,
  );
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
