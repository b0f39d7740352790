// SPDX-License-Identifier: MIT
// columns: makes the columns of tables, with new texts among the strings of the payload.

import { NONE } from './calltree';
import type { CallTree } from './calltree';
import { memo } from '../memo';
import type { Numbers, TableColumn, Unit } from '../types';

const places = new WeakMap<string[], Map<string, number>>();

// The place of a text + 1, as cells have it.
export function cellOf(strings: string[], text: string | null): number {
  if (text === null) return 0;
  let known = places.get(strings);
  if (!known) places.set(strings, (known = new Map(strings.map((s, i) => [s, i]))));
  let at = known.get(text);
  if (at === undefined) {
    at = strings.push(text) - 1;
    known.set(text, at);
  }
  return at + 1;
}

// Its cells are made when somebody looks at them: of most columns only a few rows are ever shown, of hidden ones none.
export function column(name: string, meaning: string, unit: Unit, make: () => Numbers, isHidden = false): TableColumn {
  let cells: Numbers | null = null;
  return { name, meaning, unit, isHidden, get cells() { return (cells ??= make()); } };
}

// The amounts of these rows.
export function pick(amounts: ArrayLike<number>, rows: Int32Array): Float64Array {
  const cells = new Float64Array(rows.length);
  for (let i = 0; i < cells.length; i++) cells[i] = amounts[rows[i]!]!;
  return cells;
}

export function shares(amounts: ArrayLike<number>, rows: Int32Array, total: number): Float64Array {
  const cells = new Float64Array(rows.length);
  if (total > 0) for (let i = 0; i < cells.length; i++) cells[i] = (100 * amounts[rows[i]!]!) / total;
  return cells;
}

// --- Names of callees

interface Labels {
  name: Uint32Array; // cells, by callee
  where: Uint32Array;
  file: Uint32Array;
  line: Float64Array;
  pair: Uint32Array; // "name (file.py:3)", as callers and callees are called; made when asked for
}

const labels = memo<Labels>(1);

// An import is named by its module, and stands where it was asked for.
function labelOf(tree: CallTree, callee: number, to: Labels, strings: string[]): void {
  const { functions: f, modules, imports } = tree.block;
  const fn = tree.fn[callee]!;
  const row = tree.importRow[callee]!;
  const short = fn !== NONE && f.short[fn]! > 0 ? strings[f.short[fn]! - 1]! : '';
  const line = tree.by === 'module' || fn === NONE ? 0 : tree.line[callee] || f.line[fn]!;
  const name = row !== NONE ? imports[row]! : tree.by === 'module' ? modules[f.module[fn]!]! : f.name[fn]!;
  to.name[callee] = name + 1;
  to.where[callee] = cellOf(strings, line ? `${short}:${line}` : short || null);
  to.file[callee] = fn === NONE ? 0 : f.file[fn]!;
  to.line[callee] = line || NaN;
}

export function labelsOf(tree: CallTree): Labels {
  return labels(tree, '', () => {
    const n = tree.nCallees;
    const to: Labels = { name: new Uint32Array(n), where: new Uint32Array(n), file: new Uint32Array(n), line: new Float64Array(n), pair: new Uint32Array(n) };
    for (let i = 0; i < n; i++) labelOf(tree, i, to, tree.block.strings);
    return to;
  });
}

// "name (file.py:3)", or who stands for nobody.
export function pairLabel(tree: CallTree, callee: number): number {
  const { strings, functions: f } = tree.block;
  if (callee === NONE) return cellOf(strings, '(outermost)');
  const { name, pair } = labelsOf(tree);
  if (!pair[callee]) {
    const fn = tree.fn[callee]!;
    const hasPlace = tree.by !== 'module' && f.file[fn]! > 0;
    pair[callee] = hasPlace ? cellOf(strings, `${strings[name[callee]! - 1]!} (${strings[f.short[fn]! - 1]!}:${f.line[fn]!})`) : name[callee]!;
  }
  return pair[callee]!;
}

// Of callees: function, where, file, line.  By module traced calls say so; `where` and `line` say which line is meant.
export function placeColumns(tree: CallTree, callees: Int32Array, says: { name: string; meaning: string; where: string; line: string }): TableColumn[] {
  const of = (part: 'name' | 'where' | 'file' | 'line') => (): Numbers => pick(labelsOf(tree)[part], callees);
  return [
    column(says.name, says.meaning, 'text', of('name')),
    column('where', says.where, 'text', of('where')),
    column('file', 'as the interpreter names it', 'text', of('file'), true),
    column('line', says.line, 'count', of('line'), true),
  ];
}
