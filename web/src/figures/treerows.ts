// SPDX-License-Identifier: MIT
// treerows: the rows of a tree of calls: children under their parent, the largest first.

import { NONE } from './calltree';
import { sorted } from './order';
import type { TreeSums } from './treesums';

export interface TreeRows {
  rows: Int32Array; // nodes, each below its parent
  parents: Uint32Array; // by row: row + 1
}

export function treeRows(sums: TreeSums, amounts: Float64Array): TreeRows {
  const { n, parent } = sums.tree;
  const order = sorted(sums.nodes, amounts);
  const first = new Int32Array(n + 1).fill(NONE); // children; those of nobody at [n]
  const next = new Int32Array(n);
  for (let i = order.length - 1; i >= 0; i--) {
    const node = order[i]!;
    const up = parent[node] === NONE ? n : parent[node]!;
    next[node] = first[up]!;
    first[up] = node;
  }
  const rowOf = new Int32Array(n);
  const made: TreeRows = { rows: new Int32Array(order.length), parents: new Uint32Array(order.length) };
  let row = 0;
  for (let at = first[n]!; at !== NONE; ) {
    made.parents[row] = parent[at] === NONE ? 0 : rowOf[parent[at]!]! + 1;
    rowOf[at] = row;
    made.rows[row++] = at;
    if (first[at] !== NONE) at = first[at]!;
    else {
      while (at !== NONE && next[at] === NONE) at = parent[at]!;
      if (at !== NONE) at = next[at]!;
    }
  }
  return made;
}
