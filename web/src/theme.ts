// SPDX-License-Identifier: MIT
// theme: light or dark, as the system has it or as the button says.
import { useEffect, useState } from 'preact/hooks';
import { act, state, subscribe, type State } from './store';

type Theme = State['theme'];
const dark = matchMedia('(prefers-color-scheme: dark)');
const paper = matchMedia('print');

// Sets the attribute that style.css looks at, now and whenever the store changes.
export function followTheme(): void {
  const set = () => {
    const theme = state().theme;
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  set();
  subscribe(set);
}

// From what the system has, the first step is to the other of both: a button that seems to do nothing is broken.
export function nextTheme(): void {
  const now = state().theme;
  const same: Theme = dark.matches ? 'dark' : 'light', other: Theme = dark.matches ? 'light' : 'dark';
  act.theme(now === 'system' ? other : now === other ? same : 'system');
}

// Draws again when the colours change; the value itself says nothing.
export function useLook(theme: Theme): string {
  const [look, setLook] = useState('');
  useEffect(() => {
    const see = () => setLook(`${theme} ${dark.matches} ${paper.matches}`);
    see();
    dark.addEventListener('change', see);
    paper.addEventListener('change', see);
    return () => {
      dark.removeEventListener('change', see);
      paper.removeEventListener('change', see);
    };
  }, [theme]);
  return look;
}

// Whether the page is dark now; paper never is.
export function isDark(): boolean {
  const theme = state().theme;
  return !paper.matches && (theme === 'dark' || (theme === 'system' && dark.matches));
}
