// SPDX-License-Identifier: MIT
// main: takes the data out of the page, or asks the server for it, and draws it; says so when that cannot be done, and
// leaves the plain part.
import { render } from 'preact';
import { tokenOf } from './address';
import { App } from './app';
import { loadPage } from './payload';
import { serve } from './served';
import { act, load, renew } from './store';
import { shown } from './text';
import { followTheme } from './theme';
import type { Payload } from './types';

let isDrawn = false;

// The first data makes the page; what comes later replaces it and leaves what was selected.
function draw(payload: Payload): void {
  document.title = shown(payload.title);
  if (isDrawn) return renew(payload);
  load(payload);
  document.getElementById('plain')?.remove();
  followTheme();
  render(<App />, document.getElementById('app')!);
  isDrawn = true;
}

function sorry(sentence: string): void {
  const p = document.createElement('p');
  p.className = 'sorry';
  p.setAttribute('role', 'alert');
  p.textContent = sentence;
  document.getElementById('plain')!.before(p);
}

function why(e: unknown): string {
  if (typeof DecompressionStream === 'undefined') return 'This browser is too old to show the whole report: it has no DecompressionStream.';
  return `The data of this page cannot be read: ${e instanceof Error ? e.message : String(e)}.`;
}

async function begin(): Promise<void> {
  try {
    const payload = await loadPage(document);
    if (payload) return draw(payload);
    const token = tokenOf(location.hash);
    if (token === null) throw new Error('there is none in it, and its address has no token of a server');
    await serve(token, draw, act.served);
  } catch (e) {
    if (isDrawn) act.served({ notice: why(e), isGrowing: null });
    else sorry(why(e));
  }
}

void begin();
