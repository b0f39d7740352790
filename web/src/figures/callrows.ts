// SPDX-License-Identifier: MIT
// callrows: functions, the tree and callers of traced calls by cProfile's numbers
// (src/analyse/stacks/call_counts_columns.c), where calls were recorded over time.

import { callersOf, NONE } from './calltree';
import { column, pairLabel, pick, placeColumns, shares } from './columns';
import { sorted } from './order';
import { treeRows } from './treerows';
import type { TreeSums } from './treesums';
import type { Stacks, TableColumn, TableData } from '../types';

// Do entries count calls and time, as a tracer does?
export function hasCalls(block: Stacks): boolean {
  return block.metrics.some((m) => m.name === 'calls') && block.metrics.some((m) => m.name === 'time');
}

const metricAt = (sums: TreeSums, name: string): number => sums.tree.block.metrics.findIndex((m) => m.name === name);

// Of a metric that was not measured: zeros.
function self(sums: TreeSums, name: string): Float64Array {
  const at = metricAt(sums, name);
  return at < 0 ? new Float64Array(sums.tree.n) : sums.self(at);
}

const whole = (own: Float64Array): number => own.reduce((sum, n) => sum + n, 0);

function perCall(own: Float64Array, calls: Float64Array, rows: Int32Array): Float64Array {
  return Float64Array.from(rows, (i) => (calls[i]! > 0 ? Math.trunc(own[i]! / calls[i]!) : NaN));
}

function functionColumns(sums: TreeSums, rows: Int32Array, own: Float64Array, total: Float64Array): TableColumn[] {
  const calls = self(sums, 'calls');
  const byCallee = (amounts: Float64Array, isOutermost = false): Float64Array => pick(sums.calleeSum(amounts, isOutermost), rows);
  const awaited = byCallee(self(sums, 'awaited'), true);
  const hasAwaited = awaited.some((n) => n > 0);
  const hasCpu = metricAt(sums, 'cpu_time') >= 0;
  const nothing = new Float64Array(rows.length).fill(NaN);
  return [
    column('calls', 'starts, and resumes of generators and coroutines', 'count', () => byCallee(calls)),
    column('primitive', 'calls that were not made below the function itself', 'count', () => byCallee(calls, true)),
    column('starts', 'calls that began the function', 'count', () => byCallee(self(sums, 'starts')), true),
    column('self%', 'own as share of all time traced', 'percent', () => shares(own, rows, whole(own))),
    column('cum%', 'total as share of all time traced', 'percent', () => shares(total, rows, whole(own))),
    column('own', 'time in the function itself', 'ns', () => pick(own, rows)),
    column('total', 'time in it and in what it called', 'ns', () => pick(total, rows)),
    column('per_call', 'own by calls', 'ns', () => perCall(own, sums.calleeSum(calls, false), rows), true),
    column('elapsed', 'total, and the time its coroutines were suspended', 'ns',
      () => (hasAwaited ? pick(total, rows).map((t, i) => t + awaited[i]!) : nothing), !hasAwaited),
    column('own_cpu', 'CPU time in the function itself', 'ns', () => (hasCpu ? byCallee(self(sums, 'cpu_time')) : nothing), !hasCpu),
    column('tracing', 'cost of tracing that was subtracted from own', 'ns', () => byCallee(self(sums, 'tracing')), true),
  ];
}

export function callFunctions(sums: TreeSums, note: string | null): TableData {
  const time = self(sums, 'time');
  const own = sums.calleeSum(time, false);
  const total = sums.calleeSum(sums.summedUp(time), true);
  const rows = sorted(sums.callees, total, own);
  const isModule = sums.tree.by === 'module';
  const place = placeColumns(sums.tree, rows, {
    name: isModule ? 'module' : 'function', meaning: isModule ? 'file, as it is imported' : 'its name',
    where: 'file, shortened, and first line', line: 'its first',
  });
  return { columns: [...functionColumns(sums, rows, own, total), ...place], n: rows.length, parents: null, note };
}

export function callTree(sums: TreeSums, note: string | null): TableData {
  const own = self(sums, 'time');
  const total = sums.summedUp(own);
  const all = whole(own);
  const { rows, parents } = treeRows(sums, total);
  const [name, ...place] = placeColumns(sums.tree, rows.map((node) => sums.tree.callee[node]!), {
    name: 'function', meaning: 'its name, under the one that called it', where: 'file, shortened, and first line', line: 'its first',
  });
  const columns = [
    name!,
    column('cum%', 'total as share of all time traced', 'percent', () => shares(total, rows, all)),
    column('self%', 'own as share of all time traced', 'percent', () => shares(own, rows, all)),
    column('total', 'time in it and in what it called', 'ns', () => pick(total, rows)),
    column('own', 'time in the function itself', 'ns', () => pick(own, rows)),
    column('calls', 'along this path', 'count', () => pick(self(sums, 'calls'), rows)),
    ...place,
  ];
  return { columns, n: rows.length, parents, note };
}

// What nobody called is no call of one by another.
export function callPairs(sums: TreeSums): TableData {
  const { tree } = sums;
  const callers = callersOf(tree);
  const time = self(sums, 'time');
  const calls = self(sums, 'calls');
  const total = sums.pairSum(callers, sums.summedUp(time));
  const rows = sorted(sums.pairsIn(callers).filter((p) => callers.pairs.a[p] !== NONE), total);
  const columns = [
    column('caller', 'the function that calls', 'text', () => Uint32Array.from(rows, (p) => pairLabel(tree, callers.pairs.a[p]!))),
    column('callee', 'the function that is called', 'text', () => Uint32Array.from(rows, (p) => pairLabel(tree, callers.pairs.b[p]!))),
    column('calls', 'of the one by the other', 'count', () => pick(sums.pairSum(callers, calls, false), rows)),
    column('primitive', 'calls that were not made below such a call', 'count', () => pick(sums.pairSum(callers, calls), rows)),
    column('own', 'time in the function called, of these calls', 'ns', () => pick(sums.pairSum(callers, time, false), rows)),
    column('total', 'time in it and in what it called', 'ns', () => pick(total, rows)),
  ];
  return { columns, n: rows.length, parents: null, note: null };
}
