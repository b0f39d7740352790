// SPDX-License-Identifier: MIT
// store: all state of the page.  Components read it with useStore() and change it through `act` alone.

import { useLayoutEffect, useState } from 'preact/hooks';
import { isPlain, putAddress, readAddress, tokenOf, writtenAddress } from './address';
import type { Kept } from './address';
import { matcher } from './search';
import type { Finding, Options, Order, Payload, Selection, Sort } from './types';

export interface Detail {
  name: string;
  file: string | null;
  line: number;
  rows: [string, string][]; // label and value: "share of whole", "12.00 %"
}

export interface State {
  payload: Payload; // loaded before anything is drawn
  view: string; // View.name of the tab that is shown
  selection: Selection;
  aim: Pick<Selection, 'from' | 'to'> | null; // the time that a drag has reached, before the views follow
  options: Options;
  order: Order; // of the flame graph
  zoom: number | null; // key of the flame graph's zoomed box; null: the root
  sorts: Readonly<Record<string, Sort>>; // by View.name, where another order was chosen
  focusFn: number | null; // places in functions of the block
  hiddenFns: readonly number[];
  foldRecursion: boolean;
  sandwichFn: number | null; // the function in the middle of the sandwich
  match: number; // which match `n` and `N` stand on, counted on without end; -1: before the first
  theme: 'system' | 'light' | 'dark';
  detail: Detail | null; // what pointer or keyboard is on
  areKeysShown: boolean;
  notice: string | null; // of the server: why there is nothing newer
  isGrowing: boolean | null; // does the run still go on?  null: nobody knows
}

const WHOLE: Selection = { from: null, to: null, section: null, thread: null, search: '' };
const MS = 1e6;

let now: State;
let usual: Kept; // what an address without parts means
let token: string | null = null; // of a served page
let written = ''; // the address, as it was written last
const listeners = new Set<() => void>();

export function state(): State {
  return now;
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// Draws again when what is picked changes.
export function useStore<T>(pick: (s: State) => T): T {
  const [, draw] = useState({});
  const picked = pick(now);
  useLayoutEffect(() => {
    let last = picked;
    const look = (): void => {
      const next = pick(now);
      if (!Object.is(next, last)) draw({});
      last = next;
    };
    look(); // what changed between drawing and here
    return subscribe(look);
  });
  return picked;
}

// Browsers refuse an address that changes hundreds of times, as while something is dragged: 100 in 30 s at least are fine.
const AT_ONCE = 50, PAUSE_MS = 600;
let left = AT_ONCE; // changes that may follow each other without a pause
let lastWrite = 0;
let waiting: ReturnType<typeof setTimeout> | undefined;

export function writeAddress(): void {
  if (now.payload.views.length === 0) return; // it would forget what was asked for
  clearTimeout(waiting);
  waiting = undefined;
  const { view, selection, options, order, zoom, sorts, payload } = now, kept = { view, selection, options, order, zoom: order === 'sandwich' ? null : zoom, sort: sorts[view] ?? null }; // whose sandwich it is is not kept
  // A page that opens with a part writes its view always: a plain address would mean that part again.
  const address = writtenAddress(kept, payload.opens ? { ...usual, view: '' } : usual, token);
  if (address === written) return;
  written = address;
  left = Math.min(AT_ONCE, left + (performance.now() - lastWrite) / PAUSE_MS) - 1;
  lastWrite = performance.now();
  putAddress(address);
}

function writeSoon(): void {
  const pause = lastWrite + PAUSE_MS - performance.now();
  if (left >= 1 || pause <= 0) writeAddress();
  else waiting ??= setTimeout(writeAddress, pause);
}

function change(part: Partial<State>): void {
  now = { ...now, ...part };
  writeSoon();
  for (const listener of [...listeners]) listener();
}

function select(part: Partial<Selection>): void {
  change({ selection: { ...now.selection, ...part }, aim: null });
}

// --- Slices of time

// How long a step of the selection is: the longest slice of all blocks.  Slices are 1 ms * 2^k, so that its ends are
// ends of slices in the other blocks too, and all figures are exact.
export function stepNs(payload: Payload): number {
  return payload.stacks.reduce((longest, b) => (b.hasTime ? Math.max(longest, b.sliceNs) : longest), MS);
}

// Samples may be a little later than the end that was noted.
function nSteps(payload: Payload, step: number): number {
  const ends = payload.stacks.map((b) => (b.hasTime && b.entries.slice.length ? (b.entries.slice.at(-1)! + 1) * b.sliceNs : 0));
  return Math.max(1, Math.ceil(Math.max(payload.durationNs, ...ends) / step));
}

// The slices that a stretch touches, one at least; null: all of the run.
export function snapped(payload: Payload, from: number | null, to: number | null): [number, number] | null {
  if (from === null || to === null) return null;
  const step = stepNs(payload);
  const last = nSteps(payload, step);
  const low = Math.max(0, Math.min(from, to));
  const first = Math.min(Math.floor(low / step), last - 1);
  const end = Math.min(Math.max(first + 1, Math.ceil(Math.max(from, to) / step)), last);
  return first === 0 && end === last ? null : [first * step, end * step];
}

function timeOf(payload: Payload, from: number | null, to: number | null): Pick<Selection, 'from' | 'to'> {
  const ends = snapped(payload, from, to);
  return { from: ends && ends[0], to: ends && ends[1] };
}

// --- What can be done

function escape(): void {
  const { from, to, section, thread, search } = now.selection;
  if (now.areKeysShown) change({ areKeysShown: false });
  else if (now.zoom !== null || now.focusFn !== null || now.hiddenFns.length > 0) change({ zoom: null, focusFn: null, hiddenFns: [] });
  else if (search !== '') act.search('');
  else if (from !== null || to !== null || section !== null || thread !== null) select(WHOLE);
}

// Searched for as an import, which is a row only where imports are folded.
function isOfImports(payload: Payload, search: string): boolean {
  const isMatch = matcher(search);
  return isMatch !== null && payload.stacks.some((b) => b.imports.some((name) => isMatch(payload.strings[name]!)));
}

function follow(f: Finding): void {
  const s = f.selection;
  const { payload } = now;
  const metric = s?.metric ?? usual.options.metric;
  const foldImports = now.options.foldImports || isOfImports(payload, s?.search ?? '');
  change({
    view: payload.views.some((v) => v.name === f.view) ? f.view! : now.view,
    selection: {
      ...timeOf(payload, s?.from_ns ?? null, s?.to_ns ?? null),
      section: s?.section ?? null,
      thread: s?.thread ?? null,
      search: s?.search ?? '',
    },
    options: metric === now.options.metric && foldImports === now.options.foldImports ? now.options : { ...now.options, metric, foldImports },
    zoom: null,
    match: -1,
  });
}

export const act = {
  show: (view: string): void => change({ view, detail: null }),
  time: (fromNs: number | null, toNs: number | null): void => select(timeOf(now.payload, fromNs, toNs)), // snaps to slices
  aim: (ends: [number, number] | null): void => change({ aim: ends && timeOf(now.payload, ...ends) }),
  section: (section: string | null): void => select({ section }),
  thread: (thread: string | null): void => select({ thread }),
  search: (search: string): void => change({ selection: { ...now.selection, search }, match: -1 }),
  options: (part: Partial<Options>): void => change({ options: { ...now.options, ...part } }),
  order: (order: Order): void => change({ order, zoom: null }),
  zoom: (zoom: number | null): void => change({ zoom }),
  sort: (sort: Sort): void => change({ sorts: { ...now.sorts, [now.view]: sort } }),
  focus: (focusFn: number | null): void => change({ focusFn, zoom: null }),
  hide: (fn: number): void => change({ hiddenFns: now.hiddenFns.includes(fn) ? now.hiddenFns.filter((f) => f !== fn) : [...now.hiddenFns, fn] }),
  showHidden: (): void => change({ hiddenFns: [] }),
  fold: (): void => change({ foldRecursion: !now.foldRecursion, zoom: null }),
  sandwich: (sandwichFn: number | null): void => change({ sandwichFn }),
  match: (step: 1 | -1): void => change({ match: now.match + step }),
  theme: (theme: State['theme']): void => change({ theme }),
  detail: (detail: Detail | null): void => {
    if (detail !== now.detail) change({ detail });
  },
  keys: (areKeysShown: boolean): void => change({ areKeysShown }),
  served: (part: Pick<State, 'notice' | 'isGrowing'>): void => change(part),
  follow,
  escape,
};

// --- The address

// Threads and sections that the file does not have would select nothing.
function known(payload: Payload, part: Partial<Selection>): Selection {
  const { section = null, thread = null, search = '', from = null, to = null } = part;
  const isThread = payload.stacks.some((b) => b.threads.some((t) => t.track === thread || String(t.pid) === thread));
  return {
    ...timeOf(payload, from, to),
    section: section !== null && payload.sections.includes(section) ? section : null,
    thread: isThread ? thread : null,
    search,
  };
}

function kept(payload: Payload, hash: string): Kept {
  const at = readAddress(hash);
  const metric = at.options.metric;
  const hasMetric = payload.stacks.some((b) => b.metrics.some((m) => m.name === metric));
  return {
    view: payload.views.some((v) => v.name === at.view) ? at.view! : usual.view,
    selection: known(payload, at.selection),
    options: { ...usual.options, ...at.options, metric: hasMetric ? metric! : usual.options.metric },
    order: at.order ?? usual.order,
    zoom: at.zoom,
    sort: at.sort,
  };
}

function stateOf({ view, selection, options, order, zoom, sort }: Kept): Pick<State, 'view' | 'selection' | 'options' | 'order' | 'zoom' | 'sorts'> {
  return { view, selection, options, order, zoom, sorts: sort ? { ...now?.sorts, [view]: sort } : {} };
}

function onAddress(): void {
  if (location.hash.replace(/^#/, '') === written) return;
  written = location.hash.replace(/^#/, '');
  change(stateOf(kept(now.payload, location.hash)));
}

// Also reads the address behind #; one that selects nothing leaves it to what the page opens with.
export function load(payload: Payload): void {
  start(payload);
  globalThis.addEventListener?.('hashchange', onAddress);
  globalThis.addEventListener?.('pagehide', writeAddress);
}

function start(payload: Payload): void {
  const options: Options = { metric: payload.stacks[0]?.metric ?? '', by: 'function', idle: false, gilOnly: false, mine: false, foldImports: false };
  usual = { view: payload.views[0]?.name ?? '', selection: WHOLE, options, order: 'left', zoom: null, sort: null };
  token = tokenOf(location.hash);
  now = {
    payload,
    ...stateOf(kept(payload, isPlain(location.hash) ? payload.opens ?? '' : location.hash)),
    focusFn: null,
    hiddenFns: [],
    foldRecursion: false,
    sandwichFn: null,
    aim: null,
    match: -1,
    theme: now?.theme ?? 'system',
    detail: null,
    areKeysShown: false,
    notice: now?.notice ?? null,
    isGrowing: now?.isGrowing ?? null,
  };
  written = location.hash.replace(/^#/, '');
  for (const listener of [...listeners]) listener();
}

// More of the same capture, as of one that is still being written; what is selected stays.
export function renew(payload: Payload): void {
  if (now.payload.views.length === 0) return start(payload); // a first look: what was asked for waits for the rest
  change({ payload, selection: known(payload, now.selection), zoom: null, focusFn: null, hiddenFns: [], sandwichFn: null });
}
