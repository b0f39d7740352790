// SPDX-License-Identifier: MIT
// text: how names of strangers and numbers are shown, as `sonde report` shows them (src/base/text.c).

import type { Unit } from './types';

// Control characters, separators of lines, what turns the direction of text, and halves of characters.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const SHORT: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(char: string): string {
  const code = char.charCodeAt(0);
  const digits = code.toString(16);
  return SHORT[char] ?? (code < 0x80 ? '\\x' + digits.padStart(2, '0') : '\\u' + digits.padStart(4, '0'));
}

// A text of a capture, for eyes: "\x1b", "\u202e".
export function shown(text: string): string {
  return text.replace(UNSAFE, escaped);
}

// "1,234"
export function count(n: number): string {
  const digits = Math.abs(Math.round(n)).toFixed(0);
  return (n < 0 ? '-' : '') + digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

// "12.00"
export function percent(n: number): string {
  return n.toFixed(2);
}

const tenths = (n: number, unit: number): number => Math.floor(n / unit) * 10 + Math.floor(((n % unit) * 10 + unit / 2) / unit);
const two = (n: number): string => String(n).padStart(2, '0');

function longDuration(s: number): string {
  if (s < 3600) return `${Math.floor(s / 60)}m${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h${two(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86400)}d${two(Math.floor((s % 86400) / 3600))}h`;
}

// "250 ns", "3.1 ms", "12.4 s", "2m05s", "1h02m", "3d04h"
export function duration(ns: number): string {
  const sign = ns < 0 ? '-' : '';
  const n = Math.abs(Math.round(ns));
  if (n < 1000) return `${sign}${n} ns`;
  let i = 0;
  let unit = 1000;
  for (; i < 2 && tenths(n, unit) >= 10000; i++) unit *= 1000;
  const t = tenths(n, unit);
  if (i === 2 && t >= 600) return sign + longDuration(Math.floor(n / 1e9) + (n % 1e9 >= 5e8 ? 1 : 0));
  return `${sign}${Math.floor(t / 10)}.${t % 10} ${['us', 'ms', 's'][i]}`;
}

// "412.0 MiB"
export function bytes(amount: number): string {
  const sign = amount < 0 ? '-' : '';
  const n = Math.abs(Math.round(amount));
  if (n < 1024) return `${sign}${n} B`;
  let i = 0;
  let unit = 1024;
  // Rounded first, so that one byte less than 1 MiB is not "1024.0 KiB".
  for (; i < 5 && tenths(n, unit) >= 10240; i++) unit *= 1024;
  const t = tenths(n, unit);
  return `${sign}${Math.floor(t / 10)}.${t % 10} ${'KMGTPE'[i]}iB`;
}

// A number as a cell, a label or an axis has it; a place in `strings` is not a number.
export function amount(n: number, unit: Unit | null): string {
  if (Number.isNaN(n)) return '';
  if (unit === 'ns') return duration(n);
  if (unit === 'bytes') return bytes(n);
  if (unit === 'percent') return percent(n);
  if (unit === 'real' && !Number.isInteger(n)) return String(Number(n.toPrecision(4)));
  return count(n);
}

// "1.500 s": a moment of the run, as the selection shows it.
export function seconds(ns: number): string {
  return (ns / 1e9).toFixed(3) + ' s';
}
