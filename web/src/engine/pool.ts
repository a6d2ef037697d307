// Workers of the engine, and the tasks that each of them has. A worker whose engine trapped, or that
// does not stop when asked, is ended; its other tasks go to a fresh one.

import type { Failure, FromWorker, RawRun, Task, ToWorker } from "./protocol";
import { EngineFailure, ScenarioError, TooLongError } from "./types";

/** The part of a Worker that the pool uses. */
export interface WorkerLike {
  postMessage(message: ToWorker): void;
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  terminate(): void;
}

export type MakeWorker = () => WorkerLike;

/** Time in which a worker answers a cancellation, in milliseconds. */
const PATIENCE = 500;
/** Linear memory above which an idle worker is replaced, in bytes. It never shrinks. */
const LARGE = 256_000_000;

interface Pending {
  id: number;
  message: ToWorker;
  isRun: boolean;
  /** Set when the caller no longer waits. */
  isCanceled: boolean;
  resolve(result: string | RawRun): void;
  reject(error: Error): void;
  onProgress(share: number): void;
}

class Member {
  readonly pending = new Map<number, Pending>();

  constructor(
    readonly worker: WorkerLike,
    module: WebAssembly.Module,
  ) {
    worker.postMessage({ type: "open", module });
  }

  add(pending: Pending): void {
    this.pending.set(pending.id, pending);
    this.worker.postMessage(pending.message);
  }

  /** Removes a task and returns it. */
  take(id: number): Pending | undefined {
    const pending = this.pending.get(id);
    this.pending.delete(id);
    return pending;
  }
}

export class Pool {
  private members: Member[] = [];
  private nextId = 1;
  private isClosed = false;

  constructor(
    private readonly module: WebAssembly.Module,
    private readonly makeWorker: MakeWorker,
    private readonly size: number,
  ) {
    this.grow();
  }

  /** Answers a request that takes no run. */
  ask(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const id = this.nextId++;
      this.add({
        id,
        message: { type: "ask", id, text },
        isRun: false,
        isCanceled: false,
        resolve: (result) => {
          resolve(result as string);
        },
        reject,
        onProgress: () => undefined,
      });
    });
  }

  /** Runs a task. Rejects with the signal's reason if it is aborted. */
  run(task: Task, signal: AbortSignal, onProgress: (share: number) => void): Promise<RawRun> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const id = this.nextId++;
      const abort = (): void => {
        this.cancel(id);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", abort, { once: true });
      const settle = (): void => {
        signal.removeEventListener("abort", abort);
      };
      this.add({
        id,
        message: { type: "run", id, task },
        isRun: true,
        isCanceled: false,
        resolve: (result) => {
          settle();
          onProgress(1);
          resolve(result as RawRun);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
        onProgress,
      });
    });
  }

  /** Ends all workers; what is under way is rejected. */
  close(): void {
    this.isClosed = true;
    for (const member of this.members) {
      member.worker.terminate();
      for (const pending of member.pending.values()) {
        pending.reject(new EngineFailure("the engine was closed"));
      }
    }
    this.members = [];
  }

  private add(pending: Pending): void {
    if (this.isClosed) {
      pending.reject(new EngineFailure("the engine was closed"));
      return;
    }
    this.member().add(pending);
  }

  /** Returns the member with the fewest tasks; a new one if all are busy and there is room. */
  private member(): Member {
    const load = (member: Member): number => member.pending.size;
    const least = this.members.reduce<Member | undefined>(
      (best, member) => (best === undefined || load(member) < load(best) ? member : best),
      undefined,
    );
    if (least === undefined || (load(least) > 0 && this.members.length < this.size)) {
      return this.grow();
    }
    return least;
  }

  private grow(): Member {
    const member = new Member(this.makeWorker(), this.module);
    member.worker.onmessage = (event) => {
      this.receive(member, event.data);
    };
    member.worker.onerror = (event) => {
      this.replace(member, undefined, event.message || "the worker could not be started");
    };
    this.members.push(member);
    return member;
  }

  private receive(member: Member, message: FromWorker): void {
    switch (message.type) {
      case "progress": {
        const pending = member.pending.get(message.id);
        if (pending && !pending.isCanceled) pending.onProgress(message.share);
        return;
      }
      case "answer":
        member.take(message.id)?.resolve(message.text);
        break;
      case "ran":
        member.take(message.id)?.resolve(message.run);
        break;
      case "failed":
        member.take(message.id)?.reject(errorOf(message.failure));
        break;
      case "canceled":
        member.take(message.id);
        break;
      case "broken":
        this.replace(member, message.id, message.message);
        return;
    }
    if (member.pending.size === 0 && message.memory > LARGE) this.end(member);
  }

  private cancel(id: number): void {
    const member = this.members.find((other) => other.pending.has(id));
    const pending = member?.pending.get(id);
    if (member === undefined || pending === undefined) return;
    pending.isCanceled = true;
    member.worker.postMessage({ type: "cancel", id });
    setTimeout(() => {
      if (member.pending.has(id)) this.replace(member, undefined, "");
    }, PATIENCE);
  }

  /**
   * Ends a member. Task `id` is rejected, all tasks if it is unknown and there is a message; the
   * others start again in another worker.
   */
  private replace(member: Member, id: number | undefined, message: string): void {
    this.end(member);
    for (const pending of member.pending.values()) {
      const isAtFault = id === pending.id || (message !== "" && (id ?? 0) === 0);
      if (pending.isCanceled) continue;
      if (isAtFault) pending.reject(new EngineFailure(`the engine failed: ${message}`));
      else this.add(pending);
    }
    member.pending.clear();
  }

  private end(member: Member): void {
    this.members = this.members.filter((other) => other !== member);
    member.worker.onmessage = null;
    member.worker.onerror = null;
    member.worker.terminate();
  }
}

function errorOf(failure: Failure): Error {
  switch (failure.kind) {
    case "scenario":
      return new ScenarioError(failure);
    case "too long":
      return new TooLongError(failure.message);
    case "internal":
      return new EngineFailure(failure.message);
  }
}
