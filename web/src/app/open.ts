import { type Engine, openEngine } from "../engine";

/** Opens the engine of the page, which is a file beside the page. */
export function openPageEngine(): Promise<Engine> {
  return openEngine({ url: new URL("engine.wasm.xz", document.baseURI).href });
}
