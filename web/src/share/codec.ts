/** What an address holds: the whole experiment and the view of it. */
export interface Shared {
  toml: string;
  tcps: string[];
  seed?: number;
  lesson?: string;
  time?: number;
  from?: number;
  /** End of the shown span; absent for the whole run. */
  to?: number;
  focus?: string;
  flow?: number;
  link?: string;
  /** Changes of the scenario's text that are made as the page opens (`farlink live --set`). */
  set?: [path: string, value: string][];
}

/** Longest address, in characters of the text behind `s=`. */
export const MOST_CHARACTERS = 64_000;
/** Longest JSON that an address may unpack to (bytes). */
export const MOST_BYTES = 400_000;
const MOST_TCPS = 7;
const MOST_NAME = 80;
const MOST_CHANGES = 100;

/** An address does not hold an experiment; the message is one line. */
export class AddressError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "AddressError";
  }
}

/** Packs an experiment: base64url of deflated JSON. */
export async function pack(shared: Shared): Promise<string> {
  const json = new TextEncoder().encode(JSON.stringify({ v: 1, ...shared }));
  const packed = await collect(
    new Blob([json]).stream().pipeThrough(new CompressionStream("deflate-raw")),
    Infinity,
  );
  return toBase64Url(packed);
}

/** Unpacks an experiment, and checks the size and the type of all that it holds. */
export async function unpack(text: string): Promise<Shared> {
  if (text.length > MOST_CHARACTERS) {
    throw new AddressError(`the address has more than ${MOST_CHARACTERS} characters`);
  }
  const packed = fromBase64Url(text);
  let bytes: Uint8Array;
  try {
    bytes = await collect(
      new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw")),
      MOST_BYTES,
    );
  } catch (error) {
    if (error instanceof AddressError) throw error;
    throw new AddressError("the address is damaged: its text cannot be decompressed");
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new AddressError("the address is damaged: it has no JSON");
  }
  return checked(value);
}

function checked(value: unknown): Shared {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new AddressError("the address is damaged: it has no experiment");
  }
  const row = value as Record<string, unknown>;
  if (row.v !== 1) throw new AddressError("the address is of another version of the page");
  const { toml, tcps } = row;
  if (typeof toml !== "string") throw new AddressError("the address has no scenario");
  if (!Array.isArray(tcps) || tcps.length > MOST_TCPS || !tcps.every(isName)) {
    throw new AddressError("the address has no valid list of TCPs");
  }
  const shared: Shared = { toml, tcps: [...new Set(tcps)] };
  const time = number(row.time);
  const from = number(row.from);
  const to = number(row.to);
  if (time !== undefined && time >= 0) shared.time = time;
  if (from !== undefined && to !== undefined && from >= 0 && to > from) {
    Object.assign(shared, { from, to });
  }
  if (Number.isSafeInteger(row.seed) && Number(row.seed) >= 0) {
    shared.seed = Number(row.seed);
  }
  if (Number.isSafeInteger(row.flow) && Number(row.flow) >= 0) {
    shared.flow = Number(row.flow);
  }
  if (isName(row.lesson)) shared.lesson = row.lesson;
  if (isName(row.focus)) shared.focus = row.focus;
  if (typeof row.link === "string" && row.link.length <= 2 * MOST_NAME) {
    shared.link = row.link;
  }
  if (Array.isArray(row.set) && row.set.length <= MOST_CHANGES && row.set.every(isChange)) {
    shared.set = row.set;
  }
  return shared;
}

/** Returns whether a value is a name of a TCP or a lesson: letters, digits, `-`, `_`, `+`, `.`. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value.length <= MOST_NAME && /^[\w.+-]+$/.test(value);
}

function isChange(value: unknown): value is [string, string] {
  return (
    Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "string")
  );
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Reads a stream up to a number of bytes, so that a small address cannot fill the memory. */
async function collect(stream: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array> {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel().catch(() => undefined);
      throw new AddressError(`the address unpacks to more than ${most} bytes`);
    }
    parts.push(value);
  }
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

function toBase64Url(bytes: Uint8Array): string {
  let text = "";
  for (let n = 0; n < bytes.length; n += 4096) {
    text += String.fromCharCode(...bytes.subarray(n, n + 4096));
  }
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[\w-]*$/.test(text)) {
    throw new AddressError("the address is damaged: it has characters that no address has");
  }
  try {
    const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(plain, (character) => character.charCodeAt(0));
  } catch {
    throw new AddressError("the address is damaged: its length is wrong");
  }
}
