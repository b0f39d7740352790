// SPDX-License-Identifier: MIT
// bars: horizontal bars below each other, so that names can be read however many there are.
import { niceStep, plainScaled, valueText } from './axis';
import { Sheet, type Area } from './chart';
import type { Palette } from '../colors';
import { fitText, textWidth } from '../drawing';
import { matcher } from '../search';
import { act, useStore } from '../store';
import { amount, shown } from '../text';
import type { BarsData, View } from '../types';

type Bar = BarsData['bars'][number];

const ROW = 24, SECOND = 10, AXIS = 26, LEGEND = 26, MOST = 2000;

function mostOf(data: BarsData): number {
  return data.bars.reduce((most, b) => b.values.reduce((m, v) => (Number.isFinite(v) && v > m ? v : m), most), 0);
}

// Names and what stands beside them have the room they need, up to half of the width.
function columnsOf(data: BarsData, width: number): { names: number; abouts: number; area: Area; row: number } {
  const widest = (texts: (string | null)[], size: number) => texts.reduce((w, t) => Math.max(w, t === null ? 0 : textWidth(shown(t), size)), 0);
  const names = Math.min(widest(data.bars.map((b) => b.name), 12.5) + 8, width * 0.36);
  const wanted = widest(data.bars.map((b) => b.about), 11.5), abouts = wanted > 0 && width > 640 ? Math.min(wanted + 8, width * 0.18) : 0;
  const values = widest(data.bars.flatMap((b) => b.values.map((v) => (Number.isFinite(v) ? valueText(v, data.unit) : null))), 11.5);
  const x = names + abouts + 10, row = ROW + (data.series.length - 1) * SECOND;
  return { names, abouts, row, area: { x, y: (data.series.length > 1 ? LEGEND : 0) + AXIS, w: Math.max(60, width - x - values - 14), h: data.bars.length * row } };
}

function ticksOf(most: number, pixels: number): number[] {
  if (!(most > 0)) return [];
  const step = niceStep(most / Math.max(2, Math.floor(pixels / 90))), ticks: number[] = [];
  for (let k = 0; k * step <= most * (1 + 1e-9); k++) ticks.push(k * step);
  return ticks;
}
function tickText(value: number, unit: string): string {
  const text = unit === 'ns' || unit === 'bytes' ? amount(value, unit) : unit === 's' ? amount(value * 1e9, 'ns') : unit === 'percent' ? `${value} %` : plainScaled(value);
  return value === 0 ? '0' : text.replace(/\.0(?= )/, '');
}

const coloursOf = (palette: Palette) => [palette.accent, palette.second, ...palette.series];

// The second series has a pale body and an outline: told without colour.
function BarRow({ bar, data, y, row, names, abouts, area, most, palette, isMatch }: { bar: Bar; data: BarsData; y: number; row: number; names: number; abouts: number; area: Area; most: number; palette: Palette; isMatch: boolean }) {
  const colours = coloursOf(palette), each = (row - 6) / data.series.length, middle = y + row / 2 + 4;
  const tell = () => act.detail({ name: bar.name, file: null, line: 0, rows: [...(bar.about ? [['', bar.about] as [string, string]] : []),
    ...data.series.map((s, k): [string, string] => [s, Number.isFinite(bar.values[k]!) ? valueText(bar.values[k]!, data.unit) : '–'])] });
  return (
    <g onPointerEnter={tell}>
      <rect x="0" y={y} width={area.x + area.w + 400} height={row} fill={palette.ground} fill-opacity="0" />
      <text x="2" y={middle} font-size="12.5" fill={palette.ink} font-weight={isMatch ? 700 : undefined} text-decoration={isMatch ? 'underline' : undefined}>
        <title>{shown(bar.name)}</title>{fitText(shown(bar.name), names - 4, 12.5)}
      </text>
      {bar.about !== null && abouts > 0 && <text x={names + 2} y={middle} font-size="11.5" fill={palette.faint}>{fitText(shown(bar.about), abouts - 4, 11.5)}</text>}
      {bar.values.map((v, k) => {
        const top = y + 3 + k * each, w = most > 0 && v > 0 ? Math.max(1, (v / most) * area.w) : 0;
        if (!Number.isFinite(v)) return null;
        return (
          <g key={k}>
            <rect x={area.x} y={top} width={w} height={each - 1.5} rx="1.5" fill={colours[k]} fill-opacity={k % 2 ? 0.45 : 1} stroke={isMatch ? palette.match : colours[k]} stroke-width={isMatch ? 2.5 : k % 2 ? 1 : 0} />
            <text x={area.x + w + 5} y={top + each / 2 + 3.5} font-size="11.5" fill={palette.ink}>{valueText(v, data.unit)}</text>
          </g>
        );
      })}
    </g>
  );
}

function Legend({ data, palette }: { data: BarsData; palette: Palette }) {
  let x = 2;
  return (
    <g font-size="12" fill={palette.faint}>
      {data.series.map((name, k) => {
        const at = x, colour = coloursOf(palette)[k];
        x += textWidth(shown(name), 12) + 44;
        return (
          <g key={k}>
            <rect x={at} y="4" width="13" height="11" rx="1.5" fill={colour} fill-opacity={k % 2 ? 0.45 : 1} stroke={colour} />
            <text x={at + 19} y="14">{shown(name)}</text>
          </g>
        );
      })}
    </g>
  );
}

export function Bars({ view }: { view: View }) {
  const whole = view.data as BarsData, search = useStore((s) => s.selection.search), isMatch = matcher(search);
  const data = whole.bars.length > MOST ? { ...whole, bars: whole.bars.slice(0, MOST) } : whole;
  const note = whole.bars.length > MOST ? `${whole.bars.length - MOST} more are not drawn` : data.note, most = mostOf(data);
  return (
    <Sheet title={data.title} subtitle={data.subtitle} note={note} name={view.title} most={1100}
      height={(width) => { const { area } = columnsOf(data, width); return area.y + area.h + 8; }}>
      {(width, _, palette) => {
        const { names, abouts, area, row } = columnsOf(data, width), x = (v: number) => area.x + (most > 0 ? v / most : 0) * area.w;
        return (
          <>
            {data.series.length > 1 && <Legend data={data} palette={palette} />}
            <g font-size="11.5" fill={palette.faint} text-anchor="middle">
              {ticksOf(most, area.w).map((t) => (
                <g key={t}>
                  <line x1={x(t)} x2={x(t)} y1={area.y - 4} y2={area.y + area.h} stroke={t > 0 ? palette.grid : palette.frame} />
                  <text x={x(t)} y={area.y - 10}>{tickText(t, data.unit)}</text>
                </g>
              ))}
            </g>
            {data.bars.map((bar, i) => (
              <BarRow key={i} bar={bar} data={data} y={area.y + i * row} row={row} names={names} abouts={abouts} area={area} most={most} palette={palette}
                isMatch={isMatch !== null && isMatch(bar.name)} />
            ))}
          </>
        );
      }}
    </Sheet>
  );
}
