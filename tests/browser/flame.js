// SPDX-License-Identifier: MIT
// flame.js PACKAGES FILE.svg FOLDER: opens a flame graph (then FOLDER/matched.svg) in Chromium and uses it as a person
// would.  Prints one JSON object with what was seen at each step; judging is test_flame.py's.
const path = require('path');
const [packages, file, folder] = process.argv.slice(2);
const { browse } = require('./browse.js');

// The boxes that are shown: label, place and width in pixels, whether they are marked or faded.
function boxes(page) {
  return page.evaluate(() => Array.from(document.querySelectorAll('.boxes > g')).map((g, at) => {
    const r = g.querySelector('rect').getBoundingClientRect(), t = g.querySelector('text');
    return { at, label: g.getAttribute('aria-label'), shown: g.style.display !== 'none', x: r.x, y: r.y, width: r.width,
             text: t.textContent, textWidth: t.getComputedTextLength(), isFound: g.classList.contains('m'),
             isAbove: g.classList.contains('above') };
  }).filter(b => b.shown));
}

async function look(page, more) {
  return Object.assign({
    boxes: await boxes(page),
    found: await page.textContent('.found'),
    hash: await page.evaluate(() => location.hash),
    card: await page.evaluate(() => {
      const card = document.querySelector('.card');
      return card.style.display === 'none' ? '' : card.innerText;
    }),
    focused: await page.evaluate(() => document.activeElement && document.activeElement.getAttribute('aria-label')),
    width: await page.evaluate(() => innerWidth),
  }, more);
}

const group = (page, at) => page.locator('.boxes > g').nth(at);
const named = (seen, name) => seen.boxes.find(b => b.label.startsWith(name)).at;

async function steps(page, seen) {
  seen.opened = await look(page);
  const f = named(seen.opened, 'f (');
  await group(page, f).hover({ position: { x: 20, y: 8 } });
  seen.hovered = await look(page);
  await group(page, f).click({ position: { x: 20, y: 8 } });
  seen.zoomed = await look(page);
  await page.screenshot({ path: path.join(folder, 'zoomed.png') });
  await page.reload();
  seen.reloaded = await look(page);
  await page.click('text=Reset zoom');
  seen.reset = await look(page);
  await page.goBack();
  seen.back = await look(page);
  await page.keyboard.press('Escape');
  seen.escaped = await look(page);
  await page.keyboard.press('Control+f');
  await page.keyboard.type('listcomp');
  seen.searched = await look(page);
  await page.screenshot({ path: path.join(folder, 'searched.png') });
  await page.keyboard.press('Enter');
  seen.next = await look(page);
  await page.keyboard.press('Escape'); // clears the search
  await page.keyboard.press('Escape'); // out of the field
  seen.cleared = await look(page);
  await page.fill('.tools input', 'f(');
  seen.badSearch = await look(page);
  await page.fill('.tools input', '');
  await page.focus('.boxes > g[tabindex]');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  seen.down = await look(page);
  await page.keyboard.press('ArrowRight');
  seen.right = await look(page);
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Enter');
  seen.entered = await look(page);
  await page.keyboard.press('Escape');
  await page.keyboard.press('f');
  seen.flipped = await look(page);
  await page.keyboard.press('f');
  await page.keyboard.press('?');
  seen.help = await look(page);
  await page.setViewportSize({ width: 640, height: 480 });
  await page.waitForFunction(() => document.documentElement.getAttribute('width') === '640');
  seen.narrow = await look(page);
  await page.screenshot({ path: path.join(folder, 'narrow.png') });
  await page.goto('file://' + path.join(folder, 'matched.svg'));
  seen.matched = await look(page);
}

browse(packages, file, { width: 1280, height: 720 }, steps);
