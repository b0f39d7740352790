// SPDX-License-Identifier: MIT
// panzoom: moves and scales a drawing in its window, by pointer, wheel and keys.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RefObject } from 'preact';

export interface Look {
  x: number; // of the drawing's 0, 0 in the window
  y: number;
  scale: number;
}
export interface PanZoom {
  look: Look;
  fit(): void;
  zoom(by: number, x?: number, y?: number): void;
  pan(dx: number, dy: number): void;
  reveal(x: number, y: number, w: number, h: number): void; // moves as little as is needed to see this box
  hasMoved(): boolean; // the pointer that goes up now has moved the drawing
}

const LEAST = 0.05,
  MOST = 6,
  READABLE = 0.72;

// All of it where that can be read; else as large as can be read, with `centre` in the middle of the width.
export function fitted(width: number, height: number, w: number, h: number, centre: { x: number; y: number }): Look {
  const pad = 16, whole = Math.min((width - 2 * pad) / w, (height - 2 * pad) / h, 1.3);
  if (whole >= READABLE) return { scale: whole, x: (width - w * whole) / 2, y: pad };
  const scale = 0.85;
  const x = w * scale <= width - 2 * pad ? (width - w * scale) / 2 : Math.min(pad, Math.max(width - pad - w * scale, width / 2 - centre.x * scale));
  return { scale, x, y: Math.min(pad, height / 3 - centre.y * scale) };
}

interface Size { width: number; height: number }

export function usePanZoom(window: RefObject<Element | null>, { width, height }: Size, w: number, h: number, centre: { x: number; y: number }): PanZoom {
  const whole = useMemo(() => fitted(width, height, w, h, centre), [width, height, w, h]); // until it is moved
  const [placed, setPlaced] = useState<Look | null>(null), moved = useRef(false);
  const fit = () => setPlaced(null);
  const move = (change: (old: Look) => Look) => setPlaced((old) => change(old ?? whole));
  const pan = (dx: number, dy: number) => move((old) => ({ ...old, x: old.x + dx, y: old.y + dy }));
  const zoom = (by: number, x = width / 2, y = height / 2) => move((old) => {
    const scale = Math.min(MOST, Math.max(LEAST, old.scale * by)), k = scale / old.scale;
    return { scale, x: x - (x - old.x) * k, y: y - (y - old.y) * k };
  });
  const reveal = (x: number, y: number, bw: number, bh: number) => move((old) => {
    const inside = (at: number, size: number, room: number) => (at < 8 ? 8 - at : at + size > room - 8 ? room - 8 - at - size : 0);
    const dx = inside(old.x + x * old.scale, bw * old.scale, width), dy = inside(old.y + y * old.scale, bh * old.scale, height);
    return dx || dy ? { ...old, x: old.x + dx, y: old.y + dy } : old;
  });
  usePointer(window, zoom, pan, moved);
  return { look: placed ?? whole, fit, zoom, pan, reveal, hasMoved: () => moved.current };
}

function usePointer(window: RefObject<Element | null>, zoom: PanZoom['zoom'], pan: PanZoom['pan'], moved: RefObject<boolean>): void {
  const last = useRef({ zoom, pan });
  last.current = { zoom, pan };
  useEffect(() => {
    const element = window.current as HTMLElement | null;
    if (!element) return undefined;
    let from: { x: number; y: number } | null = null;
    const wheel = (e: WheelEvent) => {
      const box = element.getBoundingClientRect();
      e.preventDefault();
      last.current.zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0016)), e.clientX - box.left, e.clientY - box.top);
    };
    const down = (e: PointerEvent) => {
      moved.current = false;
      if (e.button === 0) from = { x: e.clientX, y: e.clientY };
    };
    const drag = (e: PointerEvent) => {
      if (!from || !(e.buttons & 1)) return void (from = null);
      const [dx, dy] = [e.clientX - from.x, e.clientY - from.y];
      if (!moved.current && Math.hypot(dx, dy) < 4) return;
      if (!moved.current) element.setPointerCapture(e.pointerId);
      moved.current = true;
      last.current.pan(dx, dy);
      from = { x: e.clientX, y: e.clientY };
    };
    element.addEventListener('wheel', wheel, { passive: false });
    element.addEventListener('pointerdown', down);
    element.addEventListener('pointermove', drag);
    return () => {
      element.removeEventListener('wheel', wheel);
      element.removeEventListener('pointerdown', down);
      element.removeEventListener('pointermove', drag);
    };
  }, []);
}

// Keys that move the window; true when it was one of them.
export function movesWindow(e: KeyboardEvent, by: PanZoom): boolean {
  const step = 60;
  if (e.ctrlKey || e.metaKey || e.altKey) return false;
  if (e.key === '+' || e.key === '=') by.zoom(1.25);
  else if (e.key === '-') by.zoom(0.8);
  else if (e.key === '0') by.fit();
  else if (e.shiftKey && e.key === 'ArrowLeft') by.pan(step, 0);
  else if (e.shiftKey && e.key === 'ArrowRight') by.pan(-step, 0);
  else if (e.shiftKey && e.key === 'ArrowUp') by.pan(0, step);
  else if (e.shiftKey && e.key === 'ArrowDown') by.pan(0, -step);
  else return false;
  return true;
}
