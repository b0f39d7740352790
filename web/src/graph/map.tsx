// SPDX-License-Identifier: MIT
// map: parts of something and what flows between them, as boxes and lines.  A box is the warmer, the larger its share.
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Palette } from '../colors';
import { nextIn, useMatchStep, usePalette, useSize, useSvgOffer } from '../drawing';
import { lineThrough, loopBeside } from './graphpaths';
import { movesWindow, usePanZoom } from './panzoom';
import { matcher } from '../search';
import { act, useStore } from '../store';
import { percent, shown } from '../text';
import type { MapData, View } from '../types';

type Box = MapData['boxes'][number];

const LINE = 15;
const linesOf = (b: Box) => [b.name, b.about, b.value].filter((t): t is string => t !== null && t !== '').map(shown);

function tell(b: Box | undefined, quantity: string): void {
  if (!b) return act.detail(null);
  const rows: [string, string][] = [[quantity, b.value ?? '–'], ['share', `${percent(100 * b.share)} %`]];
  act.detail({ name: b.name, file: null, line: 0, rows: b.about ? [['', b.about], ...rows] : rows });
}

interface MapBoxProps { b: Box; at: number; most: number; palette: Palette; isCurrent: boolean; isMatch: boolean; onPoint: (at: number) => void; onPick: (at: number) => void }

function MapBox({ b, at, most, palette, isCurrent, isMatch, onPoint, onPick }: MapBoxProps) {
  const lines = linesOf(b), top = b.y - (lines.length * LINE) / 2 + 11.5, place = { x: b.x - b.w / 2, y: b.y - b.h / 2, width: b.w, height: b.h };
  return (
    <g class="graph-node" role="none" onPointerEnter={() => onPoint(at)} onClick={() => onPick(at)}>
      <rect id={`map-box-${at}`} role="treeitem" aria-label={`${lines.join(', ')}, ${percent(100 * b.share)} %`} aria-selected={isCurrent} {...place} rx="4" fill={palette.heat(most > 0 ? b.share / most : 0)} stroke={palette.frame} />
      {isMatch && <rect x={place.x - 3} y={place.y - 3} width={b.w + 6} height={b.h + 6} rx="6" fill="none" stroke={palette.match} stroke-width="3.5" stroke-dasharray="9 3" />}
      {isCurrent && <rect {...place} rx="4" fill="none" stroke={palette.ink} stroke-width="3" />}
      {lines.map((line, i) => {
        const room = Math.floor((b.w - 8) / (i === 0 ? 7 : 6.3));
        return (
          <text key={i} aria-hidden="true" x={b.x} y={top + i * LINE} text-anchor="middle" font-size={i === 0 ? 12.5 : 11} font-weight={i === 0 ? 650 : undefined} fill={palette.ink}>
            {line.length <= room ? line : line.slice(0, Math.max(1, room - 1)) + '…'}
          </text>
        );
      })}
    </g>
  );
}

function Links({ m, palette }: { m: MapData; palette: Palette }) {
  return (
    <g>
      {m.links.map((link, i) => {
        const line = link.points.length ? lineThrough(link.points, 1.3) : m.boxes[link.from] && loopBeside(m.boxes[link.from]!, 1.3);
        return line && (
          <g key={i}>
            <path d={line.path} fill="none" stroke={palette.frame} stroke-width="1.4" />
            <path d={line.arrow} fill={palette.frame} />
            {link.about !== null && <text x={line.x + 4} y={line.y + 4} font-size="10.5" fill={palette.faint} stroke={palette.ground} stroke-width="3" paint-order="stroke">{shown(link.about)}</text>}
          </g>
        );
      })}
    </g>
  );
}

// Down and up follow the first link, left and right the neighbours in the order of the boxes.
function stepInMap(m: MapData, at: number, key: string): number {
  if (key === 'ArrowDown') return m.links.find((l) => l.from === at && l.to !== at)?.to ?? at;
  if (key === 'ArrowUp') return m.links.find((l) => l.to === at && l.from !== at)?.from ?? at;
  if (key === 'ArrowLeft') return Math.max(0, at - 1);
  if (key === 'ArrowRight') return Math.min(m.boxes.length - 1, at + 1);
  return key === 'Home' ? 0 : key === 'End' ? m.boxes.length - 1 : -1;
}

export function LayerMap({ view }: { view: View }) {
  const m = view.data as MapData, palette = usePalette(), window = useRef<HTMLDivElement>(null), svg = useRef<SVGSVGElement>(null), { width, height } = useSize(window);
  const search = useStore((s) => s.selection.search), isMatch = matcher(search), [picked, setPicked] = useState<number | null>(null), current = picked ?? 0;
  const move = usePanZoom(window, { width, height }, m.width, m.height, { x: m.width / 2, y: 0 }), most = Math.max(0, ...m.boxes.map((b) => b.share));
  useSvgOffer(svg, palette, shown(m.title ?? view.title), `-16 -16 ${m.width + 32} ${m.height + 32}`);
  const go = (at: number) => {
    const b = m.boxes[at];
    if (!b) return;
    setPicked(at);
    tell(b, m.quantity);
    move.reveal(b.x - b.w / 2, b.y - b.h / 2, b.w, b.h);
  };
  useMatchStep((by) => {
    const at = nextIn(m.boxes.length, current, by, (i) => isMatch !== null && isMatch(m.boxes[i]!.name));
    if (at >= 0) go(at);
  });
  const key = (e: KeyboardEvent) => {
    if (movesWindow(e, move)) return e.preventDefault();
    const next = e.ctrlKey || e.metaKey || e.altKey || e.shiftKey ? -1 : stepInMap(m, current, e.key);
    if (next < 0) return;
    go(next);
    e.preventDefault();
  };
  const content = useMemo(() => (
    <>
      <Links m={m} palette={palette} />
      {m.boxes.map((b, i) => <MapBox key={i} b={b} at={i} most={most} palette={palette} isCurrent={i === picked} isMatch={isMatch !== null && isMatch(b.name)}
        onPoint={(at) => tell(m.boxes[at], m.quantity)} onPick={(at) => !move.hasMoved() && go(at)} />)}
    </>
  ), [m, palette, picked, search, width, height]);
  return (
    <div class="graph">
      <div class="flame-bar">
        <button class="button" type="button" aria-label="Zoom in" onClick={() => move.zoom(1.25)}>+</button>
        <button class="button" type="button" aria-label="Zoom out" onClick={() => move.zoom(0.8)}>−</button>
        <button class="button" type="button" onClick={() => move.fit()}>Fit</button>
        <span class="panel-note">{[m.title, m.subtitle, m.quantity, m.note].filter((t) => t).map((t) => shown(t!)).join('; ')}</span>
      </div>
      <div class="graph-window" ref={window} role="tree" aria-label={view.title} tabIndex={0} aria-activedescendant={m.boxes.length ? `map-box-${current}` : undefined} onKeyDown={key}
        onFocus={() => tell(m.boxes[current], m.quantity)} onBlur={() => act.detail(null)} onPointerLeave={() => tell(picked === null ? undefined : m.boxes[picked], m.quantity)}>
        <svg ref={svg} role="none" width={width} height={height} viewBox={`0 0 ${Math.max(1, width)} ${Math.max(1, height)}`}>
          <g data-moves="" transform={`translate(${move.look.x} ${move.look.y}) scale(${move.look.scale})`}>{content}</g>
        </svg>
      </div>
    </div>
  );
}
