// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEAD, ROW, scrollTo, visibleRows } from './visiblerows';

const BOX = HEAD + 10 * ROW;

// Row numbers whose whole height is seen.
function seen(scrollTop: number, n: number): { from: number; to: number } {
  const v = visibleRows(scrollTop, BOX, n), at = (row: number) => v.shift + (row - v.first) * ROW;
  const rows = Array.from({ length: v.n }, (_, i) => v.first + i).filter((row) => at(row) >= scrollTop - 0.01 && at(row) + ROW <= scrollTop + BOX - HEAD + 0.01);
  return { from: rows[0]!, to: rows[rows.length - 1]! };
}

test('a short table is as tall as its rows and shows them all', () => {
  assert.deepEqual(visibleRows(0, BOX, 5), { first: 0, n: 5, shift: 0, height: 5 * ROW });
});

test('of a long table only rows in sight are made', () => {
  const v = visibleRows(50_000 * ROW, BOX, 100_000);
  assert.ok(v.n < 40, String(v.n));
  assert.deepEqual(seen(50_000 * ROW, 100_000), { from: 50_000, to: 50_009 });
});

test('ten million rows end at the end of the largest element', () => {
  const n = 10_000_000, { height } = visibleRows(0, BOX, n);
  assert.equal(height, 8_000_000);
  assert.deepEqual(seen(height - 10 * ROW, n), { from: n - 10, to: n - 1 });
});

test('every row can be scrolled to, and one in sight is left where it is', () => {
  for (const n of [40, 100_000, 10_000_000])
    for (const row of [0, 17, Math.floor(n / 3), n - 1]) {
      const to = scrollTo(row, 5 * ROW, BOX, n), { from, to: last } = seen(to, n);
      assert.ok(from <= row && row <= last, `${row} of ${n}: ${from} to ${last}`);
      assert.equal(scrollTo(row, to, BOX, n), to);
    }
});
