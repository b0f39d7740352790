// SPDX-License-Identifier: MIT
// asked: views of a part of the run of which the page has no figures: a served page asks its server for them.
//
// A page from a file has nobody to ask; it says `whole run` then (wholerun.tsx).
import { useEffect, useMemo, useState } from 'preact/hooks';
import { say } from './message';
import { answerTo, isServed } from './served';
import { useStore } from './store';
import { followed } from './sums';
import type { Payload, Selection, TableData, View } from './types';

// The words of a query; null: nothing is selected that only the server knows.
export function queryOf(view: View, selection: Selection): string | null {
  const { from, to, section, thread } = followed({ ...view, follows: view.asks }, selection);
  if (from === null && section === null && thread === null) return null;
  const time = from === null || to === null ? {} : { from_ns: from, to_ns: to - 1 };
  return JSON.stringify({ views: view.name, ...time, section, track: thread });
}

// --- Answers

const known = new WeakMap<string[], Map<string, number>>();

// Where a text stands in the page's strings; a new one is put behind them.
function placeOf(text: string, strings: string[]): number {
  let places = known.get(strings);
  if (!places) known.set(strings, (places = new Map(strings.map((s, i) => [s, i]))));
  if (!places.has(text)) places.set(text, strings.push(text) - 1);
  return places.get(text)!;
}

// A table of an answer, with texts as places in the page's strings.
export function adopted(data: TableData, from: readonly string[], strings: string[]): TableData {
  const places = from.map((text) => placeOf(text, strings) + 1);
  return { ...data, columns: data.columns.map((c) => (c.unit === 'text' ? { ...c, cells: Uint32Array.from(c.cells, (p) => (p > 0 ? places[p - 1]! : 0)) } : c)) };
}

const without = (data: TableData): TableData => ({ ...data, n: 0, note: null, parents: data.parents && new Uint32Array(0), columns: data.columns.map((c) => ({ ...c, cells: new Uint32Array(0), values: undefined })) });

// The data of the view; null: there is nothing of it in that part.
export function dataOf(view: View, answer: Payload, strings: string[]): View['data'] | null {
  const data = answer.views[0]?.data;
  if (view.shape !== 'table') return data ?? null;
  return data ? adopted(data as TableData, answer.strings, strings) : without(view.data as TableData);
}

// --- Asking

// Browsers have a TypeError with words of their own for a server that does not answer.
const whyNot = (e: unknown): string => (e instanceof TypeError ? 'sonde view --serve does not answer.' : e instanceof Error ? e.message.trim() : String(e));

const REST_MS = 120; // without a change, before a question is sent

interface Answer { query: string; data: View['data'] | null; isRefused: boolean }

async function answered(view: View, query: string, strings: string[], signal: AbortSignal): Promise<Answer> {
  try {
    return { query, data: dataOf(view, await answerTo(query, signal), strings), isRefused: false };
  } catch (e) {
    if (!signal.aborted) say(whyNot(e));
    return { query, data: null, isRefused: true };
  }
}

// The view as the server tells it of what is selected; as it was, until then.  null: there is nothing of it.
export function useAsked(view: View): View | null {
  const payload = useStore((s) => s.payload), selection = useStore((s) => s.selection), [answer, setAnswer] = useState<Answer | null>(null);
  const query = isServed() ? queryOf(view, selection) : null;
  useEffect(() => {
    if (query === null) return;
    const stop = new AbortController();
    const ask = async () => {
      const next = await answered(view, query, payload.strings, stop.signal);
      if (!stop.signal.aborted) setAnswer(next);
    };
    const timer = setTimeout(() => void ask(), REST_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [query, payload]);
  return useMemo(() => {
    if (query === null || answer?.query !== query) return view;
    if (answer.isRefused) return { ...view, asks: [] };
    return answer.data === null ? null : { ...view, data: answer.data, follows: [...view.follows, ...view.asks] };
  }, [view, query, answer]);
}
