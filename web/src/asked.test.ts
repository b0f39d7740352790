// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adopted, dataOf, queryOf } from './asked';
import { WHOLE } from './testpayload';
import type { Payload, TableData, View } from './types';

const table = (cells: number[]): TableData => ({
  columns: [
    { name: 'section', meaning: '', unit: 'text', isHidden: false, cells: Uint8Array.from(cells) },
    { name: 'count', meaning: '', unit: 'count', isHidden: false, cells: Uint8Array.from(cells) },
  ],
  n: cells.length, parents: null, note: 'all of them',
});
const view: View = { name: 'sections', title: 'Sections', shape: 'table', follows: [], asks: ['time', 'section'], data: table([1, 2]) };

test('a query has the parts by which the server can cut the view', () => {
  assert.equal(queryOf(view, WHOLE), null);
  assert.equal(queryOf(view, { ...WHOLE, thread: '7/8', search: 'f' }), null);
  assert.equal(queryOf({ ...view, asks: [] }, { ...WHOLE, from: 0, to: 5 }), null);
  const query = queryOf(view, { ...WHOLE, from: 1e6, to: 3e6, section: 'train', thread: '7/8' });
  assert.deepEqual(JSON.parse(query!), { views: 'sections', from_ns: 1e6, to_ns: 3e6 - 1, section: 'train', track: null });
});

test('texts of an answer become texts of the page, each once', () => {
  const strings = ['x', 'load'];
  const made = adopted(table([0, 1, 2]), ['train', 'load'], strings);
  assert.deepEqual(strings, ['x', 'load', 'train']);
  assert.deepEqual([...made.columns[0]!.cells], [0, 3, 2]);
  assert.deepEqual([...made.columns[1]!.cells], [0, 1, 2]);
  adopted(table([1]), ['train'], strings);
  assert.equal(strings.length, 3);
});

test('a table of which nothing is in a part has no rows', () => {
  const none = dataOf(view, { views: [], strings: [] as string[] } as unknown as Payload, []) as TableData;
  assert.deepEqual([none.n, none.note, none.columns.map((c) => c.name)], [0, null, ['section', 'count']]);
  assert.equal(dataOf({ ...view, shape: 'series' }, { views: [], strings: [] as string[] } as unknown as Payload, []), null);
});
