// SPDX-License-Identifier: MIT
// table: a table or tree of which only the visible rows stand in the document.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Sort, TableColumn, TableData, View } from '../types';
import { jumpFrom } from '../jump';
import { say } from '../message';
import { tableOf } from '../rows';
import { copy, csv } from '../save';
import { matcher } from '../search';
import { act, useStore } from '../store';
import { detailOf, Headings, layoutOf, Row, type Layout } from './tablecells';
import { HEAD, ROW, scrollTo, visibleRows, type VisibleRows } from './visiblerows';
import { matching, rowsOfTable, sortedRows, treeKeys, type Rows } from './tablerows';
import { count, shown } from '../text';
import { usePrinting } from '../printing';
import { WholeRun } from '../wholerun';

const PRINTED = 300; // rows on paper

// --- The rows to show

// As it came, when it came sorted by its first share.
function usualSort(data: TableData): Sort | null {
  const column = data.columns.find((c) => c.unit === 'percent' && !c.isHidden);
  if (!column || data.parents) return null;
  for (let row = 1; row < data.n; row++) if (column.cells[row]! > column.cells[row - 1]!) return null;
  return { column: column.name, isDown: true };
}

// Rows of a tree are open at first where much is below them.
const MUCH = 15; // percent

function openAtFirst(data: TableData): (row: number) => boolean {
  const shares = data.columns.filter((c) => c.unit === 'percent' && !c.isHidden), share = shares.find((c) => c.name === 'cum%') ?? shares[shares.length - 1];
  return (row) => (share ? share.cells[row]! >= MUCH : data.parents![row] === 0);
}

interface Model { data: TableData; rows: Rows; found: Uint8Array | null; order: Int32Array; keys: Float64Array | null; isOpen: (row: number) => boolean }

function useModel(view: View, sort: Sort | null, turned: ReadonlyMap<number, boolean>): Model {
  const payload = useStore((s) => s.payload), selection = useStore((s) => s.selection), options = useStore((s) => s.options);
  const { from, to, section, thread, search } = selection;
  const data = useMemo(() => tableOf(view, payload, selection, options), [view, payload, from, to, section, thread, options]);
  const order = useMemo(() => sortedRows(data, sort, payload.strings), [data, sort]);
  const found = useMemo(() => {
    const match = matcher(search);
    return match && matching(data, match, payload.strings);
  }, [data, search]);
  const keys = useMemo(() => (data.parents ? treeKeys(data) : null), [data]);
  return useMemo(() => {
    const isOpenFirst = data.parents ? openAtFirst(data) : () => false, isOpen = (row: number) => turned.get(keys ? keys[row]! : row) ?? isOpenFirst(row);
    return { data, order, found, keys, isOpen, rows: rowsOfTable(data, order, found, isOpen) };
  }, [data, order, found, keys, turned]);
}

// --- Which of them are visible

function useVisible(box: { current: HTMLElement | null }, n: number): VisibleRows & { isNarrow: boolean } {
  const [seen, setSeen] = useState({ top: 0, height: 600, width: 1000 });
  useLayoutEffect(() => {
    const element = box.current!, see = () => setSeen({ top: element.scrollTop, height: element.clientHeight, width: element.clientWidth });
    const observer = new ResizeObserver(see);
    observer.observe(element);
    element.addEventListener('scroll', see, { passive: true });
    see();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', see);
    };
  }, []);
  const isPrinting = usePrinting();
  const top = Math.min(seen.top, Math.max(0, n * ROW));
  return { ...(isPrinting ? { first: 0, n: Math.min(n, PRINTED), shift: 0, height: 0 } : visibleRows(top, seen.height, n)), isNarrow: seen.width < 600 };
}

// --- Keys

const MOVES: Record<string, (at: number, page: number, n: number) => number> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  PageDown: (at, page) => at + page,
  PageUp: (at, page) => at - page,
  Home: () => 0,
  End: (_, __, n) => n - 1,
};

// --- The table

const rowsText = (n: number) => `${count(n)} ${n === 1 ? 'row' : 'rows'}`;

function Tools({ view, model, strings }: { view: View; model: Model; strings: readonly string[] }) {
  const { data, rows, found } = model, all = found ? found.reduce((n, f) => n + (f === 1 ? 1 : 0), 0) : data.n;
  const copyCsv = async () => {
    const whole = rowsOfTable(data, model.order, found, () => true), isDone = await copy(csv(data, whole.rows, strings));
    say(isDone ? `${rowsText(whole.rows.length)} copied as CSV.` : 'The browser does not let this page copy.');
  };
  return (
    <div class="panel-head">
      <WholeRun view={view} />
      <span class="panel-note">
        {found ? `${count(all)} of ${rowsText(data.n)} ${all === 1 ? 'matches' : 'match'}` : data.parents ? `${count(rows.rows.length)} of ${rowsText(data.n)} open` : rowsText(data.n)}
        {data.note !== null && ` · ${shown(data.note)}`}
      </span>
      <div class="panel-buttons"><button class="button" type="button" onClick={() => void copyCsv()}>Copy as CSV</button></div>
    </div>
  );
}

interface Steering { model: Model; layout: Layout; active: number; go: (at: number) => void; turn: (row: number, isOpen: boolean) => void }

function turnByKey(e: KeyboardEvent, s: Steering): boolean {
  const { data, rows, isOpen } = s.model, row = rows.rows[s.active];
  if (!data.parents || row === undefined) return false;
  const has = rows.hasChildren![row] === 1, isRowOpen = has && isOpen(row);
  if (e.key === 'ArrowRight' && has) isRowOpen ? s.go(s.active + 1) : s.turn(row, true);
  else if (e.key === 'ArrowLeft' && isRowOpen) s.turn(row, false);
  else if (e.key === 'ArrowLeft' && data.parents[row]! > 0) s.go(rows.rows.indexOf(data.parents[row]! - 1));
  else if (e.key === 'Enter' && has) s.turn(row, !isRowOpen);
  else return e.key === 'ArrowLeft' || e.key === 'ArrowRight';
  return true;
}

function useActive(model: Model, layout: Layout, box: { current: HTMLElement | null }, strings: readonly string[]): [number, (at: number) => void] {
  const [active, setActive] = useState(-1), n = model.rows.rows.length;
  const go = (to: number) => {
    const at = Math.max(0, Math.min(n - 1, to)), row = model.rows.rows[at];
    if (row === undefined) return;
    setActive(at);
    const { scrollTop, clientHeight } = box.current!;
    box.current!.scrollTop = scrollTo(at, scrollTop, clientHeight, n);
    act.detail(detailOf(model.data, layout, row, strings));
  };
  const match = useStore((s) => s.match);
  useEffect(() => {
    const { found, rows } = model, hits: number[] = [], at = match < 0 ? match + 1 : match; // -1: before the first
    if (match === -1 || !found) return;
    rows.rows.forEach((row, place) => found[row] === 1 && hits.push(place));
    if (hits.length > 0) go(hits[((at % hits.length) + hits.length) % hits.length]!);
  }, [match]);
  return [Math.min(active, n - 1), go];
}

export function Table({ view }: { view: View }) {
  const strings = useStore((s) => s.payload).strings, box = useRef<HTMLDivElement>(null);
  const chosen = useStore((s) => s.sorts[view.name] ?? null), [turned, setTurned] = useState<ReadonlyMap<number, boolean>>(new Map());
  const model = useModel(view, chosen, turned), { data, rows } = model;
  const usual = useMemo(() => usualSort(data), [data]), sort = chosen && data.columns.some((c) => c.name === chosen.column) ? chosen : usual;
  const seen = useVisible(box, rows.rows.length), layout = useMemo(() => layoutOf(data, strings, seen.isNarrow), [data, seen.isNarrow]);
  const [active, go] = useActive(model, layout, box, strings);

  const turn = (row: number, isOpen: boolean) => setTurned(new Map(turned).set(model.keys ? model.keys[row]! : row, isOpen));
  const onSort = (c: TableColumn) => act.sort({ column: c.name, isDown: sort?.column === c.name ? !sort.isDown : c.unit !== 'text' || c.values !== undefined });
  const onKey = (e: KeyboardEvent) => {
    if (e.target !== box.current || e.ctrlKey || e.altKey || e.metaKey) return;
    const move = MOVES[e.key], page = Math.max(1, Math.floor((box.current!.clientHeight - HEAD) / ROW) - 1);
    if (move) go(active < 0 ? (e.key === 'End' ? rows.rows.length - 1 : 0) : move(active, page, rows.rows.length));
    else if (!turnByKey(e, { model, layout, active, go, turn }) && !(e.key === 'Enter' && active >= 0 && jumpFrom(view, data, rows.rows[active]!))) return;
    e.preventDefault();
  };
  const placeOf = (e: Event) => Number((e.target as HTMLElement).closest<HTMLElement>('[data-at]')?.dataset.at ?? -1);
  const onOver = (e: Event) => {
    const row = rows.rows[placeOf(e)];
    if (row !== undefined) act.detail(detailOf(data, layout, row, strings));
  };
  const onClick = (e: Event) => {
    const at = placeOf(e), row = rows.rows[at];
    if (row === undefined) return;
    go(at);
    if (rows.hasChildren?.[row] === 1 && (e.target as HTMLElement).classList.contains('twist')) turn(row, !model.isOpen(row));
  };
  const onDouble = (e: Event) => {
    const row = rows.rows[placeOf(e)];
    if (row === undefined) return;
    if (rows.hasChildren?.[row] === 1) turn(row, !model.isOpen(row));
    else jumpFrom(view, data, row);
  };
  const visible = Array.from(rows.rows.subarray(seen.first, seen.first + seen.n));
  const isActiveSeen = active >= seen.first && active < seen.first + seen.n;
  return (
    <>
      <Tools view={view} model={model} strings={strings} />
      <div class="table" ref={box} role={data.parents ? 'treegrid' : 'grid'} aria-label={shown(view.title)} tabIndex={0} aria-rowcount={rows.rows.length + 1}
        aria-colcount={layout.columns.length} aria-activedescendant={isActiveSeen ? `row-${active}` : undefined} onKeyDown={onKey} onPointerOver={onOver}
        onClick={onClick} onDblClick={onDouble} onFocus={(e) => e.target === box.current && active < 0 && go(0)}>
        <div class="table-inner" style={{ minWidth: layout.least }}>
          <Headings layout={layout} sort={sort} onSort={onSort} />
          <div class="table-body" role="rowgroup" style={{ height: `${seen.height}px` }}>
            <div class="table-part" role="presentation" style={{ transform: `translateY(${seen.shift}px)` }}>
              {visible.map((row, i) => (
                <Row key={row} layout={layout} strings={strings} row={row} at={seen.first + i} isActive={seen.first + i === active}
                  depth={rows.depths ? rows.depths[row]! : null} isOpen={rows.hasChildren?.[row] === 1 ? model.isOpen(row) || (model.found?.[row] === 2) : null} />
              ))}
            </div>
          </div>
        </div>
        {rows.rows.length === 0 && <p class="empty">{data.n > 0 ? 'No row matches the search.' : 'Nothing of this is in what is selected.'}</p>}
      </div>
    </>
  );
}
