// SPDX-License-Identifier: MIT
// jump: from a row about a function to all its callers and callees, in the sandwich of the flame graph.
import type { Stacks, TableData, View } from './types';
import { act, state } from './store';

function placeOf(block: Stacks, data: TableData, row: number): number {
  const by = (name: string) => data.columns.find((c) => c.name === name)?.cells[row] ?? -1, { name, file, line } = block.functions;
  const strings = block.strings, wanted = strings[by('function') - 1], path = strings[by('file') - 1], at = by('line');
  if (wanted === undefined) return -1;
  for (let i = 0; i < name.length; i++) {
    const own = file[i]! > 0 ? strings[file[i]! - 1] : undefined;
    if (strings[name[i]!] === wanted && (path === undefined || own === path) && (at < 0 || line[i] === at)) return i;
  }
  return -1;
}

// False: the row is not about a function, or there is no flame graph of it.
export function jumpFrom(view: View, data: TableData, row: number): boolean {
  const { payload } = state(), block = view.stacks === undefined ? undefined : payload.stacks[view.stacks];
  const flame = payload.views.find((v) => v.shape === 'flame' && v.stacks === view.stacks), fn = block ? placeOf(block, data, row) : -1;
  if (!flame || fn < 0) return false;
  act.order('sandwich');
  act.sandwich(fn);
  act.show(flame.name);
  return true;
}
