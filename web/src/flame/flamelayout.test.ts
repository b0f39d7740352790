// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Selection, Stacks } from '../types';
import { IDLE, LIBRARY, OWN } from '../types';
import { layout, type Boxes } from './flamelayout';
import { nodesOf, subjectsOf, type Amounts, type Choice } from './flamenodes';
import { timeBoxes } from './flametime';
import { boxAt, boxOfKey, nextMatch, placeAmongSiblings, shownPart, shownRows, stepFrom } from './flamewalk';

const SELECTION: Selection = { from: null, to: null, section: null, thread: null, search: '' };
const CHOICE: Choice = { mine: false, focus: null, hidden: [], foldsRecursion: false };

// A block of samples: [slice, path, amount, flags, thread].  Names of libraries begin with "lib", those of imports with
// "import ".
type Sample = [slice: number, path: string, amount: number, flags?: number, thread?: number];

function blockOf(samples: Sample[]): Stacks {
  const strings: string[] = [], functions: string[] = [], imports: string[] = [];
  const frames: { key: string; parent: number; fn: number; row: number; importer: number }[] = [];
  const places: { key: string; frame: number; thread: number; flags: number }[] = [];
  const at = <T>(list: T[], isIt: (t: T) => boolean, make: () => T): number => {
    const known = list.findIndex(isIt);
    return known >= 0 ? known : list.push(make()) - 1;
  };
  const text = (s: string) => at(strings, t => t === s, () => s);
  const frameOf = (path: string): number => {
    let parent = 0, key = '';
    for (const name of path.split(' > ')) {
      key += ' > ' + name;
      const fn = at(functions, f => f === name, () => name);
      const row = name.startsWith('import ') ? at(imports, i => i === name, () => name) + 1 : 0;
      const up = parent && frames[parent - 1]!;
      const importer = row ? (up && up.row ? up.importer : parent) : 0;
      parent = at(frames, f => f.key === key, () => ({ key, parent, fn, row, importer })) + 1;
    }
    return parent;
  };
  const entries = samples.map(([slice, path, amount, flags = 0, thread = 0]) => {
    const frame = frameOf(path), key = `${frame} ${flags} ${thread}`;
    return { slice, amount, place: at(places, p => p.key === key, () => ({ key, frame, thread, flags })) };
  });
  const u32 = (values: number[]) => Uint32Array.from(values);
  return {
    evidence: 'samples', verb: 'sampled', hasTime: true, sliceNs: 1e6, metric: 'samples',
    metrics: [{ name: 'samples', unit: 'count', meaning: '', values: Float64Array.from(entries, e => e.amount) }],
    functions: { name: u32(functions.map(text)), file: u32(functions.map(() => 0)), short: u32(functions.map(() => 0)),
      line: u32(functions.map(() => 1)), kind: u32(functions.map(f => (f.startsWith('lib') ? LIBRARY : OWN))),
      isLibrary: u32(functions.map(f => (f.startsWith('lib') ? 1 : 0))), module: u32(functions.map(() => 0)) },
    modules: u32([]),
    frames: { parent: u32(frames.map(f => f.parent)), fn: u32(frames.map(f => f.fn)), line: u32(frames.map(() => 1)),
      isStartup: u32(frames.map(() => 0)), importRow: u32(frames.map(f => f.row)), importer: u32(frames.map(f => f.importer)) },
    imports: u32(imports.map(text)),
    threads: [0, 1].map(t => ({ track: `1/${t}`, process: '1 python', pid: 1, tid: t, name: null })),
    places: { frame: u32(places.map(p => p.frame)), thread: u32(places.map(p => p.thread)), flags: u32(places.map(p => p.flags)) },
    sets: { starts: u32([0, 0]), members: u32([]) },
    entries: { slice: u32(entries.map(e => e.slice)), place: u32(entries.map(e => e.place)), set: u32(entries.map(() => 0)) },
    strings,
    sections: [],
  };
}

// What the layout needs of Sums.
function sumsOfBlock(block: Stacks, selection = SELECTION): Amounts {
  const placeValues = new Float64Array(block.places.frame.length), { slice, place } = block.entries;
  place.forEach((p, i) => {
    const ns = slice[i]! * block.sliceNs;
    if (ns >= (selection.from ?? 0) && ns < (selection.to ?? Infinity)) placeValues[p]! += block.metrics[0]!.values[i]!;
  });
  return { block, metric: 0, placeValues };
}

function nameOf(block: Stacks, subject: number): string {
  const s = subjectsOf(block);
  if (subject < s.imports) return block.strings[block.functions.name[subject]!]!;
  if (subject < s.whole) return block.strings[block.imports[subject - s.imports]!]!;
  return subject === s.whole ? 'all' : subject === s.idle ? '[idle]' : `thread ${subject - s.threads}`;
}
const subject = (block: Stacks, name: string): number => {
  for (let i = 0; i < subjectsOf(block).whole; i++) if (nameOf(block, i) === name) return i;
  throw new Error(name);
};

// Rows from the top: "a 3-5 self 1" is a box from 3 to 5 of which 1 is its own.
function rowsOf(block: Stacks, boxes: Boxes): string[] {
  const rows: string[][] = Array.from({ length: boxes.rows.length - 1 }, () => []);
  for (let b = 0; b < boxes.n; b++) {
    const own = boxes.self[b] ? ` self ${boxes.self[b]}` : '';
    rows[boxes.row[b]!]!.push(`${nameOf(block, boxes.subject[b]!)} ${boxes.from[b]}-${boxes.from[b]! + boxes.total[b]!}${own}`);
  }
  return rows.map(row => row.join(', '));
}
function drawn(block: Stacks, order: 'left' | 'inverted' | 'sandwich', choice: Partial<Choice> = {}, middle: number | null = null): string[] {
  return rowsOf(block, layout(nodesOf(sumsOfBlock(block), { ...CHOICE, ...choice }), order, middle));
}
function drawnInTime(block: Stacks, selection = SELECTION): string[] {
  const sums = sumsOfBlock(block, selection);
  return rowsOf(block, timeBoxes(sums, nodesOf(sums, CHOICE), selection));
}

const PLAIN: Sample[] = [
  [0, 'main > load > libread', 2],
  [1, 'main > work', 1],
  [2, 'main > work > add', 4],
  [3, 'main > load', 1],
  [4, 'main > work > libsum > add', 3],
];

test('left heavy: the widest child is first and a box is as wide as what it and its callees did', () => {
  assert.deepEqual(drawn(blockOf(PLAIN), 'left'), [
    'all 0-11',
    'main 0-11',
    'work 0-8 self 1, load 8-11 self 1',
    'add 0-4 self 4, libsum 4-7, libread 8-10 self 2',
    'add 4-7 self 3',
  ]);
});

test('time order: boxes stand along time, and a call that goes on is one box', () => {
  assert.deepEqual(drawnInTime(blockOf(PLAIN)), [
    'all 0-11',
    'main 0-11',
    'load 0-2, work 2-7 self 1, load 7-8 self 1, work 8-11',
    'libread 0-2 self 2, add 2-6 self 4, libsum 8-11',
    'add 8-11 self 3',
  ]);
});

test('time order: a selection of time leaves out the rest', () => {
  assert.deepEqual(drawnInTime(blockOf(PLAIN), { ...SELECTION, from: 1e6, to: 4e6 }), [
    'all 0-6',
    'main 0-6',
    'work 0-5 self 1, load 5-6 self 1',
    'add 0-4 self 4',
  ]);
});

test('time order: samples of one slice put what goes on first', () => {
  const block = blockOf([[0, 'a', 1], [0, 'b', 1], [1, 'a', 1], [1, 'b', 2], [2, 'a', 1]]);
  assert.deepEqual(drawnInTime(block), ['all 0-6', 'a 0-1 self 1, b 1-4 self 3, a 4-6 self 2']);
});

test('time order: threads that take turns stand beside each other', () => {
  const block = blockOf([[0, 'a', 1, 0, 0], [0, 'b', 1, 0, 1], [1, 'a', 1, 0, 0], [1, 'b', 1, 0, 1]]);
  assert.deepEqual(drawnInTime(block), ['all 0-4', 'thread 0 0-2, thread 1 2-4', 'a 0-2 self 2, b 2-4 self 2']);
});

test('time order: many short calls become fewer bins and no amount is lost', () => {
  const samples: Sample[] = [];
  for (let i = 0; i < 3000; i++) samples.push([i, `main > f${i % 7} > g${i % 11}`, 1]);
  const sums = sumsOfBlock(blockOf(samples)), boxes = timeBoxes(sums, nodesOf(sums, CHOICE), SELECTION);
  assert.equal(boxes.total[0], 3000);
  assert.ok(boxes.n > 3000 && boxes.n < 20_000);
});

test('inverted: totals of the first row are the self amounts', () => {
  assert.deepEqual(drawn(blockOf(PLAIN), 'inverted'), [
    'all 0-11',
    'add 0-7 self 7, libread 7-9 self 2, load 9-10 self 1, work 10-11 self 1',
    'work 0-4, libsum 4-7, load 7-9, main 9-10, main 10-11',
    'main 0-4, work 4-7, main 7-9',
    'main 4-7',
  ]);
});

test('sandwich: callers above, callees below, the total counts nested calls once', () => {
  const block = blockOf([[0, 'main > f > g', 3], [0, 'main > f > f', 2], [0, 'other > f', 1], [0, 'main', 9]]);
  assert.deepEqual(drawn(block, 'sandwich', {}, subject(block, 'f')), ['main 0-5, other 5-6', 'f 0-6 self 1', 'g 0-3 self 3, f 3-5 self 2']);
  assert.deepEqual(drawn(block, 'sandwich', {}, subject(block, 'g')), ['main 0-3', 'f 0-3', 'g 0-3 self 3']);
  assert.deepEqual(drawn(block, 'sandwich'), ['main 0-14 self 9', 'f 0-5', 'g 0-3 self 3, f 3-5 self 2']); // the hottest
});

test('focus: only stacks through the function, from the root on', () => {
  const block = blockOf(PLAIN);
  assert.deepEqual(drawn(block, 'left', { focus: subject(block, 'load') }), ['all 0-3', 'main 0-3', 'load 0-3 self 1', 'libread 0-2 self 2']);
});

test('hide: the callees hang on the caller, and what the function did is its', () => {
  const block = blockOf(PLAIN);
  assert.deepEqual(drawn(block, 'left', { hidden: [subject(block, 'work')] }), [
    'all 0-11',
    'main 0-11 self 1',
    'add 0-4 self 4, load 4-7 self 1, libsum 7-10',
    'libread 4-6 self 2, add 7-10 self 3',
  ]);
});

test('fold recursion: a function stands once on a path', () => {
  const block = blockOf([[0, 'f > g > f > h', 2], [0, 'f > f > f', 3], [0, 'f', 1]]);
  assert.deepEqual(drawn(block, 'left', { foldsRecursion: true }), ['all 0-6', 'f 0-6 self 4', 'h 0-2 self 2']);
});

test('only my code: what libraries do is their caller\'s, but a library without one stays', () => {
  const block = blockOf([...PLAIN, [5, 'librun > libloop > f', 2], [5, 'librun > libloop', 1]]);
  assert.deepEqual(drawn(block, 'left', { mine: true }), [
    'all 0-14',
    'main 0-11, librun 11-14 self 1',
    'work 0-8 self 1, load 8-11 self 3, f 11-13 self 2',
    'add 0-7 self 7',
  ]);
});

test('imports: all that an import does is one box below who imports', () => {
  const block = blockOf([[0, 'main > import json > import json > import json', 3], [0, 'main > import json', 1], [0, 'main', 1]]);
  assert.deepEqual(drawn(block, 'left'), ['all 0-5', 'main 0-5 self 1', 'import json 0-4 self 4']);
});

test('idle: what a function waited is a box below it and counts as its own', () => {
  const block = blockOf([[0, 'main > wait', 3, IDLE], [0, 'main > wait', 1]]);
  assert.deepEqual(drawn(block, 'left'), ['all 0-4', 'main 0-4', 'wait 0-4 self 4', '[idle] 0-3 self 3']);
  assert.deepEqual(drawn(block, 'inverted'), ['all 0-4', 'wait 0-4 self 4', 'main 0-4']);
});

test('samples whose stack could not be read are in the whole alone', () => {
  const block = blockOf([[0, 'main', 3]]);
  block.places.frame[0] = 0;
  assert.deepEqual(drawn(block, 'left'), ['all 0-3 self 3']);
});

test('keys are those of the same calls after another selection', () => {
  const block = blockOf(PLAIN);
  const whole = layout(nodesOf(sumsOfBlock(block), CHOICE), 'left', null);
  const part = layout(nodesOf(sumsOfBlock(block, { ...SELECTION, from: 3e6, to: 5e6 }), CHOICE), 'left', null);
  for (let b = 0; b < part.n; b++) {
    const there = boxOfKey(whole, part.key[b]!);
    assert.equal(whole.subject[there], part.subject[b]);
    assert.equal(whole.row[there], part.row[b]);
  }
  assert.equal(new Set(whole.key).size, whole.n);
});

test('steps go where the arrows point', () => {
  const block = blockOf(PLAIN), boxes = layout(nodesOf(sumsOfBlock(block), CHOICE), 'left', null);
  const go = (from: number, ...steps: ('up' | 'down' | 'left' | 'right' | 'root')[]) =>
    nameOf(block, boxes.subject[steps.reduce((b, step) => stepFrom(boxes, boxes.root, b, step), from)]!);
  assert.equal(go(boxes.root, 'down', 'down'), 'work');
  assert.equal(go(boxes.root, 'down', 'down', 'right'), 'load');
  assert.equal(go(boxes.root, 'down', 'down', 'right', 'right', 'down'), 'libread');
  assert.equal(go(boxes.root, 'down', 'down', 'down', 'right', 'right', 'up'), 'load');
  assert.equal(go(boxes.root, 'down', 'down', 'root', 'up', 'left'), 'all');
});

test('steps in a sandwich: up leads to callers and down back', () => {
  const block = blockOf([[0, 'main > f > g', 3], [0, 'other > f', 1]]);
  const boxes = layout(nodesOf(sumsOfBlock(block), CHOICE), 'sandwich', subject(block, 'f'));
  const caller = stepFrom(boxes, boxes.root, boxes.root, 'up');
  assert.equal(nameOf(block, boxes.subject[caller]!), 'main');
  assert.equal(stepFrom(boxes, boxes.root, caller, 'down'), boxes.root);
  assert.equal(nameOf(block, boxes.subject[stepFrom(boxes, boxes.root, caller, 'right')]!), 'other');
  assert.equal(nameOf(block, boxes.subject[stepFrom(boxes, boxes.root, boxes.root, 'down')]!), 'g');
  assert.deepEqual(placeAmongSiblings(boxes, caller), { at: 1, of: 2 });
  assert.deepEqual(shownPart(boxes, caller, 0), { from: 0, to: 3 });
  assert.deepEqual(shownPart(boxes, caller, 2), { from: 0, to: 4 });
});

test('a zoomed box shows its own rows, and neighbours end where it ends', () => {
  const block = blockOf(PLAIN), boxes = layout(nodesOf(sumsOfBlock(block), CHOICE), 'left', null);
  const load = boxAt(boxes, 2, 9);
  assert.equal(nameOf(block, boxes.subject[load]!), 'load');
  assert.deepEqual(shownRows(boxes, load), { from: 0, to: 4 });
  assert.deepEqual(shownRows(boxes, boxes.root), { from: 0, to: 5 });
  assert.equal(stepFrom(boxes, load, load, 'left'), load);
  assert.equal(boxAt(boxes, 3, 7.5), -1);
});

test('matches are found in reading order and round again', () => {
  const block = blockOf(PLAIN), boxes = layout(nodesOf(sumsOfBlock(block), CHOICE), 'left', null);
  const matches = new Uint8Array(subjectsOf(block).threads + 2);
  matches[subject(block, 'add')] = 1;
  const first = nextMatch(boxes, boxes.root, matches, -1, 1), second = nextMatch(boxes, boxes.root, matches, first, 1);
  assert.deepEqual([boxes.row[first], boxes.row[second]], [3, 4]);
  assert.equal(nextMatch(boxes, boxes.root, matches, second, 1), first);
  assert.equal(nextMatch(boxes, boxes.root, matches, first, -1), second);
  assert.equal(nextMatch(boxes, boxes.root, new Uint8Array(matches.length), 0, 1), -1);
});

test('a stack of 3,000 calls is laid out in every order', () => {
  const path = Array.from({ length: 3000 }, (_, i) => `f${i}`).join(' > ');
  const block = blockOf([[0, path, 5]]);
  assert.equal(drawn(block, 'left').length, 3001);
  assert.equal(drawn(block, 'inverted').length, 3001);
  assert.equal(drawn(block, 'sandwich', {}, subject(block, 'f1000')).length, 3000);
  assert.equal(drawnInTime(block).length, 3001);
});
