// Entry of a worker.

import type { FromWorker, ToWorker } from "./protocol";
import { Server } from "./serve";

/** What a worker has of its global scope; the page's types have a window instead. */
interface WorkerScope {
  postMessage(message: FromWorker, transfer: ArrayBuffer[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
}

const scope = globalThis as unknown as WorkerScope;
const server = new Server({
  post(message, transfer) {
    scope.postMessage(message, transfer);
  },
});
scope.onmessage = (event) => {
  server.receive(event.data);
};
