// SPDX-License-Identifier: MIT
// graphpaths: lines of a laid out graph as paths: straight through a layer, curved between layers, with an arrow at the end.
//
// Places were found in C (src/report/layout): a line has two points in each layer that it passes, where it enters and where
// it leaves.

export interface Line {
  path: string;
  arrow: string;
  x: number; // where a label stands
  y: number;
  isLoop: boolean; // then it begins there, else its middle is there
}

const round = (v: number) => Math.round(v * 10) / 10;

export const arrowLength = (pen: number) => 5 + 1.6 * pen;

function arrowAt(x: number, y: number, dx: number, dy: number, pen: number): string {
  const length = arrowLength(pen), half = length * 0.42;
  const [bx, by] = [x - dx * length, y - dy * length];
  return `M${round(x)} ${round(y)}L${round(bx - dy * half)} ${round(by + dx * half)}L${round(bx + dy * half)} ${round(by - dx * half)}Z`;
}

// From the points of a line, which ends where its arrow begins.
export function lineThrough(points: readonly number[], pen: number): Line | null {
  const n = points.length / 2;
  if (n < 2) return null;
  const xs = points.filter((_, i) => i % 2 === 0), ys = points.filter((_, i) => i % 2 === 1);
  const isUp = ys[n - 1]! < ys[0]!, tip = { x: xs[n - 1]!, y: ys[n - 1]! }, end = tip.y + (isUp ? arrowLength(pen) : -arrowLength(pen));
  for (let i = n - 1; i > 0; i--) if (i === n - 1 || (isUp ? ys[i]! < end : ys[i]! > end)) ys[i] = end;
  let path = `M${round(xs[0]!)} ${round(ys[0]!)}`;
  for (let i = 1; i < n; i++) {
    const middle = round((ys[i - 1]! + ys[i]!) / 2);
    if (xs[i] === xs[i - 1]) path += `V${round(ys[i]!)}`;
    else path += `C${round(xs[i - 1]!)} ${middle} ${round(xs[i]!)} ${middle} ${round(xs[i]!)} ${round(ys[i]!)}`;
  }
  const at = Math.max(1, n >> 1);
  return { path, arrow: arrowAt(tip.x, tip.y, 0, isUp ? -1 : 1, pen), x: (xs[at - 1]! + xs[at]!) / 2, y: (ys[at - 1]! + ys[at]!) / 2, isLoop: false };
}

// From a box to itself, at its right side.
export function loopBeside(box: { x: number; y: number; w: number; h: number }, pen: number): Line {
  const x = box.x + box.w / 2, up = Math.min(10, box.h / 3), out = 26;
  const path = `M${round(x)} ${round(box.y - up)}C${round(x + out)} ${round(box.y - 1.8 * up)} ${round(x + out)} ${round(box.y + up)} ${round(x + arrowLength(pen))} ${round(box.y + up)}`;
  return { path, arrow: arrowAt(x, box.y + up, -1, 0, pen), x: x + out - 4, y: box.y, isLoop: true };
}
