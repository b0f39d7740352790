// SPDX-License-Identifier: MIT
// keys: what single keys do wherever the focus is, and the dialog that lists them all.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { SEARCH_ID } from './controls';
import { takesLetters } from './drawing';
import { act, state, useStore } from './store';

// --- What they do

function showView(place: number): void {
  const view = state().payload.views[place];
  if (view) act.show(view.name);
}

const ACTIONS: Record<string, () => void> = {
  '/': () => document.getElementById(SEARCH_ID)?.focus(),
  '?': () => act.keys(true),
  n: () => act.match(1),
  N: () => act.match(-1),
  m: () => act.options({ mine: !state().options.mine }),
};

function escape(e: KeyboardEvent): void {
  e.preventDefault(); // the browser would empty the search by itself
  const wasSearch = state().selection.search;
  act.escape();
  if (e.target instanceof HTMLInputElement && e.target.id === SEARCH_ID && wasSearch === '') e.target.blur();
}

export function onKey(e: KeyboardEvent): void {
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
  if (e.key === 'Escape') return escape(e);
  if (state().areKeysShown || (takesLetters(e.target) && !(e.target instanceof HTMLSelectElement && /^[1-9?/]$/.test(e.key)))) return;
  const action = /^[1-9]$/.test(e.key) ? () => showView(Number(e.key) - 1) : ACTIONS[e.key];
  if (!action) return;
  e.preventDefault();
  action();
}

// --- The dialog

const LIST: [string[], string][] = [
  [['1', '…', '9'], 'show a view'],
  [['/'], 'search'],
  [['n', 'N'], 'next and previous match'],
  [['Esc'], 'close this, end the zoom, the search, the selection'],
  [['←', '→', '↑', '↓'], 'walk: boxes, rows, tabs; a step of From and To'],
  [['PgUp', 'PgDn'], 'a page of rows; a twentieth of the run for From and To'],
  [['Enter'], 'zoom into a box; open a row; callers and callees of a function'],
  [['f'], 'flame graph: focus on a function'],
  [['h'], 'flame graph: hide a function'],
  [['r'], 'flame graph: fold recursion'],
  [['s'], 'flame graph: callers and callees of a function'],
  [['m'], 'only my code'],
  [['?'], 'this list'],
];

export function Keys() {
  const isOpen = useStore((s) => s.areKeysShown), dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const d = dialog.current;
    if (isOpen && d && !d.open) d.showModal();
    if (!isOpen && d?.open) d.close();
  }, [isOpen]);
  return (
    <dialog class="keys" aria-label="Keys" ref={dialog} onClose={() => state().areKeysShown && act.keys(false)}
      onClick={(e) => e.target === dialog.current && act.keys(false)}>
      <h2>Keys <button class="button" type="button" onClick={() => act.keys(false)}>Close</button></h2>
      <dl>
        {LIST.map(([keys, what]) => (
          <>
            <dt>{keys.map((key) => (key === '…' ? '…' : <kbd key={key}>{key}</kbd>))}</dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
    </dialog>
  );
}
