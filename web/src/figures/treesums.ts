// SPDX-License-Identifier: MIT
// treesums: what a selection comes to in a tree of calls: by node, by callee, by pair of caller and callee.

import { NONE } from './calltree';
import type { CallTree, Callers } from './calltree';
import { chosenPlaces, framesIn, ITSELF, placeTotals, sumWhere } from '../sums';
import type { Options, Selection } from '../types';

// What is folded gives its time to its caller; it is no call of that one.
const isCount = (metric: string): boolean => metric === 'calls' || metric === 'starts';

export class TreeSums {
  readonly isChosen: Uint8Array; // by place
  readonly nodes: Int32Array; // those under chosen stacks, in order of appearance
  readonly callees: Int32Array; // theirs, in order of appearance
  private readonly selfs: Float64Array[] = [];
  private readonly totals: Float64Array[] = [];
  private readonly calleeSelfs: Float64Array[] = [];
  private readonly calleeCums: Float64Array[] = [];

  constructor(readonly tree: CallTree, readonly selection: Selection, options: Options) {
    this.isChosen = chosenPlaces(tree.block, selection, options);
    this.nodes = this.findNodes(framesIn(tree.block, this.isChosen));
    const seen = new Uint8Array(tree.nCallees);
    this.callees = this.nodes.map((node) => tree.callee[node]!).filter((c) => !seen[c] && (seen[c] = 1));
  }

  // Of an import only frames where a stack ends have a node.
  private findNodes(isIn: Uint8Array): Int32Array {
    const { nodeOf, isPart, importRow } = this.tree;
    const { frames } = this.tree.block;
    const folds = importRow.some((row) => row !== NONE);
    const seen = new Uint8Array(this.tree.n);
    const found = new Int32Array(this.tree.n);
    let n = 0;
    for (let i = 0; i < isIn.length; i++) {
      const isImport = folds && frames.importRow[i]! > 0;
      if (isImport ? !(isIn[i]! & ITSELF) : !isIn[i] || isPart[i]) continue;
      if (!seen[nodeOf[i]!]) found[n++] = nodeOf[i]!;
      seen[nodeOf[i]!] = 1;
    }
    return found.slice(0, n);
  }

  // All that was chosen, with stacks of which no frame was read.
  all(metric: number): number {
    return sumWhere(placeTotals(this.tree.block, this.selection, metric), this.isChosen);
  }

  self(metric: number): Float64Array {
    return (this.selfs[metric] ??= this.sumSelf(metric));
  }

  private sumSelf(metric: number): Float64Array {
    const { block, nodeOf, isPart, n } = this.tree;
    const values = placeTotals(block, this.selection, metric);
    const leavesParts = isCount(block.metrics[metric]?.name ?? '');
    const { frame } = block.places;
    const sums = new Float64Array(n);
    for (let i = 0; i < values.length; i++) {
      const at = frame[i]! - 1;
      if (this.isChosen[i] && at >= 0 && !(leavesParts && isPart[at])) sums[nodeOf[at]!]! += values[i]!;
    }
    return sums;
  }

  total(metric: number): Float64Array {
    return (this.totals[metric] ??= this.summedUp(this.self(metric)));
  }

  // With all that is below.
  summedUp(self: Float64Array): Float64Array {
    const { parent } = this.tree;
    const sums = self.slice();
    for (let i = sums.length - 1; i >= 0; i--) if (parent[i] !== NONE) sums[parent[i]!]! += sums[i]!;
    return sums;
  }

  // By callee.
  calleeSum(amounts: Float64Array, isOutermostOnly: boolean): Float64Array {
    const { callee, isOutermost, nCallees, n } = this.tree;
    const sums = new Float64Array(nCallees);
    for (let i = 0; i < n; i++) if (!isOutermostOnly || isOutermost[i]) sums[callee[i]!]! += amounts[i]!;
    return sums;
  }

  calleeSelf(metric: number): Float64Array {
    return (this.calleeSelfs[metric] ??= this.calleeSum(this.self(metric), false));
  }

  calleeCum(metric: number): Float64Array {
    return (this.calleeCums[metric] ??= this.calleeSum(this.total(metric), true));
  }

  // By pair: of one call inside itself only the outermost counts.
  pairSum(pairs: Callers, amounts: Float64Array, isOutermostOnly = true): Float64Array {
    const sums = new Float64Array(pairs.pairs.n);
    for (let i = 0; i < this.tree.n; i++) if (!isOutermostOnly || pairs.isOutermost[i]) sums[pairs.pairOf[i]!]! += amounts[i]!;
    return sums;
  }

  // The pairs under chosen stacks, in order of appearance.
  pairsIn(pairs: Callers): Int32Array {
    const seen = new Uint8Array(pairs.pairs.n);
    return this.nodes.map((node) => pairs.pairOf[node]!).filter((p) => !seen[p] && (seen[p] = 1));
  }
}
