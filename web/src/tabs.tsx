// SPDX-License-Identifier: MIT
// tabs: one tab per view, and the view that is shown with what can be done with it.
import type { ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Shape, View } from './types';
import { useAsked } from './asked';
import { Bars } from './chart/bars';
import { Flame } from './flame/flame';
import { Graph } from './graph/graph';
import { Growth } from './chart/growth';
import { LayerMap } from './graph/map';
import { say } from './message';
import { Roofline } from './chart/roofline';
import { savePng, saveSvg } from './save';
import { Series } from './chart/series';
import { Source } from './source/source';
import { isFirstLook } from './served';
import { act, useStore } from './store';
import { offered } from './svg';
import { Table } from './table/table';
import { shown } from './text';
import { WholeRun } from './wholerun';

const SHAPES: Record<Shape, ComponentType<{ view: View }>> = {
  table: Table, series: Series, flame: Flame, graph: Graph, growth: Growth, bars: Bars, roofline: Roofline, map: LayerMap, source: Source,
};
// What draws; a table is copied as CSV instead.
const PICTURES: Shape[] = ['series', 'flame', 'graph', 'growth', 'bars', 'roofline', 'map'];

const MANY = 12; // tabs, from which on they stand closer

// --- Saving

async function save(name: string, write: (name: string, svg: string) => void | Promise<void>): Promise<void> {
  try {
    const svg = offered();
    if (svg === null) say('There is nothing to save here.');
    else await write(name, svg);
  } catch {
    say('The browser does not let this page save that picture.');
  }
}

function SaveButtons({ view }: { view: View }) {
  const stem = `${document.title.replace(/[^\w.-]+/g, '-')}-${view.name}`;
  return (
    <>
      <button class="button" type="button" onClick={() => void save(stem, saveSvg)}>Save as SVG</button>
      <button class="button" type="button" onClick={() => void save(stem, savePng)}>Save as PNG</button>
    </>
  );
}

// --- Tabs

const STEPS: Record<string, (at: number, n: number) => number> = {
  ArrowLeft: (at, n) => (at + n - 1) % n,
  ArrowRight: (at, n) => (at + 1) % n,
  Home: () => 0,
  End: (_, n) => n - 1,
};

function Tab({ view, at, isShown, onKey }: { view: View; at: number; isShown: boolean; onKey: (e: KeyboardEvent) => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isShown) button.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [isShown]);
  return (
    <button ref={button} id={`tab-${at}`} class="tab" type="button" role="tab" aria-selected={isShown} aria-controls={isShown ? 'panel' : undefined}
      tabIndex={isShown ? 0 : -1} onClick={() => act.show(view.name)} onKeyDown={onKey}>
      {at < 9 && <small aria-hidden="true">{at + 1}</small>}
      {shown(view.title)}
    </button>
  );
}

function TabList({ views, place }: { views: View[]; place: number }) {
  const list = useRef<HTMLDivElement>(null);
  const walk = (e: KeyboardEvent) => {
    const step = STEPS[e.key];
    if (!step) return;
    e.preventDefault();
    const to = step(place, views.length);
    act.show(views[to]!.name);
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[to]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views" ref={list}>
      {views.map((view, at) => <Tab key={view.name} view={view} at={at} isShown={at === place} onKey={walk} />)}
    </div>
  );
}

// --- The view

function Panel({ whole, place }: { whole: View; place: number }) {
  const view = useAsked(whole), Shown = SHAPES[whole.shape], isPicture = PICTURES.includes(whole.shape);
  return (
    <div class={`panel${isPicture ? ' is-picture' : ''}`} id="panel" role="tabpanel" aria-labelledby={`tab-${place}`}>
      <h2 class="on-paper">{shown(whole.title)}</h2>
      {view && whole.shape !== 'table' && <WholeRun view={view} />}
      {view && isPicture && <div class="panel-buttons"><SaveButtons view={view} /></div>}
      <div class="panel-body">{view ? <Shown key={view.name} view={view} /> : <p class="empty">Nothing of this is in what is selected.</p>}</div>
    </div>
  );
}

export function Views({ views }: { views: View[] }) {
  const name = useStore((s) => s.view), place = Math.max(0, views.findIndex((v) => v.name === name)), view = views[place];
  if (!view) return <main class="views"><p class="empty">{isFirstLook() ? 'Views come when the whole file has been read.' : 'This file holds nothing that could be shown.'}</p></main>;
  return (
    <main class="views">
      <div class={`tab-line${views.length > MANY ? ' has-many' : ''}`}>
        <TabList views={views} place={place} />
      </div>
      <Panel whole={view} place={place} />
    </main>
  );
}
