// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countPower, logTicks, niceStep, plainScaled, scaled, timeAxis, timePower, valueAxis, valueText } from './axis';

test('steps are 1, 2 or 5 times a power of ten', () => {
  assert.deepEqual([0.013, 0.2, 3, 7, 1200].map(niceStep), [0.02, 0.2, 5, 10, 2000]);
});

test('an axis of values begins at 0 and has room above the largest', () => {
  const bytes = valueAxis('bytes', 1.5 * 2 ** 30, 4);
  assert.equal(bytes.unit, 'GiB');
  assert.deepEqual(bytes.ticks.map((t) => t.text), ['0.0', '0.5', '1.0', '1.5', '2.0']);
  assert.ok(bytes.to >= 1.5 * 2 ** 30);
  assert.deepEqual(valueAxis('count', 2, 8).ticks.map((t) => t.text), ['0', '1', '2', '3']);
  assert.equal(valueAxis('ns', 3e6, 5).unit, 'ms');
  assert.ok(valueAxis('count', NaN, 4).to > 0);
});

test('an axis of time is in milliseconds, seconds, minutes or hours', () => {
  assert.deepEqual([0.05, 5, 5000, 50000].map((s) => timeAxis(0, s, 6).unit), ['ms', 's', 'min', 'h']);
  assert.deepEqual(timeAxis(1, 3, 4).ticks.map((t) => t.text), ['1.0', '1.5', '2.0', '2.5', '3.0']);
});

test('powers of ten are called as people say them', () => {
  assert.deepEqual([0, 2, 5, 8, 10].map(timePower), ['1 ns', '100 ns', '100 µs', '100 ms', '10 s']);
  assert.deepEqual([-2, 0, 4, 9].map(countPower), ['0.01', '1', '10,000', '1e9']);
  assert.deepEqual(logTicks(0, 10, 100, 40, String).map((t) => t.at), [0, 4, 8]);
});

test('large numbers are short', () => {
  assert.deepEqual([1234, 5e5, 8.3e10, 12].map(scaled), ['1.23K', '500.00K', '83.00G', '12']);
  assert.deepEqual([5e5, 1.5e9, 100].map(plainScaled), ['500K', '1.5G', '100']);
  assert.deepEqual([valueText(2e6, 'ns'), valueText(12.34, 'percent'), valueText(2e6, 'FLOPs')], ['2.0 ms', '12.3 %', '2.00M FLOPs']);
});
