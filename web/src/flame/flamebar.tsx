// SPDX-License-Identifier: MIT
// flamebar: what stands around the flame graph: the order of its boxes, what is left out of it, what its colours mean.
import { useMemo } from 'preact/hooks';
import { KINDS, THREAD_KIND, WHOLE_KIND, type Palette, type Texture } from '../colors';
import type { Boxes } from './flamelayout';
import { hottestSubject } from './flamelayout';
import { labelOf, type FlameNames } from './flamenames';
import type { Nodes } from './flamenodes';
import { act, useStore } from '../store';
import type { Order } from '../types';

const ORDERS: [Order, string, string][] = [
  ['left', 'Left heavy', 'callers above, the widest callee first'],
  ['time', 'Time order', 'callers above, time from left to right'],
  ['inverted', 'Inverted', 'where samples ended, callers below'],
  ['sandwich', 'Sandwich', 'one function, callers above and callees below'],
];

function Orders() {
  const order = useStore((s) => s.order);
  return (
    <div class="segments" role="radiogroup" aria-label="Order">
      {ORDERS.map(([value, name, meaning]) => (
        <label key={value} class={`segment${order === value ? ' is-on' : ''}`} title={meaning}>
          <input type="radio" name="flame-order" aria-label={name} value={value} checked={order === value} onChange={() => act.order(value)} />
          {name}
        </label>
      ))}
    </div>
  );
}

// --- The middle of the sandwich

const MOST_OPTIONS = 200;

// Those with the largest totals; what a function does in a direct call of itself counts once.
function subjectsByTotal(nodes: Nodes): number[] {
  const total = new Float64Array(nodes.subjects.whole);
  for (let i = 1; i < nodes.n; i++) {
    const subject = nodes.subject[i]!;
    if (subject < total.length && nodes.subject[nodes.parent[i]!] !== subject) total[subject]! += nodes.total[i]!;
  }
  const order = [...total.keys()].filter((s) => total[s]! > 0);
  return order.sort((a, b) => total[b]! - total[a]! || a - b).slice(0, MOST_OPTIONS);
}

function Middle({ names, nodes }: { names: FlameNames; nodes: Nodes }) {
  const chosen = useStore((s) => s.sandwichFn) ?? hottestSubject(nodes);
  const subjects = useMemo(() => subjectsByTotal(nodes), [nodes]);
  const all = chosen === null || subjects.includes(chosen) ? subjects : [chosen, ...subjects];
  return (
    <label class="choice">
      <span>Function</span>
      <select value={String(chosen)} onChange={(e) => act.sandwich(Number(e.currentTarget.value))}>
        {all.map((s) => <option key={s} value={String(s)}>{labelOf(names.of(s))}</option>)}
      </select>
    </label>
  );
}

// --- What is left out

function LeftOut({ names }: { names: FlameNames }) {
  const focus = useStore((s) => s.focusFn), hidden = useStore((s) => s.hiddenFns), isFolded = useStore((s) => s.foldRecursion);
  const zoom = useStore((s) => s.zoom);
  return (
    <div class="flame-states">
      {zoom !== null && <Ends words="zoomed" why="show the whole" onEnd={() => act.zoom(null)} />}
      {focus !== null && <Ends words={`only stacks through ${names.of(focus).name}`} why="show all stacks" onEnd={() => act.focus(null)} />}
      {hidden.map((fn) => <Ends key={fn} words={`without ${names.of(fn).name}`} why="show it again" onEnd={() => act.hide(fn)} />)}
      {isFolded && <Ends words="recursion folded" why="unfold it" onEnd={() => act.fold()} />}
    </div>
  );
}
function Ends({ words, why, onEnd }: { words: string; why: string; onEnd: () => void }) {
  return (
    <button class="flame-state" type="button" title={why} aria-label={`${words}: ${why}`} onClick={onEnd}>
      <span>{words}</span> <span aria-hidden="true">×</span>
    </button>
  );
}

export function FlameBar({ names, nodes }: { names: FlameNames; nodes: Nodes }) {
  const order = useStore((s) => s.order);
  return (
    <div class="flame-bar">
      <Orders />
      {order === 'sandwich' && <Middle names={names} nodes={nodes} />}
      <LeftOut names={names} />
    </div>
  );
}

// --- Colours

function Swatch({ texture, fill, ink }: { texture: Texture; fill: string; ink: string }) {
  const thin = { stroke: ink, 'stroke-opacity': 0.55, 'stroke-width': 1.2, fill: 'none' };
  return (
    <svg width="18" height="12" viewBox="0 0 18 12" aria-hidden="true">
      <rect width="18" height="12" rx="1.5" fill={fill} />
      {texture === 'edge' && <rect width="2.5" height="12" fill={ink} fill-opacity="0.5" />}
      {texture === 'hatch' && <path d="M0 12 12 0M6 12 18 0M-6 12 6 0M12 12 24 0" {...thin} />}
      {texture === 'lines' && <path d="M0 3H18M0 6.5H18M0 10H18" {...thin} />}
      {texture === 'dashes' && <rect x="1" y="1" width="16" height="10" {...thin} stroke-opacity="1" stroke-dasharray="3 3" />}
      {texture === 'dots' && <path d="M3 4h1.5M9 4h1.5M15 4h1.5M6 8h1.5M12 8h1.5" {...thin} />}
    </svg>
  );
}

export function FlameLegend({ boxes, names, palette }: { boxes: Boxes; names: FlameNames; palette: Palette }) {
  const kinds = useMemo(() => {
    const found = new Set<number>();
    for (let b = 0; b < boxes.n; b++) found.add(names.of(boxes.subject[b]!).kind);
    return [...found].filter((kind) => kind !== WHOLE_KIND && kind !== THREAD_KIND).sort((a, b) => a - b);
  }, [boxes, names]);
  return (
    <ul class="flame-legend" aria-label="Colours">
      {kinds.map((kind) => (
        <li key={kind}>
          <Swatch texture={KINDS[kind]!.texture} fill={palette.kinds[kind]![0]!} ink={palette.boxInk} />
          {KINDS[kind]!.words}
        </li>
      ))}
      <li class="flame-hint">Enter or a click zooms; <kbd>f</kbd> only this function, <kbd>h</kbd> without it, <kbd>r</kbd> fold recursion, <kbd>s</kbd> sandwich, <kbd>o</kbd> source</li>
    </ul>
  );
}
