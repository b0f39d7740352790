// SPDX-License-Identifier: MIT
// lanes: what the timeline draws: curves of readings as they are, and steps that are summed from a block of stacks.
import type { Band, Lane, Payload, Selection, Stacks } from '../types';
import { GIL, IDLE } from '../types';
import { memo } from '../memo';
import { setsWith } from '../sums';

// Amounts by stretch of time, each stepNs long: of the whole run, and of the selected thread and section.
export interface Steps { stepNs: number; all: Float64Array; part: Float64Array | null }

const FINEST = 400; // stretches at most
const ENOUGH = 6; // samples that a stretch should have on average, so that a curve is no comb

type Weigh = (steps: Float64Array, isPlaceIn: Uint8Array, isSetIn: Uint8Array | null) => void;

// --- Which places and sets of sections a selection means

function places(block: Stacks, thread: string | null, isCounted: (flags: number) => boolean): Uint8Array {
  const isThread = block.threads.map((t) => thread === null || t.track === thread || `${t.pid}` === thread);
  const { frame, flags, thread: threads } = block.places, startup = block.frames.isStartup, found = new Uint8Array(flags.length);
  for (let i = 0; i < found.length; i++) {
    const isStart = frame[i]! > 0 && startup[frame[i]! - 1] === 1;
    found[i] = isThread[threads[i]!] && isCounted(flags[i]!) && !isStart ? 1 : 0;
  }
  return found;
}

// --- Sums

function metricOf(block: Stacks, lane: Lane): number {
  const cpu = block.metrics.findIndex((m) => m.name === 'cpu' && m.unit === 'ns');
  if (lane.make === 'activity' && lane.unit === 'percent' && cpu >= 0) return cpu;
  const counted = block.metrics.findIndex((m) => m.unit === 'count');
  return counted >= 0 ? counted : Math.max(0, block.metrics.findIndex((m) => m.name === block.metric));
}

function add(block: Stacks, metric: number, slicesPerStep: number): Weigh {
  const { slice, place, set } = block.entries, values = block.metrics[metric]!.values;
  return (steps, isPlaceIn, isSetIn) => {
    for (let i = 0; i < values.length; i++)
      if (isPlaceIn[place[i]!] && (!isSetIn || isSetIn[set[i]!])) steps[Math.floor(slice[i]! / slicesPerStep)]! += values[i]!;
  };
}

// CPU time was used since the look before: it belongs to all of that time, not to the moment of the look.
function addSince(block: Stacks, metric: number, wall: number, looks: number, stepNs: number): Weigh {
  const { slice, place, set } = block.entries, used = block.metrics[metric]!.values, since = block.metrics[wall]!.values, n = block.metrics[looks]!.values;
  return (steps, isPlaceIn, isSetIn) => {
    for (let i = 0; i < used.length; i++) {
      if (!used[i] || !isPlaceIn[place[i]!] || (isSetIn && !isSetIn[set[i]!])) continue;
      const end = (slice[i]! + 1) * block.sliceNs, begin = Math.max(0, end - since[i]! / Math.max(1, n[i]!));
      const first = Math.floor(begin / stepNs), last = Math.min(steps.length - 1, Math.ceil(end / stepNs) - 1);
      if (first >= last) steps[last]! += used[i]!;
      else
        for (let step = first; step <= last; step++)
          steps[step]! += (used[i]! * (Math.min(end, (step + 1) * stepNs) - Math.max(begin, step * stepNs))) / (end - begin);
    }
  };
}

// How many slices make a stretch.
function slicesPerStep(block: Stacks, durationNs: number): number {
  const n = Math.max(1, Math.ceil(durationNs / block.sliceNs)), wanted = Math.min(FINEST, Math.max(24, block.entries.slice.length / ENOUGH));
  return Math.max(1, Math.ceil(n / wanted));
}

function share(part: Float64Array, whole: Float64Array): Float64Array {
  return part.map((v, i) => (whole[i]! > 0 ? (100 * v) / whole[i]! : 0));
}

function amounts(block: Stacks, lane: Lane, durationNs: number, thread: string | null, section: string | null): Float64Array {
  const per = slicesPerStep(block, durationNs), stepNs = per * block.sliceNs, metric = metricOf(block, lane);
  const { slice } = block.entries, n = 1 + Math.floor((slice[slice.length - 1] ?? 0) / per); // entries are by slice
  const isCpu = block.metrics[metric]!.unit === 'ns', wall = block.metrics.findIndex((m) => m.name === 'wall'), looks = block.metrics.findIndex((m) => m.name === 'samples');
  const weigh = isCpu && wall >= 0 && looks >= 0 && metric !== wall ? addSince(block, metric, wall, looks, stepNs) : add(block, metric, per), isSetIn = setsWith(block, section), sum = new Float64Array(n);
  weigh(sum, places(block, thread, (flags) => isCpu || !(flags & IDLE)), isSetIn);
  if (lane.make === 'gil') {
    const held = new Float64Array(n);
    weigh(held, places(block, thread, (flags) => !!(flags & GIL) && !(flags & IDLE)), isSetIn);
    return share(held, sum);
  }
  return sum.map((v) => (isCpu ? (100 * v) / stepNs : (v * 1e9) / stepNs));
}

const memos = memo<Steps>(8);

export function stepsOf(lane: Lane, payload: Payload, selection: Selection): Steps | null {
  const block = lane.stacks === undefined ? undefined : payload.stacks[lane.stacks];
  if (!block || !lane.make || !block.hasTime || block.metrics.length === 0) return null;
  const { thread, section } = selection;
  return memos(block, JSON.stringify([lane.make, thread, section]), () => ({
    stepNs: slicesPerStep(block, payload.durationNs) * block.sliceNs,
    all: amounts(block, lane, payload.durationNs, null, null),
    part: thread === null && section === null ? null : amounts(block, lane, payload.durationNs, thread, section),
  }));
}

// --- Bands

// A row for each band: outer sections above; those of one depth that overlap (of several threads) below each other.
export function rowsOf(bands: readonly Band[]): { rows: Int32Array; n: number } {
  const order = bands.map((_, i) => i).sort((a, b) => bands[a]!.depth - bands[b]!.depth || bands[a]!.from - bands[b]!.from);
  const rows = new Int32Array(bands.length), ends: number[] = [];
  let first = 0, depth = -1;
  for (const i of order) {
    const band = bands[i]!;
    if (band.depth !== depth) first = ends.length;
    depth = band.depth;
    let row = first;
    while (row < ends.length && ends[row]! > band.from) row++;
    rows[i] = row;
    ends[row] = band.to;
  }
  return { rows, n: ends.length };
}

// --- At a moment

// The reading that was in force at a moment, in seconds: the last one before it.
export function readingAt(t: ArrayLike<number>, moment: number): number {
  let low = 0, high = t.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle]! <= moment) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// What is at the top of a lane: the highest value, on a round figure.
export function ceilingOf(lane: Lane, steps: Steps | null): number {
  let top = 0;
  if (steps) for (const v of steps.all) top = Math.max(top, v);
  for (const curve of lane.curves ?? []) for (const v of curve.max) if (v > top) top = v;
  return lane.make === 'gil' ? 100 : (top || 1) * 1.08;
}
