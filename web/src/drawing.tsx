// SPDX-License-Identifier: MIT
// drawing: what all drawings of the page need: colours of light or dark, their size, and to be saved.
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { DARK, LIGHT, type Palette } from './colors';
import { useStore } from './store';
import { addTitle, offer, svgOfElement } from './svg';
import { isDark, useLook } from './theme';

export function usePalette(): Palette {
  useLook(useStore((s) => s.theme));
  return isDark() ? DARK : LIGHT;
}

// Inner size of an element in pixels, without its scroll bars; 0 before it stands.
export function useSize(of: RefObject<HTMLElement | null>): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = of.current;
    if (!element) return undefined;
    const see = () => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    see();
    const watch = new ResizeObserver(see);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return size;
}

// What is saved while this component stands; the last function that was given counts.
export function useOffer(svg: () => string | null): void {
  const last = useRef(svg);
  last.current = svg;
  useEffect(() => offer(() => last.current()), []);
}
// Of an <svg>: all of it where a part is in sight (`whole` is its view box then), with a title above.
export function useSvgOffer(of: RefObject<SVGSVGElement | null>, palette: Palette, title: string, whole?: string): void {
  useOffer(() => svgOfElement(of.current, palette.ground, (copy) => {
    if (whole) copy.setAttribute('viewBox', whole);
    copy.querySelector('[data-moves]')?.removeAttribute('transform');
    addTitle(copy, title, palette.ink);
  }));
}

// `n` and `N` count the store's `match` up and down; a drawing makes a step of its own of it.  Another search begins anew and
// is no step.
export function useMatchStep(step: (by: 1 | -1) => void): void {
  const match = useStore((s) => s.match), search = useStore((s) => s.selection.search), last = useRef({ match, search });
  useEffect(() => {
    const by = match - last.current.match, isSame = last.current.search === search;
    last.current = { match, search };
    if (isSame && search !== '' && (by === 1 || by === -1)) step(by);
  }, [match, search]);
}

// The next of n that is one, from `after` on and round; -1: none is.
export function nextIn(n: number, after: number, by: 1 | -1, isOne: (i: number) => boolean): number {
  for (let k = 1; k <= n; k++) {
    const i = (((after + by * k) % n) + n) % n;
    if (isOne(i)) return i;
  }
  return -1;
}

// Letters that fit; the mean letter of the page's fonts is a little narrower than this.
export function fitText(text: string, pixels: number, size: number): string {
  const n = Math.floor(pixels / (size * 0.56));
  return text.length <= n ? text : n < 2 ? '' : [...text].slice(0, n - 1).join('') + '…';
}
export function textWidth(text: string, size: number): number {
  return text.length * size * 0.56;
}

// Where single letters are text, or choose an option.
export function takesLetters(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'range', 'button'].includes(target.type);
  return target instanceof HTMLElement && (target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName));
}
