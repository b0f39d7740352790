// SPDX-License-Identifier: MIT
// flame: the flame graph: its boxes, walked with arrows or a pointer.
//
// Boxes are painted (flamecanvas.ts), so there are no elements to take the focus: the graph takes it, and the current box is
// an element on top of its picture that names it and carries the outline (`aria-activedescendant`).
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { takesLetters, useMatchStep, useOffer, usePalette, useSize } from '../drawing';
import { FlameBar, FlameLegend } from './flamebar';
import { boxAtPoint, paint, ROW, spotOf, svgOfFlame, type Scene } from './flamecanvas';
import { countsOf, type Counts } from './flamecounts';
import { layout, type Boxes } from './flamelayout';
import { detailOf, FlameNames, sentenceOf } from './flamenames';
import { nodesOf, type Nodes } from './flamenodes';
import { timeBoxes } from './flametime';
import { boxOfKey, levelOfBox, nextMatch, placeAmongSiblings, shownRows, stepFrom, type Step } from './flamewalk';
import { matcher, matchingFunctions } from '../search';
import { openSource } from '../source/source';
import { act, state, useStore } from '../store';
import { followed, sumsOf, type Sums } from '../sums';
import type { Selection, Stacks, View } from '../types';

// --- What is drawn

// Of the selection as far as the view follows it.
function usePart(view: View): Selection {
  const selection = useStore((s) => s.selection), { from, to, section, thread } = selection;
  return useMemo(() => followed(view, selection), [view, from, to, section, thread]);
}

function useSums(block: Stacks, part: Selection): Sums {
  const options = useStore((s) => s.options);
  return useMemo(() => sumsOf(block, part, options), [block, part, options]);
}

function useBoxes(sums: Sums, part: Selection): { nodes: Nodes; boxes: Boxes } {
  const mine = useStore((s) => s.options.mine), order = useStore((s) => s.order);
  const focus = useStore((s) => s.focusFn), hidden = useStore((s) => s.hiddenFns);
  const foldsRecursion = useStore((s) => s.foldRecursion), sandwich = useStore((s) => s.sandwichFn);
  const nodes = useMemo(() => nodesOf(sums, { mine, focus, hidden, foldsRecursion }), [sums, mine, focus, hidden, foldsRecursion]);
  const middle = order === 'sandwich' ? sandwich : null;
  const boxes = useMemo(() => (order === 'time' ? timeBoxes(sums, nodes, part) : layout(nodes, order, middle)), [nodes, order, middle]);
  return { nodes, boxes };
}

function useMatches(names: FlameNames): Uint8Array | null {
  const search = useStore((s) => s.selection.search);
  return useMemo(() => {
    const isMatch = matcher(search);
    if (!isMatch) return null;
    const found = new Uint8Array(names.subjects.threads + names.block.threads.length);
    found.set(matchingFunctions(names.block, isMatch));
    for (let subject = names.subjects.imports; subject < names.subjects.whole; subject++) if (isMatch(names.of(subject).raw)) found[subject] = 1;
    return found;
  }, [names, search]);
}

// --- The current box: kept by key, so that it survives another selection; another order begins at the root.

function useCurrent(boxes: Boxes, zoomed: number): [number, (b: number) => void] {
  const place = `${useStore((s) => s.order)} ${useStore((s) => s.sandwichFn)}`;
  const [at, setAt] = useState<{ place: string; key: number | null }>({ place, key: null });
  const known = at.place === place ? boxOfKey(boxes, at.key) : -1;
  return [known >= 0 ? known : zoomed, (b) => setAt({ place, key: b === boxes.root ? null : boxes.key[b]! })];
}

const STEPS: Record<string, Step> = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right', Home: 'root' };

const zoomTo = (boxes: Boxes, b: number) => act.zoom(b === boxes.root ? null : boxes.key[b]!);

// f, h, r, s and o act on the box under the pointer, else on the current one, wherever the focus is.
function useLetters(boxes: Boxes, names: FlameNames, chosen: () => number): void {
  const last = useRef<(e: KeyboardEvent) => void>(() => {});
  last.current = (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || takesLetters(e.target) || state().areKeysShown) return;
    const subject = boxes.subject[chosen()]!, isNamed = subject < names.subjects.whole;
    if (e.key === 'f') act.focus(isNamed && state().focusFn !== subject ? subject : null);
    else if (e.key === 'h' && isNamed) act.hide(subject);
    else if (e.key === 'r') act.fold();
    else if (e.key === 's' && isNamed) openSandwich(subject);
    else if (e.key === 'o' && isNamed && names.of(subject).file !== null) openSource(names.of(subject).file!, names.of(subject).line);
    else return;
    e.preventDefault();
  };
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => last.current(e);
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}
function openSandwich(subject: number): void {
  act.sandwich(subject);
  act.order('sandwich');
}

// --- The graph

const ID = 'flame-current';

interface GraphProps { scene: Omit<Scene, 'width'>; sums: Sums; counts: Counts | null; title: string }

function FlameTree({ scene: drawn, sums, counts, title }: GraphProps) {
  const { boxes, zoomed, names } = drawn;
  const window = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null), hovered = useRef(-1), hasFocus = useRef(false);
  const { width, height } = useSize(window), scene = { ...drawn, width };
  const [current, setCurrent] = useCurrent(boxes, zoomed);
  const rows = shownRows(boxes, zoomed), spot = spotOf(scene, current, rows.from);
  const seen = boxes.row[current]! >= rows.from && boxes.row[current]! < rows.to && spot.w > 0;

  const draw = () => {
    if (hovered.current >= boxes.n) hovered.current = -1;
    if (canvas.current && window.current) paint(scene, { canvas: canvas.current, height, scroll: window.current.scrollTop, hovered: hovered.current });
  };
  useLayoutEffect(draw);
  const tell = (b: number) => act.detail(b < 0 ? null : detailOf(boxes, b, zoomed, names, sums, counts));
  const go = (b: number) => {
    setCurrent(b);
    tell(b);
  };
  useLayoutEffect(() => {
    if (window.current && height > 0) showRow(window.current, spot.row, height);
  }, [current, boxes, zoomed, height]);
  useEffect(() => {
    if (hasFocus.current) tell(current);
  }, [boxes, zoomed, sums]);
  useMatchStep((by) => {
    const found = scene.matches ? nextMatch(boxes, zoomed, scene.matches, current, by) : -1;
    if (found >= 0) go(found);
  });
  useLetters(boxes, names, () => (hovered.current >= 0 ? hovered.current : current));
  useOffer(() => svgOfFlame({ ...scene, width: Math.max(width, 900) }, title));

  const hover = (b: number) => {
    if (b === hovered.current) return;
    hovered.current = b;
    draw();
    tell(b >= 0 ? b : hasFocus.current ? current : -1);
  };
  const under = (e: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    return boxAtPoint(scene, e.clientX - box.left, e.clientY - box.top + window.current!.scrollTop);
  };
  const click = (e: MouseEvent) => {
    const b = under(e);
    if (b < 0) return;
    go(b);
    zoomTo(boxes, b);
  };
  const key = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return;
    const step = STEPS[e.key];
    if (step) go(stepFrom(boxes, zoomed, current, step));
    else if (e.key === 'Enter' || e.key === ' ') zoomTo(boxes, current);
    else return;
    e.preventDefault();
  };
  const focus = (isIn: boolean) => {
    hasFocus.current = isIn;
    tell(isIn ? current : -1);
  };
  const place = placeAmongSiblings(boxes, current);
  return (
    <div class="flame-window" ref={window} role="tree" aria-label="Flame graph" tabIndex={0} aria-activedescendant={ID} onScroll={draw} onKeyDown={key}
      onFocus={() => focus(true)} onBlur={() => focus(false)} onPointerMove={(e) => hover(under(e))} onPointerLeave={() => hover(-1)} onClick={click}>
      <div class="flame-space" role="none" style={{ height: `${(rows.to - rows.from) * ROW}px` }}>
        <canvas class="flame-canvas" ref={canvas} aria-hidden="true" style={{ height: `${height}px` }} />
        <div id={ID} class={`flame-current${seen ? '' : ' is-unseen'}`} role="treeitem" aria-label={sentenceOf(boxes, current, names, sums, counts)} aria-selected="true"
          aria-level={levelOfBox(boxes, current)} aria-posinset={place.at} aria-setsize={place.of} aria-expanded={boxes.count[current]! > 0 ? true : undefined}
          style={{ left: `${spot.x}px`, top: `${Math.max(0, spot.row) * ROW}px`, width: `${Math.max(spot.w, 3)}px`, height: `${ROW - 1}px` }} />
      </div>
    </div>
  );
}

// Rows around it are seen, too.
function showRow(window: HTMLElement, row: number, height: number): void {
  const top = row * ROW;
  if (top < window.scrollTop) window.scrollTop = Math.max(0, top - 2 * ROW);
  else if (top + ROW > window.scrollTop + height) window.scrollTop = top + 3 * ROW - height;
}

export function Flame({ view }: { view: View }) {
  const payload = useStore((s) => s.payload), zoom = useStore((s) => s.zoom), palette = usePalette();
  const block = payload.stacks[view.stacks ?? 0]!;
  const names = useMemo(() => new FlameNames(block), [block]);
  const part = usePart(view), sums = useSums(block, part), { nodes, boxes } = useBoxes(sums, part), matches = useMatches(names);
  const options = useStore((s) => s.options), order = useStore((s) => s.order);
  const counts = useMemo(() => countsOf(sums, part, options, order, nodes, boxes), [sums, nodes, boxes]);
  const known = boxOfKey(boxes, zoom);
  const scene = { boxes, zoomed: known >= 0 ? known : boxes.root, names, matches, palette };
  return (
    <div class="flame">
      <FlameBar names={names} nodes={nodes} />
      <FlameTree scene={scene} sums={sums} counts={counts} title={`${payload.title}: ${view.title}`} />
      {boxes.total[boxes.root]! > 0 ? <FlameLegend boxes={boxes} names={names} palette={palette} /> : <p class="empty">Nothing of this selection has a stack.</p>}
    </div>
  );
}
