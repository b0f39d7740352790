// SPDX-License-Identifier: MIT
// colors: the colours of everything that is drawn, for light and dark pages.
//
// They are values and no CSS variables, since a canvas and a saved SVG know none; ground, ink, grid, frame and accent are
// those of style.css.  Kinds of functions have eight shades each, chosen by name, so that neighbours can be told apart and
// a function keeps its shade; text on them has a contrast of at least 4.5.  No meaning is told by colour alone: kinds have
// a texture, a match has a bar.
import { OWN, LIBRARY, NATIVE, MARK, PRUNED } from './types';

export const IDLE_KIND = 5,
  WHOLE_KIND = 6,
  THREAD_KIND = 7;
export const SHADES = 8;

// What a kind is called, and how it is told apart without colours.
export type Texture = 'plain' | 'edge' | 'hatch' | 'dashes' | 'dots' | 'lines';
export const KINDS: readonly { words: string; texture: Texture }[] = (() => {
  const kinds: { words: string; texture: Texture }[] = [];
  kinds[OWN] = { words: 'own Python', texture: 'plain' };
  kinds[LIBRARY] = { words: 'libraries', texture: 'edge' };
  kinds[NATIVE] = { words: 'native', texture: 'hatch' };
  kinds[MARK] = { words: 'not readable', texture: 'dashes' };
  kinds[PRUNED] = { words: 'folded', texture: 'dots' };
  kinds[IDLE_KIND] = { words: 'idle', texture: 'lines' };
  kinds[WHOLE_KIND] = { words: 'whole', texture: 'plain' };
  kinds[THREAD_KIND] = { words: 'thread', texture: 'plain' };
  return kinds;
})();

export interface Palette {
  isDark: boolean;
  ground: string; // behind a drawing
  ink: string;
  faint: string; // text of less weight; contrast 4.5 on the ground
  grid: string;
  frame: string; // axes, outlines; contrast 3
  accent: string; // what is measured, the whole, the focus
  second: string; // of two series; what a model's points are
  warning: string;
  series: readonly string[];
  band: readonly string[];
  match: string;
  matchInk: string;
  boxInk: string; // text on kinds
  kinds: readonly (readonly string[])[]; // by kind, then shade
  heat: (share: number) => string; // 0 to 1: behind text in `ink`
}

const shadesOf = (text: string): string[] => text.split(' ');
const eight = (colour: string): string[] => new Array<string>(SHADES).fill(colour);

const LIGHT_KINDS = [
  shadesOf('#f0875a #f3956a #f5a072 #ee8049 #f59b5c #f08466 #f7ab7d #ef8f6f'),
  shadesOf('#f3cf6b #f6d985 #efc65a #f5d272 #f8df95 #ecc15a #f1ca7a #f7d98f'),
  shadesOf('#7fb4d8 #8fc0e0 #72a9d2 #84bcd9 #9ac8e3 #78b0cb #8db4dc #a3cde6'),
  eight('#c3b4d2'),
  eight('#e4ded3'),
  eight('#d3d5d8'),
  eight('#d9d6d0'),
  eight('#c3cad6'),
];
const DARK_KINDS = [
  shadesOf('#d97c50 #dc875f #df9166 #d87545 #de8d52 #d77357 #e19b70 #da8363'),
  shadesOf('#c6a549 #ccb05e #bf9c3e #c8a84f #d0b76c #b9963c #c2a055 #ceb268'),
  shadesOf('#6397bd #6f9fc3 #5f93bb #689dbe #7aa9c7 #6095b1 #7097c1 #80adca'),
  eight('#a08cb8'),
  eight('#8e8b85'),
  eight('#888d95'),
  eight('#95928c'),
  eight('#8793a8'),
];

function mix(from: readonly number[], to: readonly number[], part: number): string {
  const at = (i: number) => Math.round(from[i]! + (to[i]! - from[i]!) * part);
  return `rgb(${at(0)} ${at(1)} ${at(2)})`;
}
const heatOf = (cold: number[], hot: number[]) => (share: number) => mix(cold, hot, Math.sqrt(Math.max(0, Math.min(1, share))));

export const LIGHT: Palette = {
  isDark: false,
  ground: '#ffffff',
  ink: '#1f2328',
  faint: '#5a616a',
  grid: '#e0e3e7',
  frame: '#868d95',
  accent: '#0b5394',
  second: '#b85c12',
  warning: '#b42318',
  series: ['#b87500', '#007f5c', '#b0508c', '#2b7fb8', '#c24a00', '#6c4fa3', '#6f7780', '#7d5f14'],
  band: ['#bcd6ee', '#fbd9a6', '#bfe3c6', '#e3cdea', '#f7c9bd', '#f3eab0', '#d6d6d6', '#b9e4e2'],
  match: '#7b3fc4',
  matchInk: '#ffffff',
  boxInk: '#1f2328',
  kinds: LIGHT_KINDS,
  heat: heatOf([255, 255, 255], [255, 150, 110]),
};

export const DARK: Palette = {
  isDark: true,
  ground: '#16181c',
  ink: '#e9e7e3',
  faint: '#a3a9b1',
  grid: '#2d3238',
  frame: '#747b84',
  accent: '#6cb2f5',
  second: '#f0a25c',
  warning: '#ff8a7a',
  series: ['#f0b040', '#36c795', '#e08fc0', '#6fc3f0', '#ff8b4d', '#b096e8', '#a6acb4', '#cbab53'],
  band: ['#274766', '#6b4a17', '#245238', '#533b60', '#673527', '#5a531c', '#45484d', '#1f5452'],
  match: '#b98cf2',
  matchInk: '#150b20',
  boxInk: '#111316',
  kinds: DARK_KINDS,
  heat: heatOf([22, 24, 28], [132, 48, 22]),
};

// A function has the same shade in every order, whatever its line.
export function shadeOf(name: string, file: string | null): number {
  let hash = 0x811c9dc5;
  for (const text of [name, file ?? ''])
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d); // names that differ in one digit differ, too
  return ((hash ^ (hash >>> 12)) >>> 0) % SHADES;
}
