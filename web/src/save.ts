// SPDX-License-Identifier: MIT
// save: what leaves the page: a table as CSV in the clipboard, a drawing as a file.
//
// In a sandboxed frame the clipboard or downloads may be refused; whoever pressed the button is told in a sentence.
import type { TableColumn, TableData } from './types';
import { shown } from './text';

// A cell as src/base/encoding/csv.c writes it: what a spreadsheet would take for a formula gets a quote mark before it.
export function csvText(text: string): string {
  const safe = (/^[=+\-@]/.test(text) ? "'" : '') + shown(text);
  return /[",]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

function csvCell(column: TableColumn, row: number, strings: readonly string[]): string {
  const place = column.cells[row]!, value = (column.values ?? column.cells)[row]!;
  const isText = column.unit === 'text' && (!column.values || Number.isNaN(value));
  if (isText) return place === 0 ? '' : csvText(strings[place - 1]!);
  return Number.isNaN(value) ? '' : String(value);
}

// Rows in the order in which they are shown, with raw numbers, and the columns that only CSV has.
export function csv(data: TableData, rows: ArrayLike<number>, strings: readonly string[]): string {
  const lines = [data.columns.map((c) => csvText(c.name)).join(',')];
  for (let i = 0; i < rows.length; i++) lines.push(data.columns.map((c) => csvCell(c, rows[i]!, strings)).join(','));
  return lines.join('\r\n') + '\r\n';
}

// Works wherever a button was pressed: on pages of the disk, and in frames that may not use the clipboard's interface
// (which would also complain on the console).  What is selected is only a reason to copy; the text is put in its place.
function copyByCommand(text: string): boolean {
  const field = document.createElement('textarea'), before = document.activeElement;
  const put = (e: ClipboardEvent) => {
    e.clipboardData?.setData('text/plain', text);
    e.preventDefault();
  };
  field.value = ' ';
  field.setAttribute('aria-hidden', 'true');
  field.className = 'unseen';
  document.body.append(field);
  field.select();
  document.addEventListener('copy', put);
  let isDone = false;
  try {
    isDone = document.execCommand('copy');
  } catch {
    isDone = false;
  }
  document.removeEventListener('copy', put);
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isDone;
}

export async function copy(text: string): Promise<boolean> {
  if (copyByCommand(text)) return true;
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function download(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function saveSvg(name: string, svg: string): void {
  download(`${name}.svg`, new Blob([svg], { type: 'image/svg+xml' }));
}

// Twice as many pixels as the drawing has, but no more than a canvas can hold.
const LARGEST = 16_000;

export async function savePng(name: string, svg: string): Promise<void> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = Math.min(2, LARGEST / image.naturalWidth, LARGEST / image.naturalHeight);
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(image.naturalWidth * scale));
  canvas.height = Math.max(1, Math.round(image.naturalHeight * scale));
  const context = canvas.getContext('2d');
  if (!context) throw new Error('no canvas');
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
  if (!blob) throw new Error('the picture is too large');
  download(`${name}.png`, blob);
}
