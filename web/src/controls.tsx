// SPDX-License-Identifier: MIT
// controls: the one selection, as fields, and what of it is in force.
import type { By, Payload, Selection, Stacks } from './types';
import { act, state, useStore } from './store';
import { matchedShare, matcher } from './search';
import { sumsOf } from './sums';
import { percent, seconds, shown } from './text';

export const SEARCH_ID = 'search';

// --- What the payload has a use for

const hasFlags = (block: Stacks) => block.places.flags.some((flags) => flags !== 0);

function metricsOf(payload: Payload): { name: string; meaning: string }[] {
  const seen = new Map<string, { name: string; meaning: string }>();
  for (const block of payload.stacks) for (const m of block.metrics) if (!seen.has(m.name)) seen.set(m.name, m);
  return [...seen.values()];
}

// The block that the shown view is made of, else the first: what shares of a search are of.
export function blockOf(payload: Payload, view: string): Stacks | null {
  const place = payload.views.find((v) => v.name === view)?.stacks;
  return payload.stacks[place ?? 0] ?? null;
}

// --- Fields

interface ChoiceProps { label: string; value: string; options: { value: string; label: string; title?: string }[]; isSet: boolean; onPick: (value: string) => void }

function Choice({ label, value, options, isSet, onPick }: ChoiceProps) {
  return (
    <label class={`choice${isSet ? ' is-set' : ''}`}>
      <span>{label}</span>
      <select value={value} onChange={(e) => onPick(e.currentTarget.value)}>
        {options.map((o) => (
          <option key={o.value} value={o.value} title={o.title}>{o.label}</option>
        ))}
      </select>
    </label>
  );
}

function Check({ label, title, isOn, onFlip }: { label: string; title: string; isOn: boolean; onFlip: (isOn: boolean) => void }) {
  return (
    <label class={`choice is-check${isOn ? ' is-set' : ''}`} title={title}>
      <input type="checkbox" checked={isOn} onChange={(e) => onFlip(e.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

function searchKey(e: KeyboardEvent): void {
  if (e.key === 'Enter') act.match(e.shiftKey ? -1 : 1);
}

function Search() {
  const text = useStore((s) => s.selection.search);
  return (
    <div class="search">
      <svg viewBox="0 0 16 16" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.8">
        <circle cx="6.8" cy="6.8" r="4.6" />
        <path d="m10.4 10.4 4 4" />
      </svg>
      <input id={SEARCH_ID} type="search" aria-label="Search" placeholder="Search a function or file: expression or text" autocomplete="off"
        spellcheck={false} value={text} onInput={(e) => act.search(e.currentTarget.value)} onKeyDown={searchKey} />
      <kbd aria-hidden="true">/</kbd>
    </div>
  );
}

function Sections({ sections }: { sections: string[] }) {
  const section = useStore((s) => s.selection.section);
  const options = [{ value: '', label: 'all' }, ...sections.map((path) => ({ value: path, label: shown(path) }))];
  return (
    <Choice label="Section" value={section ?? ''} isSet={section !== null} options={options}
      onPick={(picked) => act.section(picked === '' ? null : picked)} />
  );
}

// Every thread once, under its process where there are several; a process with several threads can be chosen as a whole.
export function threadOptions(payload: Payload): { value: string; label: string }[] {
  const threads = new Map(payload.stacks.flatMap((block) => block.threads).map((t) => [t.track, t]));
  const processes = new Map<string, { label: string; n: number }>();
  for (const t of threads.values()) {
    const known = processes.get(`${t.pid}`);
    processes.set(`${t.pid}`, { label: t.process, n: (known?.n ?? 0) + 1 });
  }
  const options: { value: string; label: string }[] = [];
  for (const [pid, process] of processes) {
    const own = [...threads.values()].filter((t) => `${t.pid}` === pid);
    if (processes.size > 1 && !threads.has(pid)) options.push({ value: pid, label: shown(process.label) });
    for (const t of own) {
      const name = t.tid === null ? t.process : `${t.name ?? 'thread'} ${t.tid}`;
      options.push({ value: t.track, label: (processes.size > 1 && t.tid !== null ? '\u2003' : '') + shown(name) });
    }
  }
  return options;
}

function Threads({ payload }: { payload: Payload }) {
  const thread = useStore((s) => s.selection.thread);
  const options = threadOptions(payload);
  return (
    <Choice label="Thread" value={thread ?? ''} isSet={thread !== null} options={[{ value: '', label: 'all' }, ...options]}
      onPick={(picked) => act.thread(picked === '' ? null : picked)} />
  );
}

const BYS: By[] = ['function', 'line', 'module'];

function Options({ payload }: { payload: Payload }) {
  const options = useStore((s) => s.options), metrics = metricsOf(payload);
  const isSampled = payload.stacks.some(hasFlags);
  return (
    <>
      <Choice label="Metric" value={options.metric} isSet={false} onPick={(metric) => act.options({ metric })}
        options={metrics.map((m) => ({ value: m.name, label: shown(m.name), title: shown(m.meaning) }))} />
      <Choice label="By" value={options.by} isSet={options.by !== 'function'} onPick={(by) => act.options({ by: by as By })}
        options={BYS.map((by) => ({ value: by, label: by }))} />
      {isSampled && <Check label="Idle" title="Count waiting threads too" isOn={options.idle} onFlip={(idle) => act.options({ idle })} />}
      {isSampled && (
        <Check label="GIL only" title="Count only what held the interpreter's lock" isOn={options.gilOnly} onFlip={(gilOnly) => act.options({ gilOnly })} />
      )}
      <Check label="My code" title="Fold functions of libraries into their callers" isOn={options.mine} onFlip={(mine) => act.options({ mine })} />
      {payload.stacks.some((block) => block.imports.length > 0) && (
        <Check label="Fold imports" title="An import is one row of the functions" isOn={options.foldImports} onFlip={(foldImports) => act.options({ foldImports })} />
      )}
    </>
  );
}

// --- What is in force

export function selectionText(s: Selection): string {
  const parts: string[] = [];
  if (s.from !== null && s.to !== null) parts.push(`${seconds(s.from)} to ${seconds(s.to)}`);
  if (s.section !== null) parts.push(`section ${shown(s.section)}`);
  if (s.thread !== null) parts.push(`${s.thread.includes('/') ? 'thread' : 'process'} ${shown(s.thread)}`);
  return parts.join(', ') || 'whole run';
}

function matchesText(payload: Payload, view: string): string {
  const { selection, options } = state(), match = matcher(selection.search), block = blockOf(payload, view);
  if (!match || !block) return '';
  return `matched ${percent(matchedShare(sumsOf(block, selection, options), match))} %`;
}

function Matches({ payload }: { payload: Payload }) {
  const view = useStore((s) => s.view);
  useStore((s) => s.selection);
  useStore((s) => s.options);
  return <span class="state-text" role="status" aria-label="Matches">{matchesText(payload, view)}</span>;
}

// Follows a drag at once.
function Selected() {
  const selection = useStore((s) => s.selection), aim = useStore((s) => s.aim);
  const text = selectionText({ ...selection, ...aim }), isPart = text !== 'whole run';
  return (
    <>
      <span class={`state-text ${isPart ? 'is-part' : 'is-whole'}`} role="status" aria-label="Selection">{text}</span>
      {isPart && <button class="button" type="button" onClick={wholeRun}>Clear selection</button>}
    </>
  );
}

function wholeRun(): void {
  act.time(null, null);
  act.section(null);
  act.thread(null);
}

export function Controls({ payload }: { payload: Payload }) {
  return (
    <div class="controls" role="search">
      <Search />
      {payload.sections.length > 0 && <Sections sections={payload.sections} />}
      {payload.stacks.length > 0 && <Threads payload={payload} />}
      {payload.stacks.length > 0 && <Options payload={payload} />}
      <div class="states">
        <Matches payload={payload} />
        <Selected />
      </div>
    </div>
  );
}
