// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csv, csvText } from './save';

test('what a spreadsheet takes for a formula gets a quote mark before it', () => {
  assert.equal(csvText('=1+1'), "'=1+1");
  assert.equal(csvText('@x'), "'@x");
  assert.equal(csvText('-a,"b"'), '"\'-a,""b"""');
  assert.equal(csvText('a\u202e\n'), 'a\\u202e\\n');
});

test('CSV has all columns and raw numbers, rows as they are shown', () => {
  const text = csv({
    n: 2, parents: null, note: null,
    columns: [
      { name: 'function', meaning: '', unit: 'text', isHidden: false, cells: Uint32Array.from([1, 0]) },
      { name: 'self%', meaning: '', unit: 'percent', isHidden: false, cells: Float64Array.from([12.345678, NaN]) },
      { name: 'ns', meaning: '', unit: 'ns', isHidden: true, cells: Float64Array.from([1234567, 5]) },
    ],
  }, [1, 0], ['f']);
  assert.equal(text, 'function,self%,ns\r\n,,5\r\nf,12.345678,1234567\r\n');
});

test('CSV has the numbers of texts with units', () => {
  const column = { name: 'max', meaning: '', unit: 'text' as const, isHidden: false, cells: Uint32Array.from([1, 2, 0, 3]), values: Float64Array.of(2359296, 1500, NaN, NaN) };
  assert.equal(csv({ n: 4, parents: null, note: null, columns: [column] }, [0, 1, 2, 3], ['2.3 MiB', '1.5 us', 'none']), 'max\r\n2359296\r\n1500\r\n\r\nnone\r\n');
});
