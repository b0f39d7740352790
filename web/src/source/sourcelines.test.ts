// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hottestFile, linesOfFile, shownLine } from './sourcelines';
import type { SourceData, TableColumn } from '../types';

const column = (name: string, unit: TableColumn['unit'], cells: number[]): TableColumn =>
  ({ name, meaning: '', unit, isHidden: false, cells: Float64Array.from(cells) });
const file = (text: string | null, lines: number[], shares: number[]): SourceData['files'][number] =>
  ({ file: 0, short: 0, text, note: null, lines: Uint32Array.from(lines), columns: [column('hits', 'count', lines), column('self%', 'percent', shares)] });

test('lines have the figures of their numbers, and the hottest is found by its share', () => {
  const lines = linesOfFile(file('a\nb\r\nc\n', [1, 3], [10, 40]));
  assert.deepEqual(lines.texts, ['a', 'b', 'c']);
  assert.deepEqual([...lines.rowOf], [0, -1, 1]);
  assert.equal(lines.hottest, 3);
  assert.deepEqual([lines.part(0), lines.part(1), lines.part(2)], [0.25, 0, 1]);
  assert.equal(lines.placeOf(2), 1);
});

test('of a file without a text the lines with figures are listed', () => {
  const lines = linesOfFile(file(null, [7, 90], [1, 0]));
  assert.deepEqual([...lines.lineOf], [7, 90]);
  assert.equal(lines.texts, null);
  assert.equal(lines.placeOf(8), 1);
  assert.equal(lines.placeOf(1000), 1);
});

test('figures behind the end of a text keep their lines', () => {
  const lines = linesOfFile(file('a', [3], [5]));
  assert.deepEqual(lines.texts, ['a', '', '']);
  assert.equal(lines.hottest, 3);
});

test('the file with the hottest line is opened', () => {
  assert.deepEqual(hottestFile({ files: [file('a\nb', [1], [5]), file(null, [4, 8], [6, 60])] }), { file: 1, line: 8 });
  assert.deepEqual(hottestFile({ files: [file(null, [2], [5]), file('x\ny', [2], [5])] }), { file: 1, line: 2 });
});

test('files are compared by the same figure: time of its callers is no heat of a line', () => {
  const shares = (text: string | null, self: number, cum: number): SourceData['files'][number] => ({
    ...file(text, [4], [self]),
    columns: [column('self%', 'percent', [self]), column('cum%', 'percent', [cum])],
  });
  assert.deepEqual(hottestFile({ files: [shares(null, 0, 60), shares('a', 10, 20)] }), { file: 1, line: 4 });
  assert.deepEqual(hottestFile({ files: [shares(null, 0, 60), shares('a', 0, 20)] }), { file: 0, line: 4 });
});

test('tabs are blanks, control characters are seen', () => {
  assert.equal(shownLine('\tif x:\t# \u202e\x1b'), '        if x:   # \\u202e\\x1b');
});
