// SPDX-License-Identifier: MIT
// growth: how the time of functions grows with size, a panel for each.
//
// Both axes are logarithmic, so a power is a straight line and its exponent the slope.  Dots are what was measured; the curve
// is whole as far as it was measured and dashed beyond; the thin line through the largest size shows what linear would be.
import { countPower, logTicks, timePower } from './axis';
import { pathOf, Sheet, XAxis, YAxis, type Area } from './chart';
import type { Palette } from '../colors';
import { fitText } from '../drawing';
import { act } from '../store';
import { count, duration, shown } from '../text';
import type { GrowthData, View } from '../types';

type Panel = GrowthData['panels'][number];
type Mark = Panel['points'][number];

const HIGH = 330, LEFT = 76, RIGHT = 18, ABOVE = 48, BELOW = 50;

// In decimal logarithms.  What is constant stays flat.
function rangeOf({ points, curve }: Panel): { x0: number; x1: number; y0: number; y1: number } {
  const all = [...points, ...curve].filter((m) => m.n > 0 && m.ns > 0), xs = all.map((m) => Math.log10(m.n)), ys = all.map((m) => Math.log10(m.ns));
  if (all.length === 0) return { x0: 0, x1: 1, y0: 0, y1: 1 };
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  return { x0: x0 - 0.08, x1: x1 + 0.06, y0: y0 - 0.15 - Math.max(0, 0.5 - (y1 - y0)), y1: y1 + 0.15 };
}

interface Places { x: (n: number) => number; y: (ns: number) => number }

function Curve({ panel, place, range, colour, palette }: { panel: Panel; place: Places; range: ReturnType<typeof rangeOf>; colour: string; palette: Palette }) {
  const at = (m: Mark): [number, number] => [place.x(m.n), place.y(m.ns)];
  const curve = panel.curve.filter((m) => m.n > 0 && m.ns > 0), known = Math.max(0, curve.filter((m) => m.n <= panel.measured_to * 1.001).length - 1);
  const end = curve[known], linear = end && [10 ** range.x0, 10 ** range.x1].map((n) => at({ n, ns: end.ns * (n / end.n) }));
  return (
    <>
      {linear && <path d={pathOf(linear)} fill="none" stroke={palette.frame} stroke-width="1" stroke-dasharray="2 4" />}
      <path d={pathOf(curve.slice(0, known + 1).map(at))} fill="none" stroke={colour} stroke-width="2.2" />
      <path d={pathOf(curve.slice(known).map(at))} fill="none" stroke={colour} stroke-width="1.8" stroke-dasharray="6 5" />
    </>
  );
}

function PanelDrawing({ panel, box, quantity, palette, at }: { panel: Panel; box: Area; quantity: string; palette: Palette; at: number }) {
  const area = { x: box.x + LEFT, y: box.y + ABOVE, w: box.w - LEFT - RIGHT, h: box.h - ABOVE - BELOW }, range = rangeOf(panel);
  const x = (log: number) => area.x + ((log - range.x0) / (range.x1 - range.x0)) * area.w;
  const y = (log: number) => area.y + area.h - ((log - range.y0) / (range.y1 - range.y0)) * area.h;
  const place = { x: (n: number) => x(Math.log10(n)), y: (ns: number) => y(Math.log10(ns)) };
  const colour = panel.is_flagged ? palette.warning : palette.accent, clip = `growth-${at}`;
  const tell = (m: Mark) => act.detail({ name: panel.title, file: null, line: 0, rows: [[panel.argument, count(m.n)], [quantity, duration(m.ns)]] });
  return (
    <g>
      <text x={area.x} y={box.y + 18} font-size="13.5" font-weight="650" fill={palette.ink}>{fitText(shown(panel.title), area.w, 13.5)}</text>
      <text x={area.x} y={box.y + 37} font-size="12" fill={colour}>
        {fitText((panel.is_flagged ? '▲ ' : '') + shown(panel.subtitle), area.w, 12)}
      </text>
      <XAxis area={area} ticks={logTicks(range.x0, range.x1, area.w, 84, countPower)} place={x} palette={palette} title={fitText(shown(panel.argument), area.w, 12)} />
      <YAxis area={area} ticks={logTicks(range.y0, range.y1, area.h, 24, timePower)} place={y} palette={palette} title={shown(quantity)} titleAt={box.x + 12} />
      <clipPath id={clip}><rect x={area.x} y={area.y} width={area.w} height={area.h} /></clipPath>
      <g clip-path={`url(#${clip})`}>
        <Curve panel={panel} place={place} range={range} colour={colour} palette={palette} />
        {panel.points.filter((m) => m.n > 0 && m.ns > 0).map((m, i) => (
          <circle key={i} cx={place.x(m.n)} cy={place.y(m.ns)} r="3.2" fill={palette.ink} stroke={palette.ground} stroke-width="0.8" onPointerEnter={() => tell(m)}>
            <title>{`${shown(panel.argument)} ${count(m.n)}: ${duration(m.ns)}`}</title>
          </circle>
        ))}
      </g>
    </g>
  );
}

export function Growth({ view }: { view: View }) {
  const data = view.data as GrowthData, note = data.note ?? 'dots: measured; curve: fitted, dashed where nothing was measured; thin dots: what linear would be';
  const columnsOf = (width: number) => Math.max(1, Math.min(data.panels.length, Math.floor(width / 400)));
  return (
    <Sheet title={data.title} subtitle={null} note={note} name={view.title} height={(width) => Math.ceil(data.panels.length / columnsOf(width)) * HIGH}>
      {(width, _, palette) => {
        const n = columnsOf(width), w = width / n;
        return data.panels.map((panel, i) => (
          <PanelDrawing key={i} at={i} panel={panel} quantity={data.quantity} palette={palette} box={{ x: (i % n) * w, y: Math.floor(i / n) * HIGH, w, h: HIGH }} />
        ));
      }}
    </Sheet>
  );
}
