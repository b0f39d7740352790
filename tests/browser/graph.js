// SPDX-License-Identifier: MIT
// graph.js PACKAGES FILE.svg FOLDER: opens a call graph in Chromium and uses it as a person would.  Prints one JSON object
// with what was seen at each step; judging is test_graph.py's.
const path = require('path');
const [packages, file, folder] = process.argv.slice(2);
const { browse } = require('./browse.js');

// Functions and calls as they stand in the window.
const look = page => page.evaluate(() => ({
  nodes: Array.from(document.querySelectorAll('.nodes > g')).map((g, at) => {
    const r = g.querySelector('rect').getBoundingClientRect(), t = g.querySelector('text').getBoundingClientRect();
    return { at, label: g.getAttribute('aria-label'), x: r.x, y: r.y, width: r.width, height: r.height,
             textX: t.x, textWidth: t.width, textY: t.y, textHeight: t.height, isFound: g.classList.contains('m'),
             opacity: Number(getComputedStyle(g).opacity) };
  }),
  edges: Array.from(document.querySelectorAll('.edges > g')).map(g => ({
    label: g.getAttribute('aria-label'), opacity: Number(getComputedStyle(g).opacity) })),
  found: document.querySelector('.found').textContent,
  card: document.querySelector('.card').style.display === 'none' ? '' : document.querySelector('.card').innerText,
  hash: location.hash, width: innerWidth, height: innerHeight,
  focused: document.activeElement && document.activeElement.getAttribute('aria-label'),
}));

const centre = (seen, name) => {
  const n = seen.nodes.find(b => b.label.startsWith(name));
  return [n.x + n.width / 2, n.y + n.height / 2];
};

async function steps(page, seen) {
  seen.opened = await look(page);
  await page.screenshot({ path: path.join(folder, 'opened.png') });
  await page.mouse.move(...centre(seen.opened, 'app:10:f'));
  seen.hovered = await look(page);
  const before = await page.getAttribute('.graph', 'transform');
  await page.mouse.wheel(0, -400);
  await page.waitForFunction(was => document.querySelector('.graph').getAttribute('transform') !== was, before);
  seen.zoomed = await look(page);
  await page.mouse.move(600, 700);
  await page.mouse.down();
  await page.mouse.move(700, 650, { steps: 5 });
  await page.mouse.up();
  seen.dragged = await look(page);
  await page.click('text=Fit');
  seen.fitted = await look(page);
  await page.mouse.click(...centre(seen.fitted, 'app:10:f'));
  seen.chosen = await look(page);
  await page.reload();
  seen.reloaded = await look(page);
  await page.keyboard.press('Escape');
  seen.cleared = await look(page);
  await page.keyboard.press('Control+f');
  await page.keyboard.type('listcomp|leaf');
  seen.searched = await look(page);
  await page.screenshot({ path: path.join(folder, 'searched.png') });
  await page.keyboard.press('Enter');
  seen.next = await look(page);
  await page.keyboard.press('Escape');
  seen.unsearched = await look(page);
  await page.fill('.tools input', 'f(');
  seen.badSearch = await look(page);
  await page.fill('.tools input', '');
  await page.focus('.nodes > g');
  await page.keyboard.press('Enter');
  seen.entered = await look(page);
  await page.keyboard.press('?');
  seen.help = await look(page);
  await page.setViewportSize({ width: 640, height: 480 });
  await page.waitForFunction(() => document.documentElement.getAttribute('width') === '640');
  await page.keyboard.press('Escape');
  await page.keyboard.press('0');
  seen.narrow = await look(page);
}

browse(packages, file, { width: 1280, height: 800 }, steps);
