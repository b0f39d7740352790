// SPDX-License-Identifier: MIT
// allocations.js PACKAGES FILE.html FOLDER: opens the page of a capture with allocations, its tabs one after the other, and
// another metric.  Prints one JSON object with what was seen; judging is test_allocations.py's.
const path = require('path');
const [packages, file, folder] = process.argv.slice(2);
const { browse } = require('./browse.js');

const settled = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 30))));
const tableOf = page => page.evaluate(() => {
  const table = document.querySelector('[role=grid], [role=treegrid]');
  if (!table) return null;
  const texts = (of, role) => Array.from(of.querySelectorAll(`[role=${role}]`), e => e.innerText.replace(/\s*[▾▴]$/, '').trim());
  const rows = Array.from(table.querySelectorAll('[role=row]')).filter(r => r.querySelector('[role=gridcell]'));
  return { columns: texts(table, 'columnheader'), rows: rows.map(r => texts(r, 'gridcell')) };
});

async function open(page, name) {
  await page.getByRole('tab', { name, exact: true }).click();
  await settled(page);
  return tableOf(page);
}

browse(packages, file, { width: 1400, height: 1000 }, async (page, seen) => {
  const metric = page.getByRole('combobox', { name: 'Metric', exact: true });
  const box = () => page.evaluate(() => {
    const now = document.activeElement, id = now && now.getAttribute('aria-activedescendant'), item = id ? document.getElementById(id) : now;
    return item && item.getAttribute('aria-label');
  });

  seen.tabs = await page.getByRole('tablist', { name: 'Views', exact: true }).getByRole('tab').evaluateAll(all => all.map(e => e.lastChild.textContent));
  seen.findings = await page.getByRole('region', { name: 'Findings' }).getByRole('listitem').allInnerTexts();
  seen.timeline = await page.getByRole('region', { name: 'Timeline' }).innerText();
  seen.metrics = await metric.evaluate(e => Array.from(e.options, o => o.value));
  seen.functions = await open(page, 'Functions');
  await page.screenshot({ path: path.join(folder, 'functions.png') });
  for (const name of ['Peak of allocations', 'Leaks', 'Growing memory', 'Temporary allocations', 'All allocations']) seen[name] = await open(page, name);
  await page.screenshot({ path: path.join(folder, 'all.png') });
  await open(page, 'Flame graph');
  await page.getByRole('tree', { name: 'Flame graph' }).focus();
  await settled(page);
  seen.peak = await box();
  await page.screenshot({ path: path.join(folder, 'flame.png') });
  await metric.selectOption('allocations');
  await page.getByRole('tree', { name: 'Flame graph' }).focus();
  await settled(page);
  seen.count = await box();
  seen.counted = await open(page, 'Functions');
  await page.getByRole('region', { name: 'Findings' }).getByRole('link').or(page.getByRole('region', { name: 'Findings' }).getByRole('button')).first().click();
  await settled(page);
  seen.linked = await page.getByRole('tab', { selected: true }).evaluate(e => e.lastChild.textContent);
});
