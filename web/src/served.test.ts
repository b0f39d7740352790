// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFirstLook, isServed, Refused, serve, type Told } from './served';
import type { Payload } from './types';

async function packed(json: string): Promise<ArrayBuffer> {
  const text = new TextEncoder().encode(json);
  const bytes = new Uint8Array(Math.ceil((4 + text.length) / 8) * 8);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  return new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
}

// A server of payloads: each question for the state is answered by the next of the list.
function answering(numbers: number[], asked: string[], token = 'secret', failing: (at: number) => string | null = () => null, growing: (at: number) => boolean = () => true): void {
  const left = [...numbers];
  let number = 0;
  globalThis.fetch = (async (path: string, how: { method: string; headers: Record<string, string> }) => {
    asked.push(`${how.method} ${path}`);
    if (how.headers['X-Sonde-Token'] !== token) return new Response('', { status: 403 });
    if (path === '/state') {
      if (left.length === 0) throw new TypeError('connection refused');
      number = left.shift()!;
      const at = numbers.length - left.length - 1;
      return new Response(JSON.stringify({ number, reading: false, growing: growing(at), failure: failing(at) }));
    }
    return new Response(await packed(JSON.stringify({ version: 1, title: String(number), stacks: [], strings: [], sections: [] })));
  }) as typeof fetch;
}

test('data is fetched once for each reading, and the end of the server is said', async () => {
  const shown: string[] = [];
  const told: Told[] = [];
  const asked: string[] = [];
  globalThis.setTimeout = ((f: () => void) => queueMicrotask(f)) as unknown as typeof setTimeout;
  answering([0, 0, 1, 1, 2], asked);
  const first: boolean[] = [isServed()];
  await serve('secret', (p: Payload) => { shown.push(p.title); first.push(isFirstLook()); }, (t) => told.push(t));
  assert.deepEqual(first, [false, true, false, false]);
  assert.deepEqual(shown, ['0', '1', '2']);
  assert.deepEqual(told.map((t) => [t.notice !== null, t.isGrowing]), [[false, true], [true, true]]);
  assert.equal(asked.filter((line) => line === 'POST /data').length, 3);
  assert.equal(asked.filter((line) => line.startsWith('GET')).length, 0);
});

test('a reading that fails is told until the next is shown', async () => {
  const shown: string[] = [], told: Told[] = [];
  answering([0, 0, 0, 1], [], 'secret', (at) => (at === 1 || at === 2 ? 'the disk is full' : null));
  await serve('secret', (p: Payload) => shown.push(p.title), (t) => told.push(t));
  assert.deepEqual(shown, ['0', '1']);
  assert.deepEqual(told.map((t) => t.notice).slice(0, 3), [null, 'the disk is full', null]);
  assert.equal(told.length, 4); // and that the server has ended
});

test('a run that goes on and ends is told; one that was over before is not', async () => {
  const told: Told[] = [], growing = [false, true, true, false];
  answering([0, 1, 2, 3], [], 'secret', () => null, (at) => growing[at]!);
  await serve('secret', () => {}, (t) => told.push(t));
  assert.deepEqual(told.map((t) => t.isGrowing), [true, false, false]);
});

test('a wrong token is a refusal', async () => {
  answering([1], []);
  await assert.rejects(serve('other', () => {}, () => {}), Refused);
});
