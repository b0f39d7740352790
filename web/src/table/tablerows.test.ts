// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matcher } from '../search';
import { matching, rowsOfTable, sortedRows, treeKeys } from './tablerows';
import { drawing } from '../testpayload';
import type { TableData } from '../types';

const STRINGS = ['b', 'A', 'c', '/x/app.py'];

function data(parents: number[] | null, names: number[], shares: number[]): TableData {
  return {
    n: names.length, note: null, parents: parents && Uint32Array.from(parents),
    columns: [
      { name: 'cum%', meaning: '', unit: 'percent', isHidden: false, cells: Float64Array.from(shares) },
      { name: 'function', meaning: '', unit: 'text', isHidden: false, cells: Uint32Array.from(names) },
    ],
  };
}

test('numbers are sorted in both directions, equal rows keep their order and empty cells come last', () => {
  const t = data(null, [1, 1, 1, 1, 1, 1], [3, NaN, -2, 0, 1e300, 3]);
  assert.deepEqual([...sortedRows(t, { column: 'cum%', isDown: true }, STRINGS)], [4, 0, 5, 3, 2, 1]);
  assert.deepEqual([...sortedRows(t, { column: 'cum%', isDown: false }, STRINGS)], [2, 3, 0, 5, 4, 1]);
  assert.deepEqual([...sortedRows(t, null, STRINGS)], [0, 1, 2, 3, 4, 5]);
});

test('texts are sorted without regard to upper case', () => {
  const t = data(null, [1, 2, 3, 0], [0, 0, 0, 0]);
  assert.deepEqual([...sortedRows(t, { column: 'function', isDown: false }, STRINGS)], [1, 0, 2, 3]);
  assert.deepEqual([...sortedRows(t, { column: 'function', isDown: true }, STRINGS)], [2, 0, 1, 3]);
});

test('random numbers are sorted as the language sorts them', () => {
  const draw = drawing(7), shares = Array.from({ length: 3000 }, () => (draw(2000) - 1000) / (1 + draw(50)));
  const t = data(null, shares.map(() => 1), shares), order = sortedRows(t, { column: 'cum%', isDown: true }, STRINGS);
  assert.deepEqual([...order].map((row) => shares[row]), [...shares].sort((a, b) => b - a));
});

// b > A > c, and b again beside it
const tree = () => data([0, 1, 2, 0], [1, 2, 3, 1], [60, 50, 40, 70]);

test('a tree shows what is open, each level sorted', () => {
  const t = tree(), order = sortedRows(t, { column: 'cum%', isDown: true }, STRINGS);
  assert.deepEqual([...rowsOfTable(t, order, null, () => true).rows], [3, 0, 1, 2]);
  const closed = rowsOfTable(t, order, null, () => false);
  assert.deepEqual([...closed.rows], [3, 0]);
  assert.deepEqual([...closed.hasChildren!], [1, 1, 0, 0]);
  assert.deepEqual([...closed.depths!], [0, 1, 2, 0]);
});

test('a search keeps rows that match and opens all above them', () => {
  const t = tree(), found = matching(t, matcher('^c$')!, STRINGS);
  assert.deepEqual([...found], [2, 2, 1, 0]);
  assert.deepEqual([...rowsOfTable(t, sortedRows(t, null, STRINGS), found, () => false).rows], [0, 1, 2]);
});

test('a row of a tree keeps its key when figures and places change', () => {
  const keys = treeKeys(tree()), same = treeKeys(data([0, 0, 2, 3], [1, 1, 2, 3], [1, 2, 3, 4]));
  assert.equal(keys[2], same[3]);
  assert.equal(new Set(keys).size, 3); // both b are one
});
