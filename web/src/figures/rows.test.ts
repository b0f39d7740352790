// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { graphOf } from '../callgraph';
import { tableOf } from '../rows';
import { matchedShare, matcher } from '../search';
import { sumsOf } from '../sums';
import { drawing, payloadOf, randomParts, USUAL, WHOLE } from '../testpayload';
import type { Parts } from '../testpayload';
import { GIL, IDLE } from '../types';
import type { By, Options, Payload, Selection, TableData } from '../types';

const APP = '/home/u/app.py';
const KNOWN: Parts = {
  functions: [
    { name: '<module>', file: APP, line: 1 },
    { name: 'f', file: APP, line: 3 },
    { name: 'sort', file: '/usr/lib/python3/sort.py', line: 9, isLibrary: true },
    { name: '_find_and_load', file: '<frozen importlib._bootstrap>', line: 1, isLibrary: true },
    { name: 'main', file: '/x/sonde/_bootstrap/sitecustomize.py', line: 1 },
  ],
  frames: [
    { parent: 0, fn: 0, line: 20 }, //                                   0: <module>
    { parent: 1, fn: 1, line: 4 }, //                                    1: f
    { parent: 2, fn: 1, line: 5 }, //                                    2: f of f
    { parent: 3, fn: 2, line: 9 }, //                                    3: sort of f of f
    { parent: 1, fn: 3, line: 2, importRow: 1, importer: 1 }, //         4: import
    { parent: 0, fn: 4, line: 1, startup: true }, //                     5: Sonde's own start
  ],
  imports: ['import json'],
  places: [
    { frame: 2, thread: 0, flags: GIL }, //  0: f
    { frame: 3, thread: 0, flags: 0 }, //    1: f of f
    { frame: 4, thread: 1, flags: 0 }, //    2: sort
    { frame: 2, thread: 0, flags: IDLE }, // 3: f waits
    { frame: 5, thread: 0, flags: 0 }, //    4: the import
    { frame: 6, thread: 0, flags: 0 }, //    5: startup
    { frame: 0, thread: 0, flags: 0 }, //    6: no frame
  ],
  sets: [[], [0]],
  sections: ['train'],
  entries: [
    { slice: 0, place: 0, set: 0, samples: 10, wall: 100 },
    { slice: 0, place: 5, set: 0, samples: 10, wall: 1000 },
    { slice: 1, place: 1, set: 1, samples: 20, wall: 200 },
    { slice: 2, place: 2, set: 1, samples: 30, wall: 300 },
    { slice: 3, place: 3, set: 0, samples: 40, wall: 400 },
    { slice: 4, place: 4, set: 0, samples: 5, wall: 50 },
    { slice: 5, place: 6, set: 0, samples: 35, wall: 350 },
  ],
  threads: 2,
};

function table(payload: Payload, name: string, selection: Partial<Selection> = {}, options: Partial<Options> = {}): TableData {
  return tableOf(payload.views.find((v) => v.name === name)!, payload, { ...WHOLE, ...selection }, { ...USUAL, ...options });
}

// { the texts of a row: { column: number } }
function figures(payload: Payload, t: TableData, keys: string[], columns: string[]): Record<string, number[]> {
  const cells = (name: string): ArrayLike<number> => t.columns.find((c) => c.name === name)!.cells;
  const text = (name: string, i: number): string => {
    const cell = cells(name)[i]!;
    return name === 'line' ? String(cell) : cell ? payload.strings[cell - 1]! : '';
  };
  return Object.fromEntries(Array.from({ length: t.n }, (_, i) => [keys.map((k) => text(k, i)).join('|'), columns.map((c) => cells(c)[i]!)]));
}

test('functions have what samples ended in them and what they called, a recursion once', () => {
  const payload = payloadOf(KNOWN);
  const t = table(payload, 'functions');
  assert.deepEqual(figures(payload, t, ['function'], ['self_wall', 'cum_wall']), {
    f: [300, 600], sort: [300, 300], _find_and_load: [50, 50], '<module>': [0, 650],
  });
  assert.deepEqual(figures(payload, t, ['function'], ['self%', 'cum%'])['f'], [30, 60]);
  assert.equal(t.note, "Sonde's own start took 1.0 us and is left out");
  assert.deepEqual(t.columns.map((c) => c.name), ['self%', 'cum%', 'self_samples', 'cum_samples', 'self_wall', 'cum_wall', 'function', 'where', 'file', 'line', 'self_margin', 'cum_margin']);
});

test('the rows that are largest by themselves come first', () => {
  const payload = payloadOf(KNOWN);
  assert.deepEqual(Object.keys(figures(payload, table(payload, 'functions'), ['function'], [])), ['f', 'sort', '_find_and_load', '<module>']);
});

test('time, section, thread, waiting and the lock choose samples', () => {
  const payload = payloadOf(KNOWN);
  const f = (selection: Partial<Selection>, options: Partial<Options> = {}): number[] | undefined =>
    figures(payload, table(payload, 'functions', selection, options), ['function'], ['self_wall', 'cum_wall'])['f'];
  assert.deepEqual(f({ from: 0, to: 1e6 }), [100, 100]);
  assert.deepEqual(f({ from: 1e6, to: 3e6 }), [200, 500]);
  assert.deepEqual(f({ section: 'train' }), [200, 500]);
  assert.deepEqual(f({ thread: '10/12' }), [0, 300]);
  assert.deepEqual(f({ thread: '10' }), [300, 600]);
  assert.deepEqual(f({}, { idle: true }), [700, 1000]);
  assert.deepEqual(f({}, { gilOnly: true }), [100, 100]);
  assert.equal(f({ from: 5e6, to: 6e6 }), undefined);
});

test('only my code folds library functions into what called them', () => {
  const payload = payloadOf(KNOWN);
  assert.deepEqual(figures(payload, table(payload, 'functions', {}, { mine: true }), ['function'], ['self_wall', 'cum_wall']), { f: [600, 600], '<module>': [50, 650] });
});

test('an import is one row, named by its module, where that is asked for', () => {
  const payload = payloadOf(KNOWN);
  const t = table(payload, 'functions', {}, { foldImports: true });
  assert.deepEqual(figures(payload, t, ['function', 'where'], ['self_wall'])['import json|app.py:20'], [50]);
  assert.ok(t.note!.startsWith('an import is one row'));
});

test('lines and modules are rows', () => {
  const payload = payloadOf(KNOWN);
  assert.deepEqual(figures(payload, table(payload, 'lines'), ['where'], ['self_wall', 'cum_wall'])['app.py:5'], [200, 500]);
  assert.deepEqual(figures(payload, table(payload, 'functions', {}, { by: 'module' }), ['function'], ['self_wall', 'cum_wall'])[APP], [300, 650]);
});

test('callers and callees are pairs, of which the outermost counts', () => {
  const payload = payloadOf(KNOWN);
  assert.deepEqual(figures(payload, table(payload, 'callers'), ['caller', 'callee'], ['wall']), {
    '(outermost)|<module> (app.py:1)': [650], '<module> (app.py:1)|f (app.py:3)': [600], 'f (app.py:3)|f (app.py:3)': [500],
    'f (app.py:3)|sort (sort.py:9)': [300], '<module> (app.py:1)|_find_and_load (<frozen importlib._bootstrap>:1)': [50],
  });
});

test('the tree has children below their parents, the largest first', () => {
  const payload = payloadOf(KNOWN);
  const t = table(payload, 'calls');
  const names = Array.from(t.columns[0]!.cells, (cell) => payload.strings[cell - 1]);
  assert.deepEqual(names, ['<module>', 'f', 'f', 'sort', '_find_and_load']);
  assert.deepEqual([...t.parents!], [0, 1, 2, 3, 1]);
});

test('threads count waiting samples and the start too', () => {
  const payload = payloadOf(KNOWN);
  const t = table(payload, 'threads');
  assert.deepEqual(figures(payload, t, ['name'], ['samples', 'wall', 'gil%']), { MainThread: [120, 2100, 1000 / 120], '': [30, 300, 0] });
});

test('a search says how much of the selection is in stacks with a match', () => {
  const payload = payloadOf(KNOWN);
  const share = (text: string): number => matchedShare(sumsOf(payload.stacks[0]!, WHOLE, USUAL), matcher(text)!);
  assert.equal(share('^SORT'), 30);
  assert.equal(share('app'), 65);
  assert.equal(share('^f$'), 60);
  assert.equal(share('^/home/u/app.py:3'), 60);
  assert.equal(share('sort ('), 0); // no valid expression, hence plain text
  assert.equal(matcher(''), null);
});

test('amounts of frames add up, and what is folded has none of its own', () => {
  const [block] = payloadOf(KNOWN).stacks;
  const all = sumsOf(block!, WHOLE, USUAL);
  assert.deepEqual([all.total, all.whole], [1000, 1000]);
  assert.deepEqual([...all.self], [0, 100, 200, 300, 50, 0]);
  assert.deepEqual([...all.cum], [650, 600, 500, 300, 50, 0]);
  const mine = sumsOf(block!, { ...WHOLE, section: 'train' }, { ...USUAL, mine: true });
  assert.deepEqual([mine.total, mine.whole, [...mine.frameOf]], [500, 1000, [0, 1, 2, 2, 0, 5]]);
  assert.deepEqual([[...mine.self], [...mine.cum]], [[0, 0, 500, 0, 0, 0], [500, 500, 500, 0, 0, 0]]);
});

test('a graph keeps its places and is weighed for the selection', () => {
  const payload = payloadOf(KNOWN);
  const node = (fn: number | null): object => ({ fn, name: 'n', file: null, line: 0, x: 1, y: 2, w: 3, h: 4, self: 9, total: 9, calls: 0 });
  const data = { title: '', subtitle: null, note: null, unit: 's', width: 1, height: 1, nodes: [node(1), node(2), node(null)],
    edges: [{ from: 0, to: 1, total: 9, calls: 0, points: [1, 2] }, { from: 0, to: 0, total: 9, calls: 0, points: [] }] };
  const view = { ...payload.views[0]!, shape: 'graph', make: 'graph', data } as unknown as Payload['views'][number];
  const g = graphOf(view, payload, { ...WHOLE, section: 'train' }, USUAL);
  assert.deepEqual(g.nodes.map((n) => [n.self, n.total, n.x]), [[0.4, 1, 1], [0.6, 0.6, 1], [9, 9, 1]]);
  assert.deepEqual(g.edges.map((e) => e.total), [0.6, 1]);
});

// --- Random selections, against sums over whole stacks

function slowFunctions(parts: Parts, s: Selection, o: Options): Record<string, number[]> {
  const found: Record<string, number[]> = {};
  const section = s.section === null ? null : parts.sections.indexOf(s.section);
  for (const e of parts.entries) {
    const { frame, thread, flags } = parts.places[e.place]!;
    const isIn = (s.from === null || (e.slice * 1e6 >= s.from && e.slice * 1e6 < s.to!)) && (section === null || parts.sets[e.set]!.includes(section));
    if (!isIn || frame === 0 || parts.frames[frame - 1]!.startup || (s.thread !== null && s.thread !== `10/${11 + thread}`)) continue;
    if ((flags & IDLE && !o.idle) || (o.gilOnly && !(flags & GIL))) continue;
    const path: string[] = [];
    const chain: number[] = [];
    for (let at = frame; at > 0; at = parts.frames[at - 1]!.parent) chain.unshift(at - 1);
    for (const at of chain) {
      const f = parts.frames[at]!;
      const fn = parts.functions[f.fn]!;
      if (path.length && (f.startup || (o.mine && fn.isLibrary))) continue;
      const key = o.by === 'module' ? fn.file ?? 'built-in' : `${fn.name}|${o.by === 'line' ? f.line || fn.line || NaN : ''}`;
      if (o.by !== 'module' || path[path.length - 1] !== key) path.push(key);
    }
    for (const key of new Set(path)) {
      const row = (found[key] ??= [0, 0, 0, 0]);
      const isSelf = key === path[path.length - 1];
      [isSelf ? e.samples : 0, e.samples, isSelf ? e.wall : 0, e.wall].forEach((n, k) => (row[k]! += n));
    }
  }
  return found;
}

test('random selections of random stacks have the sums of whole stacks', () => {
  let nRows = 0;
  for (let seed = 1; seed <= 40; seed++) {
    const draw = drawing(seed * 77);
    const parts = randomParts(seed, { frames: 60, places: 50, entries: 300, functions: 12, slices: 40 });
    const payload = payloadOf(parts);
    const from = draw(40);
    const selection: Selection = {
      ...WHOLE,
      ...(draw(2) ? { from: from * 1e6, to: (from + 1 + draw(40 - from)) * 1e6 } : {}),
      section: [null, null, ...parts.sections][draw(5)]!,
      thread: draw(2) ? null : `10/${11 + draw(3)}`,
    };
    const by = (['function', 'line', 'module'] as By[])[draw(3)]!;
    const options: Options = { ...USUAL, by, idle: draw(2) > 0, gilOnly: draw(3) === 0, mine: draw(2) > 0 };
    const keys = by === 'module' ? ['function'] : by === 'line' ? ['function', 'line'] : ['function'];
    const made = figures(payload, table(payload, 'functions', selection, options), keys, ['self_samples', 'cum_samples', 'self_wall', 'cum_wall']);
    const slow = Object.fromEntries(Object.entries(slowFunctions(parts, selection, options)).map(([key, row]) => [by === 'function' ? key.slice(0, -1) : key, row]));
    const order = (of: Record<string, number[]>): [string, number[]][] => Object.entries(of).sort(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual(order(made), order(slow), JSON.stringify({ seed, selection, options }));
    nRows += Object.keys(made).length;
  }
  assert.ok(nRows > 100, String(nRows));
});
