// SPDX-License-Identifier: MIT
// sliders: both ends of the selected time, for the keyboard and for whoever wants to move one of them.
import { useRef } from 'preact/hooks';
import type { Payload } from '../types';
import { act, state, stepNs } from '../store';
import { seconds } from '../text';

export type Ends = [number, number]; // ns
type End = 0 | 1;

// Both ends of what is selected; of the whole run its begin and end.
export function endsOf(payload: Payload, from: number | null, to: number | null): Ends {
  return from !== null && to !== null ? [from, to] : [0, payload.durationNs];
}

// The last slice may end behind the run.
const shareOf = (payload: Payload, ns: number) => Math.min(100, (100 * ns) / (payload.durationNs || 1));

// One end goes to another moment; the other stays, at least a step away.
function moveEnd(payload: Payload, ends: Ends, end: End, to: number): void {
  const step = stepNs(payload), next: Ends = [...ends];
  next[end] = Math.round(Math.max(0, Math.min(payload.durationNs, to)) / step) * step;
  if (next[1] - next[0] < step) next[end] = end === 0 ? Math.max(0, Math.ceil(next[1] / step) * step - step) : next[0] + step;
  if (end === 1 && to >= payload.durationNs) next[1] = payload.durationNs;
  act.time(next[0], next[1]);
}

function steps(payload: Payload): Record<string, number> {
  const step = stepNs(payload), page = Math.max(step, payload.durationNs / 20);
  return { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step, PageDown: -page, PageUp: page, Home: -payload.durationNs, End: payload.durationNs };
}

function Slider({ payload, end, ends, onPoint }: { payload: Payload; end: End; ends: Ends; onPoint: (e: PointerEvent, end: End) => void }) {
  const at = ends[end], share = shareOf(payload, at);
  const onKey = (e: KeyboardEvent) => {
    const by = steps(payload)[e.key];
    if (by === undefined) return;
    e.preventDefault();
    const { from, to } = state().selection, now = endsOf(payload, from, to);
    // Between two steps (the end of a run) the nearest one before or behind is the next.
    moveEnd(payload, now, end, now[end] + by);
  };
  return (
    <div class="slider" role="slider" tabIndex={0} aria-label={end === 0 ? 'From' : 'To'} aria-valuemin={0} aria-valuemax={Math.max(payload.durationNs, ends[1]) / 1e9}
      aria-valuenow={at / 1e9} aria-valuetext={seconds(at)} title={`${end === 0 ? 'From' : 'To'} ${seconds(at)}`}
      style={{ left: `calc(${share}% - ${end === 0 ? 0 : 12}px)` }} onKeyDown={onKey} onPointerDown={(e) => onPoint(e, end)} />
  );
}

export function Sliders({ payload, ends }: { payload: Payload; ends: Ends }) {
  const track = useRef<HTMLDivElement>(null);
  const onPoint = (e: PointerEvent, end: End) => {
    const thumb = e.currentTarget as HTMLElement, box = track.current!.getBoundingClientRect();
    const move = (at: PointerEvent) => {
      const { from, to } = state().selection;
      moveEnd(payload, endsOf(payload, from, to), end, ((at.clientX - box.left) / box.width) * payload.durationNs);
    };
    const stop = () => {
      thumb.removeEventListener('pointermove', move);
      thumb.removeEventListener('pointerup', stop);
      thumb.removeEventListener('pointercancel', stop);
    };
    thumb.setPointerCapture(e.pointerId);
    thumb.addEventListener('pointermove', move);
    thumb.addEventListener('pointerup', stop);
    thumb.addEventListener('pointercancel', stop);
  };
  const [left, right] = ends.map((ns) => shareOf(payload, ns)) as Ends;
  return (
    <div class="sliders" ref={track}>
      <div class="sliders-part" style={{ left: `${left}%`, width: `${right - left}%` }} />
      <Slider payload={payload} end={0} ends={ends} onPoint={onPoint} />
      <Slider payload={payload} end={1} ends={ends} onPoint={onPoint} />
    </div>
  );
}
