// Takes the place of own-worker.ts in a page that is one file (vite.single.config.ts).
import InlineWorker from "./worker?worker&inline";

/** Makes a worker from a text in the page. */
export function ownWorker(): Worker {
  return new InlineWorker();
}
