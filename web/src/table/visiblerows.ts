// SPDX-License-Identifier: MIT
// visiblerows: which rows of a tall table are visible, and where they stand.
//
// Elements have a largest height (browsers differ; all scroll 8 million pixels).  What is taller scrolls in larger steps:
// the place of the scroll bar says which share of the rows is above, and rows stand where they are seen.

export const ROW = 24, HEAD = 30; // pixels of a row, and of the headings, which stay
const AROUND = 8; // rows beyond the visible ones
const TALLEST = 8_000_000;

export interface VisibleRows {
  first: number;
  n: number;
  shift: number; // pixels from the top of all rows to the first
  height: number; // of all rows, as far as an element can be
}

// How many pixels of rows go by for one of the scroll bar.
function scaleOf(n: number, room: number): number {
  const all = n * ROW;
  return all > TALLEST ? (all - room) / (TALLEST - room) : 1;
}

export function visibleRows(scrollTop: number, boxHeight: number, n: number): VisibleRows {
  const room = Math.max(0, boxHeight - HEAD), top = scrollTop * scaleOf(n, room);
  const first = Math.max(0, Math.floor(top / ROW) - AROUND), last = Math.min(n, Math.ceil((top + room) / ROW) + AROUND);
  return { first, n: Math.max(0, last - first), shift: first * ROW - top + scrollTop, height: Math.min(n * ROW, TALLEST) };
}

// Where to scroll so that a row is visible: not at all where it is.
export function scrollTo(row: number, scrollTop: number, boxHeight: number, n: number): number {
  const room = boxHeight - HEAD, scale = scaleOf(n, room), top = scrollTop * scale;
  if (row * ROW < top) return (row * ROW) / scale;
  return (row + 1) * ROW > top + room ? ((row + 1) * ROW - room) / scale : scrollTop;
}
