// SPDX-License-Identifier: MIT
// source: files with figures beside their lines.
//
// It opens at the hottest line of the hottest file.  Only the rows that are seen are elements, so that files of 100,000 lines
// scroll.  Beside the lines stands a map of the whole file, in which the hot ones are marked.  Another view opens a place
// with `openSource`.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Palette } from '../colors';
import { nextIn, useMatchStep, usePalette, useSize } from '../drawing';
import { sourceOf } from '../rows';
import { matcher } from '../search';
import { hottestFile, linesOfFile, type FileLines } from './sourcelines';
import { act, state, useStore } from '../store';
import { amount, count, percent, shown } from '../text';
import type { Payload, SourceData, TableColumn, View } from '../types';

const ROW = 20;

// --- Opened from elsewhere

interface Wish { file: string; line: number }
let wish: Wish | null = null;
const listeners = new Set<() => void>();

// Shows a line of a file, as the interpreter names it; false when no view has it.
export function openSource(file: string, line: number): boolean {
  const { payload } = state();
  const view = payload.views.find((v) => v.shape === 'source' && hasFile(v, payload, file));
  if (!view) return false;
  wish = { file, line };
  act.show(view.name);
  for (const listener of [...listeners]) listener();
  return true;
}
function hasFile(view: View, payload: Payload, file: string): boolean {
  const data = sourceOf(view, payload, state().selection, state().options);
  return data.files.some((f) => payload.strings[f.file] === file);
}

// --- Which file and line

interface Place { file: number; line: number; n: number /* counts jumps, so that the same line can be jumped to again */ }

function usePlace(data: SourceData, payload: Payload): [Place, (file: number, line: number) => void] {
  const first = useMemo(() => hottestFile(data), [view0(data)]);
  const [place, setPlace] = useState<Place>({ ...first, n: 0 });
  const go = (file: number, line: number) => setPlace((old) => ({ file, line, n: old.n + 1 }));
  useLayoutEffect(() => {
    const take = () => {
      const at = wish ? data.files.findIndex((f) => payload.strings[f.file] === wish!.file) : -1;
      if (at >= 0) go(at, wish!.line);
      wish = null;
    };
    take();
    listeners.add(take);
    return () => void listeners.delete(take);
  }, [data]);
  return [place.file < data.files.length ? place : { file: 0, line: 1, n: 0 }, go];
}
// Another selection makes other data of the same files; the place stays.
const view0 = (data: SourceData) => data.files.length;

// --- What one can jump to

interface Target { label: string; line: number }

function functionsOf(payload: Payload, file: string): Target[] {
  const found = new Map<string, Target>();
  for (const { functions: f, strings } of payload.stacks)
    for (let i = 0; i < f.name.length; i++)
      if (f.line[i]! > 0 && f.file[i]! > 0 && strings[f.file[i]! - 1] === file) {
        const name = shown(strings[f.name[i]!]!);
        found.set(`${name} ${f.line[i]}`, { label: `${name}, line ${f.line[i]}`, line: f.line[i]! });
      }
  return [...found.values()].sort((a, b) => a.line - b.line);
}
function hotLines(lines: FileLines, n: number): Target[] {
  const { hot, heat } = lines;
  return hot.slice(0, n).map((i) => ({ label: `line ${lines.lineOf[i]}: ${cellText(heat!, lines.rowOf[i]!)}`, line: lines.lineOf[i]! }));
}

function Jump({ label, targets, onPick }: { label: string; targets: Target[]; onPick: (line: number) => void }) {
  if (targets.length === 0) return null;
  return (
    <label class="choice">
      <span>{label}</span>
      <select value="" onChange={(e) => {
        if (e.currentTarget.value) onPick(Number(e.currentTarget.value));
        e.currentTarget.value = '';
      }}>
        <option value="">jump to…</option>
        {targets.map((t, i) => <option key={i} value={String(t.line)}>{t.label}</option>)}
      </select>
    </label>
  );
}

// --- Cells

function cellText(column: TableColumn, row: number): string {
  const value = column.cells[row]!;
  if (Number.isNaN(value)) return '';
  return column.unit === 'percent' ? percent(value) : amount(value, column.unit);
}

interface RowProps { lines: FileLines; i: number; palette: Palette; isAt: boolean; isMatch: boolean; columns: TableColumn[]; onPoint: (i: number) => void }

function Row({ lines, i, palette, isAt, isMatch, columns, onPoint }: RowProps) {
  const row = lines.rowOf[i]!, part = lines.part(i);
  return (
    <div class={`source-row${isAt ? ' is-at' : ''}${isMatch ? ' is-match' : ''}`} role="row" aria-rowindex={i + 2} aria-current={isAt ? 'true' : undefined}
      style={{ top: `${i * ROW}px` }} onPointerEnter={() => onPoint(i)} onClick={() => onPoint(i)}>
      {columns.map((c) => (
        <span key={c.name} class="source-figure" role="cell" style={row >= 0 && c === lines.heat && part > 0 ? { background: palette.heat(part) } : undefined}>
          {row >= 0 ? cellText(c, row) : ''}
        </span>
      ))}
      <span class="source-number" role="rowheader">{lines.lineOf[i]}</span>
      <span class="source-text" role="cell">{lines.texts ? lines.texts[i] : ''}</span>
    </div>
  );
}

// --- The map of hot lines

const MAP = 64; // pixels wide

function Minimap({ lines, palette, height, top, seen, onJump }: { lines: FileLines; palette: Palette; height: number; top: number; seen: number; onJump: (share: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null), all = Math.max(lines.n * ROW, height);
  useLayoutEffect(() => {
    const c = canvas.current?.getContext('2d'), dots = devicePixelRatio || 1;
    if (!c || height <= 0) return;
    [c.canvas.width, c.canvas.height] = [MAP * dots, Math.round(height * dots)];
    c.scale(dots, dots);
    paintMap(c, lines, palette, height, all);
  }, [lines, palette, height]);
  const drag = (e: PointerEvent) => {
    if (e.type === 'pointerdown') canvas.current!.setPointerCapture(e.pointerId);
    if (e.buttons) onJump((e.clientY - canvas.current!.getBoundingClientRect().top) / height);
  };
  return (
    <div class="source-map" aria-hidden="true" title="hot lines of the file">
      <canvas ref={canvas} style={{ width: `${MAP}px`, height: `${height}px` }} onPointerDown={drag} onPointerMove={drag} />
      <div class="source-seen" style={{ top: `${(top / all) * height}px`, height: `${Math.max(4, (seen / all) * height)}px` }} />
    </div>
  );
}

function paintMap(c: CanvasRenderingContext2D, lines: FileLines, palette: Palette, height: number, all: number): void {
  const scale = (height / all) * ROW, tall = Math.max(1, Math.min(ROW, scale) - (scale > 3 ? 1 : 0));
  c.fillStyle = palette.grid;
  for (let i = 0; lines.texts && i < lines.n; i += Math.max(1, Math.floor(1 / scale))) {
    const text = lines.texts[i]!, from = text.length - text.trimStart().length;
    c.fillRect(2 + Math.min(from, 70) * 0.75, i * scale, Math.min(text.length - from, 80 - from) * 0.75, Math.min(tall, 2));
  }
  for (const i of [...lines.hot].reverse()) {
    const part = lines.part(i);
    c.fillStyle = palette.second;
    c.globalAlpha = 0.35 + 0.65 * Math.sqrt(part);
    c.fillRect(0, i * scale, 6 + (MAP - 6) * part, Math.max(2, Math.min(tall, 5)));
  }
  c.globalAlpha = 1;
}

// --- A file

function useLines(data: SourceData, file: number): FileLines {
  return useMemo(() => linesOfFile(data.files[file]!), [data, file]);
}

interface ListingProps { lines: FileLines; name: string; place: Place }

function Listing({ lines, name, place }: ListingProps) {
  const window = useRef<HTMLDivElement>(null), { height } = useSize(window), palette = usePalette();
  const [top, setTop] = useState(0), search = useStore((s) => s.selection.search), isMatch = useMemo(() => matcher(search), [search]);
  const columns = lines.columns;
  const scrollTo = (i: number) => {
    if (window.current) window.current.scrollTop = Math.max(0, i * ROW - height * 0.35);
  };
  const at = lines.placeOf(place.line);
  useLayoutEffect(() => {
    if (height > 0) scrollTo(at);
  }, [name, place.n, height > 0]);
  useMatchJumps(lines, isMatch, Math.floor(top / ROW), scrollTo);
  const point = (i: number) => act.detail({ name: lines.texts?.[i]?.trim() || `line ${lines.lineOf[i]}`, file: name, line: lines.lineOf[i]!,
    rows: lines.rowOf[i]! < 0 ? [] : columns.map((c) => [c.name, cellText(c, lines.rowOf[i]!)]) });
  const first = Math.max(0, Math.floor(top / ROW) - 8), last = Math.min(lines.n, Math.ceil((top + height) / ROW) + 8), rows = [];
  for (let i = first; i < last; i++)
    rows.push(<Row key={i} lines={lines} i={i} palette={palette} isAt={i === at && place.line > 0} columns={columns} onPoint={point}
      isMatch={isMatch !== null && lines.texts !== null && isMatch(lines.texts[i]!)} />);
  return (
    <div class="source-body">
      <div class="source-window" ref={window} role="table" aria-label={shown(name)} aria-rowcount={lines.n + 1} tabIndex={0}
        onScroll={(e) => setTop(e.currentTarget.scrollTop)} onPointerLeave={() => act.detail(null)}>
        <div class="source-head" role="row" aria-rowindex={1} style={{ minWidth: lines.width }}>
          {columns.map((c) => <span key={c.name} class="source-figure" role="columnheader" title={c.meaning}>{c.name}</span>)}
          <span class="source-number" role="columnheader">line</span>
          <span class="source-text" role="columnheader">source</span>
        </div>
        <div class="source-space" role="rowgroup" style={{ height: `${lines.n * ROW}px`, minWidth: lines.width }}>{rows}</div>
      </div>
      <Minimap lines={lines} palette={palette} height={height} top={top} seen={height} onJump={(share) => scrollTo(share * lines.n)} />
    </div>
  );
}

// `n` and `N`: the next line that matches, at first from the one on top on.
function useMatchJumps(lines: FileLines, isMatch: ((text: string) => boolean) | null, top: number, scrollTo: (i: number) => void): void {
  const at = useRef({ of: isMatch, line: -1 });
  useMatchStep((by) => {
    if (at.current.of !== isMatch) at.current = { of: isMatch, line: -1 };
    const { texts, n } = lines, found = isMatch && texts ? nextIn(n, at.current.line >= 0 ? at.current.line : top - by, by, (i) => isMatch(texts[i]!)) : -1;
    if (found < 0) return;
    at.current.line = found;
    scrollTo(found);
  });
}

export function Source({ view }: { view: View }) {
  const payload = useStore((s) => s.payload), selection = useStore((s) => s.selection), options = useStore((s) => s.options);
  const { from, to, section, thread } = selection;
  const data = useMemo(() => sourceOf(view, payload, selection, options), [view, payload, from, to, section, thread, options]);
  if (data.files.length === 0) return <p class="empty">No file of the program has figures.</p>;
  return <Files data={data} payload={payload} />;
}

function Files({ data, payload }: { data: SourceData; payload: Payload }) {
  const [place, go] = usePlace(data, payload), file = data.files[place.file]!, name = payload.strings[file.file]!;
  const lines = useLines(data, place.file);
  const functions = useMemo(() => functionsOf(payload, name), [payload, name]);
  return (
    <div class="source">
      <div class="flame-bar">
        <label class="choice">
          <span>File</span>
          <select value={String(place.file)} onChange={(e) => {
            const at = Number(e.currentTarget.value);
            go(at, linesOfFile(data.files[at]!).hottest);
          }}>
            {data.files.map((f, i) => <option key={i} value={String(i)}>{shown(payload.strings[f.short]!)}</option>)}
          </select>
        </label>
        <Jump label="Function" targets={functions} onPick={(line) => go(place.file, line)} />
        <Jump label="Hot line" targets={hotLines(lines, 30)} onPick={(line) => go(place.file, line)} />
        <span class="source-name" title={shown(name)}>{shown(name)}</span>
        <span class="source-count">{count(lines.n)} lines</span>
      </div>
      {file.note !== null && <p class="source-note">{shown(file.note)}</p>}
      <Listing lines={lines} name={name} place={place} />
    </div>
  );
}
