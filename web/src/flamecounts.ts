// SPDX-License-Identifier: MIT
// flamecounts: how many samples (or calls) a box has, while boxes are as wide as another metric.
//
// Counted when somebody asks, since most boxes are only looked at.  Boxes of the left heavy order are nodes, and nodes are
// weighed again in one pass; other orders are laid out again, and a box is found by its key.
import { layout, middleOf, type Boxes } from './flamelayout';
import { ownAmounts, weighedBy, type Nodes } from './flamenodes';
import { timeBoxes } from './flametime';
import { boxOfKey } from './flamewalk';
import { sumsOf, type Sums } from './sums';
import type { Options, Order, Selection } from './types';

export interface Counts {
  name: string; // "samples"
  total(b: number): number;
  self(b: number): number; // with what it waited
}

// Null: the metric is a count itself, or there is none.
export function countsOf(sums: Sums, part: Selection, options: Options, order: Order, nodes: Nodes, boxes: Boxes): Counts | null {
  const name = sums.block.metrics.find((m) => m.unit === 'count')?.name;
  if (name === undefined || sums.unit === 'count') return null;
  let made: Pick<Counts, 'total' | 'self'> | null = null;
  const counted = () => (made ??= counting(sumsOf(sums.block, part, { ...options, metric: name }), part, order, nodes, boxes));
  return { name, total: (b) => counted().total(b), self: (b) => counted().self(b) };
}

function counting(other: Sums, part: Selection, order: Order, nodes: Nodes, boxes: Boxes): Pick<Counts, 'total' | 'self'> {
  const tree = weighedBy(nodes, other.placeValues), { node } = boxes;
  if (node) {
    const own = ownAmounts(tree);
    return { total: (b) => tree.total[node[b]!]!, self: (b) => own[node[b]!]! };
  }
  const same = order === 'time' ? timeBoxes(other, tree, part) : layout(tree, order, middleOf(boxes));
  const at = (b: number, amounts: Float64Array) => amounts[boxOfKey(same, boxes.key[b]!)] ?? 0;
  return { total: (b) => at(b, same.total), self: (b) => at(b, same.self) };
}
