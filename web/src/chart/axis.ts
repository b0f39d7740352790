// SPDX-License-Identifier: MIT
// axis: ticks at round numbers, and what they are called; the same steps as in static pictures (src/report/picture/axis.c).
import { amount, count } from '../text';
import type { Unit } from '../types';

export interface Tick {
  at: number;
  text: string;
}
export interface Axis {
  from: number;
  to: number;
  unit: string; // for its title; "" when every tick has its own
  ticks: Tick[];
}

// 1, 2 or 5 times a power of ten, not below `least`.
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= least * (1 - 1e-9)) ?? 10 * power;
}
function decimalsOf(step: number): number {
  let n = 0;
  for (let s = step; n < 9 && Math.abs(s - Math.round(s)) > 1e-6 * s; s *= 10) n++;
  return n;
}
const fixed = (value: number, decimals: number) => (decimals === 0 && Math.abs(value) < 1e15 ? count(value) : value.toFixed(decimals));

const SIZES: [number, string][] = [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'bytes']];
const TIMES: [number, string][] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];

// 1.5 GiB reads better than 1,536 MiB, but 900 MiB better than 0.9 GiB.
function scaleOf(unit: Unit | null, most: number): [number, string] {
  if (unit === 'percent') return [1, '%'];
  if (unit === 'bytes') return SIZES.find(([size]) => most >= size) ?? [1, 'bytes'];
  if (unit === 'ns') return TIMES.find(([size]) => most >= size) ?? [1, 'ns'];
  return [1, ''];
}

function ticksOf(from: number, to: number, step: number, scale: number): Tick[] {
  const decimals = decimalsOf(step), ticks: Tick[] = [];
  for (let k = Math.ceil(from / scale / step - 1e-9); k * step * scale <= to * (1 + 1e-9) && ticks.length < 200; k++)
    ticks.push({ at: k * step * scale, text: fixed(k * step, decimals) });
  return ticks;
}

// From 0, so that heights can be compared, with room above the largest.
export function valueAxis(unit: Unit | null, most: number, nTicks: number): Axis {
  const largest = most > 0 && Number.isFinite(most) ? most : 1, [scale, word] = scaleOf(unit, largest);
  let step = niceStep(largest / scale / nTicks);
  if (unit === 'count' && step < 1) step = 1;
  const to = Math.ceil((largest / scale) * 1.08 / step) * step * scale;
  return { from: 0, to, unit: word, ticks: ticksOf(0, to, step, scale) };
}

export function timeAxis(fromSeconds: number, toSeconds: number, nTicks: number): Axis {
  const to = toSeconds > fromSeconds ? toSeconds : fromSeconds + 1e-3, long = to - fromSeconds;
  const [scale, unit]: [number, string] = long < 0.1 ? [1e-3, 'ms'] : long > 3 * 3600 ? [3600, 'h'] : long > 600 ? [60, 'min'] : [1, 's'];
  return { from: fromSeconds, to, unit, ticks: ticksOf(fromSeconds, to, niceStep(long / scale / nTicks), scale) };
}

// Powers of ten between two logarithms, no more than have room.
export function logTicks(from: number, to: number, pixels: number, each: number, text: (power: number) => string): Tick[] {
  const step = Math.max(1, Math.ceil(((to - from) * each) / pixels)), ticks: Tick[] = [];
  for (let power = Math.ceil(from - 1e-9) + 0; power <= to + 1e-9; power += step) ticks.push({ at: power, text: text(power) });
  return ticks;
}

// "100 µs": a power of ten in nanoseconds.
export function timePower(power: number): string {
  const unit = Math.max(0, Math.min(3, Math.floor(power / 3)));
  return `${Number((10 ** (power - 3 * unit)).toPrecision(10))} ${['ns', 'µs', 'ms', 's'][unit]}`;
}
export function countPower(power: number): string {
  return power >= 0 && power <= 7 ? count(10 ** power) : power >= -4 && power < 0 ? String(Number((10 ** power).toPrecision(10))) : `1e${power}`;
}

const SCALES: [number, string][] = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'K']];
// "12.34G": large numbers of operations and parameters.
export function scaled(value: number): string {
  const found = SCALES.find(([size]) => Math.abs(value) >= size);
  return found ? (value / found[0]).toFixed(2) + found[1] : String(Number(value.toPrecision(4)));
}
// The same of a round number: "500K".
export const plainScaled = (value: number) => scaled(value).replace(/\.?0+(?=[A-Z]|$)/, (zeros, at, all) => (all.slice(0, at).includes('.') || zeros.startsWith('.') ? '' : zeros));

// A value with its unit, as bars and points have it; units that the page does not know stand behind the number.
export function valueText(value: number, unit: string): string {
  if (unit === 'ns' || unit === 'bytes') return amount(value, unit);
  if (unit === 'percent') return `${value.toFixed(1)} %`;
  if (unit === 's') return amount(value * 1e9, 'ns');
  return unit === 'count' || unit === 'real' || unit === '' ? scaled(value) : `${scaled(value)} ${unit}`;
}
