// SPDX-License-Identifier: MIT
// flamelayout.bench: how long a million entries on 20,000 stacks of 100,000 frames take to become boxes, in each order.
//
// Prints CPU milliseconds, best of eight, as other programs share the machine.  Bundle it with esbuild for node and run it;
// nothing tests a clock.
import { layout } from './flamelayout';
import { nodesOf, type Amounts } from './flamenodes';
import { timeBoxes } from './flametime';
import type { Selection, Stacks } from '../types';

declare const process: { cpuUsage(): { user: number; system: number } };

const FRAMES = 100_000, STACKS = 20_000, ENTRIES = 1_000_000, FUNCTIONS = 5_000;
const SELECTION: Selection = { from: null, to: null, section: null, thread: null, search: '' };

let seed = 1;
const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) / 2 ** 32;
const zeros = (n: number) => new Uint32Array(n);

function amounts(): Amounts {
  const parent = zeros(FRAMES), depth = zeros(FRAMES), fn = zeros(FRAMES).map(() => random() * FUNCTIONS);
  for (let i = 1; i < FRAMES; i++) {
    let up = Math.floor(i * random() ** 0.3);
    while (depth[up]! > 60) up = Math.floor(up / 2);
    parent[i] = up + 1;
    depth[i] = depth[up]! + 1;
  }
  const frame = zeros(STACKS).map(() => FRAMES - random() * FRAMES * 0.9), place = zeros(ENTRIES).map(() => random() * random() * STACKS);
  const values = new Float64Array(ENTRIES).fill(1), placeValues = new Float64Array(STACKS);
  for (const p of place) placeValues[p]! += 1;
  const block: Partial<Stacks> = {
    metrics: [{ name: 'samples', unit: 'count', meaning: '', values }], hasTime: true, sliceNs: 1e6, sections: [], imports: zeros(0),
    functions: { name: zeros(FUNCTIONS), file: zeros(0), short: zeros(0), line: zeros(0), kind: zeros(0), isLibrary: zeros(FUNCTIONS), module: zeros(0) },
    frames: { parent, fn, line: zeros(0), isStartup: zeros(FRAMES), importRow: zeros(FRAMES), importer: zeros(FRAMES) },
    threads: [{ track: '1/1', process: '1 python', pid: 1, tid: 1, name: null }],
    places: { frame, thread: zeros(STACKS), flags: zeros(STACKS) }, sets: { starts: zeros(2), members: zeros(0) },
    entries: { slice: zeros(ENTRIES).map((_, i) => i / 100), place, set: zeros(ENTRIES) },
  };
  return { block: block as Stacks, metric: 0, placeValues };
}

function measure(what: string, make: () => { n: number }): void {
  let best = Infinity, n = 0;
  for (let k = 0; k < 8; k++) {
    const before = process.cpuUsage();
    n = make().n;
    const after = process.cpuUsage();
    best = Math.min(best, (after.user + after.system - before.user - before.system) / 1000);
  }
  console.log(`${what}: ${n} in ${best.toFixed(1)} ms`);
}

const sums = amounts(), choice = { mine: false, focus: null, hidden: [], foldsRecursion: false }, nodes = nodesOf(sums, choice);
measure('nodes', () => nodesOf(sums, choice));
for (const order of ['left', 'inverted', 'sandwich'] as const) measure(order, () => layout(nodes, order, null));
measure('time', () => timeBoxes(sums, nodes, SELECTION));
