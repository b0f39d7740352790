// SPDX-License-Identifier: MIT
// chart: what drawings with axes share: a frame that follows the width of the window, words around it, grid lines.
import type { ComponentChildren, RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import type { Tick } from './axis';
import type { Palette } from '../colors';
import { usePalette, useSize, useSvgOffer } from '../drawing';
import { act } from '../store';
import { shown } from '../text';

export interface Area {
  x: number;
  y: number;
  w: number;
  h: number;
}

interface SheetProps {
  title: string | null;
  subtitle: string | null;
  note: string | null;
  name: string; // for those who do not see it
  height: (width: number, seen: number) => number;
  most?: number; // widest
  children: (width: number, height: number, palette: Palette) => ComponentChildren;
}

// One SVG as wide as the window, that scrolls when it is higher.
export function Sheet({ title, subtitle, note, name, height, most = 1600, children }: SheetProps) {
  const window = useRef<HTMLDivElement>(null), svg = useRef<SVGSVGElement>(null), palette = usePalette(), size = useSize(window);
  useSvgOffer(svg, palette, shown([title, subtitle].filter((t) => t !== null).join(' – ') || name));
  const width = Math.max(260, Math.min(most, size.width - 24)), tall = Math.max(120, height(width, size.height - 110));
  return (
    <div class="sheet" ref={window} tabIndex={0} role="group" aria-label={name}>
      {title !== null && <h2 class="sheet-title">{shown(title)}</h2>}
      {subtitle !== null && <p class="panel-note">{shown(subtitle)}</p>}
      {size.width > 0 && (
        <svg ref={svg} role="img" aria-label={shown(title ?? name)} width={width} height={tall} viewBox={`0 0 ${width} ${tall}`} onPointerLeave={() => act.detail(null)}>
          {children(width, tall, palette)}
        </svg>
      )}
      {note !== null && <p class="panel-note">{shown(note)}</p>}
    </div>
  );
}

// --- Axes

interface AxisProps { area: Area; ticks: readonly Tick[]; place: (at: number) => number; palette: Palette; title?: string; titleAt?: number }

export function XAxis({ area, ticks, place, palette, title }: AxisProps) {
  const low = area.y + area.h;
  return (
    <g font-size="11.5" fill={palette.faint} text-anchor="middle">
      {ticks.map((t) => (
        <g key={t.at}>
          <line x1={place(t.at)} x2={place(t.at)} y1={area.y} y2={low} stroke={palette.grid} />
          <line x1={place(t.at)} x2={place(t.at)} y1={low} y2={low + 4} stroke={palette.frame} />
          <text x={place(t.at)} y={low + 17}>{t.text}</text>
        </g>
      ))}
      <line x1={area.x} x2={area.x + area.w} y1={low} y2={low} stroke={palette.frame} />
      {title !== undefined && <text x={area.x + area.w / 2} y={low + 36} font-size="12" fill={palette.ink}>{title}</text>}
    </g>
  );
}

export function YAxis({ area, ticks, place, palette, title, titleAt = 14 }: AxisProps) {
  const middle = area.y + area.h / 2;
  return (
    <g font-size="11.5" fill={palette.faint} text-anchor="end">
      {ticks.map((t) => (
        <g key={t.at}>
          <line x1={area.x} x2={area.x + area.w} y1={place(t.at)} y2={place(t.at)} stroke={palette.grid} />
          <text x={area.x - 8} y={place(t.at) + 4}>{t.text}</text>
        </g>
      ))}
      {title !== undefined && (
        <text x={titleAt} y={middle} font-size="12" fill={palette.ink} text-anchor="middle" transform={`rotate(-90 ${titleAt} ${middle})`}>{title}</text>
      )}
    </g>
  );
}

// Where a pointer is in an SVG, in its own units.
export function pointIn(svg: RefObject<SVGSVGElement | null> | SVGSVGElement, e: MouseEvent): { x: number; y: number } {
  const element = svg instanceof Element ? svg : svg.current!, box = element.getBoundingClientRect(), view = element.viewBox.baseVal;
  return { x: ((e.clientX - box.left) / box.width) * view.width, y: ((e.clientY - box.top) / box.height) * view.height };
}

export function pathOf(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
}
