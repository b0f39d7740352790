// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escapeXml, isOffered, offer, offered, SvgText } from './svg';

test('names cannot leave their place in the text', () => {
  assert.equal(escapeXml('<script>&"\u0000\u001b\ud800x'), '&lt;script&gt;&amp;&quot;\ufffd\ufffd\ufffdx');
  assert.equal(escapeXml('a\t\n😀'), 'a\t\n😀');
  const svg = new SvgText(10, 20.005, '</title><script>', '#fff');
  svg.element('text', { x: 1 / 3, fill: '"><x' }, '<b>');
  assert.equal(svg.toString().includes('<script'), false);
  assert.match(svg.toString(), /<text x="0.33" fill="&quot;&gt;&lt;x">&lt;b&gt;<\/text>/);
});

test('the drawing that was shown last is saved, until it goes', () => {
  assert.equal(isOffered(), false);
  const end = offer(() => 'one'), endOther = offer(() => 'two');
  assert.equal(offered(), 'two');
  endOther();
  assert.equal(offered(), 'one');
  end();
  assert.equal(offered(), null);
});
