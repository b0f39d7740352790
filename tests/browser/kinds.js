// SPDX-License-Identifier: MIT
// kinds.js PACKAGES FILE.html ...: opens pages of several kinds of files, one after the other, walks their views, and moves
// what can be selected.  Prints one JSON object with what was seen of each; judging is test_page_kinds.py's.
const [packages, ...files] = process.argv.slice(2);
const { browse } = require('./browse.js');

const settled = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 60))));

// All that a view shows: its words, and what it has painted.
const shown = page => page.evaluate(() => {
  const panel = document.querySelector('[role=tabpanel]');
  const painted = Array.from(panel.querySelectorAll('canvas'), c => c.toDataURL()).join('');
  const drawn = Array.from(panel.querySelectorAll('svg'), s => s.innerHTML).join('');
  return { text: panel.innerText, all: panel.innerText + painted + drawn, isWhole: /whole run/.test(panel.innerText) };
});

const tabs = page => page.getByRole('tablist', { name: 'Views', exact: true }).getByRole('tab').evaluateAll(all => all.map(e => e.lastChild.textContent));

async function views(page) {
  const seen = {};
  for (const name of await tabs(page)) {
    await page.getByRole('tab', { name, exact: true }).click();
    await settled(page);
    seen[name] = await shown(page);
  }
  return seen;
}

async function drag(page, from, to) {
  const plot = await page.getByRole('region', { name: 'Timeline', exact: true }).boundingBox();
  await page.mouse.move(plot.x + plot.width * from, plot.y + 20);
  await page.mouse.down();
  await page.mouse.move(plot.x + plot.width * to, plot.y + 25, { steps: 3 });
  await page.mouse.up();
  await settled(page);
}

// Which views another selection changed, and which of them say that they are of the whole run.
function compared(before, after) {
  return Object.fromEntries(Object.keys(before).map(name => [name, { moved: before[name].all !== after[name].all, isWhole: after[name].isWhole }]));
}

async function look(page) {
  const role = (kind, name) => page.getByRole(kind, { name, exact: true });
  const seen = {
    tabs: await tabs(page),
    banner: await page.getByRole('banner').innerText(),
    timelines: await role('region', 'Timeline').count(),
    sliders: await page.getByRole('slider').count(),
    findings: await role('region', 'Findings').getByRole('listitem').count(),
    status: await role('status', 'Selection').count() ? await role('status', 'Selection').textContent() : null,
  };
  const whole = await views(page);
  seen.texts = Object.fromEntries(Object.entries(whole).map(([name, view]) => [name, view.text.slice(0, 400)]));
  if (!seen.timelines) return seen;
  await drag(page, 0.1, 0.45);
  seen.byTime = compared(whole, await views(page));
  await page.keyboard.press('Escape');
  await page.getByRole('combobox', { name: 'Section', exact: true }).selectOption({ label: 'train' });
  await settled(page);
  seen.bySection = compared(whole, await views(page));
  return seen;
}

browse(packages, files[0], { width: 1280, height: 900 }, async (page, seen) => {
  seen.pages = [];
  for (const file of files) {
    if (file !== files[0]) await page.goto('file://' + file);
    await page.getByRole('tablist').waitFor();
    seen.pages.push(await look(page));
  }
});
