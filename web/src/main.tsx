// SPDX-License-Identifier: MIT
// main: takes the data out of the page and draws it; says so when that cannot be done, and leaves the plain part.
import { render } from 'preact';
import { App } from './app';
import { loadPage } from './payload';
import { load } from './store';
import { followTheme } from './theme';

function sorry(sentence: string): void {
  const p = document.createElement('p');
  p.className = 'sorry';
  p.setAttribute('role', 'alert');
  p.textContent = sentence;
  document.getElementById('plain')!.before(p);
}

function why(e: unknown): string {
  if (typeof DecompressionStream === 'undefined') return 'This browser is too old to show the whole report (it has no DecompressionStream); here is its beginning.';
  const reason = e instanceof Error ? e.message : String(e);
  return `The data of this page cannot be read (${reason}); make it again with sonde report. Here is its beginning.`;
}

async function begin(): Promise<void> {
  try {
    const payload = await loadPage(document);
    if (!payload) throw new Error('there is none');
    load(payload);
  } catch (e) {
    sorry(why(e));
    return;
  }
  document.getElementById('plain')?.remove();
  followTheme();
  render(<App />, document.getElementById('app')!);
}

void begin();
