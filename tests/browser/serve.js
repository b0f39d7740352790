// SPDX-License-Identifier: MIT
// serve.js PACKAGES ADDRESS [FILE | parts]: opens a served page of a capture that is being written, chooses a view and a
// search, and waits until the head shows more samples.  With FILE, which is what is served and has ended, it deletes that
// instead and waits for a notice; with `parts` it selects a time and looks at tables that the server cuts.
// Prints one JSON object with what was seen; judging is test_serve.py's.
const fs = require('fs');
const [packages, address, file] = process.argv.slice(2);
const { browse } = require('./browse.js');

const samples = page => page.evaluate(() => {
  const text = (document.querySelector('[role=banner], header') || { innerText: '' }).innerText;
  const found = /([\d,]+) samples?/.exec(text);
  return found ? Number(found[1].replace(/,/g, '')) : 0;
});

async function moreThan(page, n) {
  for (let i = 0; i < 300; i++) {
    const now = await samples(page);
    if (now > n) return now;
    await page.waitForTimeout(100);
  }
  return n;
}

const said = (page, name) => page.getByRole('status', { name, exact: true });

async function growing(page, seen) {
  const first = await moreThan(page, 0);
  await page.getByRole('tab', { name: 'Lines' }).click();
  await page.getByRole('searchbox', { name: 'Search' }).fill('work');
  seen.samples = [first, await moreThan(page, first)];
  seen.run = await said(page, 'Run').textContent();
  seen.view = await page.getByRole('tab', { selected: true }).innerText();
  seen.view = seen.view.replace(/^\d\s*/, '').trim();
  seen.search = await page.getByRole('searchbox', { name: 'Search' }).inputValue();
}

async function deleted(page, seen) {
  seen.before = [await moreThan(page, 0), await said(page, 'Notice').textContent(), await said(page, 'Run').count()];
  fs.unlinkSync(file);
  await said(page, 'Notice').filter({ hasText: /\w/ }).waitFor();
  seen.after = [await samples(page), await said(page, 'Notice').textContent()];
}

// --- What the server cuts

const TABLES = { Sections: 'sections', Processes: 'processes', 'Readings over time': 'series' };

const cells = page => page.evaluate(() => {
  const table = document.querySelector('[role=tabpanel] [role=grid], [role=tabpanel] [role=treegrid]');
  const at = Array.from(table.querySelectorAll('[role=columnheader]'), e => e.innerText.trim()).indexOf('count');
  const rows = Array.from(table.querySelectorAll('[role=row]')).map(r => Array.from(r.querySelectorAll('[role=gridcell]'), e => e.innerText)).filter(r => r.length);
  return { text: table.innerText, rows: Number(table.getAttribute('aria-rowcount')), counts: at < 0 ? [] : rows.map(r => r[at]) };
});

async function parts(page, seen) {
  const tab = title => page.getByRole('tab', { name: title, exact: true }).click();
  const valueOf = async name => Number(await page.getByRole('slider', { name, exact: true }).getAttribute('aria-valuenow'));
  const before = {};
  await page.getByRole('tab', { name: 'Sections', exact: true }).waitFor();
  for (const title in TABLES) {
    await tab(title);
    before[title] = (await cells(page)).text;
  }
  const plot = await page.getByRole('region', { name: 'Timeline', exact: true }).boundingBox();
  await page.mouse.move(plot.x + plot.width * 0.2, plot.y + 20);
  await page.mouse.down();
  await page.mouse.move(plot.x + plot.width * 0.45, plot.y + 25, { steps: 4 });
  await page.mouse.up();
  seen.parts = {};
  for (const [title, name] of Object.entries(TABLES)) {
    await tab(title);
    const whole = page.getByRole('tabpanel').getByText('whole run');
    for (let i = 0; i < 100 && await whole.count(); i++) await page.waitForTimeout(50);
    seen.parts[name] = { ...await cells(page), from: await valueOf('From'), to: await valueOf('To'), whole: await whole.count(), before: before[title] };
  }
}

browse(packages, address, { width: 1200, height: 800 }, file === 'parts' ? parts : file ? deleted : growing);
