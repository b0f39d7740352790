// SPDX-License-Identifier: MIT
// sums: what a selection comes to: amounts by place, frame and in all.
//
// Entries are summed in one pass over those of the selected time, without regard to threads and flags: these belong to
// places, of which there are far fewer, so that a change of thread or flags touches no entry.

import { memo } from './memo';
import { GIL, IDLE } from './types';
import type { Numbers, Options, Selection, Stacks, Unit, View } from './types';

export interface Sums {
  block: Stacks;
  metric: number; // place in block.metrics
  unit: Unit;
  total: number; // of the metric over the selection (startup left out), what shares are of
  whole: number; // the same of the whole run, with the same options
  placeValues: Float64Array; // metric by place; 0 of places that are not chosen
  isIn: Uint8Array; // by frame: ITSELF and BELOW where a chosen stack ends there or above it, whatever its amount is
  frameOf: Int32Array; // by frame: the frame that it is shown as: itself, or (with `mine`) the nearest caller that stays
  self: Float64Array; // metric by frame: samples that ended there; 0 where frameOf says another frame
  cum: Float64Array; // by frame, with what is below; the same
}

export const ITSELF = 1, BELOW = 2;

// Do samples say what a thread was doing?  Other evidence has neither idle entries nor such with the lock.
export function hasStates(block: Stacks): boolean {
  return block.evidence === 'samples';
}

export function metricOf(block: Stacks, name: string): number {
  const find = (wanted: string): number => block.metrics.findIndex((m) => m.name === wanted);
  const at = find(name);
  return at >= 0 ? at : Math.max(0, find(block.metric));
}

export const WHOLE_RUN: Selection = { from: null, to: null, section: null, thread: null, search: '' };

// A part is selected that this view does not follow.
export function isWholeRun(view: View, selection: Selection): boolean {
  const { from, section, thread } = followed(view, selection);
  return from !== selection.from || section !== selection.section || thread !== selection.thread;
}

// What a view follows of a selection.
export function followed(view: View, selection: Selection): Selection {
  const has = (part: View['follows'][number]): boolean => view.follows.includes(part);
  return {
    from: has('time') ? selection.from : null,
    to: has('time') ? selection.to : null,
    section: has('section') ? selection.section : null,
    thread: has('thread') ? selection.thread : null,
    search: selection.search,
  };
}

// --- Entries

interface EntrySums {
  isPresent: Uint8Array; // by place: it has an entry
  values: Float64Array[]; // by metric, by place; made when asked for
}

// The first of ascending numbers that is not below a limit.
export function lowerBound(numbers: Numbers, limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Which sets of sections hold this one; null: all count.
export function setsWith(block: Stacks, section: string | null): Uint8Array | null {
  if (section === null || !block.hasTime) return null;
  const wanted = block.sections.indexOf(section);
  const { starts, members } = block.sets;
  const found = new Uint8Array(starts.length - 1);
  for (let set = 0; set < found.length; set++)
    for (let k = starts[set]!; k < starts[set + 1]!; k++) if (members[k] === wanted) found[set] = 1;
  return found;
}

function range(block: Stacks, { from, to }: Selection): [number, number] {
  const { slice } = block.entries;
  if (from === null || to === null || !block.hasTime) return [0, slice.length];
  return [lowerBound(slice, Math.floor(from / block.sliceNs)), lowerBound(slice, Math.ceil(to / block.sliceNs))];
}

function addUp(block: Stacks, selection: Selection, amounts: Numbers, into: Float64Array): void {
  const { place, set } = block.entries;
  const sets = setsWith(block, selection.section);
  const [first, end] = range(block, selection);
  if (!sets) for (let i = first; i < end; i++) into[place[i]!]! += amounts[i]!;
  else for (let i = first; i < end; i++) if (sets[set[i]!]) into[place[i]!]! += amounts[i]!;
}

function findPresent(block: Stacks, selection: Selection): Uint8Array {
  const { place, set } = block.entries;
  const sets = setsWith(block, selection.section);
  const [first, end] = range(block, selection);
  const found = new Uint8Array(block.places.frame.length);
  for (let i = first; i < end; i++) if (!sets || sets[set[i]!]) found[place[i]!] = 1;
  return found;
}

const entrySums = memo<EntrySums>(4);

function entriesOf(block: Stacks, selection: Selection): EntrySums {
  const { from, to, section } = selection;
  return entrySums(block, JSON.stringify([from, to, section]), () => ({ isPresent: findPresent(block, selection), values: [] }));
}

// By place: 1 where it has an entry in the selected time and section.
export function presentPlaces(block: Stacks, selection: Selection): Uint8Array {
  return entriesOf(block, selection).isPresent;
}

// Of all places, whether they are chosen or not.
export function placeTotals(block: Stacks, selection: Selection, metric: number): Float64Array {
  const sums = entriesOf(block, selection);
  let values = sums.values[metric];
  if (!values) {
    sums.values[metric] = values = new Float64Array(block.places.frame.length);
    const column = block.metrics[metric];
    if (column) addUp(block, selection, column.values, values);
  }
  return values;
}

// --- Places

// Of these threads, by track or by pid: 1 for each that is meant.
export function chosenThreads(block: Stacks, thread: string | null): Uint8Array {
  return Uint8Array.from(block.threads, (t) => (thread === null || t.track === thread || String(t.pid) === thread ? 1 : 0));
}

const chosen = memo<Uint8Array>(8);
const CHOSEN = 1, STARTUP = 2;

// Idle ones count with `idle`; samples without the lock do not with `gilOnly`.
function judge(block: Stacks, selection: Selection, options: Options): Uint8Array {
  const { frame, thread, flags } = block.places;
  const { isPresent } = entriesOf(block, selection);
  const threads = chosenThreads(block, selection.thread);
  const gilOnly = options.gilOnly && hasStates(block);
  const found = new Uint8Array(frame.length);
  for (let i = 0; i < found.length; i++) {
    if (!isPresent[i] || !threads[thread[i]!] || (!options.idle && flags[i]! & IDLE) || (gilOnly && !(flags[i]! & GIL))) continue;
    found[i] = frame[i]! > 0 && block.frames.isStartup[frame[i]! - 1] ? STARTUP : CHOSEN;
  }
  return found;
}

function places(block: Stacks, selection: Selection, options: Options, what: number): Uint8Array {
  const { from, to, section, thread } = selection;
  const key = JSON.stringify([from, to, section, thread, options.idle, options.gilOnly, what]);
  return chosen(block, key, () => judge(block, selection, options).map((is) => (is === what ? 1 : 0)));
}

// By place: 1 where it counts.
export function chosenPlaces(block: Stacks, selection: Selection, options: Options): Uint8Array {
  return places(block, selection, options, CHOSEN);
}

// By place: Sonde's own start, where it would count if it were the program's.
export function startupPlaces(block: Stacks, selection: Selection, options: Options): Uint8Array {
  return places(block, selection, options, STARTUP);
}

export function sumWhere(values: Float64Array, is: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < is.length; i++) if (is[i]) sum += values[i]!;
  return sum;
}

// --- Frames

const folded = memo<Int32Array>(2);

// By frame: the frame that it is shown as.  Library frames and those of Sonde's start belong to what called them; where
// nothing did, the outermost one stays.
export function foldedFrames(block: Stacks, mine: boolean): Int32Array {
  return folded(block, String(mine), () => {
    const { parent, fn, isStartup } = block.frames;
    const { isLibrary } = block.functions;
    const found = new Int32Array(parent.length);
    for (let i = 0; i < found.length; i++) {
      const isPart = parent[i]! > 0 && (isStartup[i]! > 0 || (mine && isLibrary[fn[i]!]! > 0));
      found[i] = isPart ? found[parent[i]! - 1]! : i;
    }
    return found;
  });
}

// By frame: does a chosen stack end there, or above it?
export function framesIn(block: Stacks, isChosen: Uint8Array): Uint8Array {
  const { parent } = block.frames;
  const { frame } = block.places;
  const found = new Uint8Array(parent.length);
  for (let i = 0; i < isChosen.length; i++) if (isChosen[i] && frame[i]! > 0) found[frame[i]! - 1] = ITSELF;
  for (let i = found.length - 1; i >= 0; i--) if (found[i] && parent[i]! > 0) found[parent[i]! - 1]! |= BELOW;
  return found;
}

function made(block: Stacks, selection: Selection, options: Options, metric: number): Sums {
  const isChosen = chosenPlaces(block, selection, options);
  const frameOf = foldedFrames(block, options.mine);
  const placeValues = placeTotals(block, selection, metric).slice();
  const { frame } = block.places;
  const { parent } = block.frames;
  const self = new Float64Array(parent.length);
  let total = 0;
  for (let i = 0; i < isChosen.length; i++) {
    if (!isChosen[i]) placeValues[i] = 0;
    else total += placeValues[i]!;
    if (frame[i]! > 0) self[frameOf[frame[i]! - 1]!]! += placeValues[i]!;
  }
  const cum = self.slice();
  for (let i = cum.length - 1; i >= 0; i--) if (parent[i]! > 0 && frameOf[i] === i) cum[frameOf[parent[i]! - 1]!]! += cum[i]!;
  return {
    block, metric, unit: block.metrics[metric]?.unit ?? 'count', total,
    whole: sumWhere(placeTotals(block, WHOLE_RUN, metric), chosenPlaces(block, WHOLE_RUN, options)),
    placeValues, isIn: framesIn(block, isChosen), frameOf, self, cum,
  };
}

const sums = memo<Sums>(6);

export function sumsOf(block: Stacks, selection: Selection, options: Options): Sums {
  const { from, to, section, thread } = selection;
  const metric = metricOf(block, options.metric);
  const key = JSON.stringify([from, to, section, thread, metric, options.idle, options.gilOnly, options.mine]);
  return sums(block, key, () => made(block, selection, options, metric));
}
