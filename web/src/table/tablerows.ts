// SPDX-License-Identifier: MIT
// tablerows: which rows of a table are shown, and in what order: sorted, searched, and in trees only below open rows.
//
// Rows are numbers of the table's data; nothing is copied.  Texts are sorted by ranks, which they get once.
import type { Sort, TableColumn, TableData } from '../types';
import { sorted } from '../figures/order';
import { searchText, type Matcher } from '../search';

// --- Keys of rows, as numbers that sort as their cells do

const ranks = new WeakMap<TableColumn, Float64Array>();

function rankTexts(column: TableColumn, strings: readonly string[]): Float64Array {
  const used = [...new Set(column.cells as Iterable<number>)], low = new Map<number, string>();
  for (const place of used) low.set(place, place > 0 ? strings[place - 1]!.toLowerCase() : '');
  used.sort((a, b) => (low.get(a)! < low.get(b)! ? -1 : low.get(a)! > low.get(b)! ? 1 : 0));
  const rank = new Map(used.map((place, at) => [place, place > 0 ? at : NaN]));
  return Float64Array.from(column.cells, (place) => rank.get(place)!);
}

function keysOf(column: TableColumn, strings: readonly string[]): ArrayLike<number> {
  if (column.values || column.unit !== 'text') return column.values ?? column.cells;
  let found = ranks.get(column);
  if (!found) ranks.set(column, (found = rankTexts(column, strings)));
  return found;
}

// --- Sorting

// Equal rows keep their order; empty cells come last in both directions.
export function sortedRows(data: TableData, sort: Sort | null, strings: readonly string[]): Int32Array {
  const rows = new Int32Array(data.n), amounts = new Float64Array(data.n);
  for (let row = 0; row < data.n; row++) rows[row] = row;
  const column = sort && data.columns.find((c) => c.name === sort.column);
  if (!column) return rows;
  const keys = keysOf(column, strings);
  for (let row = 0; row < data.n; row++) amounts[row] = Number.isNaN(keys[row]!) ? -Infinity : sort.isDown ? keys[row]! : -keys[row]!;
  return sorted(rows, amounts);
}

// --- Searching

function textColumns(data: TableData): TableColumn[] {
  return data.columns.filter((c) => c.unit === 'text');
}

// What is searched in a row: a function with its file as `report --match` sees it, else all texts.
function searchTexts(data: TableData, strings: readonly string[]): (row: number) => string {
  const by = (name: string) => data.columns.find((c) => c.name === name), fn = by('function') ?? by('module'), file = by('file'), line = by('line');
  const textOf = (c: TableColumn | undefined, row: number) => (c && c.unit === 'text' && c.cells[row]! > 0 ? strings[c.cells[row]! - 1]! : null);
  if (fn && file && line) return (row) => searchText(textOf(fn, row) ?? '', textOf(file, row), line.cells[row]!);
  const texts = textColumns(data);
  return (row) => texts.map((c) => textOf(c, row) ?? '').join(' ');
}

// 1 for each row that matches; with their ancestors 2.
export function matching(data: TableData, match: Matcher, strings: readonly string[]): Uint8Array {
  const found = new Uint8Array(data.n), text = searchTexts(data, strings), { parents } = data;
  for (let row = 0; row < data.n; row++) if (match(text(row))) found[row] = 1;
  if (parents)
    for (let row = 0; row < data.n; row++) {
      if (found[row] !== 1) continue;
      for (let up = parents[row]!; up > 0 && found[up - 1] === 0; up = parents[up - 1]!) found[up - 1] = 2;
    }
  return found;
}

// --- Trees

// What a row of a tree is known by while figures change: the texts of itself and of all above it.
export function treeKeys(data: TableData): Float64Array {
  const keys = new Float64Array(data.n), texts = textColumns(data), numbers = data.columns.filter((c) => c.name === 'line'), LARGEST = 2 ** 48 - 59;
  for (let row = 0; row < data.n; row++) {
    let key = data.parents && data.parents[row]! > 0 ? keys[data.parents[row]! - 1]! : 7;
    for (const c of [...texts, ...numbers]) key = ((key * 31) % LARGEST) + ((c.cells[row]! + 1) * 2654435761) % LARGEST;
    keys[row] = key % LARGEST;
  }
  return keys;
}

export interface Rows {
  rows: Int32Array; // that are shown, from top to bottom
  depths: Uint16Array | null; // of trees, by row of the data
  hasChildren: Uint8Array | null;
}

function depthsOf(parents: ArrayLike<number>, n: number): Uint16Array {
  const depths = new Uint16Array(n);
  for (let row = 0; row < n; row++) depths[row] = parents[row]! > 0 ? depths[parents[row]! - 1]! + 1 : 0;
  return depths;
}

// Children follow their parents, each level in the given order.
function flattened(order: Int32Array, parents: ArrayLike<number>, isShown: (row: number) => boolean, isOpen: (row: number) => boolean): { rows: Int32Array; hasChildren: Uint8Array } {
  const n = order.length, first = new Int32Array(n + 1).fill(-1), next = new Int32Array(n), hasChildren = new Uint8Array(n), rows: number[] = [];
  for (let i = n - 1; i >= 0; i--) {
    const row = order[i]!, up = parents[row]!;
    if (!isShown(row)) continue;
    next[row] = first[up]!;
    first[up] = row;
    if (up > 0) hasChildren[up - 1] = 1;
  }
  const stack: number[] = first[0]! >= 0 ? [first[0]!] : [];
  while (stack.length > 0) {
    const row = stack.pop()!;
    rows.push(row);
    if (next[row]! >= 0) stack.push(next[row]!);
    if (first[row + 1]! >= 0 && isOpen(row)) stack.push(first[row + 1]!);
  }
  return { rows: Int32Array.from(rows), hasChildren };
}

export function rowsOfTable(data: TableData, order: Int32Array, found: Uint8Array | null, isOpen: (row: number) => boolean): Rows {
  if (!data.parents) return { rows: found ? order.filter((row) => found[row]! > 0) : order, depths: null, hasChildren: null };
  // What was searched for must be seen: above a match everything is open.
  const opened = (row: number) => (found ? found[row] === 2 || isOpen(row) : isOpen(row));
  const made = flattened(order, data.parents, (row) => !found || found[row]! > 0, opened);
  return { ...made, depths: depthsOf(data.parents, data.n) };
}
