// SPDX-License-Identifier: MIT
// serve.js PACKAGES ADDRESS [FILE]: opens a served page of a capture that is being written, chooses a view and a search, and
// waits until the head shows more samples.  With FILE, which is what is served and has ended, it deletes that instead and
// waits for a notice.  Prints one JSON object with what was seen; judging is test_serve.py's.
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

browse(packages, address, { width: 1200, height: 800 }, file ? deleted : growing);
