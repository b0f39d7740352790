// SPDX-License-Identifier: MIT
// timelinecanvas: paints the timeline: an axis of seconds, lanes, bands of sections, and what is selected.
import type { Band, Curve, Lane } from '../types';
import { shadeOf, type Palette } from '../colors';
import type { Steps } from './lanes';

export const AXIS = 17, BAND = 15, MOST_ROWS = 6;
const LABEL = 15; // pixels at the top of a lane that curves leave free

export interface Part { lane: Lane; steps: Steps | null; ceiling: number; y: number; h: number }
export interface Scene {
  width: number;
  height: number;
  durationNs: number;
  parts: Part[];
  bands: readonly Band[];
  rows: Int32Array;
  bandsY: number;
  section: string | null;
  selected: [number, number] | null; // ns
  pointer: number | null; // ns
}

type Pen = CanvasRenderingContext2D;
const FONT = '11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

// 1, 2 or 5 times a power of ten, so that no more than `most` steps fill the whole.
export function roundStep(whole: number, most: number): number {
  const power = 10 ** Math.floor(Math.log10(whole / most || 1));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => whole / step <= most) ?? 10 * power;
}

function axis(pen: Pen, s: Scene, p: Palette): void {
  const whole = s.durationNs / 1e9, step = roundStep(whole, Math.max(2, s.width / 90)), digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  pen.textBaseline = 'middle';
  for (let k = 1; k * step < whole; k++) {
    const x = Math.round((k * step * s.width) / whole) + 0.5, text = `${(k * step).toFixed(digits)} s`;
    pen.fillStyle = p.grid;
    pen.fillRect(x - 0.5, AXIS, 1, s.height);
    pen.fillStyle = p.faint;
    if (x + pen.measureText(text).width / 2 < s.width) pen.fillText(text, x - pen.measureText(text).width / 2, AXIS / 2 + 1);
  }
}

// --- Lanes

const yOf = (part: Part, value: number): number => part.y + part.h - 1 - Math.max(0, Math.min(1, value / part.ceiling)) * (part.h - LABEL - 1);

// Goes along the tops of the steps.
function tops(pen: Pen, s: Scene, part: Part, values: Float64Array, stepNs: number): void {
  const x = (i: number) => Math.min(s.width, (i * stepNs * s.width) / s.durationNs);
  for (let i = 0; i < values.length; i++) {
    const y = yOf(part, values[i]!);
    pen.lineTo(x(i), y);
    pen.lineTo(x(i + 1), y);
  }
}

function area(pen: Pen, s: Scene, part: Part, values: Float64Array, stepNs: number, fill: string, line: string | null): void {
  const floor = part.y + part.h, end = Math.min(s.width, (values.length * stepNs * s.width) / s.durationNs);
  pen.beginPath();
  pen.moveTo(0, floor);
  tops(pen, s, part, values, stepNs);
  pen.lineTo(end, floor);
  pen.fillStyle = fill;
  pen.fill();
  if (line === null) return;
  pen.beginPath();
  tops(pen, s, part, values, stepNs);
  pen.strokeStyle = line;
  pen.lineWidth = 1;
  pen.stroke();
}

function curve(pen: Pen, s: Scene, part: Part, c: Curve, p: Palette, at: number): void {
  const whole = s.durationNs / 1e9, n = c.t.length, isFirst = c.isTotal || part.lane.curves!.length === 1, x = (i: number) => (c.t[i]! * s.width) / whole;
  if (n === 0) return;
  pen.lineWidth = isFirst ? 1.5 : 1;
  pen.strokeStyle = isFirst ? p.accent : p.series[at % p.series.length]!;
  pen.setLineDash(isFirst ? [] : [5, 2 + at]);
  pen.beginPath();
  for (let i = 0; i < n; i++) {
    pen.lineTo(x(i), yOf(part, c.max[i]!));
    if (c.min[i] !== c.max[i]) pen.lineTo(x(i), yOf(part, c.min[i]!));
    if (c.last[i] !== c.min[i]) pen.lineTo(x(i), yOf(part, c.last[i]!));
  }
  pen.stroke();
  pen.setLineDash([]);
  if (!isFirst) return;
  pen.lineTo(x(n - 1), part.y + part.h);
  pen.lineTo(x(0), part.y + part.h);
  pen.closePath();
  pen.globalAlpha = 0.14;
  pen.fillStyle = p.accent;
  pen.fill();
  pen.globalAlpha = 1;
}

function lane(pen: Pen, s: Scene, part: Part, p: Palette): void {
  const { steps } = part;
  pen.fillStyle = p.grid;
  pen.fillRect(0, part.y + part.h, s.width, 1);
  if (steps) {
    const soft = p.isDark ? 'rgb(108 178 245 / .26)' : 'rgb(11 83 148 / .18)', pale = p.isDark ? 'rgb(163 169 177 / .2)' : 'rgb(92 99 107 / .16)';
    area(pen, s, part, steps.all, steps.stepNs, steps.part ? pale : soft, steps.part ? null : p.accent);
    if (steps.part) area(pen, s, part, steps.part, steps.stepNs, soft, p.accent);
  }
  part.lane.curves?.forEach((c, at) => curve(pen, s, part, c, p, at));
}

// --- Sections

function bands(pen: Pen, s: Scene, p: Palette, shown: (text: string) => string): void {
  const scale = s.width / (s.durationNs / 1e9);
  s.bands.forEach((band, i) => {
    if (s.rows[i]! >= MOST_ROWS) return;
    const x = band.from * scale, w = Math.max(1, band.to * scale - x), y = s.bandsY + s.rows[i]! * BAND;
    pen.fillStyle = p.band[shadeOf(band.name, null) % p.band.length]!;
    pen.fillRect(x, y + 1, Math.max(1, w - (w > 3 ? 1 : 0)), BAND - 2);
    if (band.name === s.section) {
      pen.strokeStyle = p.ink;
      pen.lineWidth = 1.5;
      pen.strokeRect(x + 0.75, y + 1.75, Math.max(0.5, w - 2.5), BAND - 3.5);
    }
    if (w < 24) return;
    const name = shown(band.n > 1 ? `${band.name} (${band.n})` : band.name);
    pen.save();
    pen.beginPath();
    pen.rect(x, y, w - 4, BAND);
    pen.clip();
    pen.fillStyle = p.ink;
    pen.fillText(name, x + 4, y + BAND / 2 + 0.5);
    pen.restore();
  });
}

// --- What is selected: all else is veiled, so that it is seen without a colour of its own

function veil(pen: Pen, s: Scene, p: Palette): void {
  if (s.selected) {
    const [from, to] = s.selected.map((ns) => (ns * s.width) / s.durationNs) as [number, number];
    pen.fillStyle = p.isDark ? 'rgb(10 12 15 / .62)' : 'rgb(236 238 241 / .78)';
    pen.fillRect(0, 0, from, s.height);
    pen.fillRect(to, 0, s.width - to, s.height);
    pen.fillStyle = p.accent;
    pen.fillRect(Math.max(0, from - 0.75), 0, 1.5, s.height);
    pen.fillRect(Math.min(s.width - 1.5, to - 0.75), 0, 1.5, s.height);
  }
  if (s.pointer === null) return;
  pen.fillStyle = p.frame;
  pen.fillRect(Math.round((s.pointer * s.width) / s.durationNs), 0, 1, s.height);
}

// --- Both, on canvases one above the other: only what is selected changes while something is dragged

function penOf(canvas: HTMLCanvasElement, s: Scene): Pen | null {
  const ratio = Math.min(3, devicePixelRatio || 1), pen = canvas.getContext('2d'), w = Math.max(1, Math.round(s.width * ratio)), h = Math.max(1, Math.round(s.height * ratio));
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  if (!pen || s.width < 1) return null;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, s.width, s.height);
  return pen;
}

export function paintLanes(canvas: HTMLCanvasElement, s: Scene, p: Palette, shown: (text: string) => string): void {
  const pen = penOf(canvas, s);
  if (!pen) return;
  pen.fillStyle = p.ground;
  pen.fillRect(0, 0, s.width, s.height);
  pen.font = FONT;
  axis(pen, s, p);
  for (const part of s.parts) lane(pen, s, part, p);
  bands(pen, s, p, shown);
}

export function paintVeil(canvas: HTMLCanvasElement, s: Scene, p: Palette): void {
  const pen = penOf(canvas, s);
  if (pen) veil(pen, s, p);
}
