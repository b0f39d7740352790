// SPDX-License-Identifier: MIT
// sourcelines: the lines of a file as they are listed, with the rows of their figures.
import { shown } from '../text';
import type { SourceData, TableColumn } from '../types';

type File = SourceData['files'][number];

export interface FileLines {
  n: number;
  lineOf: Int32Array; // by place in the list: from 1 on
  rowOf: Int32Array; // its row of figures, or -1
  texts: string[] | null; // as shown; null: only lines with figures are listed
  columns: TableColumn[]; // that are shown
  heat: TableColumn | null; // that lines are shaded by
  hot: number[]; // places, the hottest first
  hottest: number; // its line; 0: none has figures
  width: string; // in CSS, of the longest line
  part(place: number): number; // of the hottest line, 0 to 1
  placeOf(line: number): number; // of the line, or of the next one that is listed
}

const LONGEST = 4000; // letters of a line that are shown

// Tabs stand for the blanks up to the next multiple of eight, as in Python.
export function shownLine(text: string): string {
  let out = '';
  for (const [i, part] of text.slice(0, LONGEST).split('\t').entries()) {
    if (i > 0) out += ' '.repeat(8 - (out.length % 8));
    out += part;
  }
  return shown(out) + (text.length > LONGEST ? '…' : '');
}
function textLines(text: string): string[] {
  const lines = text.split(/\r\n|\r|\n/);
  if (lines[lines.length - 1] === '') lines.pop();
  return lines.map(shownLine);
}

// Shares where there are some, else the first column that has an amount anywhere.
function heatOf(columns: readonly TableColumn[]): TableColumn | null {
  const numbers = columns.filter((c) => c.unit !== 'text' && c.cells.some((v) => v > 0));
  return numbers.find((c) => c.unit === 'percent') ?? numbers.find((c) => c.unit === 'ns') ?? numbers[0] ?? null;
}

export function linesOfFile(file: File): FileLines {
  const texts = file.text === null ? null : textLines(file.text), figures = file.lines.length;
  const n = texts ? Math.max(texts.length, figures ? file.lines[figures - 1]! : 0) : figures;
  const lineOf = Int32Array.from({ length: n }, (_, i) => (texts ? i + 1 : file.lines[i]!)), rowOf = new Int32Array(n).fill(-1);
  for (let row = 0; row < figures; row++) rowOf[texts ? file.lines[row]! - 1 : row] = row;
  for (let i = texts?.length ?? n; texts && i < n; i++) texts.push('');
  const columns = file.columns.filter((c) => !c.isHidden), heat = heatOf(columns);
  const value = (i: number) => (heat && rowOf[i]! >= 0 ? heat.cells[rowOf[i]!]! || 0 : 0);
  const hot = [...lineOf.keys()].filter((i) => value(i) > 0).sort((a, b) => value(b) - value(a) || a - b);
  const most = hot.length ? value(hot[0]!) : 0, longest = texts?.reduce((most, t) => Math.max(most, t.length), 0) ?? 0;
  return {
    n, lineOf, rowOf, texts, columns, heat, hot,
    hottest: hot.length ? lineOf[hot[0]!]! : figures ? file.lines[0]! : 0,
    width: `calc(${columns.length * 10 + 9}ch + ${longest}ch)`,
    part: (i) => (most > 0 ? value(i) / most : 0),
    placeOf: (line) => {
      const at = lineOf.findIndex((l) => l >= line);
      return at < 0 ? Math.max(0, n - 1) : at;
    },
  };
}

// What files are compared by: heat of one file would be its callers' time where nothing was spent in itself.
function commonHeat(files: readonly File[]): string | null {
  const all = files.flatMap((f) => f.columns.filter((c) => !c.isHidden)), names = [...new Set(all.map((c) => c.name))];
  const amounts = names.map((name) => all.find((c) => c.name === name && c.unit !== 'text' && c.cells.some((v) => v > 0))).filter((c) => c !== undefined);
  return heatOf(amounts)?.name ?? null;
}

// The file with the hottest line, and that line; a file with a text wins where they are equal.
export function hottestFile(data: SourceData): { file: number; line: number } {
  const name = commonHeat(data.files);
  let best = { file: 0, line: 0 }, most = 0;
  data.files.forEach((f, file) => {
    const cells = f.columns.find((c) => c.name === name)?.cells ?? [], more = f.text === null ? 0 : 1e-9;
    for (let row = 0; row < cells.length; row++) if (cells[row]! + more > most) [most, best] = [cells[row]! + more, { file, line: f.lines[row]! }];
  });
  return best;
}
