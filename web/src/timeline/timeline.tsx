// SPDX-License-Identifier: MIT
// timeline: the run from left to right: lanes of what was read or is derived, sections, and the selected time.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Band, Lane, Payload } from '../types';
import { DARK, LIGHT } from '../colors';
import { ceilingOf, readingAt, rowsOf, stepsOf, type Steps } from './lanes';
import { Follower } from './follower';
import { endsOf, Sliders } from './sliders';
import { act, useStore } from '../store';
import { amount, percent, seconds, shown } from '../text';
import { isDark, useLook } from '../theme';
import { AXIS, BAND, MOST_ROWS, paintLanes, paintVeil, type Part, type Scene } from './timelinecanvas';

const DRAGGED = 3; // pixels from which a press is a drag
const LANES_MAX = 180, LANE_MIN = 28, LANE_MAX = 46; // pixels of all lanes, and of one

// --- Values at a moment

function laneAmount(lane: Lane, value: number): string {
  if (lane.unit === 'percent') return `${percent(value)} %`;
  return amount(value, lane.unit) + (lane.make ? '/s' : '');
}

function stepText(lane: Lane, steps: Steps, ns: number): string[] {
  const at = Math.floor(ns / steps.stepNs), all = steps.all[at] ?? 0;
  return steps.part ? [`selected ${laneAmount(lane, steps.part[at] ?? 0)}`, `all ${laneAmount(lane, all)}`] : [laneAmount(lane, all)];
}

function curveTexts(lane: Lane, ns: number): string[] {
  const curves = [...(lane.curves ?? [])].sort((a, b) => Number(b.isTotal) - Number(a.isTotal)).slice(0, 4);
  return curves.flatMap((c) => {
    const at = readingAt(c.t, ns / 1e9);
    return at < 0 ? [] : [(curves.length > 1 ? `${shown(c.name)} ` : '') + laneAmount(lane, c.last[at]!)];
  });
}

function Label({ part, pointer }: { part: Part; pointer: number | null }) {
  const { lane, steps } = part, top = lane.make === 'gil' ? 100 : part.ceiling / 1.08;
  const values = pointer === null ? [`up to ${laneAmount(lane, top)}`] : steps ? stepText(lane, steps, pointer) : curveTexts(lane, pointer);
  return (
    <div class="lane-label" style={{ top: `${part.y}px` }}>
      <b>{shown(lane.title)}</b>
      <span>{values.join(' · ')}</span>
    </div>
  );
}

// --- The plot

function useWidth(ref: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const see = () => setWidth(ref.current?.clientWidth ?? 0);
    const observer = new ResizeObserver(see);
    see();
    if (ref.current) observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

function useScene(payload: Payload, width: number, pointer: number | null, dragged: [number, number] | null): Scene {
  const selection = useStore((s) => s.selection);
  const { rows, n } = useMemo(() => rowsOf(payload.bands), [payload]);
  const h = Math.max(LANE_MIN, Math.min(LANE_MAX, Math.floor(LANES_MAX / Math.max(1, payload.lanes.length))));
  const parts = useMemo(() => payload.lanes.map((lane, at) => {
    const steps = stepsOf(lane, payload, selection);
    return { lane, steps, ceiling: ceilingOf(lane, steps), y: AXIS + at * (h + 1), h };
  }), [payload, selection.thread, selection.section]);
  const bandsY = AXIS + parts.length * (h + 1) + 2, height = bandsY + Math.min(n, MOST_ROWS) * BAND + (n > 0 ? 3 : 0);
  const selected: [number, number] | null = dragged ?? (selection.from !== null ? endsOf(payload, selection.from, selection.to) : null);
  return { width, height, durationNs: payload.durationNs || 1, parts, bands: payload.bands, rows, bandsY, section: selection.section, selected, pointer };
}

function bandAt(scene: Scene, x: number, y: number): Band | null {
  const row = Math.floor((y - scene.bandsY) / BAND), moment = (x / scene.width) * (scene.durationNs / 1e9), slack = (scene.durationNs / 1e9 / scene.width) * 2;
  if (y < scene.bandsY) return null;
  return scene.bands.find((b, i) => scene.rows[i] === row && b.from - slack <= moment && moment <= b.to + slack) ?? null;
}

// A press without a drag chooses a section, or ends the selection of time.
function press(scene: Scene, x: number, y: number): void {
  const band = bandAt(scene, x, y);
  if (band) act.section(band.name === scene.section ? null : band.name);
  else act.time(null, null);
}

function tell(scene: Scene, x: number, y: number, ns: number): void {
  const band = bandAt(scene, x, y);
  if (band) {
    const about: [string, string][] = [['from', seconds(band.from * 1e9)], ['to', seconds(band.to * 1e9)], ['lasts', amount((band.to - band.from) * 1e9, 'ns')]];
    if (band.n > 1) about.push(['stands for', `${band.n} sections`]);
    act.detail({ name: band.name, file: null, line: 0, rows: about });
    return;
  }
  const rows = scene.parts.map((p): [string, string] => [p.lane.title, (p.steps ? stepText(p.lane, p.steps, ns) : curveTexts(p.lane, ns)).join(', ')]);
  act.detail({ name: seconds(ns), file: null, line: 0, rows });
}

interface Drag { x: number; from: number; isDrag: boolean }

function Plot({ payload }: { payload: Payload }) {
  const box = useRef<HTMLDivElement>(null), lanes = useRef<HTMLCanvasElement>(null), veil = useRef<HTMLCanvasElement>(null), drag = useRef<Drag | null>(null);
  const [pointer, setPointer] = useState<number | null>(null), [dragged, setDragged] = useState<[number, number] | null>(null);
  const width = useWidth(box), scene = useScene(payload, width, pointer, dragged);
  const look = useLook(useStore((s) => s.theme)), follower = useMemo(() => new Follower(act.time), []);
  useEffect(() => {
    if (lanes.current) paintLanes(lanes.current, scene, isDark() ? DARK : LIGHT, shown);
  }, [scene.width, scene.height, scene.parts, scene.section, look]);
  useEffect(() => {
    if (veil.current) paintVeil(veil.current, scene, isDark() ? DARK : LIGHT);
  }, [scene.width, scene.height, scene.durationNs, scene.pointer, ...(scene.selected ?? [-1, -1]), look]);

  const end = () => {
    drag.current = null;
    setDragged(null);
    follower.stop();
  };
  const at = (e: PointerEvent) => {
    const place = box.current!.getBoundingClientRect(), x = e.clientX - place.left;
    return { x, y: e.clientY - place.top, ns: Math.max(0, Math.min(1, x / place.width)) * scene.durationNs };
  };
  const down = (e: PointerEvent) => {
    if (e.button !== 0) return;
    const { x, ns } = at(e);
    drag.current = { x, from: ns, isDrag: false };
    box.current!.setPointerCapture(e.pointerId);
  };
  const move = (e: PointerEvent) => {
    const { x, y, ns } = at(e), d = drag.current;
    setPointer(ns);
    if (!d) return tell(scene, x, y, ns);
    d.isDrag ||= Math.abs(x - d.x) >= DRAGGED;
    if (!d.isDrag) return;
    const ends: [number, number] = d.from < ns ? [d.from, ns] : [ns, d.from];
    setDragged(ends);
    act.aim(ends);
    follower.aim(...ends);
  };
  const up = (e: PointerEvent) => {
    const { x, y, ns } = at(e), d = drag.current;
    end();
    if (d?.isDrag) act.time(Math.min(d.from, ns), Math.max(d.from, ns));
    else if (d) press(scene, x, y);
  };
  const leave = () => {
    setPointer(null);
    act.detail(null);
  };
  const cancel = () => {
    end();
    act.aim(null);
  };
  return (
    <div class="plot" ref={box} style={{ height: `${scene.height}px` }} onPointerDown={down} onPointerMove={move} onPointerUp={up}
      onPointerCancel={cancel} onPointerLeave={leave}>
      <canvas ref={lanes} aria-hidden="true" />
      <canvas ref={veil} aria-hidden="true" />
      {scene.parts.map((part) => <Label key={part.lane.title} part={part} pointer={pointer} />)}
    </div>
  );
}

function PlotSliders({ payload }: { payload: Payload }) {
  const selection = useStore((s) => s.selection), { from, to } = useStore((s) => s.aim) ?? selection;
  return <Sliders payload={payload} ends={endsOf(payload, from, to)} />;
}

export function Timeline({ payload }: { payload: Payload }) {
  if (payload.durationNs <= 0 || (payload.lanes.length === 0 && payload.bands.length === 0)) return null;
  return (
    <div class="timeline-row">
      <section class="timeline" aria-label="Timeline">
        <Plot payload={payload} />
        <PlotSliders payload={payload} />
      </section>
    </div>
  );
}
