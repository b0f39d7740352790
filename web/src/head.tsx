// SPDX-License-Identifier: MIT
// head: what was measured, and with what quality.
import type { Head as HeadData } from './types';
import { act, useStore } from './store';
import { nextTheme } from './theme';
import { shown } from './text';

const Mark = () => (
  <svg class="head-mark" viewBox="0 0 26 26" aria-hidden="true" fill="currentColor">
    <rect x="2" y="3" width="22" height="5" rx="1.5" />
    <rect x="2" y="10.5" width="15" height="5" rx="1.5" opacity=".75" />
    <rect x="7" y="18" width="7" height="5" rx="1.5" opacity=".5" />
  </svg>
);

const LOOKS = { system: 'as the system', light: 'light', dark: 'dark' };

function ThemeButton() {
  const theme = useStore((s) => s.theme);
  return (
    <button class="button" type="button" aria-label="Theme" title={`Theme: ${LOOKS[theme]}`} onClick={nextTheme}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.6" />
        <path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor" />
      </svg>
      Theme
    </button>
  );
}

function Facts({ items }: { items: HeadData['items'] }) {
  return (
    <dl class="facts">
      {items.map((item) => (
        <div key={item.label}>
          <dt>{shown(item.label)}</dt>
          <dd>{shown(item.value)}</dd>
        </div>
      ))}
      <Run />
    </dl>
  );
}

// Of a page that is served: what the server says beside its data.
function Run() {
  const isGrowing = useStore((s) => s.isGrowing);
  return isGrowing === null ? null : <div><dt>run</dt><dd><span role="status" aria-label="Run">{isGrowing ? 'still goes on' : 'has ended'}</span></dd></div>;
}

function Notice() {
  const notice = useStore((s) => s.notice);
  return <div role="status" aria-label="Notice">{notice !== null && <p class="notice"><strong>No longer renewed:</strong> {shown(notice)}</p>}</div>;
}

export function Head({ title, program, head }: { title: string; program: string; head: HeadData }) {
  return (
    <header class="head">
      <div class="head-line">
        <Mark />
        <h1>{shown(title)}</h1>
        {head.command !== null && <code class="head-command" title={shown(head.command)}>{shown(head.command)}</code>}
        <div class="head-buttons">
          <ThemeButton />
          <button class="button" type="button" title={`${program}: keys of this page`} onClick={() => act.keys(true)}>
            Keys <kbd aria-hidden="true">?</kbd>
          </button>
        </div>
      </div>
      {head.items.length > 0 && <Facts items={head.items} />}
      {head.complaint !== null && <p class="notice"><strong>Incomplete:</strong> {shown(head.complaint)}</p>}
      <Notice />
      {head.notes.length > 0 && <ul class="notes">{head.notes.map((note) => <li key={note}>{shown(note)}</li>)}</ul>}
    </header>
  );
}
