// SPDX-License-Identifier: MIT
// browse.js: a page in Chromium, and what is noted of it whatever is done there.
const path = require('path');

// Opens the file or address, does the steps and prints one JSON object: what they saw, every complaint and every request.
exports.browse = async (packages, file, size, steps) => {
  const { chromium } = require(path.join(packages, 'playwright-core'));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
           '--disable-component-update', '--disable-sync'],
  });
  const page = await browser.newPage({ viewport: size });
  const seen = { complaints: [], requests: [] };
  page.on('console', m => seen.complaints.push(m.text()));
  page.on('pageerror', e => seen.complaints.push(e.message));
  page.on('request', r => seen.requests.push(r.url()));
  try {
    await page.goto(/^http:/.test(file) ? file : 'file://' + file);
    await steps(page, seen);
  } catch (e) {
    seen.complaints.push('the steps stopped: ' + e.message);
  }
  await browser.close();
  console.log(JSON.stringify(seen));
};
