// SPDX-License-Identifier: MIT
// calltree: the tree of calls that the stacks of a block make, and who is a callee in it.
//
// It is that of src/analyse/stacks/calltree.c: lines of one function under the same callers are one node.  It does not
// depend on what is selected, so that a selection is only sums over it: which nodes are outermost for their callee (a
// function that calls itself counts once) is known before.  Parents have smaller numbers.

import { memo } from '../memo';
import { PairIds } from './pairids';
import { foldedFrames } from '../sums';
import type { By, Stacks } from '../types';

// By place: a line of a file, whatever function it is of.
export type TreeBy = By | 'place';

export const NONE = -1;

export interface CallTree {
  block: Stacks;
  by: TreeBy;
  n: number; // of nodes
  parent: Int32Array; // by node; -1: called by nobody known
  callee: Int32Array; // by node
  nodeOf: Int32Array; // by frame
  isPart: Uint8Array; // by frame: it is folded into the node of its caller
  isOutermost: Uint8Array; // by node: no caller is the same callee
  nCallees: number;
  fn: Int32Array; // by callee: the first of its functions; of an import the importer's, or -1
  line: Int32Array; // by callee: executed; 0 when not by line; of an import the importer's
  importRow: Int32Array; // by callee: place in block.imports, or -1
}

export interface Callers {
  pairs: PairIds; // of a caller (a callee, or -1) and a callee
  pairOf: Int32Array; // by node
  isOutermost: Uint8Array; // by node: no call further out is of the same pair
}

// By node: nobody on the way to the root has the same number.
function outermost(parent: Int32Array, numbers: Int32Array, n: number, nNumbers: number): Uint8Array {
  const first = new Int32Array(n + 1).fill(NONE); // children; those of nobody at [n]
  const next = new Int32Array(n);
  const open = new Int32Array(nNumbers);
  const found = new Uint8Array(n);
  for (let i = n - 1; i >= 0; i--) {
    const up = parent[i] === NONE ? n : parent[i]!;
    next[i] = first[up]!;
    first[up] = i;
  }
  for (let at = first[n]!; at !== NONE; ) {
    found[at] = open[numbers[at]!]!++ === 0 ? 1 : 0;
    if (first[at] !== NONE) {
      at = first[at]!;
      continue;
    }
    for (;;) {
      open[numbers[at]!]!--;
      if (next[at] !== NONE) break;
      at = parent[at]!;
      if (at === NONE) return found;
    }
    at = next[at]!;
  }
  return found;
}

class Maker {
  readonly callees: PairIds; // of two numbers that say what a callee is
  readonly nodes: PairIds; // parent, callee
  readonly firstFrame: Int32Array; // by callee
  readonly nodeOf: Int32Array;
  readonly isPart: Uint8Array;

  constructor(readonly block: Stacks, readonly by: TreeBy, readonly mine: boolean, readonly folds: boolean) {
    const n = block.frames.parent.length;
    this.callees = new PairIds(block.functions.name.length * 2);
    this.nodes = new PairIds(n);
    this.firstFrame = new Int32Array(n);
    this.nodeOf = new Int32Array(n).fill(NONE);
    this.isPart = new Uint8Array(n);
  }

  callee(a: number, b: number, frame: number): number {
    const before = this.callees.n;
    const id = this.callees.id(a, b);
    if (id === before) this.firstFrame[id] = frame;
    return id;
  }

  calleeOf(frame: number): number {
    const { functions, frames } = this.block;
    const fn = frames.fn[frame]!;
    if (this.by === 'module') return this.callee(functions.module[fn]!, 0, frame);
    if (this.by === 'place') return this.callee(functions.file[fn]!, frames.line[frame]!, frame);
    return this.callee(fn, this.by === 'line' ? frames.line[frame]! : 0, frame);
  }

  // All frames of an import are one node below its importer's.
  putImport(frame: number): void {
    const { frames } = this.block;
    const importer = frames.importer[frame]!;
    const isBody = this.block.strings[this.block.functions.name[frames.fn[frame]!]!] === '<module>';
    this.isPart[frame] = isBody ? 0 : 1;
    this.nodeOf[frame] = this.nodes.id(importer ? this.nodeOf[importer - 1]! : NONE, this.callee(-frames.importRow[frame]!, 0, frame));
  }

  // A frame that is folded is no node of its own, but part of the one that called it.
  putFrame(frame: number, frameOf: Int32Array): void {
    const up = this.block.frames.parent[frame]!;
    const caller = up ? this.nodeOf[up - 1]! : NONE;
    let isPart = frameOf[frame] !== frame;
    const callee = isPart ? NONE : this.calleeOf(frame);
    if (caller !== NONE && this.by === 'module') isPart ||= this.nodes.b[caller] === callee;
    this.isPart[frame] = isPart ? 1 : 0;
    this.nodeOf[frame] = isPart ? caller : this.nodes.id(caller, callee);
  }

  finish(): CallTree {
    const { block, nodes, callees, by } = this;
    const { fn, line, importer } = block.frames;
    const n = callees.n;
    const tree: CallTree = {
      block, by, n: nodes.n, parent: nodes.a, callee: nodes.b, nodeOf: this.nodeOf, isPart: this.isPart,
      isOutermost: outermost(nodes.a, nodes.b, nodes.n, n),
      nCallees: n, fn: new Int32Array(n), line: new Int32Array(n), importRow: new Int32Array(n),
    };
    for (let i = 0; i < n; i++) {
      const isImport = callees.a[i]! < 0;
      const frame = isImport ? importer[this.firstFrame[i]!]! - 1 : this.firstFrame[i]!;
      tree.importRow[i] = isImport ? -callees.a[i]! - 1 : NONE;
      tree.fn[i] = frame < 0 ? NONE : fn[frame]!;
      tree.line[i] = frame >= 0 && (isImport || by === 'line' || by === 'place') ? line[frame]! : 0;
    }
    return tree;
  }
}

const trees = memo<CallTree>(8);

// With `folds` an import is one callee, by function alone.
export function treeOf(block: Stacks, by: TreeBy, mine: boolean, folds: boolean): CallTree {
  const hasImports = folds && !mine && by === 'function';
  return trees(block, `${by} ${mine} ${hasImports}`, () => {
    const maker = new Maker(block, by, mine, hasImports);
    const frameOf = foldedFrames(block, mine);
    for (let i = 0; i < frameOf.length; i++)
      if (hasImports && block.frames.importRow[i]) maker.putImport(i);
      else maker.putFrame(i, frameOf);
    return maker.finish();
  });
}

const callers = memo<Callers>(1);

export function callersOf(tree: CallTree): Callers {
  return callers(tree, '', () => {
    const ids = new PairIds(tree.n);
    const pairOf = new Int32Array(tree.n);
    for (let i = 0; i < tree.n; i++) pairOf[i] = ids.id(tree.parent[i] === NONE ? NONE : tree.callee[tree.parent[i]!]!, tree.callee[i]!);
    return { pairs: ids, pairOf, isOutermost: outermost(tree.parent, pairOf, tree.n, ids.n) };
  });
}
