// SPDX-License-Identifier: MIT
// flamenodes: the tree of calls that all orders of the flame graph are made of.
//
// A node is a subject below another node.  A subject is what a box is named after: a function, an import (one box for all
// that importlib and the module's body do), what a function waited (`[idle]`, so that waiting and working are never one box),
// a thread (in time order), or the whole.  Frames of one function under one parent are one node, whatever their lines.
// What is hidden, folded or library code under `only my code` has no node: what it did is its caller's.
//
// Node 0 is the whole; a parent has a smaller place than its children.
import { IDLE, type Stacks } from '../types';
import type { Sums } from '../sums';

// What is drawn: a block with the chosen amounts by place.
export type Amounts = Pick<Sums, 'block' | 'metric' | 'placeValues'>;

export interface Choice {
  mine: boolean;
  focus: number | null; // a subject: only stacks with it
  hidden: readonly number[]; // subjects
  foldsRecursion: boolean;
}

// Subjects are numbered one kind after the other.
export interface Subjects {
  imports: number; // the first import; functions begin at 0
  whole: number;
  idle: number;
  threads: number; // the first thread
}
export function subjectsOf(block: Stacks): Subjects {
  const imports = block.functions.name.length;
  const whole = imports + block.imports.length;
  return { imports, whole, idle: whole + 1, threads: whole + 2 };
}

export interface Tree {
  n: number;
  parent: Int32Array; // -1 of node 0
  subject: Int32Array;
  self: Float64Array;
  total: Float64Array;
}
export interface Nodes extends Tree {
  subjects: Subjects;
  // By place of the block: the node where its samples ended; -1: in no view, or not chosen.
  leaf: Int32Array;
}

// Numbers pairs of parent and subject in the order in which they come.
export class Pairs {
  n = 0;
  parent: Int32Array = new Int32Array(1024);
  subject: Int32Array = new Int32Array(1024);
  private slots: Int32Array = new Int32Array(4096); // pair + 1
  private mask = 4095;

  // Always a new pair, that later calls of `at` find.
  put(parent: number, subject: number): number {
    if (this.n === this.parent.length) this.grow();
    this.parent[this.n] = parent;
    this.subject[this.n] = subject;
    this.slots[this.slotOf(parent, subject)] = this.n + 1;
    return this.n++;
  }
  at(parent: number, subject: number): number {
    const known = this.slots[this.slotOf(parent, subject)]!;
    return known ? known - 1 : this.put(parent, subject);
  }
  private slotOf(parent: number, subject: number): number {
    let hash = Math.imul(parent + 1, 0x9e3779b1) ^ Math.imul(subject + 1, 0x85ebca6b);
    hash ^= hash >>> 15;
    for (let slot = hash & this.mask; ; slot = (slot + 1) & this.mask) {
      const known = this.slots[slot]!;
      if (!known || (this.parent[known - 1] === parent && this.subject[known - 1] === subject)) return slot;
    }
  }
  private grow(): void {
    this.parent = grown(this.parent);
    this.subject = grown(this.subject);
    this.slots = new Int32Array(this.parent.length * 4);
    this.mask = this.slots.length - 1;
    for (let i = 0; i < this.n; i++) this.slots[this.slotOf(this.parent[i]!, this.subject[i]!)] = i + 1;
  }
}
function grown(old: Int32Array): Int32Array {
  const more = new Int32Array(old.length * 2);
  more.set(old);
  return more;
}

// Totals of what is below, from leaves to the whole.
export function summed(n: number, parent: Int32Array, subject: Int32Array, self: Float64Array): Tree {
  const total = self.slice(0, n);
  for (let i = n - 1; i > 0; i--) total[parent[i]!]! += total[i]!;
  return { n, parent: parent.subarray(0, n), subject: subject.subarray(0, n), self: self.subarray(0, n), total };
}

const OUT = 1, // of what a frame is for the view: no stack through it is in
  THROUGH = 2; // the focus is above it, or it is the focus

class NodeMaker {
  private readonly subjects: Subjects;
  private readonly hidden: Set<number>;
  private readonly pairs = new Pairs();
  private readonly nodeOf: Int32Array; // by frame
  private readonly marks: Uint8Array; // by frame

  constructor(
    private readonly sums: Amounts,
    private readonly choice: Choice,
  ) {
    this.subjects = subjectsOf(sums.block);
    this.hidden = new Set(choice.hidden);
    this.nodeOf = new Int32Array(sums.block.frames.fn.length);
    this.marks = new Uint8Array(this.nodeOf.length);
  }

  make(): Nodes {
    this.pairs.put(-1, this.subjects.whole);
    this.addFrames(this.neededFrames());
    const { leaf, self } = this.addPlaces();
    return { ...summed(this.pairs.n, this.pairs.parent, this.pairs.subject, self), subjects: this.subjects, leaf };
  }

  // Those below which something was measured; of imports also the frame that imports.
  private neededFrames(): Uint8Array {
    const { frames, places } = this.sums.block;
    const needed = new Uint8Array(frames.fn.length);
    for (let place = 0; place < places.frame.length; place++)
      if (places.frame[place]! && this.sums.placeValues[place]!) needed[places.frame[place]! - 1] = 1;
    for (let i = needed.length - 1; i >= 0; i--) {
      if (!needed[i]) continue;
      if (frames.parent[i]) needed[frames.parent[i]! - 1] = 1;
      if (frames.importRow[i] && frames.importer[i]) needed[frames.importer[i]! - 1] = 1;
    }
    return needed;
  }

  private addFrames(needed: Uint8Array): void {
    const { frames } = this.sums.block;
    for (let i = 0; i < needed.length; i++) {
      if (!needed[i]) continue;
      const parent = frames.parent[i]!;
      const subject = frames.importRow[i] ? this.subjects.imports + frames.importRow[i]! - 1 : frames.fn[i]!;
      this.marks[i] = parent ? this.marks[parent - 1]! : 0;
      if (frames.isStartup[i]) this.marks[i]! |= OUT;
      if (subject === this.choice.focus) this.marks[i]! |= THROUGH;
      this.nodeOf[i] = this.isIn(i, false) ? this.nodeAt(i, subject) : 0;
    }
  }
  // Is something of the view at or (when it `ends` there: only at) this frame?
  private isIn(frame: number, ends: boolean): boolean {
    const mark = this.marks[frame]!;
    return !(mark & OUT) && (!ends || this.choice.focus === null || (mark & THROUGH) !== 0);
  }

  private nodeAt(frame: number, subject: number): number {
    const { frames, functions } = this.sums.block;
    const above = frames.importRow[frame] ? frames.importer[frame]! : frames.parent[frame]!;
    const up = above ? this.nodeOf[above - 1]! : 0;
    const isFolded = this.choice.mine && up !== 0 && subject < this.subjects.imports && functions.isLibrary[subject];
    if (isFolded || this.hidden.has(subject)) return up;
    if (this.choice.foldsRecursion)
      for (let at = up; at > 0; at = this.pairs.parent[at]!) if (this.pairs.subject[at] === subject) return at;
    return this.pairs.at(up, subject);
  }

  private addPlaces(): { leaf: Int32Array; self: Float64Array } {
    const { places } = this.sums.block, values = this.sums.placeValues;
    const leaf = new Int32Array(values.length).fill(-1);
    for (let place = 0; place < values.length; place++) {
      const frame = places.frame[place]! - 1;
      if (!values[place] || (frame < 0 ? this.choice.focus !== null : !this.isIn(frame, true))) continue;
      const node = frame < 0 ? 0 : this.nodeOf[frame]!;
      leaf[place] = node > 0 && places.flags[place]! & IDLE ? this.pairs.at(node, this.subjects.idle) : node;
    }
    const self = new Float64Array(this.pairs.n);
    for (let place = 0; place < values.length; place++) if (leaf[place]! >= 0) self[leaf[place]!]! += values[place]!;
    return { leaf, self };
  }
}

// The nodes of what is chosen; with a focus the nodes of other stacks are there with nothing in them.
export function nodesOf(sums: Amounts, choice: Choice): Nodes {
  return new NodeMaker(sums, choice).make();
}

// What each node did itself, what it waited included.
export function ownAmounts(nodes: Nodes): Float64Array {
  const own = new Float64Array(nodes.n);
  for (let i = 0; i < nodes.n; i++) own[nodes.subject[i] === nodes.subjects.idle ? nodes.parent[i]! : i]! += nodes.self[i]!;
  return own;
}

// The same nodes with amounts of another metric.
export function weighedBy(nodes: Nodes, values: Float64Array): Nodes {
  const self = new Float64Array(nodes.n);
  for (let place = 0; place < values.length; place++) if (nodes.leaf[place]! >= 0) self[nodes.leaf[place]!]! += values[place]!;
  return { ...nodes, ...summed(nodes.n, nodes.parent, nodes.subject, self) };
}
