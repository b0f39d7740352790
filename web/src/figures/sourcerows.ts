// SPDX-License-Identifier: MIT
// sourcerows: figures beside the lines of files.  A line is what the stacks say was executed, of whatever function.

import { column, pick, shares } from './columns';
import type { TreeSums } from './treesums';
import type { SourceData, TableColumn } from '../types';

type File = SourceData['files'][number];

// By file: its callees, which are lines, in their order.
function linesByFile(sums: TreeSums): Map<number, Int32Array> {
  const { fn, line, block } = sums.tree;
  const found = new Map<number, number[]>();
  for (const callee of sums.callees) {
    const file = block.functions.file[fn[callee]!]! - 1;
    if (file < 0 || line[callee] === 0) continue;
    const lines = found.get(file);
    if (lines) lines.push(callee);
    else found.set(file, [callee]);
  }
  return new Map([...found].map(([file, lines]) => [file, Int32Array.from(lines).sort((a, b) => line[a]! - line[b]!)]));
}

// Files are told by name: the list of the payload is of the same strings.
function shortOf(sums: TreeSums, file: number): number {
  const f = sums.tree.block.functions;
  const at = f.file.indexOf(file + 1);
  return at < 0 || f.short[at] === 0 ? file : f.short[at]! - 1;
}

function columnsOf(sums: TreeSums, metric: number, total: number, rows: Int32Array): TableColumn[] {
  const { metrics, evidence } = sums.tree.block;
  return [
    column('self%', `share of ${evidence} taken in the line itself`, 'percent', () => shares(sums.calleeSelf(metric), rows, total)),
    column('cum%', `share of ${evidence} in it or in what it called`, 'percent', () => shares(sums.calleeCum(metric), rows, total)),
    ...metrics.flatMap((m, k) => [
      column(`self_${m.name}`, m.meaning, m.unit, () => pick(sums.calleeSelf(k), rows), true),
      column(`cum_${m.name}`, m.meaning, m.unit, () => pick(sums.calleeCum(k), rows), true),
    ]),
  ];
}

// The files of `data`, or without it all that stacks name.
export function sourceFiles(sums: TreeSums, metric: number, data: SourceData | null): SourceData {
  const total = sums.all(metric);
  const byFile = linesByFile(sums);
  const files: Omit<File, 'lines' | 'columns'>[] =
    data?.files ?? [...byFile.keys()].map((file) => ({ file, short: shortOf(sums, file), text: null, note: null }));
  return {
    files: files.map(({ file, short, text, note }) => {
      const rows = byFile.get(file) ?? new Int32Array(0);
      return { file, short, text, note, lines: pick(sums.tree.line, rows), columns: columnsOf(sums, metric, total, rows) };
    }),
  };
}
