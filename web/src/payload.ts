// SPDX-License-Identifier: MIT
// payload: takes the data out of the page and makes columns of it.  README.md describes the bytes.

import type { Numbers, Payload } from './types';

interface Place {
  at: number;
  n: number;
  as: 'u8' | 'u16' | 'u32' | 'f64';
  delta?: boolean;
}

const isPlace = (v: object): v is Place => 'at' in v && 'n' in v && 'as' in v;

function summed(steps: Numbers): Float64Array {
  const all = new Float64Array(steps.length);
  let sum = 0;
  for (let i = 0; i < all.length; i++) all[i] = sum += steps[i]!;
  return all;
}

// Typed arrays are little endian wherever browsers run.
function columnAt(columns: Uint8Array, place: Place): Numbers {
  const { buffer } = columns;
  const at = columns.byteOffset + place.at;
  const made =
    place.as === 'u8' ? new Uint8Array(buffer, at, place.n)
    : place.as === 'u16' ? new Uint16Array(buffer, at, place.n)
    : place.as === 'u32' ? new Uint32Array(buffer, at, place.n)
    : new Float64Array(buffer, at, place.n);
  return place.delta ? summed(made) : made;
}

// Puts columns where the JSON says that they are.
function filled(value: unknown, columns: Uint8Array): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isPlace(value)) return columnAt(columns, value);
  if (Array.isArray(value)) {
    if (typeof value[0] === 'object') for (let i = 0; i < value.length; i++) value[i] = filled(value[i], columns);
    return value;
  }
  const members = value as Record<string, unknown>;
  for (const key in members) members[key] = filled(members[key], columns);
  return value;
}

// Of the bytes without gzip.
export function decode(bytes: Uint8Array): Payload {
  const n = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const json = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + n))) as unknown;
  const begin = Math.ceil((4 + n) / 8) * 8;
  const payload = filled(json, bytes.subarray(begin)) as Payload;
  if (payload.version !== 1) throw new Error('this page does not know its data');
  for (const block of payload.stacks) {
    block.strings = payload.strings;
    block.sections = payload.sections;
  }
  return payload;
}

export async function decompressed(gzip: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([gzip]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const VALUES = new Uint8Array(256); // by byte; of others 0
'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.split('').forEach((c, i) => (VALUES[c.charCodeAt(0)] = i));

// Faster than atob(), which makes a string first.
export function base64(text: string): Uint8Array<ArrayBuffer> {
  const chars = new TextEncoder().encode(text);
  const n = text.indexOf('=') < 0 ? chars.length : text.indexOf('=');
  const bytes = new Uint8Array((n * 3) >> 2);
  for (let i = 0, to = 0; i < n; i += 4) {
    const four = (VALUES[chars[i]!]! << 18) | (VALUES[chars[i + 1]!]! << 12) | (VALUES[chars[i + 2]!]! << 6) | VALUES[chars[i + 3]!]!;
    bytes[to++] = four >> 16;
    bytes[to++] = four >> 8;
    bytes[to++] = four;
  }
  return bytes;
}

// The data that the page brings with it; null: it has none, and asks a server for it.
export async function loadPage(page: Document): Promise<Payload | null> {
  const script = page.getElementById('data');
  if (!script) return null;
  const text = (script.textContent ?? '').trim();
  script.remove();
  return decode(await decompressed(base64(text)));
}
