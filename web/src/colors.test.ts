// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DARK, KINDS, LIGHT, shadeOf, SHADES } from './colors';

function luminance(colour: string): number {
  const parts = colour.startsWith('#') ? [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)) : colour.match(/\d+/g)!.map(Number);
  const [r, g, b] = parts.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}
function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high! + 0.05) / (low! + 0.05);
}

for (const [name, p] of [['light', LIGHT], ['dark', DARK]] as const) {
  test(`${name}: text can be read on everything it stands on`, () => {
    const pairs: [string, string, number][] = [[p.ink, p.ground, 4.5], [p.faint, p.ground, 4.5], [p.accent, p.ground, 4.5], [p.warning, p.ground, 4.5], [p.matchInk, p.match, 4.5]];
    p.kinds.forEach((shades, kind) => shades.forEach((fill, i) => pairs.push([p.boxInk, fill, 4.5]) && assert.ok(KINDS[kind], `${i}`)));
    for (const share of [0, 0.01, 0.1, 0.5, 1]) pairs.push([p.ink, p.heat(share), 4.5]);
    for (const band of p.band) pairs.push([p.ink, band, 4.5]);
    for (const [text, ground, least] of pairs) assert.ok(contrast(text, ground) >= least, `${text} on ${ground}: ${contrast(text, ground).toFixed(2)}`);
  });
  test(`${name}: lines can be seen on the ground`, () => {
    for (const line of [p.frame, p.second, p.match, ...p.series]) assert.ok(contrast(line, p.ground) >= 3, `${line}: ${contrast(line, p.ground).toFixed(2)}`);
  });
  test(`${name}: each kind has its shades`, () => assert.ok(p.kinds.length === KINDS.length && p.kinds.every((shades) => shades.length === SHADES)));
}

test('a function keeps its shade, whatever its line', () => {
  assert.equal(shadeOf('f', 'a.py'), shadeOf('f', 'a.py'));
  assert.ok(new Set(Array.from({ length: 100 }, (_, i) => shadeOf(`f${i}`, null))).size === SHADES);
});
