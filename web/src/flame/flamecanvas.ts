// SPDX-License-Identifier: MIT
// flamecanvas: paints the boxes of a flame graph, on a canvas or as SVG, and says which box is under a point.
//
// A canvas has a largest height, so it is only as high as the window on the graph and shows the rows that are scrolled to;
// rows are found by number and boxes by halving, so that what is not on the screen costs nothing.  Boxes narrower than half
// a pixel are not painted.  Boxes of one colour are painted together, since changing colours costs much; each as a
// rectangle of its own, since one path of 100,000 is several times slower to fill.
//
// A kind is told by a texture as well as by its colour, a match by a bar.
import { KINDS, type Palette, type Texture } from '../colors';
import type { Boxes } from './flamelayout';
import { labelOf, type FlameNames, type Named } from './flamenames';
import { boxAt, firstFrom, shownPart, shownRows } from './flamewalk';
import { SvgText } from '../svg';

export const ROW = 20;
export const FONT = '12px ui-monospace, "Cascadia Mono", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const GAP = 1, // between rows, and at the end of boxes that are wide enough
  PAD = 5,
  LEAST = 0.5,
  TEXT_FROM = 22, // pixels: where an initial and an ellipsis have room
  TEXTURE_FROM = 6;

export interface Scene {
  boxes: Boxes;
  zoomed: number;
  names: FlameNames;
  matches: Uint8Array | null; // by subject
  palette: Palette;
  width: number; // pixels of CSS
}
export interface Spot {
  box: number;
  x: number;
  w: number;
  row: number; // among the shown ones
}

// --- Where boxes are

export function spotOf({ boxes, zoomed, width }: Scene, b: number, firstRow: number): Spot {
  const part = shownPart(boxes, zoomed, boxes.row[b]!), scale = width / Math.max(part.to - part.from, Number.MIN_VALUE);
  const x = Math.max(0, (boxes.from[b]! - part.from) * scale);
  const right = Math.min(width, (boxes.from[b]! + boxes.total[b]! - part.from) * scale);
  return { box: b, x, w: Math.max(0, right - x), row: boxes.row[b]! - firstRow };
}

// Those of the rows `from` to `to` (of the graph) that are wide enough.
function forBoxes(scene: Scene, from: number, to: number, use: (b: number, x: number, w: number, row: number) => void): void {
  const { boxes, zoomed, width } = scene;
  for (let row = from; row < to; row++) {
    const part = shownPart(boxes, zoomed, row), scale = width / Math.max(part.to - part.from, Number.MIN_VALUE), end = boxes.rows[row + 1]!;
    for (let b = firstFrom(boxes, row, part.from); b < end && boxes.from[b]! < part.to; b++) {
      if (boxes.total[b]! * scale < LEAST) continue;
      const x = Math.max(0, (boxes.from[b]! - part.from) * scale);
      const right = Math.min(width, (boxes.from[b]! + boxes.total[b]! - part.from) * scale);
      if (right - x >= LEAST) use(b, x, right - x, row);
    }
  }
}

export function boxAtPoint(scene: Scene, x: number, y: number): number {
  const { boxes, zoomed, width } = scene, row = shownRows(boxes, zoomed).from + Math.floor(y / ROW);
  if (row < 0 || row + 1 >= boxes.rows.length || x < 0 || x >= width) return -1;
  const part = shownPart(boxes, zoomed, row);
  return boxAt(boxes, row, part.from + (x / width) * (part.to - part.from));
}

// --- Text that fits

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\ud83c-\ud83e\ud840-\ud87f][\udc00-\udfff]/;
// In columns; letters that stand on others count, so that a text is never wider than it is taken for.
function columnsOf(text: string): number {
  if (!/[^\u0020-\u024f\u2026]/.test(text)) return text.length;
  let n = 0;
  for (const char of text) n += WIDE.test(char) ? 2 : char > '\u036f' ? 1.3 : 1;
  return n;
}
function cut(text: string, columns: number): string {
  let n = 0, at = 0;
  for (const char of text) {
    n += columnsOf(char);
    if (n > columns - 1) break;
    at += char.length;
  }
  return at > 0 ? text.slice(0, at) + '…' : '';
}
// The name with its file, or the name, or as much of it as there is room for.
export function fitted(n: Named, columns: number): string {
  const label = labelOf(n);
  if (columnsOf(label) <= columns) return label;
  return columnsOf(n.name) <= columns ? n.name : columns < 2 ? '' : cut(n.name, columns);
}

// --- On a canvas

const patterns = new WeakMap<CanvasRenderingContext2D, Map<string, CanvasPattern | null>>();

function patternOf(c: CanvasRenderingContext2D, texture: Texture, ink: string): CanvasPattern | null {
  let known = patterns.get(c);
  if (!known) patterns.set(c, (known = new Map()));
  const key = texture + ink;
  if (!known.has(key)) known.set(key, makePattern(c, texture, ink));
  return known.get(key)!;
}
function makePattern(c: CanvasRenderingContext2D, texture: Texture, ink: string): CanvasPattern | null {
  const tile = document.createElement('canvas'), size = 8;
  tile.width = tile.height = size;
  const t = tile.getContext('2d');
  if (!t) return null;
  t.strokeStyle = t.fillStyle = ink;
  t.globalAlpha = 0.17;
  t.lineWidth = 1.4;
  t.beginPath();
  if (texture === 'hatch') for (const at of [-size, 0, size]) t.moveTo(at, size), t.lineTo(at + size, 0);
  if (texture === 'lines') for (const y of [1.5, 5.5]) t.moveTo(0, y), t.lineTo(size, y);
  if (texture === 'dots') for (const [x, y] of [[2, 2], [6, 6]] as const) t.rect(x - 0.8, y - 0.8, 1.6, 1.6);
  if (texture === 'dots') t.fill();
  else t.stroke();
  return c.createPattern(tile, 'repeat');
}

interface Batch {
  fill: string;
  texture: Texture | 'match';
  at: number[]; // x, y, w of each
}

export interface Window {
  canvas: HTMLCanvasElement;
  height: number; // of the window, pixels of CSS
  scroll: number; // how far down it is
  hovered: number; // a box, or -1
}

export function paint(scene: Scene, { canvas, height, scroll, hovered }: Window): void {
  const c = canvas.getContext('2d'), dots = globalThis.devicePixelRatio || 1, { palette, width } = scene;
  if (!c) return;
  const [w, h] = [Math.round(width * dots), Math.round(height * dots)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  c.setTransform(dots, 0, 0, dots, 0, 0);
  c.fillStyle = palette.ground;
  c.fillRect(0, 0, width, height);
  const { from, to } = shownRows(scene.boxes, scene.zoomed), first = from + Math.floor(scroll / ROW);
  const last = Math.min(to, from + Math.ceil((scroll + height) / ROW));
  const batches = new Batches(scene), texts: { b: number; x: number; y: number; w: number }[] = [];
  forBoxes(scene, first, last, (b, x, wide, row) => {
    const y = (row - from) * ROW - scroll;
    batches.of(b).at.push(x, y, wide);
    if (wide >= TEXT_FROM) texts.push({ b, x, y, w: wide });
  });
  for (const batch of batches.all.values()) paintBatch(c, batch, palette);
  paintTexts(c, scene, texts);
  if (hovered >= 0) outline(c, scene, hovered, from, scroll);
}

// Boxes by how they look, found by subject.
class Batches {
  readonly all = new Map<string, Batch>();
  private readonly bySubject: Batch[] = [];
  constructor(private readonly scene: Scene) {}
  of(b: number): Batch {
    const subject = this.scene.boxes.subject[b]!;
    return (this.bySubject[subject] ??= this.look(subject));
  }
  private look(subject: number): Batch {
    const { names, palette, matches } = this.scene, n = names.of(subject), isMatch = matches?.[subject] === 1, key = isMatch ? 'match' : `${n.kind} ${n.shade}`;
    const made = this.all.get(key) ?? { fill: isMatch ? palette.match : palette.kinds[n.kind]![n.shade]!, texture: isMatch ? 'match' : KINDS[n.kind]!.texture, at: [] };
    this.all.set(key, made);
    return made;
  }
}

const gapOf = (w: number) => (w > 3 ? GAP : 0);

function paintBatch(c: CanvasRenderingContext2D, { fill, texture, at }: Batch, palette: Palette): void {
  const each = (use: (x: number, y: number, w: number) => void, least = 0) => {
    for (let i = 0; i < at.length; i += 3) if (at[i + 2]! >= least) use(at[i]!, at[i + 1]!, at[i + 2]! - gapOf(at[i + 2]!));
  };
  const h = ROW - GAP;
  c.fillStyle = fill;
  each((x, y, w) => c.fillRect(x, y, w, h));
  if (texture === 'plain') return;
  c.fillStyle = texture === 'match' ? palette.matchInk : palette.boxInk;
  if (texture === 'match') each((x, y, w) => c.fillRect(x + 2, y + h - 4, w - 4, 2), TEXTURE_FROM);
  else if (texture === 'edge') {
    c.globalAlpha = 0.5;
    each((x, y) => c.fillRect(x, y, 2.5, h), TEXTURE_FROM);
    c.globalAlpha = 1;
  } else if (texture === 'dashes') {
    c.strokeStyle = palette.boxInk;
    c.setLineDash([3, 3]);
    each((x, y, w) => c.strokeRect(x + 1, y + 1, w - 2, h - 2), TEXTURE_FROM);
    c.setLineDash([]);
  } else {
    c.fillStyle = patternOf(c, texture, palette.boxInk) ?? fill;
    each((x, y, w) => c.fillRect(x, y, w, h), TEXTURE_FROM);
  }
}

let column: { dots: number; width: number } | null = null;
function columnWidth(c: CanvasRenderingContext2D): number {
  const dots = globalThis.devicePixelRatio || 1;
  if (column?.dots !== dots) column = { dots, width: c.measureText('M'.repeat(40)).width / 40 };
  return column.width;
}

function paintTexts(c: CanvasRenderingContext2D, scene: Scene, texts: { b: number; x: number; y: number; w: number }[]): void {
  c.font = FONT;
  c.textBaseline = 'alphabetic';
  c.direction = 'ltr';
  const em = columnWidth(c), { boxes, names, palette, matches } = scene;
  for (const { b, x, y, w } of texts) {
    const subject = boxes.subject[b]!, text = fitted(names.of(subject), (w - GAP - 2 * PAD) / em);
    if (!text) continue;
    c.fillStyle = matches?.[subject] === 1 ? palette.matchInk : palette.boxInk;
    c.fillText(text, x + PAD, y + 14);
  }
}

function outline(c: CanvasRenderingContext2D, scene: Scene, b: number, firstRow: number, scroll: number): void {
  const { x, w, row } = spotOf(scene, b, firstRow), y = row * ROW - scroll;
  c.strokeStyle = scene.palette.ink;
  c.lineWidth = 1.5;
  c.strokeRect(x + 0.75, y + 0.75, Math.max(w - gapOf(w) - 1.5, 0.5), ROW - GAP - 1.5);
}

// --- As SVG: all rows of what is zoomed

const SVG_PAD = 12,
  SVG_HEAD = 30,
  SVG_COLUMN = 7.3; // a letter at most, whatever the font will be

export function svgOfFlame(scene: Scene, title: string): string {
  const { boxes, names, palette, matches, width } = scene, { from, to } = shownRows(boxes, scene.zoomed);
  const svg = new SvgText(width + 2 * SVG_PAD, (to - from) * ROW + SVG_HEAD + SVG_PAD, title, palette.ground);
  svg.element('text', { x: SVG_PAD, y: 20, 'font-size': 14, 'font-weight': 600, fill: palette.ink }, title);
  forBoxes(scene, from, to, (b, x, w, row) => {
    const subject = boxes.subject[b]!, n = names.of(subject), isMatch = matches?.[subject] === 1;
    const left = SVG_PAD + x, top = SVG_HEAD + (row - from) * ROW, wide = Math.max(w - gapOf(w), 0.3);
    const fill = isMatch ? palette.match : palette.kinds[n.kind]![n.shade]!;
    svg.open('g');
    svg.element('title', {}, labelOf(n));
    svg.element('rect', { x: left, y: top, width: wide, height: ROW - GAP, fill, stroke: isMatch ? palette.ink : undefined });
    if (KINDS[n.kind]!.texture === 'edge' && w >= TEXTURE_FROM) svg.element('rect', { x: left, y: top, width: 2.5, height: ROW - GAP, fill: palette.boxInk, 'fill-opacity': 0.5 });
    const text = w >= TEXT_FROM ? fitted(n, (w - 2 * PAD) / SVG_COLUMN) : '';
    if (text) svg.element('text', { x: left + PAD, y: top + 14, 'font-size': 12, 'font-family': 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace',
      fill: isMatch ? palette.matchInk : palette.boxInk }, text);
    svg.close('g');
  });
  return svg.toString();
}
