// SPDX-License-Identifier: MIT
// callgraph: a graph that was laid out in C, weighed for a selection.  Places of nodes and lines stay.

import { callersOf, NONE, treeOf } from './figures/calltree';
import { hasCalls } from './figures/callrows';
import { memo, numberOf } from './memo';
import { followed, metricOf } from './sums';
import { TreeSums } from './figures/treesums';
import type { GraphData, Options, Payload, Selection, Stacks, View } from './types';

interface Weights {
  whole: number;
  self: Float64Array; // by callee
  total: Float64Array;
  calls: Float64Array | null;
  edgeTotal: Float64Array; // by pair of callees
  edgeCalls: Float64Array | null;
}

function weightsOf(sums: TreeSums, options: Options): Weights {
  const { block } = sums.tree;
  const callers = callersOf(sums.tree);
  const metric = metricOf(block, options.metric);
  const calls = hasCalls(block) ? sums.self(block.metrics.findIndex((m) => m.name === 'calls')) : null;
  return {
    whole: sums.all(metric),
    self: sums.calleeSum(sums.self(metric), false),
    total: sums.calleeSum(sums.total(metric), true),
    calls: calls && sums.calleeSum(calls, false),
    edgeTotal: sums.pairSum(callers, sums.total(metric)),
    edgeCalls: calls && sums.pairSum(callers, calls, false),
  };
}

function weighed(data: GraphData, block: Stacks, selection: Selection, options: Options): GraphData {
  const tree = treeOf(block, 'function', options.mine, false);
  const { pairs } = callersOf(tree);
  const w = weightsOf(new TreeSums(tree, selection, options), options);
  const share = (amount: number | undefined): number => (w.whole > 0 && amount ? amount / w.whole : 0);
  const calleeOf = new Map(Array.from(tree.fn, (fn, callee) => [fn, callee]));
  const callees = data.nodes.map((node) => (node.fn === null ? NONE : calleeOf.get(node.fn) ?? NONE));
  return {
    ...data,
    nodes: data.nodes.map((node, i) => {
      const callee = callees[i]!;
      if (node.fn === null) return node;
      return { ...node, self: share(w.self[callee]), total: share(w.total[callee]), calls: w.calls ? w.calls[callee] ?? 0 : node.calls };
    }),
    edges: data.edges.map((edge) => {
      const [from, to] = [callees[edge.from]!, callees[edge.to]!];
      if (data.nodes[edge.from]!.fn === null || data.nodes[edge.to]!.fn === null) return edge;
      const pair = from === NONE || to === NONE ? NONE : pairs.find(from, to);
      return { ...edge, total: share(w.edgeTotal[pair]), calls: w.edgeCalls ? w.edgeCalls[pair] ?? 0 : edge.calls };
    }),
  };
}

const graphs = memo<GraphData>(3);

export function graphOf(view: View, payload: Payload, selection: Selection, options: Options): GraphData {
  const data = view.data as GraphData;
  const block = view.stacks === undefined ? undefined : payload.stacks[view.stacks];
  if (!block) return data;
  const { from, to, section, thread, search } = followed(view, selection);
  const key = JSON.stringify([numberOf(view), from, to, section, thread, options.metric, options.idle, options.gilOnly, options.mine]);
  return graphs(block, key, () => weighed(data, block, { from, to, section, thread, search }, options));
}
