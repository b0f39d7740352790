// SPDX-License-Identifier: MIT
// rows: tables of a selection, with the columns and figures of `sonde report --json`.

import { callFunctions, callPairs, callTree, hasCalls } from './figures/callrows';
import { NONE, treeOf } from './figures/calltree';
import { memo, numberOf } from './memo';
import { shareFunctions, sharePairs, shareTree } from './figures/sharerows';
import { sourceFiles } from './figures/sourcerows';
import { followed, metricOf, placeTotals, presentPlaces, startupPlaces, sumWhere } from './sums';
import { duration } from './text';
import { threadTable } from './figures/threadrows';
import { TreeSums } from './figures/treesums';
import type { By, Options, Payload, Selection, SourceData, Stacks, TableData, View } from './types';

const EMPTY: TableData = { columns: [], n: 0, parents: null, note: null };

function keyOf({ from, to, section, thread }: Selection, o: Options): string {
  return JSON.stringify([from, to, section, thread, o.metric, o.by, o.idle, o.gilOnly, o.mine, o.foldImports]);
}

// "an import is one row; Sonde's own start took 12.3 ms and is left out"
function noteOf(sums: TreeSums, selection: Selection, options: Options): string | null {
  const { block, importRow } = sums.tree;
  const wall = block.metrics.findIndex((m) => m.name === 'wall');
  const startup = wall < 0 ? 0 : sumWhere(placeTotals(block, selection, wall), startupPlaces(block, selection, options));
  const notes = sums.callees.some((callee) => importRow[callee] !== NONE) ? ['an import is one row'] : [];
  if (startup > 0) notes.push(`Sonde's own start took ${duration(startup)} and is left out`);
  return notes.join('; ') || null;
}

function sumsBy(block: Stacks, selection: Selection, options: Options, by: By, folds: boolean): TreeSums {
  return new TreeSums(treeOf(block, by, options.mine, folds), selection, options);
}

// Traced calls know no lines, and pairs are of functions, or of modules where these call each other.
function functions(block: Stacks, selection: Selection, options: Options, by: By): TableData {
  const sums = sumsBy(block, selection, options, hasCalls(block) && by === 'line' ? 'function' : by, options.foldImports);
  const note = noteOf(sums, selection, options);
  return hasCalls(block) ? callFunctions(sums, note) : shareFunctions(sums, metricOf(block, options.metric), note);
}

function tree(block: Stacks, selection: Selection, options: Options): TableData {
  const sums = sumsBy(block, selection, options, hasCalls(block) && options.by === 'line' ? 'function' : options.by, false);
  return hasCalls(block) ? callTree(sums, null) : shareTree(sums, metricOf(block, options.metric), null);
}

function pairs(block: Stacks, selection: Selection, options: Options): TableData {
  const isModule = hasCalls(block) && options.by === 'module';
  const sums = sumsBy(block, selection, options, isModule ? 'module' : 'function', false);
  return hasCalls(block) ? callPairs(sums) : sharePairs(sums, metricOf(block, options.metric));
}

function made(view: View, block: Stacks, selection: Selection, options: Options): TableData {
  switch (view.make) {
    case 'functions': return functions(block, selection, options, options.by);
    case 'lines': return functions(block, selection, { ...options, foldImports: false }, 'line');
    case 'tree': return tree(block, selection, options);
    case 'callers':
    case 'callees': return pairs(block, selection, options);
    case 'threads': return threadTable(block, selection, presentPlaces(block, selection));
    default: return EMPTY;
  }
}

const tables = memo<TableData>(12);

// As it is in the payload, by other rows where it has them; or made for the selection, as far as the view follows it.
export function tableOf(view: View, payload: Payload, selection: Selection, options: Options): TableData {
  const block = view.stacks === undefined ? undefined : payload.stacks[view.stacks];
  if (!view.make || !block) {
    const by = options.by === 'line' ? 'function' : options.by;
    const variant = view.variants?.find((v) => v.by === by && v.mine === options.mine);
    return variant?.data ?? (view.data as TableData | undefined) ?? EMPTY;
  }
  const part = followed(view, selection);
  return tables(block, `${view.make} ${keyOf(part, options)}`, () => made(view, block, part, options));
}

const sources = memo<SourceData>(3);

// The files that the payload has, with figures beside their lines.
export function sourceOf(view: View, payload: Payload, selection: Selection, options: Options): SourceData {
  const block = view.stacks === undefined ? undefined : payload.stacks[view.stacks];
  const data = view.data as SourceData | undefined;
  if (!block) return data ?? { files: [] };
  const part = followed(view, selection);
  const folds = { ...options, mine: false };
  return sources(block, `${numberOf(view)} ${keyOf(part, folds)}`, () =>
    sourceFiles(new TreeSums(treeOf(block, 'place', false, false), part, folds), metricOf(block, options.metric), data ?? null));
}
