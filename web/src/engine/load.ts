// Loads the engine's module: fetched or given, gzipped or not.

import type { EngineSource } from "./types";

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

/** Decompresses bytes that begin with gzip's signature. Some servers do so before. */
async function unpack(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const own = new Uint8Array(bytes);
  if (own[0] !== 0x1f || own[1] !== 0x8b) return own;
  const plain = new Blob([own]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}
