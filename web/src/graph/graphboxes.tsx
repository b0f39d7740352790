// SPDX-License-Identifier: MIT
// graphboxes: the boxes of a call graph and the lines between them, as SVG.
//
// A box is the warmer, the larger its total; a line the thicker.  What the current box has to do with stays plain, the rest
// pales.
import type { Palette } from '../colors';
import { lineThrough, loopBeside, type Line } from './graphpaths';
import type { GraphPart } from './graphpart';
import { count, percent, shown } from '../text';
import type { GraphData } from '../types';

export type Node = GraphData['nodes'][number];
export type Edge = GraphData['edges'][number];

export const share = (part: number) => `${percent(100 * part)} %`;
const whereOf = (n: Node) => (n.file === null ? null : `${n.file.split('/').pop()}${n.line > 0 ? `:${n.line}` : ''}`);

function sentenceOfNode(n: Node): string {
  const where = whereOf(n), calls = n.calls > 0 ? `, ${count(n.calls)} calls` : '';
  return `${shown(n.name)}${where ? ` (${shown(where)})` : ''}, total ${share(n.total)}, self ${share(n.self)}${calls}`;
}

// --- Lines

const penOf = (total: number) => 0.8 + 4.2 * Math.sqrt(Math.min(1, total));
const EDGE_LABELS = 30, // all of them have one; where there are more, those of large shares
  LABEL_FROM = 0.02;

const hasLabel = (g: GraphData, edge: Edge) => g.edges.length <= EDGE_LABELS || edge.total >= LABEL_FROM;

function lineOf(g: GraphData, e: Edge): Line | null {
  return e.points.length ? lineThrough(e.points, penOf(e.total)) : loopBeside(g.nodes[e.from]!, penOf(e.total));
}

interface EdgeProps { edge: Edge; line: Line; names: [string, string]; palette: Palette; isFaint: boolean; isNear: boolean; size: number /* of its label; 0: none */ }

function EdgeLine({ edge, line, names, palette, isFaint, isNear, size }: EdgeProps) {
  const colour = isNear ? palette.accent : palette.frame, words = share(edge.total) + (edge.calls > 0 ? `, ${count(edge.calls)} calls` : '');
  return (
    <g opacity={isFaint ? 0.25 : edge.total > 0 ? 1 : 0.4}>
      <title>{`${names[0]} → ${names[1]}: ${words}`}</title>
      <path d={line.path} fill="none" pointer-events="stroke" stroke-width="10" />
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

interface NodeProps { node: Node; palette: Palette; at: number; hasText: boolean; isCurrent: boolean; isFaint: boolean; isMatch: boolean; onPoint: (at: number) => void; onPick: (at: number) => void }

function NodeBox({ node: n, palette, at, hasText, isCurrent, isFaint, isMatch, onPoint, onPick }: NodeProps) {
  const lines = linesOf(n), size = fontOf(n, lines), room = Math.floor((n.w - 8) / (size * 0.605)), isThere = n.total > 0;
  const top = n.y - (lines.length * size * 1.22) / 2 + size * 0.95;
  return (
    <g class="graph-node" role="none" opacity={isFaint ? 0.45 : 1} onPointerEnter={() => onPoint(at)} onClick={() => onPick(at)}>
      <rect id={`graph-node-${at}`} role="treeitem" aria-label={sentenceOfNode(n)} aria-selected={isCurrent} x={n.x - n.w / 2} y={n.y - n.h / 2} width={n.w} height={n.h} rx="4" fill={palette.heat(n.total)} stroke={palette.frame} stroke-width="1"
        stroke-dasharray={isThere ? undefined : '3 3'} />
      {isMatch && <rect x={n.x - n.w / 2 - 3} y={n.y - n.h / 2 - 3} width={n.w + 6} height={n.h + 6} rx="6" fill="none" stroke={palette.match} stroke-width="3.5" stroke-dasharray="9 3" />}
      {isCurrent && <rect x={n.x - n.w / 2} y={n.y - n.h / 2} width={n.w} height={n.h} rx="4" fill="none" stroke={palette.ink} stroke-width="3" />}
      {hasText && lines.map((line, i) => (
        <text key={i} aria-hidden="true" x={n.x} y={top + i * size * 1.22} font-size={size} text-anchor="middle" fill={i === 0 ? palette.ink : isThere ? palette.ink : palette.faint}
          font-family={i === 0 ? MONO : undefined} font-weight={i === 0 ? 600 : undefined}>
          {line.length <= room ? line : line.slice(0, Math.max(1, room - 1)) + '…'}
        </text>
      ))}
    </g>
  );
}

// --- Both

export interface DrawingProps {
  g: GraphData;
  part: GraphPart; // what of it stands there
  palette: Palette;
  current: number; // -1: none was picked
  near: Set<number> | null;
  matches: boolean[];
  onPoint: (at: number) => void;
  onPick: (at: number) => void;
}

function Edges({ g, part, palette, current, near }: DrawingProps) {
  const isOf = (e: Edge) => e.from === current || e.to === current;
  return (
    <g>
      {part.edges.map((i) => {
        const edge = g.edges[i]!, line = lineOf(g, edge), from = g.nodes[edge.from]!, isNear = near !== null && isOf(edge);
        return line && (
          <EdgeLine key={i} edge={edge} line={line} palette={palette} names={[shown(from.name), shown(g.nodes[edge.to]!.name)]} isFaint={near !== null && !isNear} isNear={isNear}
            size={part.hasText && (hasLabel(g, edge) || isOf(edge)) ? Math.min(11, 0.95 * fontOf(from, linesOf(from))) : 0} />
        );
      })}
    </g>
  );
}

export function GraphDrawing(p: DrawingProps) {
  const { g, part, palette, current, near, matches, onPoint, onPick } = p;
  return (
    <>
      <Edges {...p} />
      <g>
        {part.nodes.map((i) => (
          <NodeBox key={i} node={g.nodes[i]!} palette={palette} at={i} hasText={part.hasText} isCurrent={i === current} isMatch={matches[i]!} onPoint={onPoint} onPick={onPick}
            isFaint={near !== null && !near.has(i) && !matches[i]} />
        ))}
      </g>
    </>
  );
}
