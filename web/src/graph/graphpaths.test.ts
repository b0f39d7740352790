// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrowLength, lineThrough, loopBeside } from './graphpaths';

test('a line goes through its layers and ends where its arrow begins', () => {
  const pen = 1, end = 100 - arrowLength(pen), line = lineThrough([0, 0, 0, 10, 20, 40, 20, 100], pen)!;
  assert.equal(line.path, `M0 0V10C0 25 20 25 20 40V${end}`);
  assert.match(line.arrow, /^M20 100L/);
  assert.deepEqual([line.x, line.y], [10, 25]);
});

test('a line that goes up has its arrow at the top', () => {
  const line = lineThrough([0, 100, 0, 60, 30, 40, 30, 0], 1)!;
  assert.match(line.path, /V6.6$/);
  assert.match(line.arrow, /^M30 0L/);
});

test('a line without points is none, and one to itself is beside its box', () => {
  assert.equal(lineThrough([], 1), null);
  const loop = loopBeside({ x: 50, y: 50, w: 20, h: 30 }, 1);
  assert.equal(loop.isLoop, true);
  assert.match(loop.arrow, /^M60 60L/);
});
