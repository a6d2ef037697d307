import type { Engine } from "../engine";
import { stubEngine } from "./stub";

/** Opens the engine of the page. */
export function openPageEngine(): Promise<Engine> {
  return Promise.resolve(stubEngine());
}
