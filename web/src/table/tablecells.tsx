// SPDX-License-Identifier: MIT
// tablecells: how columns, headings and rows of a table look; table.tsx says which of them.
import type { Sort, TableColumn, TableData } from '../types';
import type { Detail } from '../store';
import { amount, percent, shown } from '../text';

// --- Columns

export interface Layout {
  columns: TableColumn[]; // that are shown, from left to right
  name: TableColumn | null; // what a row is: it carries the tree
  template: string; // of the grid; the same for all rows, so that they align
  least: string; // width below which the table scrolls
}

const isPlain = (c: TableColumn): boolean => ['pid', 'thread', 'status', 'line', 'tid'].includes(c.name);

export function cellText(c: TableColumn, row: number, strings: readonly string[]): string {
  const value = c.cells[row]!;
  if (c.unit === 'text') return value > 0 ? shown(strings[value - 1]!) : '';
  if (Number.isNaN(value)) return '';
  if (c.unit === 'percent') return c.name.endsWith('%') ? percent(value) : `${percent(value)} %`;
  return isPlain(c) ? String(value) : amount(value, c.unit);
}

const SEEN = 400; // rows that are enough to know how wide a column of numbers is

function widest(c: TableColumn, n: number, strings: readonly string[]): number {
  const step = Math.max(1, Math.floor(n / SEEN));
  let most = Math.max(c.name.length + 2, c.unit === 'percent' ? 10 : 0);
  for (let row = 0; row < n; row += step) most = Math.max(most, cellText(c, row, strings).length);
  return most;
}

const PLACES = ['file', 'where'];

export function layoutOf(data: TableData, strings: readonly string[], isNarrow: boolean): Layout {
  const all = data.columns.filter((c) => !c.isHidden), name = all.find((c) => c.unit === 'text' && !PLACES.includes(c.name)) ?? all.find((c) => c.unit === 'text') ?? null;
  const columns = isNarrow && name ? [name, ...all.filter((c) => c !== name)] : all;
  const widths = columns.map((c): [number, number] => {
    const most = widest(c, data.n, strings);
    if (c.unit !== 'text') return [most, 0];
    return c === name ? [isNarrow ? 15 : 24, 3] : [Math.min(most + 2, 22), most > 9 ? 2 : 0];
  });
  const template = widths.map(([ch, share]) => (share > 0 ? `minmax(calc(${ch}ch + 20px), ${share}fr)` : `calc(${ch}ch + 20px)`)).join(' ');
  const filled = widths.some(([, share]) => share > 0) ? template : `${template} 1fr`;
  return { columns, name, template: filled, least: `calc(${widths.reduce((sum, [ch]) => sum + ch, 0)}ch + ${20 * widths.length}px)` };
}

// --- Headings

const ARIA = { up: 'ascending', down: 'descending', none: 'none' } as const;

function Heading({ column, at, sort, onSort }: { column: TableColumn; at: number; sort: Sort | null; onSort: (c: TableColumn) => void }) {
  const way = sort?.column === column.name ? (sort.isDown ? 'down' : 'up') : 'none';
  return (
    <div class={`head-cell${column.unit === 'text' ? '' : ' is-number'}`} role="columnheader" aria-sort={ARIA[way]} aria-colindex={at + 1}>
      <button class={`sort${way === 'none' ? '' : ' is-sorted'}`} type="button" title={shown(column.meaning)} onClick={() => onSort(column)}>
        {shown(column.name)}
        {way !== 'none' && <span aria-hidden="true">{way === 'down' ? ' ▾' : ' ▴'}</span>}
      </button>
    </div>
  );
}

export function Headings({ layout, sort, onSort }: { layout: Layout; sort: Sort | null; onSort: (c: TableColumn) => void }) {
  return (
    <div class="table-head" role="rowgroup">
      <div class="table-row" role="row" aria-rowindex={1} style={{ gridTemplateColumns: layout.template }}>
        {layout.columns.map((c, at) => <Heading key={c.name} column={c} at={at} sort={sort} onSort={onSort} />)}
      </div>
    </div>
  );
}

// --- Rows

export interface RowProps {
  layout: Layout;
  strings: readonly string[];
  row: number; // of the data
  at: number; // from the top of what is shown
  depth: number | null; // of trees
  isOpen: boolean | null; // null: nothing is below
  isActive: boolean;
}

function Cell({ column, at, p }: { column: TableColumn; at: number; p: RowProps }) {
  const value = column.cells[p.row]!, text = cellText(column, p.row, p.strings), isName = column === p.layout.name;
  const kind = column.unit === 'text' ? (PLACES.includes(column.name) && !isName ? ' is-file' : '') : ' is-number';
  if (isName && p.depth !== null)
    return (
      <div class="cell" role="gridcell" aria-colindex={at + 1} title={text} style={{ paddingLeft: `${10 + 14 * Math.min(p.depth, 40)}px` }}>
        <span class={`twist${p.isOpen === null ? ' is-leaf' : ''}`} aria-hidden="true" />
        {text}
      </div>
    );
  const hasBar = column.unit === 'percent' && value > 0;
  return (
    <div class={`cell${kind}${hasBar ? ' has-bar' : ''}`} role="gridcell" aria-colindex={at + 1} title={column.unit === 'text' ? text : undefined}
      style={hasBar ? { '--part': `${Math.min(100, value)}%` } : undefined}>
      {text}
    </div>
  );
}

export function Row(p: RowProps) {
  const tree = p.depth === null ? {} : { 'aria-level': p.depth + 1, 'aria-expanded': p.isOpen === null ? undefined : p.isOpen };
  return (
    <div id={`row-${p.at}`} class={`table-row${p.isActive ? ' is-active' : ''}`} role="row" aria-rowindex={p.at + 2} aria-selected={p.isActive}
      data-at={p.at} style={{ gridTemplateColumns: p.layout.template }} {...tree}>
      {p.layout.columns.map((c, at) => <Cell key={c.name} column={c} at={at} p={p} />)}
    </div>
  );
}

// --- What a row is, for Details

const MOST = 8;

export function detailOf(data: TableData, layout: Layout, row: number, strings: readonly string[]): Detail {
  const by = (name: string) => data.columns.find((c) => c.name === name), file = by('file') ?? by('where'), line = by('line');
  const numbers = layout.columns.filter((c) => c.unit !== 'text' && c !== line && !Number.isNaN(c.cells[row]!)).slice(0, MOST);
  const path = file && file !== layout.name && file.unit === 'text' && file.cells[row]! > 0 ? strings[file.cells[row]! - 1]! : null;
  return {
    name: layout.name ? strings[layout.name.cells[row]! - 1] ?? '' : cellText(data.columns[0]!, row, strings),
    file: path,
    line: path !== null && line && file?.name === 'file' && line.cells[row]! > 0 ? line.cells[row]! : 0,
    rows: numbers.map((c): [string, string] => [c.name, cellText(c, row, strings)]),
  };
}
