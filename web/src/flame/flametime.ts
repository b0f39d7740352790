// SPDX-License-Identifier: MIT
// flametime: the boxes of the flame graph along time (flamelayout.ts says what that means here).
//
// Chosen entries are sorted by thread, then time, and cut into bins of the same number of slices.  The calls of a bin are a
// small tree; it is walked with what was open at the end of the bin before first, so that a call that goes on is one box.
import { summed, type Amounts, type Nodes, type Tree } from './flamenodes';
import { boxesOfTree, type Boxes } from './flamelayout';
import type { Selection } from '../types';

const MOST_BINS = 1000;
const MOST_BOXES = 60_000;

// --- Entries

// Sets of open sections that the selection takes; null: all.
function chosenSets(sums: Amounts, selection: Selection): Uint8Array | null {
  const { sets, sections } = sums.block;
  if (selection.section === null) return null;
  const section = sections.indexOf(selection.section), isIn = new Uint8Array(sets.starts.length);
  for (let set = 0; set + 1 < sets.starts.length; set++)
    for (let i = sets.starts[set]!; i < sets.starts[set + 1]!; i++) if (sets.members[i] === section) isIn[set] = 1;
  return isIn;
}

interface Entries {
  at: Int32Array; // places in block.entries, by thread and then time
  threads: number[]; // that have some
  ends: number[]; // behind the last of each
  firstSlice: number;
  nSlices: number;
}

// In one pass over a million entries; by thread in a second one, where there are several.
function chosenEntries(sums: Amounts, nodes: Nodes, selection: Selection): Entries {
  const { slice, place, set } = sums.block.entries, sets = chosenSets(sums, selection), { sliceNs, metrics } = sums.block;
  const from = selection.from === null ? -Infinity : selection.from / sliceNs;
  const to = selection.to === null ? Infinity : selection.to / sliceNs;
  const values = metrics[sums.metric]!.values, leaf = nodes.leaf, at = new Int32Array(place.length);
  let n = 0;
  for (let i = 0; i < place.length; i++)
    if (leaf[place[i]!]! >= 0 && slice[i]! >= from && slice[i]! < to && values[i]! > 0 && (!sets || sets[set[i]!] === 1)) at[n++] = i;
  const firstSlice = n ? slice[at[0]!]! : 0;
  return { ...byThread(sums, at.subarray(0, n)), firstSlice, nSlices: n ? slice[at[n - 1]!]! - firstSlice + 1 : 1 };
}

function byThread({ block }: Amounts, chosen: Int32Array): Pick<Entries, 'at' | 'threads' | 'ends'> {
  const thread = block.places.thread, place = block.entries.place;
  const counts = new Int32Array(block.threads.length + 1);
  for (let i = 0; i < chosen.length; i++) counts[thread[place[chosen[i]!]!]! + 1]!++;
  const threads = block.threads.map((_, t) => t).filter((t) => counts[t + 1]! > 0);
  if (threads.length < 2) return { at: chosen, threads, ends: [chosen.length] };
  for (let t = 0; t < block.threads.length; t++) counts[t + 1]! += counts[t]!;
  const at = new Int32Array(chosen.length), next = counts.slice();
  for (let i = 0; i < chosen.length; i++) at[next[thread[place[chosen[i]!]!]!]++] = chosen[i]!;
  return { at, threads, ends: threads.map((t) => counts[t + 1]!) };
}

// --- Boxes of bins

const NOBODY = -1;

class TimeTree {
  private parent = new Int32Array(MOST_BOXES);
  private subject = new Int32Array(MOST_BOXES);
  private self = new Float64Array(MOST_BOXES);
  size = 0;
  // Boxes from the whole to what ran last, and their nodes, by depth.
  private readonly open: Int32Array;
  private readonly openNode: Int32Array;
  private nOpen = 0;
  // Of the tree of the bin at hand, by node.
  private readonly stamp: Int32Array;
  private readonly amount: Float64Array;
  private readonly child: Int32Array; // the first
  private readonly last: Int32Array;
  private readonly next: Int32Array;
  private readonly path: Int32Array;
  private bin = 0;

  constructor(private readonly nodes: Nodes) {
    const ints = () => new Int32Array(nodes.n + 1);
    [this.open, this.openNode, this.stamp, this.child, this.last, this.next, this.path] = [ints(), ints(), ints(), ints(), ints(), ints(), ints()];
    this.amount = new Float64Array(nodes.n);
  }
  begin(): void {
    this.size = 0;
    this.put(NOBODY, this.nodes.subjects.whole);
  }
  beginThread(thread: number | null): void {
    this.open[0] = thread === null ? 0 : this.put(0, this.nodes.subjects.threads + thread);
    this.openNode[0] = 0;
    this.nOpen = 1;
  }
  beginBin(): void {
    this.bin++;
    this.touch(0);
  }
  add(node: number, amount: number): void {
    if (this.stamp[node] !== this.bin) this.reach(node);
    this.amount[node]! += amount;
  }
  private reach(node: number): void {
    const { parent } = this.nodes, { path, stamp } = this;
    let n = 0; // up to what the bin has already
    for (let at = node; stamp[at] !== this.bin; at = parent[at]!) {
      this.touch(at);
      path[n++] = at;
    }
    while (n-- > 0) this.append(parent[path[n]!]!, path[n]!);
  }
  private touch(node: number): void {
    this.stamp[node] = this.bin;
    this.amount[node] = 0;
    this.child[node] = this.last[node] = this.next[node] = NOBODY;
  }
  private append(parent: number, node: number): void {
    if (this.child[parent]! < 0) this.child[parent] = node;
    else this.next[this.last[parent]!] = node;
    this.last[parent] = node;
  }
  // What was open at the end of the bin before comes first.
  private putFirst(): void {
    for (let depth = 1; depth < this.nOpen; depth++) {
      const node = this.openNode[depth]!, parent = this.openNode[depth - 1]!;
      if (this.stamp[node] !== this.bin) return;
      if (this.child[parent] === node) continue;
      let before = this.child[parent]!;
      while (this.next[before] !== node) before = this.next[before]!;
      this.next[before] = this.next[node]!;
      this.next[node] = this.child[parent]!;
      this.child[parent] = node;
    }
  }
  endBin(): void {
    const { child, next, amount, open } = this, { parent } = this.nodes;
    this.putFirst();
    this.self[open[0]!]! += amount[0]!;
    for (let node = child[0]!, depth = 1; node >= 0; ) {
      this.self[this.boxAtDepth(depth, node)]! += amount[node]!;
      if (child[node]! >= 0) {
        node = child[node]!;
        depth++;
        continue;
      }
      while (node > 0 && next[node]! < 0) {
        node = parent[node]!;
        depth--;
      }
      node = node > 0 ? next[node]! : NOBODY;
    }
  }
  private boxAtDepth(depth: number, node: number): number {
    if (depth < this.nOpen && this.openNode[depth] === node) return this.open[depth]!;
    const box = this.put(this.open[depth - 1]!, this.nodes.subject[node]!);
    this.open[depth] = box;
    this.openNode[depth] = node;
    this.nOpen = depth + 1;
    return box;
  }
  private put(parent: number, subject: number): number {
    if (this.size === this.parent.length) this.grow();
    this.parent[this.size] = parent;
    this.subject[this.size] = subject;
    this.self[this.size] = 0;
    return this.size++;
  }
  private grow(): void {
    const { parent, subject, self } = this, n = parent.length * 2;
    [this.parent, this.subject, this.self] = [new Int32Array(n), new Int32Array(n), new Float64Array(n)];
    this.parent.set(parent);
    this.subject.set(subject);
    this.self.set(self);
  }
  tree(): Tree {
    return summed(this.size, this.parent, this.subject, this.self);
  }
}

// Null: more boxes than there should be; `done` says how far it came.
function treeOfBins(made: TimeTree, sums: Amounts, { leaf }: Nodes, entries: Entries, nBins: number): { tree: Tree | null; done: number } {
  const { slice, place } = sums.block.entries, values = sums.block.metrics[sums.metric]!.values, { at, ends, firstSlice } = entries;
  const width = Math.ceil(entries.nSlices / nBins);
  made.begin();
  for (let k = 0, i = 0; k < entries.threads.length; k++) {
    made.beginThread(entries.threads.length > 1 ? entries.threads[k]! : null);
    while (i < ends[k]!) {
      const bin = Math.floor((slice[at[i]!]! - firstSlice) / width), end = firstSlice + (bin + 1) * width;
      made.beginBin();
      for (; i < ends[k]! && slice[at[i]!]! < end; i++) made.add(leaf[place[at[i]!]!]!, values[at[i]!]!);
      made.endBin();
      if (made.size > MOST_BOXES && nBins > 1) return { tree: null, done: i / at.length };
    }
  }
  return { tree: made.tree(), done: 1 };
}

export function timeBoxes(sums: Amounts, nodes: Nodes, selection: Selection): Boxes {
  const entries = chosenEntries(sums, nodes, selection), made = new TimeTree(nodes);
  for (let nBins = Math.min(MOST_BINS, entries.nSlices); ; ) {
    const { tree, done } = treeOfBins(made, sums, nodes, entries, nBins);
    if (tree) return boxesOfTree(tree, nodes.subjects.idle, 'time');
    nBins = Math.max(1, Math.floor(nBins * (done > 0.4 ? Math.min(0.5, done * 0.8) : done ** 1.5))); // far too many hardly merge in wider bins
  }
}
