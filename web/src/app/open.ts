import { type Engine, openEngine } from "../engine";

/** Opens the engine of the page, a file beside it. */
export function openPageEngine(): Promise<Engine> {
  return openEngine({ url: new URL("engine.wasm.xz", document.baseURI).href });
}
