// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areaNear, drawnEdges, MOST_EDGES, partNear } from './graphpart';
import type { GraphData } from '../types';

// n boxes of 80 by 40 below each other, 100 apart; edges between neighbours, of these totals.
function graph(n: number, totals: readonly number[]): GraphData {
  const node = (i: number) => ({ fn: i, name: `f${i}`, file: null, line: 0, x: 50, y: 100 * i + 50, w: 80, h: 40, self: 0, total: 0, calls: 0 });
  const edge = (total: number, i: number) => ({ from: i % n, to: (i + 1) % n, total, calls: 0, points: [50, 100 * (i % n) + 70, 50, 100 * (i % n) + 130] });
  return { title: '', subtitle: null, note: null, unit: '', width: 100, height: 100 * n, nodes: Array.from({ length: n }, (_, i) => node(i)), edges: totals.map(edge) };
}

const area = (top: number, bottom: number) => ({ left: 0, top, right: 100, bottom });

test('few lines are all drawn', () => {
  assert.deepEqual(drawnEdges(graph(4, [0.5, 0, 0.1]), -1), [0, 1, 2]);
});

test('of many lines the largest are drawn, of equal ones no more than there is room for', () => {
  const totals = Array.from({ length: MOST_EDGES + 100 }, (_, i) => (i < 50 ? 0.1 : i < 60 ? 0.3 : 0.2)), drawn = drawnEdges(graph(600, totals), -1);
  assert.equal(drawn.length, MOST_EDGES);
  assert.deepEqual(drawn.slice(0, 10), [50, 51, 52, 53, 54, 55, 56, 57, 58, 59]);
});

test('a picked box has all its lines', () => {
  const totals = Array.from({ length: MOST_EDGES + 100 }, (_, i) => (i === 7 || i === 8 ? 0 : 0.2)), drawn = drawnEdges(graph(600, totals), 8);
  assert.deepEqual(drawn.filter((i) => i < 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(drawnEdges(graph(600, totals), -1).includes(8), false);
});

test('a small graph stands in the document whole, of a large one what is in sight, and the current box', () => {
  const small = graph(20, [0.5]), large = graph(300, Array.from({ length: 299 }, () => 0.1)), all = large.edges.map((_, i) => i);
  assert.equal(partNear(small, [0], area(0, 10), true, 0).nodes.length, 20);
  const part = partNear(large, all, area(1000, 1300), true, 250);
  assert.deepEqual(part.nodes, [10, 11, 12, 250]);
  assert.deepEqual(part.edges, [9, 10, 11, 12]);
});

test('the part in sight covers the window and stays the same through small moves', () => {
  const g = { width: 5000, height: 9000 }, at = (x: number, y: number, scale: number) => areaNear({ x, y, scale }, 800, 600, g);
  assert.deepEqual(at(-500, -700, 1), { left: 400, top: 600, right: 1600, bottom: 1500 });
  assert.deepEqual(at(-520, -720, 1), at(-500, -700, 1));
  assert.deepEqual(at(10, 10, 0.05), { left: 0, top: 0, right: 5000, bottom: 9000 });
});
