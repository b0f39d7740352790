// SPDX-License-Identifier: MIT
// roofline: operations per second over operations per byte, on logarithmic axes.  The roof rises with the bandwidth of memory
// to the peak of the processor; nothing stands above it but by a mistake of measuring, and then it is drawn there.
import { logTicks, plainScaled, scaled } from './axis';
import { Sheet, XAxis, YAxis, type Area } from './chart';
import type { Palette } from '../colors';
import { fitText, textWidth } from '../drawing';
import { matcher } from '../search';
import { act, useStore } from '../store';
import { percent, shown } from '../text';
import type { RooflineData, View } from '../types';

type Point = RooflineData['points'][number];

const LEFT = 70, RIGHT = 22, TOP = 24, BOTTOM = 52, NAMES = 40;

const roofAt = (r: RooflineData, intensity: number) => Math.min(r.peak_per_s, r.bytes_per_s * intensity);
// What was not timed is drawn on the roof, hollow.
const heightOf = (r: RooflineData, p: Point) => (p.operations_per_s !== null && p.operations_per_s > 0 ? p.operations_per_s : roofAt(r, p.operations_per_byte));
const radiusOf = (p: Point) => 4 + 16 * Math.sqrt(Math.max(0, Math.min(1, p.share)));

interface Range { x0: number; x1: number; y0: number; y1: number; corner: number }

// Around all that is drawn, the corner of the roof included; to halves of powers of ten.
function rangeOf(r: RooflineData, points: readonly Point[]): Range {
  const corner = Math.log10(r.peak_per_s / r.bytes_per_s), peak = Math.log10(r.peak_per_s);
  const xs = points.map((p) => Math.log10(p.operations_per_byte)).concat(corner), ys = points.map((p) => Math.log10(heightOf(r, p))).concat(peak);
  const low = (v: number) => Math.floor(v * 2) / 2, high = (v: number) => Math.ceil(v * 2) / 2;
  return { corner, x0: low(Math.min(...xs) - 0.3), x1: high(Math.max(...xs) + 0.3), y0: low(Math.min(...ys, peak - 2) - 0.1), y1: high(Math.max(...ys) + 0.1) };
}

interface Scale { area: Area; x: (log: number) => number; y: (log: number) => number }

function Roof({ r, range, scale: { x, y, area }, palette }: { r: RooflineData; range: Range; scale: Scale; palette: Palette }) {
  const left = range.x0 + Math.log10(r.bytes_per_s), peak = Math.log10(r.peak_per_s), low = area.y + area.h;
  const path = `M${x(range.x0)} ${y(left)}L${x(range.corner)} ${y(peak)}L${x(range.x1)} ${y(peak)}`;
  const angle = (Math.atan2(y(peak) - y(left), x(range.corner) - x(range.x0)) * 180) / Math.PI, isLong = x(range.corner) - x(range.x0) > 160;
  const mx = (x(range.x0) + x(range.corner)) / 2, my = (y(left) + y(peak)) / 2;
  return (
    <>
      <g clip-path="url(#roofline)">
        <path d={`${path}V${low}H${x(range.x0)}Z`} fill={palette.accent} fill-opacity="0.07" />
        <line x1={x(range.corner)} x2={x(range.corner)} y1={y(peak)} y2={low} stroke={palette.accent} stroke-dasharray="3 4" />
        <path d={path} fill="none" stroke={palette.accent} stroke-width="2.4" />
        {isLong && <text x={mx} y={my - 8} font-size="11.5" fill={palette.accent} text-anchor="middle" transform={`rotate(${angle} ${mx} ${my})`}>memory: {scaled(r.bytes_per_s)}B a second</text>}
      </g>
      <text x={x(range.x1) - 4} y={y(peak) - 7} font-size="11.5" fill={palette.accent} text-anchor="end">processor: {scaled(r.peak_per_s)}FLOPs a second</text>
    </>
  );
}

// Names of the largest points, each where none was written before.
function placedNames(r: RooflineData, points: readonly Point[], { area, x, y }: Scale): { text: string; x: number; y: number }[] {
  const placed: { text: string; x: number; y: number; w: number }[] = [];
  for (const p of [...points].sort((a, b) => b.share - a.share).slice(0, NAMES)) {
    const at = { x: x(Math.log10(p.operations_per_byte)) + radiusOf(p) + 5, y: y(Math.log10(heightOf(r, p))) + 4 };
    const text = fitText(shown(p.name), area.x + area.w - at.x, 11.5), w = textWidth(text, 11.5);
    if (text && !placed.some((o) => Math.abs(o.y - at.y) < 14 && at.x < o.x + o.w && o.x < at.x + w)) placed.push({ ...at, text, w });
  }
  return placed;
}

function tell(p: Point): void {
  act.detail({ name: p.name, file: null, line: 0, rows: [['FLOPs for each byte', scaled(p.operations_per_byte)],
    ['FLOPs a second', p.operations_per_s === null ? 'not timed' : scaled(p.operations_per_s)], ['share of time', `${percent(100 * p.share)} %`]] });
}

export function Roofline({ view }: { view: View }) {
  const r = view.data as RooflineData, search = useStore((s) => s.selection.search), isMatch = matcher(search);
  const points = r.points.filter((p) => p.operations_per_byte > 0), range = rangeOf(r, points);
  return (
    <Sheet title={r.title} subtitle={r.subtitle} note={r.note} name={view.title} height={(width, seen) => Math.min(Math.max(300, seen), width * 0.7)}>
      {(width, height, palette) => {
        const area = { x: LEFT, y: TOP, w: width - LEFT - RIGHT, h: height - TOP - BOTTOM };
        const scale: Scale = { area, x: (log) => area.x + ((log - range.x0) / (range.x1 - range.x0)) * area.w, y: (log) => area.y + area.h - ((log - range.y0) / (range.y1 - range.y0)) * area.h };
        return (
          <>
            <clipPath id="roofline"><rect x={area.x} y={area.y} width={area.w} height={area.h} /></clipPath>
            <XAxis area={area} ticks={logTicks(range.x0, range.x1, area.w, 60, (p) => plainScaled(10 ** p))} place={scale.x} palette={palette} title="FLOPs for each byte read or written" />
            <YAxis area={area} ticks={logTicks(range.y0, range.y1, area.h, 30, (p) => plainScaled(10 ** p))} place={scale.y} palette={palette} title="FLOPs a second" />
            <Roof r={r} range={range} scale={scale} palette={palette} />
            {[...points].sort((a, b) => b.share - a.share).map((p, i) => {
              const isHit = isMatch !== null && isMatch(p.name), isTimed = p.operations_per_s !== null && p.operations_per_s > 0;
              return (
                <circle key={i} cx={scale.x(Math.log10(p.operations_per_byte))} cy={scale.y(Math.log10(heightOf(r, p)))} r={radiusOf(p)} fill={isTimed ? palette.second : 'none'} fill-opacity="0.55"
                  stroke={isHit ? palette.match : palette.second} stroke-width={isHit ? 4 : 1.4} stroke-dasharray={isTimed ? undefined : '3 2'} pointer-events="all" onPointerEnter={() => tell(p)}>
                  <title>{shown(p.name)}</title>
                </circle>
              );
            })}
            <g font-size="11.5" fill={palette.ink} stroke={palette.ground} stroke-width="3" paint-order="stroke" pointer-events="none">
              {placedNames(r, points, scale).map((n, i) => <text key={i} x={n.x} y={n.y}>{n.text}</text>)}
            </g>
          </>
        );
      }}
    </Sheet>
  );
}
