// SPDX-License-Identifier: MIT
// callgraph: a graph that was laid out in C, weighed for a selection.

import type { GraphData, Options, Payload, Selection, View } from './types';

export function graphOf(view: View, payload: Payload, selection: Selection, options: Options): GraphData {
  throw new Error(`not yet: ${view.name} ${payload.title} ${selection.search} ${options.by}`);
}
