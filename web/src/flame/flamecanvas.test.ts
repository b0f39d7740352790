// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIGHT } from '../colors';
import { boxAtPoint, fitted, ROW, spotOf, svgOfFlame, type Scene } from './flamecanvas';
import { boxesOfTree } from './flamelayout';
import type { FlameNames, Named } from './flamenames';

const named = (name: string, short: string | null = null): Named => ({ name, raw: name, file: short, short, line: 10, kind: 0, shade: 0 });

// all 0-100: a 0-80 (with c 0-50), b 80-100
function scene(change: Partial<Scene> = {}): Scene {
  const names = ['all', 'a', 'b', '<c>'];
  const tree = { n: 4, parent: Int32Array.of(-1, 0, 0, 1), subject: Int32Array.of(0, 1, 2, 3), self: Float64Array.of(0, 30, 20, 50), total: Float64Array.of(100, 80, 20, 50) };
  const of = { of: (subject: number) => named(names[subject]!, 'app.py') } as unknown as FlameNames;
  return { boxes: boxesOfTree(tree, 9, 'width'), zoomed: 0, names: of, matches: null, palette: LIGHT, width: 200, ...change };
}

test('a name is cut with an ellipsis and never longer than its room', () => {
  const n = named('compute_all', 'app.py');
  assert.equal(fitted(n, 30), 'compute_all (app.py:10)');
  assert.equal(fitted(n, 12), 'compute_all');
  assert.equal(fitted(n, 5), 'comp…');
  assert.equal(fitted(n, 1), '');
  assert.equal(fitted(named('名前名前'), 5), '名前…');
});

test('the box under a point is found, also when another is zoomed', () => {
  const s = scene();
  assert.deepEqual([[10, 0], [10, 1], [170, 1], [10, 2], [150, 2]].map(([x, row]) => boxAtPoint(s, x!, row! * ROW + 3)), [0, 1, 2, 3, -1]);
  assert.equal(boxAtPoint(scene({ zoomed: 2 }), 10, ROW + 3), 2);
  assert.equal(boxAtPoint(s, 10, 3 * ROW + 1), -1);
});

test('a zoomed box and those above it are as wide as the window', () => {
  const s = scene({ zoomed: 1 });
  assert.deepEqual([spotOf(s, 0, 0).w, spotOf(s, 1, 0).w, spotOf(s, 3, 0).w, spotOf(s, 2, 0).w], [200, 200, 125, 0]);
});

test('the SVG has a box for each that is shown, with escaped names', () => {
  const svg = svgOfFlame(scene({ matches: Uint8Array.of(0, 0, 0, 1) }), 'x & y');
  assert.equal(svg.match(/<g>/g)!.length, 4);
  assert.match(svg, /<title>&lt;c&gt; \(app.py:10\)<\/title>/);
  assert.ok(svg.includes(LIGHT.match) && svg.includes('x &amp; y'));
  assert.equal(svgOfFlame(scene({ zoomed: 2 }), '').match(/<g>/g)!.length, 2);
});
