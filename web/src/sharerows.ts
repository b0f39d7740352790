// SPDX-License-Identifier: MIT
// sharerows: functions, the tree and callers by their shares, and by an amount for each metric
// (src/analyse/stacks/share_columns.c).

import { callersOf } from './calltree';
import { column, pairLabel, pick, placeColumns, shares, sorted } from './columns';
import { treeRows } from './treerows';
import type { TreeSums } from './treesums';
import type { TableColumn, TableData } from './types';

const LINES: Record<string, string> = { function: 'its first', line: 'that was executed', module: 'none' };

const isHiddenMetric = (name: string): boolean => name === 'samples'; // counts behind the shares are for programs

interface Pair {
  self: Float64Array;
  cum: Float64Array;
}

// By callee or by node, of each metric.
function amountsOf(sums: TreeSums, isTree: boolean): Pair[] {
  return sums.tree.block.metrics.map((_, k) => ({
    self: isTree ? sums.self(k) : sums.calleeSum(sums.self(k), false),
    cum: isTree ? sums.total(k) : sums.calleeSum(sums.total(k), true),
  }));
}

function shareColumns(sums: TreeSums, amounts: Pair[], rows: Int32Array, metric: number): TableColumn[] {
  const { metrics, evidence } = sums.tree.block;
  const total = sums.all(metric);
  const none = new Float64Array(sums.tree.n);
  const { self, cum } = amounts[metric] ?? { self: none, cum: none };
  return [
    column('self%', `share of ${evidence} taken in the function itself`, 'percent', shares(self, rows, total)),
    column('cum%', `share of ${evidence} in it or in what it called`, 'percent', shares(cum, rows, total)),
    ...metrics.flatMap((m, k) => [
      column(`self_${m.name}`, m.meaning, m.unit, pick(amounts[k]!.self, rows), isHiddenMetric(m.name)),
      column(`cum_${m.name}`, m.meaning, m.unit, pick(amounts[k]!.cum, rows), isHiddenMetric(m.name)),
    ]),
  ];
}

// Half of the 95 % interval around each share of n independent samples.
function margins(percents: Float64Array, n: number): Float64Array {
  return percents.map((percent) => (n > 0 ? 196 * Math.sqrt(((percent / 100) * (1 - percent / 100)) / n) : 100));
}

function marginColumns(sums: TreeSums, shown: TableColumn[]): TableColumn[] {
  const at = sums.tree.block.metrics.findIndex((m) => m.name === 'samples');
  if (at < 0) return [];
  const n = sums.all(at);
  return [
    column('self_margin', 'self% is this near the truth, in percent, 95 times of 100', 'real', margins(shown[0]!.cells as Float64Array, n), true),
    column('cum_margin', 'the same of cum%', 'real', margins(shown[1]!.cells as Float64Array, n), true),
  ];
}

export function shareFunctions(sums: TreeSums, metric: number, note: string | null): TableData {
  const { tree } = sums;
  const amounts = amountsOf(sums, false);
  const shown = amounts[metric];
  const rows = shown ? sorted(sums.callees, shown.self, shown.cum) : sums.callees;
  const front = shareColumns(sums, amounts, rows, metric);
  const place = placeColumns(tree, rows, { name: 'function', meaning: 'its name', where: 'file, shortened, and line', line: LINES[tree.by]! });
  return { columns: [...front, ...place, ...marginColumns(sums, front)], n: rows.length, parents: null, note };
}

export function shareTree(sums: TreeSums, metric: number, note: string | null): TableData {
  const amounts = amountsOf(sums, true);
  const { rows, parents } = treeRows(sums, amounts[metric]?.cum ?? new Float64Array(sums.tree.n));
  const [name, ...place] = placeColumns(sums.tree, rows.map((node) => sums.tree.callee[node]!), {
    name: 'function', meaning: 'its name, under the one that called it', where: 'file, shortened, and first line', line: 'its first',
  });
  return { columns: [name!, ...shareColumns(sums, amounts, rows, metric), ...place], n: rows.length, parents, note };
}

export function sharePairs(sums: TreeSums, metric: number): TableData {
  const { tree } = sums;
  const callers = callersOf(tree);
  const { metrics, evidence } = tree.block;
  const amounts = metrics.map((_, k) => sums.pairSum(callers, sums.total(k)));
  const shown = amounts[metric] ?? new Float64Array(callers.pairs.n);
  const rows = sorted(sums.pairsIn(callers), shown);
  const columns = [
    column('caller', 'the function that calls', 'text', Uint32Array.from(rows, (p) => pairLabel(tree, callers.pairs.a[p]!))),
    column('callee', 'the function that is called', 'text', Uint32Array.from(rows, (p) => pairLabel(tree, callers.pairs.b[p]!))),
    column('cum%', `share of ${evidence} below this call`, 'percent', shares(shown, rows, sums.all(metric))),
    ...metrics.map((m, k) => column(m.name, m.meaning, m.unit, pick(amounts[k]!, rows))),
  ];
  return { columns, n: rows.length, parents: null, note: null };
}
