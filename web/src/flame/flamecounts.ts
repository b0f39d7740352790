// SPDX-License-Identifier: MIT
// flamecounts: how many samples (or calls) a box has, while boxes are as wide as another metric.
//
// Counted when somebody asks, since most boxes are only looked at.  Boxes of the left heavy order are nodes, and nodes are
// weighed again in one pass; other orders are laid out again, and a box is found by its key.
import { layout, middleOf, type Boxes } from './flamelayout';
import { ownAmounts, weighedBy, type Nodes } from './flamenodes';
import { timeBoxes } from './flametime';
import { boxOfKey } from './flamewalk';
import { sumsOf, type Sums } from '../sums';
import type { Options, Order, Selection } from '../types';

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
  const tree = weighedBy(nodes, other.placeValues), own = ownAmounts(tree), { node } = boxes;
  if (node) return { total: (b) => tree.total[node[b]!]!, self: (b) => own[node[b]!]! };
  let same: Boxes | null = null;
  const made = () => (same ??= order === 'time' ? timeBoxes(other, tree, part) : layout(tree, order, middleOf(boxes)));
  const isWhole = (b: number) => b === boxes.root && order !== 'sandwich'; // where one begins; another layout is spared
  const at = (b: number, of: 'total' | 'self') => made()[of][boxOfKey(made(), boxes.key[b]!)] ?? 0;
  return { total: (b) => (isWhole(b) ? tree.total[0]! : at(b, 'total')), self: (b) => (isWhole(b) ? own[0]! : at(b, 'self')) };
}
