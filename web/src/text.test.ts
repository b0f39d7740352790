// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amount, bytes, count, duration, percent, seconds, shown } from './text';

test('what could deceive a reader is written out', () => {
  assert.equal(shown('a\x1b[31m\n\u202eb\u0085\u2066'), 'a\\x1b[31m\\n\\u202eb\\u0085\\u2066');
  assert.equal(shown('\ud83d\ude00 \ud83d'), '\ud83d\ude00 \\ud83d');
  assert.equal(shown('<b>ümläut</b>'), '<b>ümläut</b>');
});

test('numbers are written as sonde writes them', () => {
  assert.deepEqual([0, 250, 3100, 999_949, 999_950, 12_400_000_000, 59_949_000_000, 60_000_000_000, 125e9, 3720e9, 273_600e9].map(duration),
    ['0 ns', '250 ns', '3.1 us', '999.9 us', '1.0 ms', '12.4 s', '59.9 s', '1m00s', '2m05s', '1h02m', '3d04h']);
  assert.deepEqual([0, 1023, 1024, 1024 * 1024 - 1, 412 * 1024 * 1024].map(bytes), ['0 B', '1023 B', '1.0 KiB', '1.0 MiB', '412.0 MiB']);
  assert.deepEqual([0, 999, 1239, -1234567].map(count), ['0', '999', '1,239', '-1,234,567']);
  assert.equal(percent(12), '12.00');
  assert.equal(seconds(1.5e9), '1.500 s');
  assert.deepEqual([amount(NaN, 'count'), amount(1500, 'ns'), amount(0.12345, 'real'), amount(3, 'real')], ['', '1.5 us', '0.1235', '3']);
});
