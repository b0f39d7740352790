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

class TimeTree {
  private readonly parent = [-1];
  private readonly subject: number[];
  private readonly self = [0];
  private readonly open = [0]; // boxes from the whole to what ran last
  private readonly openNode = [0];
  // Of the tree of the bin at hand, by node.
  private readonly stamp: Int32Array;
  private readonly amount: Float64Array;
  private readonly child: Int32Array; // the first
  private readonly last: Int32Array;
  private readonly next: Int32Array;
  private bin = 0;

  constructor(private readonly nodes: Nodes) {
    this.subject = [nodes.subjects.whole];
    this.stamp = new Int32Array(nodes.n);
    this.amount = new Float64Array(nodes.n);
    this.child = new Int32Array(nodes.n);
    this.last = new Int32Array(nodes.n);
    this.next = new Int32Array(nodes.n);
  }
  get size(): number {
    return this.parent.length;
  }
  beginThread(thread: number | null): void {
    this.open.length = this.openNode.length = 1;
    if (thread === null) return;
    this.open[0] = this.put(0, this.nodes.subjects.threads + thread);
  }
  beginBin(): void {
    this.bin++;
    this.touch(0);
  }
  add(node: number, amount: number): void {
    this.amount[node] = this.stamp[node] === this.bin ? this.amount[node]! + amount : (this.reach(node), amount);
  }
  private reach(node: number): void {
    const path: number[] = []; // up to what the bin has already
    for (let at = node; this.stamp[at] !== this.bin; at = this.nodes.parent[at]!) {
      this.touch(at);
      path.push(at);
    }
    for (let k = path.length - 1; k >= 0; k--) this.append(this.nodes.parent[path[k]!]!, path[k]!);
  }
  private touch(node: number): void {
    this.stamp[node] = this.bin;
    this.amount[node] = 0;
    this.child[node] = this.last[node] = this.next[node] = -1;
  }
  private append(parent: number, node: number): void {
    if (this.child[parent]! < 0) this.child[parent] = node;
    else this.next[this.last[parent]!] = node;
    this.last[parent] = node;
  }
  // What was open at the end of the bin before comes first.
  private putFirst(): void {
    for (let depth = 1; depth < this.openNode.length; depth++) {
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
    this.putFirst();
    const steps = [0]; // the node that is looked at next at each depth
    while (steps.length > 0) {
      const node = steps[steps.length - 1]!;
      if (node < 0) {
        steps.pop();
        continue;
      }
      const box = this.boxAtDepth(steps.length - 1, node);
      this.self[box]! += this.amount[node]!;
      steps[steps.length - 1] = this.next[node]!;
      steps.push(this.child[node]!);
    }
  }
  private boxAtDepth(depth: number, node: number): number {
    if (this.openNode[depth] === node && depth < this.open.length) return this.open[depth]!;
    const box = this.put(this.open[depth - 1]!, this.nodes.subject[node]!);
    this.open.length = this.openNode.length = depth;
    this.open[depth] = box;
    this.openNode[depth] = node;
    return box;
  }
  private put(parent: number, subject: number): number {
    this.parent.push(parent);
    this.subject.push(subject);
    this.self.push(0);
    return this.parent.length - 1;
  }
  tree(): Tree {
    return summed(this.size, Int32Array.from(this.parent), Int32Array.from(this.subject), Float64Array.from(this.self));
  }
}

// Null: more boxes than there should be; `done` says how far it came.
function treeOfBins(sums: Amounts, nodes: Nodes, entries: Entries, nBins: number): { tree: Tree | null; done: number } {
  const { slice, place } = sums.block.entries, values = sums.block.metrics[sums.metric]!.values, { at, ends, firstSlice } = entries;
  const made = new TimeTree(nodes), width = Math.ceil(entries.nSlices / nBins);
  for (let k = 0, i = 0; k < entries.threads.length; k++) {
    made.beginThread(entries.threads.length > 1 ? entries.threads[k]! : null);
    while (i < ends[k]!) {
      const bin = Math.floor((slice[at[i]!]! - firstSlice) / width), end = firstSlice + (bin + 1) * width;
      made.beginBin();
      for (; i < ends[k]! && slice[at[i]!]! < end; i++) made.add(nodes.leaf[place[at[i]!]!]!, values[at[i]!]!);
      made.endBin();
      if (made.size > MOST_BOXES && nBins > 1) return { tree: null, done: i / at.length };
    }
  }
  return { tree: made.tree(), done: 1 };
}

export function timeBoxes(sums: Amounts, nodes: Nodes, selection: Selection): Boxes {
  const entries = chosenEntries(sums, nodes, selection);
  for (let nBins = Math.min(MOST_BINS, entries.nSlices); ; ) {
    const { tree, done } = treeOfBins(sums, nodes, entries, nBins);
    if (tree) return boxesOfTree(tree, nodes.subjects.idle, 'time');
    nBins = Math.max(1, Math.floor(nBins * Math.min(0.5, done * 0.8)));
  }
}
