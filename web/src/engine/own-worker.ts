/** Makes a worker from the file beside the page. */
export function ownWorker(): Worker {
  return new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
}
