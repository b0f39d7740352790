// SPDX-License-Identifier: MIT
// testpayload: makes payloads for tests: one small and known, and random ones of any size.

import type { Options, Payload, Selection, Stacks } from './types';

export const WHOLE: Selection = { from: null, to: null, section: null, thread: null, search: '' };
export const USUAL: Options = { metric: 'wall', by: 'function', idle: false, gilOnly: false, mine: false, foldImports: false };

export interface Frame {
  parent: number; // 0: nobody
  fn: number;
  line: number;
  startup?: boolean;
  importRow?: number;
  importer?: number;
}
export interface Entry {
  slice: number;
  place: number;
  set: number;
  samples: number;
  wall: number;
}
export interface Parts {
  functions: { name: string; file: string | null; line: number; isLibrary?: boolean }[];
  frames: Frame[];
  places: { frame: number; thread: number; flags: number }[]; // frame + 1
  sets: number[][];
  sections: string[];
  entries: Entry[];
  imports?: string[];
  threads?: number; // how many
}

const u32 = (numbers: number[]): Uint32Array => Uint32Array.from(numbers);

function blockOf(parts: Parts, strings: string[]): Stacks {
  const string = (text: string): number => (strings.includes(text) ? strings.indexOf(text) : strings.push(text) - 1);
  const files = [...new Set(parts.functions.map((f) => f.file ?? 'built-in'))];
  const { functions, frames, places, entries, sets } = parts;
  const starts = sets.reduce<number[]>((at, set) => [...at, at[at.length - 1]! + set.length], [0]);
  return {
    evidence: 'samples', verb: 'sampled', hasTime: true, sliceNs: 1e6, metric: 'wall',
    metrics: [
      { name: 'samples', unit: 'count', meaning: 'how often', values: u32(entries.map((e) => e.samples)) },
      { name: 'wall', unit: 'ns', meaning: 'time', values: Float64Array.from(entries, (e) => e.wall) },
    ],
    functions: {
      name: u32(functions.map((f) => string(f.name))),
      file: u32(functions.map((f) => (f.file === null ? 0 : string(f.file) + 1))),
      short: u32(functions.map((f) => (f.file === null ? 0 : string(f.file.replace(/.*\//, '')) + 1))),
      line: u32(functions.map((f) => f.line)),
      kind: u32(functions.map((f) => (f.isLibrary ? 1 : 0))),
      isLibrary: u32(functions.map((f) => (f.isLibrary ? 1 : 0))),
      module: u32(functions.map((f) => files.indexOf(f.file ?? 'built-in'))),
    },
    modules: u32(files.map((f) => string(f))),
    frames: {
      parent: u32(frames.map((f) => f.parent)), fn: u32(frames.map((f) => f.fn)), line: u32(frames.map((f) => f.line)),
      isStartup: u32(frames.map((f) => (f.startup ? 1 : 0))),
      importRow: u32(frames.map((f) => f.importRow ?? 0)), importer: u32(frames.map((f) => f.importer ?? 0)),
    },
    imports: u32((parts.imports ?? []).map(string)),
    threads: Array.from({ length: parts.threads ?? 1 }, (_, i) => ({ track: `10/${11 + i}`, process: '10 python', pid: 10, tid: 11 + i, name: i ? null : 'MainThread' })),
    places: { frame: u32(places.map((p) => p.frame)), thread: u32(places.map((p) => p.thread)), flags: u32(places.map((p) => p.flags)) },
    sets: { starts: u32(starts), members: u32(sets.flat()) },
    entries: { slice: u32(entries.map((e) => e.slice)), place: u32(entries.map((e) => e.place)), set: u32(entries.map((e) => e.set)) },
    strings,
    sections: parts.sections,
  };
}

export function payloadOf(parts: Parts): Payload {
  const strings: string[] = [];
  const block = blockOf(parts, strings);
  const last = parts.entries.reduce((n, e) => Math.max(n, e.slice), 0);
  const follows: Payload['views'][number]['follows'] = ['time', 'thread', 'section'];
  const view = (name: string, make: Payload['views'][number]['make']): Payload['views'][number] => ({ name, title: name, shape: 'table', follows, asks: [], stacks: 0, make });
  return {
    version: 1, title: 'x.sonde', program: 'sonde', strings, durationNs: (last + 1) * 1e6,
    opens: null,
    head: { command: null, items: [], complaint: null, notes: [] }, findings: [], sections: parts.sections, lanes: [], bands: [], stacks: [block],
    views: [view('functions', 'functions'), view('calls', 'tree'), view('lines', 'lines'), view('callers', 'callers'), view('callees', 'callees'), view('threads', 'threads')],
  };
}

// Numbers that are the same on every run: a linear congruential generator.
export function drawing(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export function randomParts(seed: number, sizes: { frames: number; places: number; entries: number; functions: number; slices: number }): Parts {
  const draw = drawing(seed);
  const some = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));
  const sections = ['load', 'train', 'train:step'];
  const frames: Frame[] = some(sizes.frames, (i) => ({ parent: draw(i + 1), fn: draw(sizes.functions), line: 100 + draw(4) }));
  frames.forEach((f) => (f.startup = f.parent > 0 ? frames[f.parent - 1]!.startup! && draw(5) > 0 : draw(20) === 0));
  const entries = some(sizes.entries, () => {
    const samples = 1 + draw(3);
    return { slice: draw(sizes.slices), place: draw(sizes.places), set: draw(4), samples, wall: samples * draw(2_000_000) };
  });
  return {
    functions: some(sizes.functions, (i) => ({ name: `f${i}`, file: i % 7 === 6 ? null : `/home/u/m${i % 5}.py`, line: i, isLibrary: i % 5 === 2 })),
    frames,
    places: some(sizes.places, () => ({ frame: draw(sizes.frames + 1), thread: draw(3), flags: draw(32) })),
    sets: [[], [0], [1], [1, 2]], sections,
    entries: entries.sort((a, b) => a.slice - b.slice),
    threads: 3,
  };
}
