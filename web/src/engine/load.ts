// Loads the engine's module: fetched or given, compressed by xz or not.

import { XzReadableStream } from "xz-decompress";
import type { EngineSource } from "./types";

/** First bytes of a file that xz wrote. */
const XZ = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00];

/** Compiles the engine. */
export async function load(source: EngineSource): Promise<WebAssembly.Module> {
  const bytes = "url" in source ? await fetched(source.url) : source.bytes;
  return WebAssembly.compile(await unpack(bytes));
}

async function fetched(url: string): Promise<Uint8Array> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${String(response.status)} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** Decompresses bytes that begin with the signature of xz, which is a quarter smaller than gzip. */
export async function unpack(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const own = new Uint8Array(bytes);
  if (XZ.some((byte, at) => own[at] !== byte)) return own;
  const plain = new XzReadableStream(new Blob([own]).stream());
  return new Uint8Array(await new Response(plain).arrayBuffer());
}
