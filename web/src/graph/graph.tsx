// SPDX-License-Identifier: MIT
// graph: the call graph.  Places come from C and stay; shares follow the selection.
//
// Arrows walk: up to the heaviest caller, down to the heaviest callee, left and right along the layer.  Of a large graph
// only what is near the window stands in the document (graphpart.ts).
import { render } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { graphOf } from '../callgraph';
import { nextIn, useMatchStep, useOffer, usePalette, useSize } from '../drawing';
import { GraphDrawing, share, type DrawingProps, type Edge, type Node } from './graphboxes';
import { allOf, areaNear, drawnEdges, isReadable, MOST_EDGES, partNear, type GraphPart } from './graphpart';
import { movesWindow, usePanZoom, type Look } from './panzoom';
import { matcher, searchText } from '../search';
import { act, useStore } from '../store';
import { addTitle, svgOfElement } from '../svg';
import { count, shown } from '../text';
import type { GraphData, View } from '../types';

function tell(n: Node | undefined): void {
  if (!n) return act.detail(null);
  const rows: [string, string][] = [['total', share(n.total)], ['self', share(n.self)]];
  act.detail({ name: n.name, file: n.file, line: n.line, rows: n.calls > 0 ? [...rows, ['calls', count(n.calls)]] : rows });
}

// --- Walking

function heaviest(edges: readonly Edge[], at: number, isUp: boolean): number {
  let best: Edge | null = null;
  for (const e of edges) if (e.from !== e.to && (isUp ? e.to : e.from) === at && (!best || e.total > best.total)) best = e;
  return best ? (isUp ? best.from : best.to) : at;
}
// The next box in its layer; a layer's boxes overlap in height.
function beside(nodes: readonly Node[], at: number, step: number): number {
  const here = nodes[at]!;
  let best = at;
  nodes.forEach((n, i) => {
    const away = (n.x - here.x) * step;
    if (i !== at && away > 0 && Math.abs(n.y - here.y) < (n.h + here.h) / 2 && (best === at || away < (nodes[best]!.x - here.x) * step)) best = i;
  });
  return best;
}
function stepInGraph(g: GraphData, at: number, key: string): number {
  if (key === 'ArrowUp') return heaviest(g.edges, at, true);
  if (key === 'ArrowDown') return heaviest(g.edges, at, false);
  if (key === 'ArrowLeft') return beside(g.nodes, at, -1);
  if (key === 'ArrowRight') return beside(g.nodes, at, 1);
  return key === 'Home' ? topNode(g) : -1;
}
function topNode(g: GraphData): number {
  let best = 0;
  g.nodes.forEach((n, i) => {
    if (n.total > g.nodes[best]!.total || (n.total === g.nodes[best]!.total && n.y < g.nodes[best]!.y)) best = i;
  });
  return best;
}

// --- The graph

function useMatching(g: GraphData): boolean[] {
  const search = useStore((s) => s.selection.search), isMatch = matcher(search);
  return useMemo(() => g.nodes.map((n) => isMatch !== null && isMatch(searchText(n.name, n.file, n.line))), [g, search]);
}

// Opens the flame graph of the same stacks with this function in the middle.
function useSandwich(view: View): ((n: Node) => void) | null {
  const payload = useStore((s) => s.payload);
  const flame = payload.views.find((v) => v.shape === 'flame' && v.stacks === view.stacks && v.stacks !== undefined);
  if (!flame) return null;
  return (n) => {
    if (n.fn === null) return;
    act.sandwich(n.fn);
    act.order('sandwich');
    act.show(flame.name);
  };
}

export function Graph({ view }: { view: View }) {
  const payload = useStore((s) => s.payload), selection = useStore((s) => s.selection), options = useStore((s) => s.options);
  const { from, to, section, thread } = selection;
  const g = useMemo(() => graphOf(view, payload, selection, options), [view, payload, from, to, section, thread, options]);
  if (g.nodes.length === 0) return <p class="empty">{g.note ? shown(g.note) : 'No function is large enough to be drawn.'}</p>;
  return <GraphWindow view={view} g={g} />;
}

// Nothing before the window's size is known.
function usePart(g: GraphData, edges: number[], look: Look, { width, height }: { width: number; height: number }, current: number): GraphPart {
  const area = areaNear(look, width, height, g);
  return useMemo(() => (width > 0 ? partNear(g, edges, area, isReadable(look), current) : { nodes: [], edges: [], hasText: false }),
    [g, edges, current, width > 0, isReadable(look), JSON.stringify(area)]);
}

function cutNote(g: GraphData): string | null {
  return g.edges.length > MOST_EDGES ? `of these lines the ${count(MOST_EDGES)} largest, and all of a picked box` : null;
}

// All of it, whatever is in the window, with a title above.
function svgOfGraph(drawing: DrawingProps): string | null {
  const { g, palette } = drawing, svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', `-16 -16 ${g.width + 32} ${g.height + 32}`);
  render(<GraphDrawing {...drawing} />, svg);
  return svgOfElement(svg, palette.ground, (copy) => addTitle(copy, shown(g.title), palette.ink));
}

function GraphWindow({ view, g }: { view: View; g: GraphData }) {
  const palette = usePalette(), window = useRef<HTMLDivElement>(null), { width, height } = useSize(window);
  const matches = useMatching(g), openSandwich = useSandwich(view), top = topNode(g), [picked, setPicked] = useState<number | null>(null);
  const current = picked ?? top, move = usePanZoom(window, { width, height }, g.width, g.height, g.nodes[top]!), hasFocus = useRef(false);
  const near = useMemo(() => (picked === null ? null : nearOf(g, picked)), [g, picked]);
  const edges = useMemo(() => drawnEdges(g, picked ?? -1), [g, picked]), part = usePart(g, edges, move.look, { width, height }, current);
  const go = (at: number) => {
    const n = g.nodes[at]!;
    setPicked(at);
    tell(n);
    move.reveal(n.x - n.w / 2, n.y - n.h / 2, n.w, n.h);
  };
  useMatchStep((by) => {
    const at = nextIn(g.nodes.length, current, by, (i) => matches[i]!);
    if (at >= 0) go(at);
  });
  useEffect(() => {
    if (hasFocus.current) tell(g.nodes[current]);
  }, [g]);
  const key = (e: KeyboardEvent) => {
    if (movesWindow(e, move)) return e.preventDefault();
    const next = e.ctrlKey || e.metaKey || e.altKey || e.shiftKey ? -1 : stepInGraph(g, current, e.key);
    if (next >= 0) go(next);
    else if ((e.key === 'Enter' || e.key === 's') && openSandwich) openSandwich(g.nodes[current]!);
    else return;
    e.preventDefault();
  };
  const pick = (at: number) => {
    if (!move.hasMoved()) go(at);
  };
  const drawing: DrawingProps = { g, part, palette, current: picked ?? -1, near, matches, onPoint: (at) => tell(g.nodes[at]), onPick: pick };
  const content = useMemo(() => <GraphDrawing {...drawing} />, [g, part, palette, picked, near, matches]);
  useOffer(() => svgOfGraph({ ...drawing, part: allOf(g, edges) }));
  const isOpenable = openSandwich !== null && g.nodes[current]!.fn !== null;
  return (
    <div class="graph">
      <div class="flame-bar">
        <button class="button" type="button" aria-label="Zoom in" onClick={() => move.zoom(1.25)}>+</button>
        <button class="button" type="button" aria-label="Zoom out" onClick={() => move.zoom(0.8)}>−</button>
        <button class="button" type="button" onClick={() => move.fit()}>Fit</button>
        {isOpenable && <button class="button" type="button" onClick={() => openSandwich!(g.nodes[current]!)}>Sandwich of {shown(g.nodes[current]!.name).slice(0, 60)}</button>}
        {picked !== null && <button class="button" type="button" onClick={() => setPicked(null)}>Show all plainly</button>}
        <span class="panel-note">{[g.subtitle, g.note, cutNote(g)].filter((t) => t !== null).map((t) => shown(t!)).join('; ')}</span>
      </div>
      <div class="graph-window" ref={window} role="tree" aria-label="Call graph" tabIndex={0} aria-activedescendant={`graph-node-${current}`} onKeyDown={key}
        onFocus={() => (hasFocus.current = true, tell(g.nodes[current]))} onBlur={() => (hasFocus.current = false, act.detail(null))}
        onPointerLeave={() => tell(picked === null ? undefined : g.nodes[picked])} onDblClick={() => isOpenable && openSandwich!(g.nodes[current]!)}>
        <svg role="none" width={width} height={height} viewBox={`0 0 ${Math.max(1, width)} ${Math.max(1, height)}`}>
          <g transform={`translate(${move.look.x} ${move.look.y}) scale(${move.look.scale})`}>{content}</g>
        </svg>
      </div>
      <p class="graph-hint">Drag to move, wheel or <kbd>+</kbd> <kbd>−</kbd> to zoom, <kbd>0</kbd> fits; arrows walk to the heaviest caller and callee{openSandwich ? <>, <kbd>Enter</kbd> opens the sandwich</> : ''}</p>
    </div>
  );
}

function nearOf(g: GraphData, at: number): Set<number> {
  const near = new Set([at]);
  for (const e of g.edges) {
    if (e.from === at) near.add(e.to);
    if (e.to === at) near.add(e.from);
  }
  return near;
}
