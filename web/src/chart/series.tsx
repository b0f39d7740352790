// SPDX-License-Identifier: MIT
// series: readings over time: sections as lanes above (outer ones on top), curves below, which begin at 0 so that heights can be
// compared.  Where a pixel holds several readings the curve is a band from the smallest to the largest.
//
// A selected part of the run is shaded.  The pointer reads all curves at its time.
import { useMemo, useState } from 'preact/hooks';
import { timeAxis, valueAxis, type Axis } from './axis';
import { pathOf, pointIn, Sheet, XAxis, YAxis, type Area } from './chart';
import type { Palette } from '../colors';
import { fitText, textWidth } from '../drawing';
import { act, useStore } from '../store';
import { amount, shown } from '../text';
import { readingAt, rowsOf } from '../timeline/lanes';
import type { Band, Curve, SeriesData, View } from '../types';

const LANE = 19, MOST_LANES = 6, BOTTOM = 46, TOP = 12, LEGEND = 22;

// --- Sections: which lane, which colour

// The bands of a depth that do not overlap are in one lane; -1: it is not drawn.
function lanesOf(bands: readonly Band[]): { lane: Int32Array; n: number; hasMore: boolean } {
  const { rows, n } = rowsOf(bands);
  return { lane: rows.map((row) => (row < MOST_LANES ? row : -1)), n: Math.min(n, MOST_LANES), hasMore: n > MOST_LANES };
}
function tintsOf(bands: readonly Band[]): number[] {
  const names = new Map<string, number>();
  return bands.map((b) => {
    if (!names.has(b.name)) names.set(b.name, names.size);
    return names.get(b.name)!;
  });
}

function Lanes({ bands, area, top, x, palette }: { bands: readonly Band[]; area: Area; top: number; x: (t: number) => number; palette: Palette }) {
  const { lane } = useMemo(() => lanesOf(bands), [bands]), tints = useMemo(() => tintsOf(bands), [bands]);
  return (
    <g font-size="11" fill={palette.ink}>
      {bands.map((b, i) => {
        const from = Math.max(area.x, x(b.from)), w = Math.max(1, Math.min(area.x + area.w, x(b.to)) - from), tint = palette.band[tints[i]! % palette.band.length];
        const words = shown(b.name) + (b.n > 1 ? ` ×${b.n}` : '');
        if (lane[i]! < 0 || from > area.x + area.w || x(b.to) < area.x) return null;
        return (
          <g key={i} onPointerEnter={() => act.detail({ name: b.name, file: null, line: 0, rows: [['from', `${b.from.toFixed(3)} s`], ['to', `${b.to.toFixed(3)} s`], ...(b.n > 1 ? [['times', String(b.n)] as [string, string]] : [])] })}>
            <title>{words}</title>
            {lane[i] === 0 && w >= 1.5 && <rect x={from} y={area.y} width={w} height={area.h} fill={tint} fill-opacity="0.25" />}
            {lane[i] === 0 && w >= 1.5 && <path d={`M${from} ${area.y}v${area.h}M${from + w} ${area.y}v${area.h}`} stroke={palette.frame} stroke-opacity="0.5" stroke-width="0.7" />}
            <rect x={from} y={top + lane[i]! * LANE} width={w > 2 ? w - 0.7 : w} height={LANE - 3} rx="2" fill={tint} />
            {w >= 26 && <text x={from + 5} y={top + lane[i]! * LANE + 12}>{fitText(words, w - 8, 11)}</text>}
          </g>
        );
      })}
    </g>
  );
}

// --- Curves

interface Column { x: number; min: number; max: number }

// The readings that fall on one column of pixels.
function columnsOf(c: Curve, x: (t: number) => number): Column[] {
  const columns: Column[] = [];
  for (let i = 0; i < c.t.length; i++) {
    const at = x(c.t[i]!), last = columns[columns.length - 1];
    if (last && Math.floor(last.x) === Math.floor(at)) {
      last.min = Math.min(last.min, c.min[i]!);
      last.max = Math.max(last.max, c.max[i]!);
    } else columns.push({ x: at, min: c.min[i]!, max: c.max[i]! });
  }
  return columns;
}
const DASHES = [undefined, '7 3', '2 3', '9 3 2 3'];
const isStrong = (c: Curve, all: readonly Curve[]) => c.isTotal || all.length === 1;
const colourOf = (c: Curve, i: number, all: readonly Curve[], palette: Palette) => (isStrong(c, all) ? palette.accent : palette.series[i % palette.series.length]!);
// Curves of more than one round of colours, and next to each other, are told apart by dashes.
const dashOf = (c: Curve, i: number, all: readonly Curve[]) => (isStrong(c, all) ? undefined : DASHES[i % DASHES.length]);

function CurveLine({ columns, y, low, colour, dash, isStrong: strong, isOnly, palette }: { columns: Column[]; y: (v: number) => number; low: number; colour: string; dash: string | undefined; isStrong: boolean; isOnly: boolean; palette: Palette }) {
  if (columns.length === 0) return null;
  const edge = (of: 'min' | 'max', list: readonly Column[] = columns) => pathOf(list.map((k) => [k.x, y(k[of])]));
  const back = edge('min', [...columns].reverse()).replace('M', 'L'), hasRange = columns.some((k) => k.max > k.min);
  const width = isOnly ? 1.9 : strong ? 2.8 : 1.6;
  if (columns.length === 1) return <circle cx={columns[0]!.x} cy={y(columns[0]!.max)} r={width + 1.5} fill={colour} />;
  return (
    <>
      {strong && <path d={`${edge('max')}L${columns[columns.length - 1]!.x.toFixed(1)} ${low}L${columns[0]!.x.toFixed(1)} ${low}Z`} fill={colour} fill-opacity={palette.isDark ? 0.16 : 0.1} />}
      {hasRange && <path d={edge('max') + back + 'Z'} fill={colour} fill-opacity="0.28" />}
      <path d={edge('max')} fill="none" stroke={colour} stroke-width={width} stroke-linejoin="round" stroke-dasharray={dash} />
    </>
  );
}

function Pointer({ t, curves, area, x, y, unit, palette }: { t: number; curves: readonly Curve[]; area: Area; x: (t: number) => number; y: (v: number) => number; unit: SeriesData['unit']; palette: Palette }) {
  return (
    <g pointer-events="none">
      <line x1={x(t)} x2={x(t)} y1={area.y} y2={area.y + area.h} stroke={palette.ink} stroke-opacity="0.6" />
      {curves.map((c, i) => {
        const at = readingAt(c.t, t);
        if (at < 0) return null;
        return <circle key={i} cx={x(t)} cy={y(c.last[at]!)} r="3.5" fill={colourOf(c, i, curves, palette)} stroke={palette.ground} stroke-width="1.2"><title>{amount(c.last[at]!, unit)}</title></circle>;
      })}
    </g>
  );
}

// The peak of the whole, or of the only curve, with its label.
function Peak({ curves, area, x, y, unit, palette }: { curves: readonly Curve[]; area: Area; x: (t: number) => number; y: (v: number) => number; unit: SeriesData['unit']; palette: Palette }) {
  const c = curves.find((k) => isStrong(k, curves));
  if (!c || c.t.length === 0) return null;
  let at = 0;
  for (let i = 1; i < c.t.length; i++) if (c.max[i]! > c.max[at]!) at = i;
  const text = `peak ${amount(c.max[at]!, unit)}`, half = textWidth(text, 12) / 2 + 4, px = x(c.t[at]!), tx = Math.max(area.x + half, Math.min(area.x + area.w - half, px));
  return (
    <g pointer-events="none">
      <circle cx={px} cy={y(c.max[at]!)} r="4.5" fill={palette.second} stroke={palette.ground} stroke-width="1.5" />
      <text x={tx} y={y(c.max[at]!) - 10} font-size="12" font-weight="650" text-anchor="middle" fill={palette.ink} stroke={palette.ground} stroke-width="4" paint-order="stroke">{text}</text>
    </g>
  );
}

// --- The legend

interface Entry { at: number; x: number; y: number; text: string }

// The whole comes first, then the rest; in rows as long as the drawing.
function legendOf(curves: readonly Curve[], width: number): { entries: Entry[]; height: number } {
  if (curves.length < 2) return { entries: [], height: 0 };
  const order = curves.map((_, i) => i).sort((a, b) => Number(curves[b]!.isTotal) - Number(curves[a]!.isTotal) || a - b), entries: Entry[] = [];
  let x = 4, y = 0;
  for (const at of order) {
    const text = fitText(shown(curves[at]!.name), width / 2, 11.5), w = 34 + textWidth(text, 11.5) + 16;
    if (x + w > width && x > 4) [x, y] = [4, y + LEGEND];
    entries.push({ at, x, y, text });
    x += w;
  }
  return { entries, height: y + LEGEND };
}

function Legend({ curves, entries, top, palette }: { curves: readonly Curve[]; entries: Entry[]; top: number; palette: Palette }) {
  return (
    <g font-size="11.5" fill={palette.ink}>
      {entries.map((e) => (
        <g key={e.at} transform={`translate(${e.x} ${top + e.y})`}>
          <line x1="0" x2="24" y1="8" y2="8" stroke={colourOf(curves[e.at]!, e.at, curves, palette)} stroke-width={isStrong(curves[e.at]!, curves) ? 3.2 : 2} stroke-dasharray={dashOf(curves[e.at]!, e.at, curves)} />
          <text x="31" y="12">{e.text}</text>
        </g>
      ))}
    </g>
  );
}

// --- The drawing

function largest(curves: readonly Curve[]): number {
  let most = 0;
  for (const c of curves) for (let i = 0; i < c.max.length; i++) most = Math.max(most, c.max[i]!);
  return most;
}

interface PlotProps { s: SeriesData; width: number; height: number; palette: Palette; endSeconds: number }

function Plot({ s, width, height, palette, endSeconds }: PlotProps) {
  const [pointer, setPointer] = useState<number | null>(null), { from, to } = useStore((st) => st.selection);
  const lanes = useMemo(() => lanesOf(s.bands), [s.bands]), legend = useMemo(() => legendOf(s.curves, width), [s.curves, width]);
  const yAxis: Axis = useMemo(() => valueAxis(s.unit, largest(s.curves), height > 420 ? 6 : 4), [s, height]), xAxis = timeAxis(0, endSeconds, Math.max(3, width / 110));
  const left = 34 + Math.max(...yAxis.ticks.map((t) => textWidth(t.text, 11.5))), top = TOP + lanes.n * LANE + (lanes.n ? 6 : 0);
  const area = { x: left, y: top, w: width - left - 14, h: Math.max(40, height - top - BOTTOM - legend.height) };
  const x = (t: number) => area.x + ((t - xAxis.from) / (xAxis.to - xAxis.from)) * area.w, y = (v: number) => area.y + area.h - (v / yAxis.to) * area.h;
  const move = (e: PointerEvent) => {
    const at = pointIn((e.currentTarget as SVGElement).ownerSVGElement!, e), t = xAxis.from + ((at.x - area.x) / area.w) * (xAxis.to - xAxis.from);
    setPointer(t);
    act.detail({ name: `${t.toFixed(3)} s`, file: null, line: 0, rows: s.curves.slice(0, 8).flatMap((c): [string, string][] => { const i = readingAt(c.t, t); return i < 0 ? [] : [[c.name, amount(c.last[i]!, s.unit)]]; }) });
  };
  return (
    <>
      <YAxis area={area} ticks={yAxis.ticks} place={y} palette={palette} title={shown(s.quantity) + (yAxis.unit ? ` (${yAxis.unit})` : '')} />
      <XAxis area={area} ticks={xAxis.ticks} place={x} palette={palette} title={`time (${xAxis.unit})`} />
      <Lanes bands={s.bands} area={area} top={TOP - 4} x={x} palette={palette} />
      {from !== null && to !== null && <rect x={x(from / 1e9)} y={area.y} width={Math.max(1, x(to / 1e9) - x(from / 1e9))} height={area.h} fill={palette.accent} fill-opacity="0.14" stroke={palette.accent} stroke-dasharray="4 3" />}
      {[...s.curves.keys()].reverse().map((i) => (
        <CurveLine key={i} columns={columnsOf(s.curves[i]!, x)} y={y} low={area.y + area.h} colour={colourOf(s.curves[i]!, i, s.curves, palette)} dash={dashOf(s.curves[i]!, i, s.curves)}
          isStrong={isStrong(s.curves[i]!, s.curves)} isOnly={s.curves.length === 1} palette={palette} />
      ))}
      <Peak curves={s.curves} area={area} x={x} y={y} unit={s.unit} palette={palette} />
      {pointer !== null && <Pointer t={pointer} curves={s.curves} area={area} x={x} y={y} unit={s.unit} palette={palette} />}
      <rect x={area.x} y={area.y} width={area.w} height={area.h} fill="none" pointer-events="all" onPointerMove={move} onPointerLeave={() => (setPointer(null), act.detail(null))} />
      <Legend curves={s.curves} entries={legend.entries} top={height - legend.height + 2} palette={palette} />
    </>
  );
}

export function Series({ view }: { view: View }) {
  const s = view.data as SeriesData, durationNs = useStore((st) => st.payload.durationNs);
  if (!s.curves.some((c) => c.t.length > 0) && s.bands.length === 0) return <p class="empty">Nothing was read over time.</p>;
  const end = Math.max(durationNs / 1e9, ...s.curves.map((c) => c.t[c.t.length - 1] ?? 0)), hasMore = lanesOf(s.bands).hasMore;
  const note = [s.note, hasMore ? 'deeper sections are not drawn' : null].filter((t) => t !== null).join('; ') || null;
  return (
    <Sheet title={s.title} subtitle={s.subtitle} note={note} name={view.title} height={(width, seen) => Math.max(260, Math.min(seen, width * 0.6))}>
      {(width, height, palette) => <Plot s={s} width={width} height={height} palette={palette} endSeconds={end} />}
    </Sheet>
  );
}
