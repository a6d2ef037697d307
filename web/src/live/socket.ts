import type { Message, Request } from "./protocol";

/** State of the connection, for the reader. */
export type Connection =
  | { kind: "connecting" }
  | { kind: "open" }
  | { kind: "broken"; wait: number }
  | { kind: "ended" }
  | { kind: "refused"; reason: string };

/** Pauses (s) before attempts to connect again; the last one repeats. */
const PAUSES = [0.3, 1, 2, 5];

/** Events of a connection. */
export interface Events {
  onOpen(): void;
  onMessage(text: string): void;
  onClose(code: number, reason: string): void;
}

/** Part of a WebSocket that is used. */
export interface Wire {
  send(text: string): void;
  close(): void;
}

export interface SocketOptions {
  /** Opens a connection that skips samples up to a time (s). */
  open(since: number, events: Events): Wire;
  onMessage(message: Message): void;
  onConnection(state: Connection): void;
  /** Calls a function after some seconds. */
  later?(call: () => void, seconds: number): void;
}

/** Connection to an emulation, which is made again after a break. */
export class LiveSocket {
  /** Time (s) of the newest sample. */
  since = 0;
  readonly #options: SocketOptions;
  #wire: Wire | undefined;
  #failures = 0;
  #over = false;
  #next = 1;
  #answers = new Map<number, (error: string | null) => void>();

  constructor(options: SocketOptions) {
    this.#options = options;
    this.#connect();
  }

  /** Sends a request; resolves to the reason of a refusal, or null. */
  ask(request: Request): Promise<string | null> {
    const wire = this.#wire;
    if (!wire) return Promise.resolve("not connected: nothing was changed");
    const id = this.#next++;
    return new Promise((resolve) => {
      this.#answers.set(id, resolve);
      wire.send(JSON.stringify({ id, ...request }));
    });
  }

  close(): void {
    this.#over = true;
    this.#wire?.close();
  }

  #connect(): void {
    if (this.#over) return;
    this.#options.onConnection({ kind: "connecting" });
    const wire = this.#options.open(this.since, {
      onOpen: () => {
        this.#failures = 0;
        this.#wire = wire;
        this.#options.onConnection({ kind: "open" });
      },
      onMessage: (text) => this.#receive(JSON.parse(text) as Message),
      onClose: (code, reason) => this.#broke(code, reason),
    });
  }

  #receive(message: Message): void {
    if (message.type === "answer") {
      if (message.id !== null) this.#answers.get(message.id)?.(message.error);
      this.#answers.delete(message.id ?? 0);
      return;
    }
    if (message.type === "samples") this.since = message.samples.at(-1)?.time ?? this.since;
    if (message.type === "end") {
      this.#over = true;
      this.#options.onConnection({ kind: "ended" });
    }
    this.#options.onMessage(message);
  }

  #broke(code: number, reason: string): void {
    this.#wire = undefined;
    for (const answer of this.#answers.values()) answer("the connection broke");
    this.#answers.clear();
    if (this.#over) return;
    // 1013: too many pages are open, which another attempt would not change.
    if (code === 1013) {
      this.#over = true;
      this.#options.onConnection({ kind: "refused", reason });
      return;
    }
    const wait = PAUSES[Math.min(this.#failures, PAUSES.length - 1)]!;
    this.#failures += 1;
    this.#options.onConnection({ kind: "broken", wait });
    const connect = (): void => this.#connect();
    if (this.#options.later) this.#options.later(connect, wait);
    else setTimeout(connect, 1000 * wait);
  }
}

/** Returns a function that opens the socket at an address beside the page. */
export function openSocket(place: string): SocketOptions["open"] {
  return (since, events) => {
    const address = new URL(place, document.baseURI);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    address.hash = "";
    address.search = since > 0 ? `since=${since}` : "";
    const wire = new WebSocket(address);
    wire.onopen = () => events.onOpen();
    wire.onmessage = (event: MessageEvent<string>) => events.onMessage(event.data);
    wire.onclose = ({ code, reason }) => events.onClose(code, reason);
    return wire;
  };
}
