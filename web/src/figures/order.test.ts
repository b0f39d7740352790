// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sorted } from './order';
import { drawing } from '../testpayload';

test('rows are sorted as by comparing, few and many, and equal ones stay', () => {
  const draw = drawing(9);
  for (const n of [0, 1, 3, 499, 500, 3000]) {
    const some = (of: () => number): Float64Array => Float64Array.from({ length: n }, of);
    const kinds = [some(() => draw(10)), some(() => draw(1e9) * 1e6), some(() => draw(100) - 50), some(() => draw(1000) / 7), some(() => 4), some(() => -0)];
    for (const first of kinds) {
      const second = kinds[draw(kinds.length)]!;
      const rows = Int32Array.from({ length: n }, (_, i) => n - 1 - i);
      const compared = rows.slice().sort((a, b) => first[b]! - first[a]! || second[b]! - second[a]!);
      assert.deepEqual([...sorted(rows, first, second)], [...compared]);
    }
  }
});
