// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readingAt, rowsOf, stepsOf } from './lanes';
import { payloadOf, WHOLE } from '../testpayload';
import type { Lane } from '../types';

// Two slices of 1 ms: 2 samples of a running thread that holds the lock, then 1 without it and 1 idle one of another thread.
const payload = () => payloadOf({
  functions: [{ name: 'f', file: '/a.py', line: 1 }], frames: [{ parent: 0, fn: 0, line: 2 }],
  places: [{ frame: 1, thread: 0, flags: 2 }, { frame: 1, thread: 0, flags: 0 }, { frame: 1, thread: 1, flags: 1 }],
  sets: [[], [0]], sections: ['s'], threads: 2,
  entries: [{ slice: 0, place: 0, set: 1, samples: 2, wall: 2e6 }, { slice: 1, place: 1, set: 0, samples: 1, wall: 1e6 }, { slice: 1, place: 2, set: 0, samples: 1, wall: 1e6 }],
});
const lane = (make: 'activity' | 'gil'): Lane => ({ title: make, unit: make === 'gil' ? 'percent' : 'count', stacks: 0, make });

test('activity is samples by second of threads that run', () => {
  assert.deepEqual([...stepsOf(lane('activity'), payload(), WHOLE)!.all], [2000, 1000]);
});

test('CPU time belongs to the time since the look before', () => {
  const p = payloadOf({
    functions: [{ name: 'f', file: '/a.py', line: 1 }], frames: [{ parent: 0, fn: 0, line: 2 }], places: [{ frame: 1, thread: 0, flags: 0 }],
    sets: [[]], sections: [], threads: 1,
    entries: [{ slice: 1, place: 0, set: 0, samples: 1, wall: 2e6 }, { slice: 3, place: 0, set: 0, samples: 2, wall: 4e6 }],
  });
  p.stacks[0]!.metrics.push({ name: 'cpu', unit: 'ns', meaning: '', values: Float64Array.of(2e6, 1e6) });
  assert.deepEqual([...stepsOf({ ...lane('activity'), unit: 'percent' }, p, WHOLE)!.all], [100, 100, 50, 50]);
});

test('GIL is the share of running samples that held it', () => {
  assert.deepEqual([...stepsOf(lane('gil'), payload(), WHOLE)!.all], [100, 0]);
});

test('a selected thread or section has steps of its own beside those of all', () => {
  const p = payload();
  assert.equal(stepsOf(lane('activity'), p, WHOLE)!.part, null);
  assert.deepEqual([...stepsOf(lane('activity'), p, { ...WHOLE, section: 's' })!.part!], [2000, 0]);
  assert.deepEqual([...stepsOf(lane('activity'), p, { ...WHOLE, thread: '10/12' })!.part!], [0, 0]);
});

test('bands of one depth that overlap stand below each other, deeper ones below all of these', () => {
  const band = (from: number, to: number, depth: number) => ({ name: 'x', from, to, depth, n: 1 });
  const { rows, n } = rowsOf([band(0, 3, 0), band(1, 2, 1), band(2, 4, 0), band(3, 4, 0)]);
  assert.deepEqual([[...rows], n], [[0, 2, 1, 0], 3]);
});

test('the reading at a moment is the last one before it', () => {
  assert.deepEqual([0.5, 1, 2.5, 9].map((s) => readingAt([1, 2, 3], s)), [-1, 0, 1, 2]);
});
