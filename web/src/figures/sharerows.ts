// SPDX-License-Identifier: MIT
// sharerows: functions, the tree and callers by their shares, and by an amount for each metric
// (src/analyse/stacks/share_columns.c).

import { callersOf } from './calltree';
import { column, pairLabel, pick, placeColumns, shares } from './columns';
import { sorted } from './order';
import { treeRows } from './treerows';
import type { TreeSums } from './treesums';
import type { Numbers, TableColumn, TableData } from '../types';

const LINES: Record<string, string> = { function: 'its first', line: 'that was executed', module: 'none' };

const MANY = 4; // metrics; of more only the chosen one is shown, and the one that goes with it: bytes and blocks

const isOther = (k: number, chosen: number, n: number): boolean => n > MANY && k >> 1 !== chosen >> 1;
const isCount = (name: string): boolean => name === 'samples'; // counts behind the shares are for programs

// By callee or by node, of a metric.
interface Amounts {
  self(metric: number): Float64Array;
  cum(metric: number): Float64Array;
}

const amountsOf = (sums: TreeSums, isTree: boolean): Amounts => (isTree
  ? { self: (k) => sums.self(k), cum: (k) => sums.total(k) }
  : { self: (k) => sums.calleeSelf(k), cum: (k) => sums.calleeCum(k) });

function shareColumns(sums: TreeSums, of: Amounts, rows: Int32Array, metric: number): TableColumn[] {
  const { metrics, evidence } = sums.tree.block;
  const share = (amounts: Float64Array) => (): Float64Array => shares(amounts, rows, sums.all(metric));
  return [
    column('self%', `share of ${evidence} taken in the function itself`, 'percent', share(of.self(metric))),
    column('cum%', `share of ${evidence} in it or in what it called`, 'percent', share(of.cum(metric))),
    ...metrics.flatMap((m, k) => [
      column(`self_${m.name}`, m.meaning, m.unit, () => pick(of.self(k), rows), isCount(m.name) || isOther(k, metric, metrics.length)),
      column(`cum_${m.name}`, m.meaning, m.unit, () => pick(of.cum(k), rows), isCount(m.name) || isOther(k, metric, metrics.length)),
    ]),
  ];
}

// Half of the 95 % interval around each share of n independent samples.
function margins(percents: Numbers, n: number): Float64Array {
  return Float64Array.from(percents, (percent) => (n > 0 ? 196 * Math.sqrt(((percent / 100) * (1 - percent / 100)) / n) : 100));
}

function marginColumns(sums: TreeSums, shown: TableColumn[]): TableColumn[] {
  const at = sums.tree.block.metrics.findIndex((m) => m.name === 'samples');
  if (at < 0) return [];
  const margin = (of: TableColumn) => (): Float64Array => margins(of.cells, sums.all(at));
  return [
    column('self_margin', 'self% is this near the truth, in percent, 95 times of 100', 'real', margin(shown[0]!), true),
    column('cum_margin', 'the same of cum%', 'real', margin(shown[1]!), true),
  ];
}

export function shareFunctions(sums: TreeSums, metric: number, note: string | null): TableData {
  const { tree } = sums;
  const amounts = amountsOf(sums, false);
  const rows = sorted(sums.callees, amounts.self(metric), amounts.cum(metric));
  const front = shareColumns(sums, amounts, rows, metric);
  const place = placeColumns(tree, rows, { name: 'function', meaning: 'its name', where: 'file, shortened, and line', line: LINES[tree.by]! });
  return { columns: [...front, ...place, ...marginColumns(sums, front)], n: rows.length, parents: null, note };
}

export function shareTree(sums: TreeSums, metric: number, note: string | null): TableData {
  const amounts = amountsOf(sums, true);
  const { rows, parents } = treeRows(sums, amounts.cum(metric));
  const [name, ...place] = placeColumns(sums.tree, rows.map((node) => sums.tree.callee[node]!), {
    name: 'function', meaning: 'its name, under the one that called it', where: 'file, shortened, and first line', line: 'its first',
  });
  return { columns: [name!, ...shareColumns(sums, amounts, rows, metric), ...place], n: rows.length, parents, note };
}

export function sharePairs(sums: TreeSums, metric: number): TableData {
  const { tree } = sums;
  const callers = callersOf(tree);
  const { metrics, evidence } = tree.block;
  const shown = sums.pairSum(callers, sums.total(metric));
  const rows = sorted(sums.pairsIn(callers), shown);
  const columns = [
    column('caller', 'the function that calls', 'text', () => Uint32Array.from(rows, (p) => pairLabel(tree, callers.pairs.a[p]!))),
    column('callee', 'the function that is called', 'text', () => Uint32Array.from(rows, (p) => pairLabel(tree, callers.pairs.b[p]!))),
    column('cum%', `share of ${evidence} below this call`, 'percent', () => shares(shown, rows, sums.all(metric))),
    ...metrics.map((m, k) =>
      column(m.name, m.meaning, m.unit, () => pick(sums.pairSum(callers, sums.total(k)), rows), isOther(k, metric, metrics.length))),
  ];
  return { columns, n: rows.length, parents: null, note: null };
}
