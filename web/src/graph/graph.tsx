// SPDX-License-Identifier: MIT
// graph: the call graph.  Places come from C and stay; shares follow the selection.
//
// A box is the warmer, the larger its total; a line the thicker.  Arrows walk: up to the heaviest caller, down to the
// heaviest callee, left and right along the layer.  What the current box has to do with stays plain, the rest pales.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { graphOf } from '../callgraph';
import type { Palette } from '../colors';
import { nextIn, useMatchStep, usePalette, useSize, useSvgOffer } from '../drawing';
import { lineThrough, loopBeside, type Line } from './graphpaths';
import { movesWindow, usePanZoom } from './panzoom';
import { matcher, searchText } from '../search';
import { act, useStore } from '../store';
import { count, percent, shown } from '../text';
import type { GraphData, View } from '../types';

type Node = GraphData['nodes'][number];
type Edge = GraphData['edges'][number];

const share = (part: number) => `${percent(100 * part)} %`;
const whereOf = (n: Node) => (n.file === null ? null : `${n.file.split('/').pop()}${n.line > 0 ? `:${n.line}` : ''}`);

function sentenceOfNode(n: Node): string {
  const where = whereOf(n), calls = n.calls > 0 ? `, ${count(n.calls)} calls` : '';
  return `${shown(n.name)}${where ? ` (${shown(where)})` : ''}, total ${share(n.total)}, self ${share(n.self)}${calls}`;
}
function tell(n: Node | undefined): void {
  if (!n) return act.detail(null);
  const rows: [string, string][] = [['total', share(n.total)], ['self', share(n.self)]];
  act.detail({ name: n.name, file: n.file, line: n.line, rows: n.calls > 0 ? [...rows, ['calls', count(n.calls)]] : rows });
}

// --- Lines

const penOf = (total: number) => 0.8 + 4.2 * Math.sqrt(Math.min(1, total));
const EDGE_LABELS = 30, // all of them have one; where there are more, those of large shares
  LABEL_FROM = 0.02;

const hasLabel = (g: GraphData, edge: Edge) => g.edges.length <= EDGE_LABELS || edge.total >= LABEL_FROM;

interface EdgeProps { edge: Edge; line: Line; names: [string, string]; palette: Palette; isFaint: boolean; isNear: boolean; size: number /* of its label; 0: none */ }

function EdgeLine({ edge, line, names, palette, isFaint, isNear, size }: EdgeProps) {
  const colour = isNear ? palette.accent : palette.frame, words = share(edge.total) + (edge.calls > 0 ? `, ${count(edge.calls)} calls` : '');
  return (
    <g opacity={isFaint ? 0.25 : edge.total > 0 ? 1 : 0.4}>
      <title>{`${names[0]} → ${names[1]}: ${words}`}</title>
      <path d={line.path} fill="none" stroke={palette.ground} stroke-opacity="0" stroke-width="10" />
      <path d={line.path} fill="none" stroke={colour} stroke-width={penOf(edge.total)} stroke-dasharray={edge.total > 0 ? undefined : '3 4'} />
      <path d={line.arrow} fill={colour} />
      {size > 0 && (
        <text x={line.x} y={line.y + size * 0.36} font-size={size} text-anchor={line.isLoop ? 'start' : 'middle'} fill={palette.faint} stroke={palette.ground} stroke-width="4" paint-order="stroke">
          {share(edge.total)}
        </text>
      )}
    </g>
  );
}

// --- Boxes

const MONO = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';

// Lines of a box, as large as they fit: the name, where it is, shares, calls.
function linesOf(n: Node): string[] {
  const where = whereOf(n), lines = [shown(n.name)];
  if (where && n.h >= 62) lines.push(shown(where));
  lines.push(share(n.total), `(${share(n.self)})`);
  if (n.calls > 0) lines.push(`${count(n.calls)}×`);
  return lines;
}
function fontOf(n: Node, lines: readonly string[]): number {
  const longest = Math.min(64, Math.max(...lines.map((l) => l.length)));
  return Math.max(7.5, Math.min(17, (n.h - 6) / (lines.length * 1.22), (n.w - 12) / (longest * 0.605)));
}

interface NodeProps { node: Node; palette: Palette; at: number; isCurrent: boolean; isFaint: boolean; isMatch: boolean; onPoint: (at: number) => void; onPick: (at: number) => void }

function NodeBox({ node: n, palette, at, isCurrent, isFaint, isMatch, onPoint, onPick }: NodeProps) {
  const lines = linesOf(n), size = fontOf(n, lines), room = Math.floor((n.w - 8) / (size * 0.605)), isThere = n.total > 0;
  const top = n.y - (lines.length * size * 1.22) / 2 + size * 0.95;
  return (
    <g class="graph-node" role="none" opacity={isFaint ? 0.45 : 1} onPointerEnter={() => onPoint(at)} onClick={() => onPick(at)}>
      <rect id={`graph-node-${at}`} role="treeitem" aria-label={sentenceOfNode(n)} aria-selected={isCurrent} x={n.x - n.w / 2} y={n.y - n.h / 2} width={n.w} height={n.h} rx="4" fill={palette.heat(n.total)} stroke={palette.frame} stroke-width="1"
        stroke-dasharray={isThere ? undefined : '3 3'} />
      {isMatch && <rect x={n.x - n.w / 2 - 3} y={n.y - n.h / 2 - 3} width={n.w + 6} height={n.h + 6} rx="6" fill="none" stroke={palette.match} stroke-width="3.5" stroke-dasharray="9 3" />}
      {isCurrent && <rect x={n.x - n.w / 2} y={n.y - n.h / 2} width={n.w} height={n.h} rx="4" fill="none" stroke={palette.ink} stroke-width="3" />}
      {lines.map((line, i) => (
        <text key={i} aria-hidden="true" x={n.x} y={top + i * size * 1.22} font-size={size} text-anchor="middle" fill={i === 0 ? palette.ink : isThere ? palette.ink : palette.faint}
          font-family={i === 0 ? MONO : undefined} font-weight={i === 0 ? 600 : undefined}>
          {line.length <= room ? line : line.slice(0, Math.max(1, room - 1)) + '…'}
        </text>
      ))}
    </g>
  );
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

interface DrawingProps { g: GraphData; lines: (Line | null)[]; palette: Palette; current: number; near: Set<number> | null; matches: boolean[]; onPoint: (at: number) => void; onPick: (at: number) => void }

function GraphDrawing({ g, lines, palette, current, near, matches, onPoint, onPick }: DrawingProps) {
  return (
    <>
      <g>
        {g.edges.map((edge, i) => lines[i] && (
          <EdgeLine key={i} edge={edge} line={lines[i]} palette={palette} names={[shown(g.nodes[edge.from]!.name), shown(g.nodes[edge.to]!.name)]}
            isFaint={near !== null && edge.from !== current && edge.to !== current} isNear={near !== null && (edge.from === current || edge.to === current)}
            size={hasLabel(g, edge) || edge.from === current || edge.to === current ? Math.min(11, 0.95 * fontOf(g.nodes[edge.from]!, linesOf(g.nodes[edge.from]!))) : 0} />
        ))}
      </g>
      <g>
        {g.nodes.map((node, i) => (
          <NodeBox key={i} node={node} palette={palette} at={i} isCurrent={i === current} isMatch={matches[i]!} onPoint={onPoint} onPick={onPick}
            isFaint={near !== null && !near.has(i) && !matches[i]} />
        ))}
      </g>
    </>
  );
}

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

function GraphWindow({ view, g }: { view: View; g: GraphData }) {
  const palette = usePalette(), window = useRef<HTMLDivElement>(null), svg = useRef<SVGSVGElement>(null), { width, height } = useSize(window);
  const matches = useMatching(g), openSandwich = useSandwich(view), top = topNode(g), [picked, setPicked] = useState<number | null>(null);
  const current = picked ?? top, move = usePanZoom(window, { width, height }, g.width, g.height, g.nodes[top]!), hasFocus = useRef(false);
  const lines = useMemo(() => g.edges.map((e) => (e.points.length ? lineThrough(e.points, penOf(e.total)) : loopBeside(g.nodes[e.from]!, penOf(e.total)))), [g]);
  const near = useMemo(() => (picked === null ? null : nearOf(g, picked)), [g, picked]);
  useSvgOffer(svg, palette, shown(g.title), `-16 -16 ${g.width + 32} ${g.height + 32}`);
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
  const content = useMemo(() => <GraphDrawing g={g} lines={lines} palette={palette} current={picked ?? -1} near={near} matches={matches} onPoint={(at) => tell(g.nodes[at])} onPick={pick} />,
    [g, lines, palette, picked, near, matches]);
  const isOpenable = openSandwich !== null && g.nodes[current]!.fn !== null;
  return (
    <div class="graph">
      <div class="flame-bar">
        <button class="button" type="button" aria-label="Zoom in" onClick={() => move.zoom(1.25)}>+</button>
        <button class="button" type="button" aria-label="Zoom out" onClick={() => move.zoom(0.8)}>−</button>
        <button class="button" type="button" onClick={() => move.fit()}>Fit</button>
        {isOpenable && <button class="button" type="button" onClick={() => openSandwich!(g.nodes[current]!)}>Sandwich of {shown(g.nodes[current]!.name).slice(0, 60)}</button>}
        {picked !== null && <button class="button" type="button" onClick={() => setPicked(null)}>Show all plainly</button>}
        <span class="panel-note">{[g.subtitle, g.note].filter((t) => t !== null).map((t) => shown(t!)).join('; ')}</span>
      </div>
      <div class="graph-window" ref={window} role="tree" aria-label="Call graph" tabIndex={0} aria-activedescendant={`graph-node-${current}`} onKeyDown={key}
        onFocus={() => (hasFocus.current = true, tell(g.nodes[current]))} onBlur={() => (hasFocus.current = false, act.detail(null))}
        onPointerLeave={() => tell(picked === null ? undefined : g.nodes[picked])} onDblClick={() => isOpenable && openSandwich!(g.nodes[current]!)}>
        <svg ref={svg} role="none" width={width} height={height} viewBox={`0 0 ${Math.max(1, width)} ${Math.max(1, height)}`}>
          <g data-moves="" transform={`translate(${move.look.x} ${move.look.y}) scale(${move.look.scale})`}>{content}</g>
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
