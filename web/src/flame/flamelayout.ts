// SPDX-License-Identifier: MIT
// flamelayout: the boxes of the flame graph, in four orders.
//
// Left heavy: the tree of calls, the widest child first.
//
// Time order (flametime.ts): time runs from left to right.  The selected slices are put together to at most 1,000 bins; in
// a bin the calls of one function from one parent are one box, in the order in which they first appear, and a box goes on
// from one bin to the next while the call does.  Widths are still amounts, so that shares can be read off and a function
// that waits for nothing leaves no gap.  Where bins would make more boxes than a screen can show, there are fewer: a
// selection of time shows more of it.  Samples within a slice have no order of their own, and several threads stand one
// beside the other, each below a box with its name, because threads that take turns would tear each other's boxes apart.
//
// Inverted: below the whole the functions in which samples ended, below these their callers.  Totals of the first row
// are `self` of the tables.
//
// Sandwich: one function in the middle, its callers above and its callees below.  Where it calls itself, only the outermost
// call is looked at: its total is the `cum` of the tables.
//
// Boxes stand row by row from the top, in a row from left to right, the children of a box beside each other.  Their keys
// are made of subjects on the way from the root: the same box has the same key after another selection, another start of the page and in
// the address.
import type { Order } from '../types';
import { ownAmounts, Pairs, summed, type Nodes, type Tree } from './flamenodes';

export interface Boxes {
  n: number;
  root: number;
  subject: Int32Array;
  parent: Int32Array; // towards the root; -1
  row: Int32Array; // 0: the top
  from: Float64Array; // where it begins, in amounts
  total: Float64Array;
  self: Float64Array; // with what it waited
  key: Uint32Array;
  first: Int32Array; // child, or -1; of the root of a sandwich among its callees
  count: Int32Array; // of children
  firstCaller: number; // of the root of a sandwich, or -1
  callers: number; // how many
  rows: Int32Array; // where each row begins, and the end
  node: Int32Array | null; // of the tree of calls; null where boxes are not its nodes
}

const MOST_BOXES = 60_000; // of inverted orders, which can be much larger than the tree they come from
const LEAST_PART = 2e-5; // of the total: what is followed of inverted boxes; half a pixel of a wide screen, zoomed sixfold

// --- From a tree to boxes

interface Laid {
  order: Int32Array; // nodes, level by level
  place: Int32Array; // by node: in `order`
  from: Float64Array; // by node
  levels: number[]; // where each begins in `order`, and the end
  first: Int32Array; // by node: place in `order` of its first child
  count: Int32Array; // by node
}

function childrenOf(tree: Tree, isByWidth: boolean): { starts: Int32Array; children: Int32Array } {
  const starts = new Int32Array(tree.n + 1), children = new Int32Array(Math.max(0, tree.n - 1));
  for (let i = 1; i < tree.n; i++) if (tree.total[i]! > 0) starts[tree.parent[i]! + 1]!++;
  for (let i = 0; i < tree.n; i++) starts[i + 1]! += starts[i]!;
  const at = starts.slice();
  for (let i = 1; i < tree.n; i++) if (tree.total[i]! > 0) children[at[tree.parent[i]!]!++] = i;
  if (isByWidth) for (let i = 0; i < tree.n; i++) sortByWidth(children, starts[i]!, starts[i + 1]!, tree.total);
  return { starts, children };
}
// Few children are the rule, and sorting each group is cheaper than sorting all.
function sortByWidth(children: Int32Array, from: number, to: number, total: Float64Array): void {
  if (to - from > 24) {
    children.subarray(from, to).sort((a, b) => total[b]! - total[a]! || a - b);
    return;
  }
  for (let i = from + 1; i < to; i++) {
    const node = children[i]!, width = total[node]!;
    let k = i;
    for (; k > from && total[children[k - 1]!]! < width; k--) children[k] = children[k - 1]!;
    children[k] = node;
  }
}

function lay(tree: Tree, isByWidth: boolean): Laid {
  const { starts, children } = childrenOf(tree, isByWidth);
  const laid: Laid = { order: new Int32Array(children.length + 1), place: new Int32Array(tree.n), from: new Float64Array(tree.n),
    levels: [0], first: new Int32Array(tree.n).fill(-1), count: new Int32Array(tree.n) };
  let end = 1;
  for (let i = 0, level = 1; i < end; i++) {
    if (i === level) laid.levels.push((level = end, i));
    const node = laid.order[i]!;
    let x = laid.from[node]!;
    if (starts[node]! < starts[node + 1]!) laid.first[node] = end;
    laid.count[node] = starts[node + 1]! - starts[node]!;
    for (let k = starts[node]!; k < starts[node + 1]!; k++) {
      const child = children[k]!;
      laid.from[child] = x;
      x += tree.total[child]!;
      laid.place[child] = end;
      laid.order[end++] = child;
    }
  }
  laid.levels.push(end);
  laid.order = laid.order.subarray(0, end);
  return laid;
}

function emptyBoxes(n: number, nRows: number): Boxes {
  const ints = () => new Int32Array(n);
  return { n, root: 0, subject: ints(), parent: ints().fill(-1), row: ints(), from: new Float64Array(n), total: new Float64Array(n),
    self: new Float64Array(n), key: new Uint32Array(n), first: ints().fill(-1), count: ints(), firstCaller: -1, callers: 0,
    rows: new Int32Array(nRows + 1), node: null };
}

// Puts the levels of a tree into boxes, level `from` and on; `placeOf` says where a place of the order comes to stand.
function fill(boxes: Boxes, tree: Tree, laid: Laid, fromLevel: number, rowOf: (level: number) => number, placeOf: (place: number) => number): void {
  for (let level = fromLevel; level + 1 < laid.levels.length; level++)
    for (let i = laid.levels[level]!; i < laid.levels[level + 1]!; i++) {
      const node = laid.order[i]!, b = placeOf(i);
      boxes.subject[b] = tree.subject[node]!;
      boxes.parent[b] = level ? placeOf(laid.place[tree.parent[node]!]!) : -1;
      boxes.row[b] = rowOf(level);
      boxes.from[b] = laid.from[node]!;
      boxes.total[b] = tree.total[node]!;
      boxes.self[b] = tree.self[node]!;
      boxes.count[b] = laid.count[node]!;
      boxes.first[b] = laid.first[node]! < 0 ? -1 : placeOf(laid.first[node]!);
    }
}

// What a function waited is its own, too.
function addIdle(boxes: Boxes, idle: number): void {
  for (let b = 0; b < boxes.n; b++)
    if (boxes.subject[b] === idle && boxes.parent[b]! >= 0) boxes.self[boxes.parent[b]!]! += boxes.total[b]!;
}

function setKeys(boxes: Boxes, from: number, to: number, seed: number): void {
  const ofRoot = mixKey(1, boxes.subject[boxes.root]!), below = mixKey(ofRoot, seed);
  boxes.key[boxes.root] = ofRoot;
  for (let b = from; b < to; b++)
    if (b !== boxes.root) boxes.key[b] = mixKey(boxes.parent[b] === boxes.root ? below : boxes.key[boxes.parent[b]!]!, boxes.subject[b]!);
}
// In time order a call that comes again beside its first one gets a key of its own, and so does all below it.
function setRepeatedKeys(boxes: Boxes): void {
  const taken = new Map<number, number>();
  for (let b = 1; b < boxes.n; b++) {
    const key = mixKey(boxes.key[boxes.parent[b]!]!, boxes.subject[b]!), times = taken.get(key) ?? 0;
    taken.set(key, times + 1);
    boxes.key[b] = times ? mixKey(key, times + 0x40000000) : key;
  }
}
function mixKey(key: number, by: number): number {
  let h = Math.imul(key ^ by, 0x9e3779b1);
  h ^= h >>> 16;
  h = Math.imul(h + by, 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
}

const identity = (i: number) => i;

export function boxesOfTree(tree: Tree, idle: number, by: 'width' | 'time', laid: Laid = lay(tree, by === 'width')): Boxes {
  const boxes = emptyBoxes(laid.order.length, laid.levels.length - 1);
  fill(boxes, tree, laid, 0, identity, identity);
  boxes.rows.set(laid.levels);
  addIdle(boxes, idle);
  setKeys(boxes, 0, boxes.n, 1);
  if (by === 'time') setRepeatedKeys(boxes);
  return boxes;
}

function leftHeavyBoxes(nodes: Nodes): Boxes {
  const laid = lay(nodes, true);
  return { ...boxesOfTree(nodes, nodes.subjects.idle, 'width', laid), node: laid.order };
}

// --- Callers

// The tree of callers above chosen nodes: level by level, so that what is too narrow to be seen is not followed, and
// a chain of 3,000 calls of which each did something costs what is drawn of it.
class CallerTree {
  private readonly pairs = new Pairs();
  private self = new Float64Array(1024);
  private totals = new Float64Array(1024);

  constructor(
    private readonly nodes: Nodes,
    root: number, // its subject
  ) {
    this.pairs.put(-1, root);
  }
  // `nodes` with their amounts, which are above box 0: each begins at itself (inverted) or its caller (sandwich).
  make(ends: Int32Array, amounts: Float64Array): Tree {
    let at = ends, box: Int32Array = new Int32Array(ends.length), all = 0;
    for (let i = 0; i < amounts.length; i++) all += amounts[i]!;
    this.totals[0] = all;
    while (at.length > 0 && this.pairs.n < MOST_BOXES) ({ at, box, amounts } = this.level(at, box, amounts, all * LEAST_PART));
    const n = this.pairs.n;
    return { n, parent: this.pairs.parent.subarray(0, n), subject: this.pairs.subject.subarray(0, n), self: this.self.subarray(0, n), total: this.totals.subarray(0, n) };
  }
  private level(at: Int32Array, box: Int32Array, amounts: Float64Array, least: number): { at: Int32Array; box: Int32Array; amounts: Float64Array } {
    let n = 0;
    for (let i = 0; i < at.length; i++) {
      const node = at[i]!, above = box[i]!;
      if (node <= 0) this.self[above]! += amounts[i]!;
      if (node <= 0 || this.totals[above]! < least) continue;
      const b = this.pairs.at(above, this.nodes.subject[node]!);
      this.need(b);
      this.totals[b]! += amounts[i]!;
      at[n] = this.nodes.parent[node]!;
      box[n] = b;
      amounts[n++] = amounts[i]!;
    }
    return { at: at.subarray(0, n), box: box.subarray(0, n), amounts: amounts.subarray(0, n) };
  }
  private need(b: number): void {
    if (b < this.totals.length) return;
    for (const name of ['self', 'totals'] as const) {
      const more = new Float64Array(this[name].length * 2);
      more.set(this[name]);
      this[name] = more;
    }
  }
}

function invertedBoxes(nodes: Nodes): Boxes {
  const own = ownAmounts(nodes), ends = Int32Array.from(own.keys()).filter((i) => own[i]! > 0), amounts = Float64Array.from(ends, (i) => own[i]!);
  const boxes = boxesOfTree(new CallerTree(nodes, nodes.subjects.whole).make(ends, amounts), nodes.subjects.idle, 'width');
  for (let b = 1; b < boxes.n; b++) boxes.self[b] = boxes.row[b] === 1 ? boxes.total[b]! : 0;
  return boxes;
}

// --- Sandwich

// The outermost calls of a function.
function outermost(nodes: Nodes, subject: number): Int32Array {
  const isInside = new Uint8Array(nodes.n), found: number[] = [];
  for (let i = 1; i < nodes.n; i++) {
    const up = nodes.parent[i]!;
    isInside[i] = isInside[up]! | (nodes.subject[up] === subject ? 1 : 0);
    if (nodes.subject[i] === subject && !isInside[i] && nodes.total[i]! > 0) found.push(i);
  }
  return Int32Array.from(found);
}

function calleeTree(nodes: Nodes, tops: Int32Array, subject: number): Tree {
  const pairs = new Pairs(), nodeOf = new Int32Array(nodes.n).fill(-1);
  const self = new Float64Array(nodes.n + 1);
  pairs.put(-1, subject);
  for (const top of tops) nodeOf[top] = 0;
  for (let i = 1; i < nodes.n; i++) {
    const up = nodeOf[nodes.parent[i]!]!;
    if (nodeOf[i]! < 0 && up >= 0) nodeOf[i] = pairs.at(up, nodes.subject[i]!);
    if (nodeOf[i]! >= 0) self[nodeOf[i]!]! += nodes.self[i]!;
  }
  return summed(pairs.n, pairs.parent, pairs.subject, self);
}

function sandwichBoxes(nodes: Nodes, subject: number): Boxes {
  const tops = outermost(nodes, subject);
  const below = calleeTree(nodes, tops, subject);
  const callers = new CallerTree(nodes, subject).make(tops.map(i => nodes.parent[i]!), Float64Array.from(tops, i => nodes.total[i]!));
  const up = lay(callers, true), down = lay(below, true);
  const nUp = up.order.length - 1, nLevels = up.levels.length - 2;
  const boxes = emptyBoxes(nUp + down.order.length, nLevels + down.levels.length - 1);
  // The last level of callers is the first row.
  const upPlace = (i: number): number => {
    const level = levelOf(up.levels, i);
    return nUp + 1 - up.levels[level + 1]! + i - up.levels[level]!;
  };
  fill(boxes, below, down, 0, level => nLevels + level, i => nUp + i);
  fill(boxes, callers, up, 1, level => nLevels - level, i => (i === 0 ? nUp : upPlace(i)));
  boxes.root = nUp;
  if (nUp > 0) [boxes.firstCaller, boxes.callers] = [upPlace(1), up.count[0]!];
  for (let row = 0; row <= nLevels; row++) boxes.rows[row] = nUp + 1 - up.levels[nLevels + 1 - row]!;
  for (let level = 0; level < down.levels.length; level++) boxes.rows[nLevels + level] = nUp + down.levels[level]!;
  finishSandwich(boxes, nodes.subjects.idle);
  return boxes;
}
function levelOf(levels: readonly number[], place: number): number {
  let low = 0, high = levels.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (levels[middle]! <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
// Keys are made from the root outwards, and callers stand before it.
function finishSandwich(boxes: Boxes, idle: number): void {
  addIdle(boxes, idle);
  for (let b = 0; b < boxes.root; b++) boxes.self[b] = 0;
  setKeys(boxes, boxes.root, boxes.n, 1);
  for (let row = boxes.row[boxes.root]! - 1; row >= 0; row--) setKeys(boxes, boxes.rows[row]!, boxes.rows[row + 1]!, 2);
}

// The function that a sandwich begins with: where most was spent itself.
export function hottestSubject(nodes: Nodes): number | null {
  const own = new Float64Array(nodes.subjects.whole);
  ownAmounts(nodes).forEach((amount, i) => {
    if (nodes.subject[i]! < own.length) own[nodes.subject[i]!]! += amount;
  });
  let best = -1;
  for (let s = 0; s < own.length; s++) if (own[s]! > 0 && (best < 0 || own[s]! > own[best]!)) best = s;
  return best < 0 ? null : best;
}

// The function in the middle of a sandwich.
export const middleOf = (boxes: Boxes) => boxes.subject[boxes.root]!;

// Boxes of any order but time order, which needs more than nodes (flametime.ts).
export function layout(nodes: Nodes, order: Exclude<Order, 'time'>, sandwich: number | null): Boxes {
  if (order === 'inverted') return invertedBoxes(nodes);
  const middle = order === 'sandwich' ? sandwich ?? hottestSubject(nodes) : null;
  return middle === null ? leftHeavyBoxes(nodes) : sandwichBoxes(nodes, middle);
}
