// SPDX-License-Identifier: MIT
// flamewalk: where one comes to from a box of the flame graph, and what is seen when a box is zoomed.
//
// Directions are those of the picture: down is to the leftmost child, up to the parent; above the root of a sandwich, where
// callers are, it is the other way round.  Left and right go along the row, no further than what is shown.
import type { Boxes } from './flamelayout';

export type Step = 'up' | 'down' | 'left' | 'right' | 'root';

const isCaller = (boxes: Boxes, b: number) => boxes.row[b]! < boxes.row[boxes.root]!;

// Which amounts are on the screen in a row.  A sandwich has two halves: what is zoomed in one leaves the other whole.
export function shownPart(boxes: Boxes, zoomed: number, row: number): { from: number; to: number } {
  const middle = boxes.row[boxes.root]!;
  const isOther = zoomed !== boxes.root && (isCaller(boxes, zoomed) ? row >= middle : row < middle);
  const b = isOther ? boxes.root : zoomed;
  return { from: boxes.from[b]!, to: boxes.from[b]! + boxes.total[b]! };
}

// The box of a row in which an amount is, or -1; the row's boxes are from left to right.
export function boxAt(boxes: Boxes, row: number, amount: number): number {
  if (row < 0 || row + 1 >= boxes.rows.length) return -1;
  const b = firstFrom(boxes, row, amount);
  return b < boxes.rows[row + 1]! && boxes.from[b]! <= amount ? b : -1;
}
// The first box of a row that ends behind an amount.
export function firstFrom(boxes: Boxes, row: number, amount: number): number {
  let low = boxes.rows[row]!, high = boxes.rows[row + 1]!;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (boxes.from[middle]! + boxes.total[middle]! > amount) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function stepFrom(boxes: Boxes, zoomed: number, b: number, step: Step): number {
  if (step === 'root') return boxes.root;
  if (step === 'left' || step === 'right') return besides(boxes, zoomed, b, step === 'left' ? b - 1 : b + 1);
  const isAway = step === 'down' ? !isCaller(boxes, b) : isCaller(boxes, b);
  const next = b === boxes.root && step === 'up' ? boxes.firstCaller : isAway ? boxes.first[b]! : boxes.parent[b]!;
  return next < 0 ? b : next;
}
function besides(boxes: Boxes, zoomed: number, b: number, next: number): number {
  const row = boxes.row[b]!, part = shownPart(boxes, zoomed, row);
  const isThere = next >= boxes.rows[row]! && next < boxes.rows[row + 1]!;
  const isShown = isThere && boxes.from[next]! + boxes.total[next]! > part.from && boxes.from[next]! < part.to;
  return isShown ? next : b;
}

// Rows from the first to behind the last that show something of a zoomed box.
export function shownRows(boxes: Boxes, zoomed: number): { from: number; to: number } {
  const reach = (b: number, by: number): number => {
    let row = boxes.row[b]!;
    while (row + by >= 0 && row + by + 1 < boxes.rows.length && hasBoxes(boxes, zoomed, row + by)) row += by;
    return row;
  };
  return { from: reach(boxes.root, -1), to: reach(boxes.root, 1) + 1 };
}
function hasBoxes(boxes: Boxes, zoomed: number, row: number): boolean {
  const part = shownPart(boxes, zoomed, row), b = firstFrom(boxes, row, part.from);
  return b < boxes.rows[row + 1]! && boxes.from[b]! < part.to;
}

export function boxOfKey(boxes: Boxes, key: number | null): number {
  return key === null ? -1 : boxes.key.indexOf(key);
}

// Where one stands of how many: children of the same parent.
export function placeAmongSiblings(boxes: Boxes, b: number): { at: number; of: number } {
  const parent = boxes.parent[b]!;
  if (parent < 0) return { at: 1, of: 1 };
  const isFirstCaller = parent === boxes.root && isCaller(boxes, b);
  const first = isFirstCaller ? boxes.firstCaller : boxes.first[parent]!;
  return { at: b - first + 1, of: isFirstCaller ? boxes.callers : boxes.count[parent]! };
}
export function levelOfBox(boxes: Boxes, b: number): number {
  return Math.abs(boxes.row[b]! - boxes.row[boxes.root]!) + 1;
}

// The next box in reading order, from `after` on and round, that is shown and whose subject matches; -1: none.
export function nextMatch(boxes: Boxes, zoomed: number, matches: Uint8Array, after: number, step: 1 | -1): number {
  for (let k = 1; k <= boxes.n; k++) {
    const b = (((after + step * k) % boxes.n) + boxes.n) % boxes.n;
    if (!matches[boxes.subject[b]!]) continue;
    const part = shownPart(boxes, zoomed, boxes.row[b]!);
    if (boxes.from[b]! + boxes.total[b]! > part.from && boxes.from[b]! < part.to) return b;
  }
  return -1;
}
