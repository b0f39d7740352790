// SPDX-License-Identifier: MIT
// graphpart: what of a call graph is drawn, and what of that stands in the document.
//
// Hundreds of lines that cross each other say nothing, so that of many only the largest of the selection are drawn.  Of a
// large graph only boxes and lines near the window are elements: a change of the selection costs what is seen.
import type { Look } from './panzoom';
import type { GraphData } from '../types';

export const MOST_EDGES = 400;
const LARGE = 150; // boxes; a smaller graph always stands there whole
const READABLE = 0.3; // scale from which on there is text

export interface GraphPart {
  nodes: number[];
  edges: number[];
  hasText: boolean;
}
export interface Area { left: number; top: number; right: number; bottom: number }

// The largest lines, and (of what was picked: -1 is nothing) all of one box.
export function drawnEdges(g: GraphData, picked: number): number[] {
  const all = g.edges.map((_, i) => i);
  if (all.length <= MOST_EDGES) return all;
  const least = Float64Array.from(g.edges, (e) => e.total).sort()[all.length - MOST_EDGES]!;
  let left = MOST_EDGES - g.edges.reduce((n, e) => n + (e.total > least ? 1 : 0), 0); // of those just as large as the last
  return all.filter((i) => {
    const { from, to, total } = g.edges[i]!;
    return total > least || (total === least && left-- > 0) || from === picked || to === picked;
  });
}

export function allOf(g: GraphData, edges: number[]): GraphPart {
  return { nodes: g.nodes.map((_, i) => i), edges, hasText: true };
}

export const isReadable = (look: Look) => look.scale >= READABLE;

// What is seen through the window, out to a grid of half windows, so that it stays the same through most moves.
export function areaNear({ x, y, scale }: Look, width: number, height: number, g: { width: number; height: number }): Area {
  const step = 2 ** Math.floor(Math.log2(scale)), [w, h] = [width / 2 / step, height / 2 / step];
  const low = (at: number, size: number) => Math.max(0, Math.floor(-at / scale / size) * size);
  const high = (at: number, room: number, size: number, most: number) => Math.min(most, Math.ceil((room - at) / scale / size) * size);
  return { left: low(x, w), top: low(y, h), right: high(x, width, w, g.width), bottom: high(y, height, h, g.height) };
}

const overlaps = (area: Area, left: number, top: number, right: number, bottom: number) => right >= area.left && left <= area.right && bottom >= area.top && top <= area.bottom;

const LABEL = 30; // how far a label or an arrow stands out beside a line

function isEdgeIn(g: GraphData, at: number, area: Area): boolean {
  const { points, from } = g.edges[at]!, n = g.nodes[from]!;
  if (points.length === 0) return overlaps(area, n.x + n.w / 2, n.y - n.h / 2, n.x + n.w / 2 + 2 * LABEL, n.y + n.h / 2);
  for (let k = 0; k + 3 < points.length; k += 2) {
    const [x0, y0, x1, y1] = [points[k]!, points[k + 1]!, points[k + 2]!, points[k + 3]!];
    if (overlaps(area, Math.min(x0, x1) - LABEL, Math.min(y0, y1), Math.max(x0, x1) + LABEL, Math.max(y0, y1))) return true;
  }
  return false;
}

// `current` always stands there, for screen readers.
export function partNear(g: GraphData, edges: number[], area: Area, hasText: boolean, current: number): GraphPart {
  if (g.nodes.length <= LARGE) return allOf(g, edges);
  const isIn = (i: number): boolean => {
    const n = g.nodes[i]!;
    return i === current || overlaps(area, n.x - n.w / 2, n.y - n.h / 2, n.x + n.w / 2, n.y + n.h / 2);
  };
  return { nodes: allOf(g, edges).nodes.filter(isIn), edges: edges.filter((i) => isEdgeIn(g, i, area)), hasText };
}
