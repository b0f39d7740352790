// SPDX-License-Identifier: MIT
// sums: what a selection comes to: amounts by place, frame and in all.
//
// Entries are summed in one pass over those of the selected time, without regard to threads and flags, which belong to
// places: there are far fewer of these, so that a change of thread or flags touches no entry.

import type { Options, Selection, Stacks, Unit, View } from './types';

export interface Sums {
  block: Stacks;
  metric: number; // place in block.metrics
  unit: Unit;
  total: number; // of the metric over the selection (startup left out), what shares are of
  whole: number; // the same of the whole run, with the same options
  placeValues: Float64Array; // metric by place
  isIn: Uint8Array; // by frame: 1 where a chosen stack stands on it, whatever its amount is
  frameOf: Int32Array; // by frame: the frame that it is shown as: itself, or (with `mine`) the nearest caller that stays
  self: Float64Array; // metric by frame: samples that ended there; 0 where frameOf says another frame
  cum: Float64Array; // by frame, with what is below
}

export function sumsOf(block: Stacks, selection: Selection, options: Options): Sums {
  throw new Error(`not yet: ${block.evidence} ${selection.search} ${options.metric}`);
}

// A part is selected that this view does not follow.
export function isWholeRun(view: View, selection: Selection): boolean {
  const { follows } = view;
  return (
    (selection.from !== null && !follows.includes('time')) ||
    (selection.section !== null && !follows.includes('section')) ||
    (selection.thread !== null && !follows.includes('thread'))
  );
}
