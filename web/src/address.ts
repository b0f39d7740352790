// SPDX-License-Identifier: MIT
// address: view, selection and options behind the # of the address, so that they survive a reload.
//
// A served page has its token first: #TOKEN&view=...  In a sandboxed frame history.replaceState throws; setting
// location.hash works, and makes a step in the history there.

import type { By, Options, Order, Selection, Sort } from './types';

export interface Kept {
  view: string;
  selection: Selection;
  options: Options;
  order: Order;
  zoom: number | null;
  sort: Sort | null; // of the table that is shown; null: as it came
}
export interface Address { view?: string; selection: Partial<Selection>; options: Partial<Options>; order?: Order; zoom: number | null; sort: Sort | null }

const BYS: readonly string[] = ['function', 'line', 'module'];
const FLAGS = ['idle', 'gilOnly', 'mine', 'foldImports'] as const;
const ORDERS: readonly string[] = ['left', 'time', 'inverted', 'sandwich'];

function parts(hash: string): string[] {
  return hash.replace(/^#/, '').split('&').filter((part) => part !== '');
}

// Of a served page: what is first and no key=value.
export function tokenOf(hash: string): string | null {
  const first = parts(hash)[0];
  return first !== undefined && !first.includes('=') ? first : null;
}

// Does it select nothing?
export function isPlain(hash: string): boolean {
  return parts(hash).every((part) => !part.includes('='));
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,16}$/.test(text) ? Number(text) : null;
}

// "-cum%" is down.
function sortOf(text: string | null): Sort | null {
  return text ? { column: text.replace(/^-/, ''), isDown: text.startsWith('-') } : null;
}

export function readAddress(hash: string): Address {
  const at = new URLSearchParams(parts(hash).filter((part) => part.includes('=')).join('&'));
  const found: Address = { selection: {}, options: {}, zoom: whole(at.get('zoom')), sort: sortOf(at.get('sort')) };
  const view = at.get('view');
  const from = whole(at.get('from'));
  const to = whole(at.get('to'));
  const by = at.get('by');
  const order = at.get('order');
  if (view) found.view = view;
  if (from !== null && to !== null && from < to) Object.assign(found.selection, { from, to });
  if (at.get('section')) found.selection.section = at.get('section');
  if (at.get('thread')) found.selection.thread = at.get('thread');
  if (at.get('search')) found.selection.search = at.get('search')!;
  if (at.get('metric')) found.options.metric = at.get('metric')!;
  if (by && BYS.includes(by)) found.options.by = by as By;
  for (const name of FLAGS) if (at.has(name)) found.options[name] = at.get(name) === '1';
  if (order && ORDERS.includes(order)) found.order = order as Order;
  return found;
}

// What differs from `usual` only, so that an untouched page keeps a plain address.
export function writtenAddress(kept: Kept, usual: Kept, token: string | null): string {
  const at = new URLSearchParams();
  const { selection: s, options: o } = kept;
  if (kept.view !== usual.view) at.set('view', kept.view);
  if (s.from !== null && s.to !== null) {
    at.set('from', String(s.from));
    at.set('to', String(s.to));
  }
  if (s.section !== null) at.set('section', s.section);
  if (s.thread !== null) at.set('thread', s.thread);
  if (s.search !== '') at.set('search', s.search);
  if (o.metric !== usual.options.metric) at.set('metric', o.metric);
  if (o.by !== usual.options.by) at.set('by', o.by);
  for (const name of FLAGS) if (o[name] !== usual.options[name]) at.set(name, o[name] ? '1' : '0');
  if (kept.order !== usual.order) at.set('order', kept.order);
  if (kept.zoom !== null) at.set('zoom', String(kept.zoom));
  if (kept.sort) at.set('sort', (kept.sort.isDown ? '-' : '') + kept.sort.column);
  return [token, at.toString()].filter((part) => part).join('&');
}

export function putAddress(text: string): void {
  try {
    history.replaceState(null, '', '#' + text);
  } catch {
    if (location.hash.replace(/^#/, '') !== text) location.hash = text;
  }
}
