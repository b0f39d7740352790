// SPDX-License-Identifier: MIT
// threadrows: the table of threads: of samples what they were, of other evidence a sum for each metric
// (src/analyse/stacks/threads.c).

import { hasCalls } from './callrows';
import { cellOf, column, pick } from './columns';
import { sorted } from './order';
import { chosenThreads, hasStates, placeTotals } from '../sums';
import { GIL, IDLE, PARTIAL, STOPPED, WAITS } from '../types';
import type { Selection, Stacks, TableColumn, TableData } from '../types';

// By thread: this metric of its places, or of those with a flag.  Waiting samples count here, whatever is shown elsewhere.
function sumOf(block: Stacks, selection: Selection, name: string, flag = 0): Float64Array {
  const sums = new Float64Array(block.threads.length);
  const metric = block.metrics.findIndex((m) => m.name === name);
  if (metric < 0) return sums;
  const values = placeTotals(block, selection, metric);
  const { thread, flags } = block.places;
  for (let i = 0; i < values.length; i++) if (!flag || flags[i]! & flag) sums[thread[i]!]! += values[i]!;
  return sums;
}

function percents(part: Float64Array, whole: Float64Array): Float64Array {
  return part.map((n, i) => (whole[i]! > 0 ? (100 * n) / whole[i]! : NaN));
}

function nameColumns(block: Stacks, rows: Int32Array): TableColumn[] {
  const threads = Array.from(rows, (i) => block.threads[i]!);
  const cells = (texts: (string | null)[]): Uint32Array => Uint32Array.from(texts, (text) => cellOf(block.strings, text));
  return [
    column('process', 'its number and name', 'text', () => cells(threads.map((t) => t.process))),
    column('thread', 'its number', 'count', () => Float64Array.from(threads, (t) => t.tid ?? NaN)),
    column('name', "the thread's", 'text', () => cells(threads.map((t) => (t.tid === null ? null : t.name)))),
  ];
}

function sampleColumns(block: Stacks, selection: Selection, rows: Int32Array): TableColumn[] {
  const of = (name: string, flag = 0): Float64Array => pick(sumOf(block, selection, name, flag), rows);
  const samples = of('samples');
  const [wall, cpu, partial, stopped] = [of('wall'), of('cpu'), of('samples', PARTIAL), of('samples', STOPPED)];
  return [
    column('samples', 'how often it was looked at', 'count', () => samples),
    column('wall', 'time its samples stand for', 'ns', () => wall),
    column('cpu', 'CPU time it used meanwhile', 'ns', () => cpu),
    column('cpu%', 'cpu as percent of wall', 'percent', () => percents(cpu, wall)),
    column('idle%', 'samples in which it waited for something outside', 'percent', () => percents(of('samples', IDLE), samples)),
    column('gil%', "samples in which it held the interpreter's lock", 'percent', () => percents(of('samples', GIL), samples)),
    column('waits%', 'samples in which it waited for the lock', 'percent', () => percents(of('samples', WAITS), samples)),
    column('partial', 'samples without their newest frames', 'count', () => partial, !partial.some((n) => n > 0)),
    column('stopped', 'samples while the process was stopped', 'count', () => stopped, !stopped.some((n) => n > 0)),
  ];
}

function otherColumns(block: Stacks, selection: Selection, rows: Int32Array): TableColumn[] {
  const of = (name: string): Float64Array => pick(sumOf(block, selection, name), rows);
  if (!hasCalls(block)) return block.metrics.map((m) => column(m.name, m.meaning, m.unit, () => of(m.name)));
  const hasCpu = block.metrics.some((m) => m.name === 'cpu_time');
  return [
    column('calls', 'that were traced in it', 'count', () => of('calls')),
    column('time', 'in traced functions', 'ns', () => of('time')),
    column('cpu_time', 'CPU time in traced functions', 'ns', () => (hasCpu ? of('cpu_time') : new Float64Array(rows.length).fill(NaN)), !hasCpu),
    column('tracing', 'cost of tracing that was subtracted', 'ns', () => of('tracing')),
  ];
}

// Those with an entry in the selection, in order of appearance.
function threadsIn(block: Stacks, isPresent: Uint8Array, chosen: Uint8Array): Int32Array {
  const seen = new Uint8Array(block.threads.length);
  const rows: number[] = [];
  for (let i = 0; i < isPresent.length; i++) {
    const t = block.places.thread[i]!;
    if (!isPresent[i] || !chosen[t] || seen[t]) continue;
    seen[t] = 1;
    rows.push(t);
  }
  return Int32Array.from(rows);
}

export function threadTable(block: Stacks, selection: Selection, isPresent: Uint8Array): TableData {
  const shown = sumOf(block, selection, hasStates(block) ? 'cpu' : block.metric);
  const rows = sorted(threadsIn(block, isPresent, chosenThreads(block, selection.thread)), shown);
  const columns = hasStates(block) ? sampleColumns(block, selection, rows) : otherColumns(block, selection, rows);
  return { columns: [...nameColumns(block, rows), ...columns], n: rows.length, parents: null, note: null };
}
