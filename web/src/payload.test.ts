// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { base64, decode, decompressed } from './payload';

function bytesOf(json: object, columns: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(json));
  const begin = Math.ceil((4 + text.length) / 8) * 8;
  const all = new Uint8Array(begin + columns.length);
  new DataView(all.buffer).setUint32(0, text.length, true);
  all.set(text, 4);
  all.set(columns, begin);
  return all;
}

test('columns stand where the JSON says, and steps are added up', () => {
  const columns = new Uint8Array(32);
  columns.set([1, 2, 3], 0);
  new DataView(columns.buffer).setUint16(8, 500, true);
  new DataView(columns.buffer).setUint16(10, 7, true);
  new DataView(columns.buffer).setFloat64(16, 0.5, true);
  const json = { version: 1, strings: ['at'], sections: ['s'], stacks: [{ a: { at: 0, n: 3, as: 'u8', delta: true }, b: [{ at: 8, n: 2, as: 'u16' }] }], c: { at: 16, n: 1, as: 'f64' }, d: null, e: [] };
  const payload = decode(bytesOf(json, columns)) as unknown as { stacks: { a: Float64Array; b: Uint16Array[]; strings: string[]; sections: string[] }[]; c: Float64Array };
  assert.deepEqual([...payload.stacks[0]!.a], [1, 3, 6]);
  assert.deepEqual([...payload.stacks[0]!.b[0]!], [500, 7]);
  assert.deepEqual([...payload.c], [0.5]);
  assert.deepEqual([payload.stacks[0]!.strings, payload.stacks[0]!.sections], [['at'], ['s']]);
});

test('data of another version is refused', () => {
  assert.throws(() => decode(bytesOf({ version: 2, stacks: [] }, new Uint8Array(0))), /does not know its data/);
});

test('base64 and gzip give the bytes back, of every length', async () => {
  for (let n = 0; n < 40; n++) {
    const bytes = Uint8Array.from({ length: n }, (_, i) => (i * 83 + n) & 255);
    const gzip = gzipSync(bytes);
    assert.deepEqual([...base64(btoa(String.fromCharCode(...gzip)))], [...gzip]);
    assert.deepEqual([...(await decompressed(Uint8Array.from(gzip)))], [...bytes]);
  }
});
