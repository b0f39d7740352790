// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAddress, tokenOf, writtenAddress } from './address';
import type { Kept } from './address';
import { act, load, renew, snapped, state, writeAddress } from './store';
import { payloadOf, randomParts, USUAL, WHOLE } from './testpayload';
import type { Payload } from './types';

const page = globalThis as unknown as { location: { hash: string }; history: { replaceState(state: unknown, title: string, address: string): void } };

function loaded(hash = '', canReplace = true): Payload {
  page.location = { hash };
  page.history = {
    replaceState(_state, _title, address) {
      if (!canReplace) throw new Error('SecurityError');
      page.location.hash = address;
    },
  };
  const payload = payloadOf(randomParts(5, { frames: 20, places: 20, entries: 100, functions: 5, slices: 40 }));
  load(payload);
  return payload;
}

test('a stretch of time snaps to the slices that it touches', () => {
  const payload = loaded();
  assert.deepEqual(snapped(payload, 1.2e6, 2.1e6), [1e6, 3e6]);
  assert.deepEqual(snapped(payload, 2.1e6, 1.2e6), [1e6, 3e6]);
  assert.deepEqual(snapped(payload, 5e6, 5e6), [5e6, 6e6]);
  assert.equal(snapped(payload, -5, 1e12), null);
  assert.deepEqual(snapped(payload, 1e12, 1e12), [payload.durationNs - 1e6, payload.durationNs]);
  payload.stacks.push({ ...payload.stacks[0]!, sliceNs: 4e6 });
  assert.deepEqual(snapped(payload, 1.2e6, 5e6), [0, 8e6]);
});

test('Escape ends the dialog, the zoom, the search, the selection, in this order', () => {
  loaded();
  act.time(1e6, 3e6);
  act.section('train');
  act.search('f1');
  act.zoom(7);
  act.keys(true);
  const seen = Array.from({ length: 5 }, () => {
    act.escape();
    const s = state();
    return [s.areKeysShown, s.zoom, s.selection.search, s.selection.from, s.selection.section];
  });
  assert.deepEqual(seen, [[false, 7, 'f1', 1e6, 'train'], [false, null, 'f1', 1e6, 'train'], [false, null, '', 1e6, 'train'], [false, null, '', null, null], [false, null, '', null, null]]);
});

test('a page opens with its part, unless the address has one; clearing that part survives a reload', () => {
  const payload = loaded();
  payload.opens = 'view=callers&from=1000000&to=3000000&mine=1';
  load(payload);
  assert.deepEqual([state().view, state().selection.from, state().options.mine], ['callers', 1e6, true]);
  act.time(null, null);
  act.options({ mine: false });
  act.show(payload.views[0]!.name);
  writeAddress();
  load(payload);
  assert.deepEqual([state().view, state().selection.from, state().options.mine], [payload.views[0]!.name, null, false]);
  page.location.hash = '#0123456789abcdef';
  load(payload);
  assert.equal(state().selection.from, 1e6);
});

test('what the address asks for waits until there are views; places of functions do not outlive their block', () => {
  const payload = loaded('#0123456789abcdef&view=callers&section=train&from=1000000&to=3000000');
  load({ ...payload, stacks: [], views: [], sections: [] });
  act.search('x');
  writeAddress();
  renew(payload);
  assert.deepEqual([state().view, state().selection.section, state().selection.from], ['callers', 'train', 1e6]);
  act.focus(1);
  act.hide(2);
  act.sandwich(1);
  renew(payload);
  assert.deepEqual([state().focusFn, state().hiddenFns, state().sandwichFn, state().view], [null, [], null, 'callers']);
});

test('what is selected stands in the address and is read from it', () => {
  loaded();
  act.show('callers');
  act.time(1e6, 3e6);
  act.section('train:step');
  act.thread('10/12');
  act.search('a&b=#ü');
  act.options({ mine: true, by: 'line' });
  act.order('inverted');
  act.zoom(4000000000);
  act.sort({ column: 'cum%', isDown: true });
  const before = state();
  loaded(page.location.hash);
  for (const key of ['view', 'selection', 'options', 'order', 'zoom', 'sorts'] as const) assert.deepEqual(state()[key], before[key], key);
});

test('an untouched page has a plain address, and a served one keeps its token', () => {
  loaded();
  act.search('x');
  act.search('');
  assert.equal(page.location.hash, '#');
  loaded('#abc123&view=threads');
  assert.equal(state().view, 'threads');
  act.search('x');
  assert.equal(page.location.hash, '#abc123&view=threads&search=x');
  assert.equal(tokenOf('#view=threads'), null);
});

test('a frame that may not change its history still has its address', () => {
  loaded('', false);
  act.search('x');
  assert.equal(page.location.hash, 'search=x');
});

test('an address that this file does not have selects nothing', () => {
  loaded('#view=nothing&section=nowhere&thread=99&metric=bogus&from=9&to=x&by=bogus');
  const { view, selection, options } = state();
  assert.deepEqual([view, selection, options.metric, options.by], ['functions', WHOLE, 'wall', 'function']);
});

test('every part of a state comes back from its address', () => {
  const usual: Kept = { view: 'a', selection: WHOLE, options: USUAL, order: 'left', zoom: null, sort: null };
  const kept: Kept = { view: 'b', selection: { from: 0, to: 5e6, section: 's:t', thread: '1/2', search: '%' }, options: { metric: 'cpu', by: 'module', idle: true, gilOnly: true, mine: true, foldImports: true }, order: 'time',
    zoom: 12, sort: { column: 'self-time & more', isDown: true } };
  const { view, selection, options, order, zoom, sort } = readAddress('#' + writtenAddress(kept, usual, 'token'));
  assert.deepEqual({ view, selection, options, order, zoom, sort }, kept);
  assert.deepEqual(readAddress('#sort=rows').sort, { column: 'rows', isDown: false });
});

test('a finding sets the view and the whole selection', () => {
  const payload = loaded();
  act.section('load');
  act.follow({ finding: 'x', text: '', value: null, unit: null, view: 'threads', selection: { from_ns: 2_000_001, to_ns: 3e6, search: 'f', metric: 'samples' } });
  const { view, selection, options } = state();
  assert.deepEqual([view, selection, options.metric], ['threads', { from: 2e6, to: 3e6, section: null, thread: null, search: 'f' }, 'samples']);
  assert.equal(payload.views.length, 6);
});

test('a finding about an import folds imports, where they are rows', () => {
  const parts = randomParts(5, { frames: 20, places: 20, entries: 100, functions: 5, slices: 40 });
  const finding = { finding: 'imports', text: '', value: null, unit: null, view: 'functions', selection: { search: 'import json' } };
  load(payloadOf({ ...parts, imports: ['import json'] }));
  act.follow({ ...finding, selection: { search: '^f1$' } });
  assert.equal(state().options.foldImports, false);
  act.follow(finding);
  assert.equal(state().options.foldImports, true);
});

test('what is selected stays when a capture grows', () => {
  const payload = loaded();
  act.time(1e6, 3e6);
  act.section('train');
  renew({ ...payload, sections: ['load'], durationNs: payload.durationNs * 2 });
  assert.deepEqual([state().selection.from, state().selection.to, state().selection.section], [1e6, 3e6, null]);
});

test('samples later than the noted end can be selected', () => {
  const payload = loaded();
  assert.deepEqual(snapped({ ...payload, durationNs: 3e6 }, 5e6, 1e12), [5e6, payload.durationNs]);
});

test('an address is not changed hundreds of times while something is dragged', () => {
  loaded();
  let n = 0;
  const replace = page.history.replaceState;
  page.history.replaceState = (...words) => {
    n++;
    replace(...words);
  };
  for (let i = 0; i < 1000; i++) act.search(`x${i}`);
  assert.ok(n > 10 && n < 100, String(n));
  writeAddress();
  assert.equal(page.location.hash, '#search=x999');
});
