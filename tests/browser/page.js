// SPDX-License-Identifier: MIT
// page.js PACKAGES FILE.html FOLDER: opens a page of `report -o x.html` in Chromium and uses it as a person would, with
// pointer and keyboard.  Prints one JSON object with what was seen at each step; judging is test_page.py's.
const fs = require('fs');
const path = require('path');
const [packages, file, folder] = process.argv.slice(2);
const { browse } = require('./browse.js');

// --- What is seen

const tableOf = page => page.evaluate(() => {
  const table = document.querySelector('[role=grid], [role=treegrid]');
  if (!table) return null;
  const texts = (of, role) => Array.from(of.querySelectorAll(`[role=${role}]`), e => e.innerText.replace(/\s*[▾▴]$/, '').trim());
  const rows = Array.from(table.querySelectorAll('[role=row]')).filter(r => r.querySelector('[role=gridcell]'));
  return {
    role: table.getAttribute('role'),
    rowCount: Number(table.getAttribute('aria-rowcount')),
    columns: texts(table, 'columnheader'),
    sorts: Array.from(table.querySelectorAll('[role=columnheader]'), e => e.getAttribute('aria-sort')),
    rows: rows.map(r => texts(r, 'gridcell')),
    levels: rows.map(r => [r.getAttribute('aria-level'), r.getAttribute('aria-expanded')]),
    active: table.getAttribute('aria-activedescendant'),
  };
});

const status = (page, name) => page.getByRole('status', { name, exact: true }).textContent();
const valueOf = async (page, name) => Number(await page.getByRole('slider', { name, exact: true }).getAttribute('aria-valuenow'));
const tab = (page, name) => page.getByRole('tab', { name, exact: true });
// A key may be acknowledged a moment before the page has drawn what it did.
const settled = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 30))));
const box = async page => (await settled(page), page.evaluate(() => {
  const now = document.activeElement, id = now && now.getAttribute('aria-activedescendant'), item = id ? document.getElementById(id) : now;
  return item && item.getAttribute('role') === 'treeitem' ? item.getAttribute('aria-label') : null;
}));

async function look(page, more) {
  await settled(page);
  return Object.assign({
    view: await page.getByRole('tab', { selected: true }).evaluate(e => e.lastChild.textContent),
    selection: await status(page, 'Selection'),
    matches: await status(page, 'Matches'),
    search: await page.getByRole('searchbox', { name: 'Search', exact: true }).inputValue(),
    details: await page.getByRole('region', { name: 'Details' }).innerText(),
    panel: (await page.getByRole('tabpanel').innerText()).slice(0, 500),
    from: await valueOf(page, 'From'),
    to: await valueOf(page, 'To'),
    table: await tableOf(page),
    hash: await page.evaluate(() => location.hash),
  }, more);
}

const optionsOf = (page, name) => page.getByRole('combobox', { name, exact: true }).evaluate(
    e => ({ value: e.value, options: Array.from(e.options, o => ({ value: o.value, label: o.label })) }));

async function names(page) {
  const seen = { tag: {} };
  for (const name of ['Section', 'Thread', 'Metric', 'By']) {
    seen[name] = await optionsOf(page, name);
    seen.tag[name] = await page.getByRole('combobox', { name, exact: true }).evaluate(e => e.tagName);
  }
  for (const name of ['Idle', 'GIL only', 'My code']) seen[name] = await page.getByRole('checkbox', { name, exact: true }).isChecked();
  seen.tabs = await page.getByRole('tablist', { name: 'Views', exact: true }).getByRole('tab').evaluateAll(all => all.map(e => e.lastChild.textContent));
  seen.banner = await page.getByRole('banner').innerText();
  seen.title = await page.title();
  seen.plain = await page.locator('#plain').count();
  seen.region = await page.getByRole('region', { name: 'Timeline', exact: true }).boundingBox();
  seen.plot = await page.locator('.plot').boundingBox();
  seen.unnamed = await page.evaluate(() => Array.from(document.querySelectorAll('button, input, select, a[href], [tabindex]')).filter(e => {
    const labels = Array.from(e.labels || [], l => l.innerText).join('');
    return !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || labels || e.innerText || '').trim();
  }).map(e => e.outerHTML.slice(0, 200)));
  return seen;
}

async function reload(page) {
  await settled(page);
  await page.waitForTimeout(700); // an address that changes often is written a little later
  await page.reload();
  await page.getByRole('tablist').waitFor();
}

// --- Pointer

async function drag(page, from, to) {
  const plot = await page.getByRole('region', { name: 'Timeline', exact: true }).boundingBox();
  await page.mouse.move(plot.x + plot.width * from, plot.y + 20);
  await page.mouse.down();
  for (const part of [0.3, 0.6, 1]) await page.mouse.move(plot.x + plot.width * (from + (to - from) * part), plot.y + 25);
  await page.mouse.up();
}

// Without a release: the ends are there at once, the views a little later.
async function hold(page, seen) {
  const plot = await page.getByRole('region', { name: 'Timeline', exact: true }).boundingBox();
  await page.mouse.move(plot.x + plot.width * 0.5, plot.y + 20);
  await page.mouse.down();
  for (const part of [0.6, 0.75]) await page.mouse.move(plot.x + plot.width * part, plot.y + 25);
  seen.held = { selection: await status(page, 'Selection'), to: await valueOf(page, 'To') };
  await page.waitForTimeout(600);
  seen.rested = await look(page);
  await page.mouse.up();
  await page.keyboard.press('Escape');
}

async function pointer(page, seen) {
  await hold(page, seen);
  await drag(page, 0.25, 0.5);
  seen.dragged = await look(page);
  await drag(page, 0.9, 0.6); // backwards
  seen.draggedBack = await look(page);
  await tab(page, 'Sections').click();
  seen.wholeRun = await look(page);
  await tab(page, 'Functions').click();
  await page.getByRole('combobox', { name: 'Section' }).selectOption({ label: 'train' });
  seen.section = await look(page);
  await page.getByRole('combobox', { name: 'Thread' }).selectOption('7/8');
  seen.thread = await look(page);
  await reload(page);
  seen.reloaded = await look(page);
  await page.getByRole('combobox', { name: 'Thread' }).selectOption('');
  await page.getByRole('combobox', { name: 'Section' }).selectOption('');
  await page.mouse.click(10, 10);
  const plot = await page.locator('.plot').boundingBox();
  await page.mouse.click(plot.x + 30, plot.y + 20); // ends the selection of time
  seen.pressed = await look(page);
}

async function findings(page, seen) {
  const all = page.getByRole('region', { name: 'Findings', exact: true });
  seen.findings = await all.getByRole('list').getByRole('listitem').evaluateAll(items => items.map(e => e.querySelector('.finding-text').innerText));
  await tab(page, 'Flame graph').click();
  await all.getByRole('button').filter({ hasText: 'f (app.py:10)' }).click();
  seen.followed = await look(page);
  await page.keyboard.press('Escape');
}

async function options(page, seen) {
  for (const name of ['Idle', 'GIL only', 'My code']) {
    await page.getByRole('checkbox', { name, exact: true }).check();
    seen[name] = await look(page);
    await page.getByRole('checkbox', { name, exact: true }).uncheck();
  }
  for (const by of ['line', 'module', 'function']) {
    await page.getByRole('combobox', { name: 'By' }).selectOption(by);
    seen[`by ${by}`] = await look(page);
  }
}

// --- Keyboard

async function keyboard(page, seen) {
  await page.getByRole('slider', { name: 'From' }).focus();
  for (const key of ['ArrowRight', 'ArrowRight', 'PageUp']) await page.keyboard.press(key);
  seen.slidFrom = await look(page);
  await page.getByRole('slider', { name: 'To' }).focus();
  for (const key of ['PageDown', 'PageDown', 'ArrowLeft']) await page.keyboard.press(key);
  seen.slidTo = await look(page);
  await page.keyboard.press('Escape');
  seen.slidBack = await look(page);
  await page.keyboard.press('2');
  seen.digit = await look(page);
  await page.keyboard.press('1');
  await page.keyboard.press('/');
  await page.keyboard.type('listcomp');
  seen.searched = await look(page);
  await page.keyboard.type('1?m');
  seen.typed = await look(page);
  seen.typed.mine = await page.getByRole('checkbox', { name: 'My code', exact: true }).isChecked();
  await page.keyboard.press('Escape');
  seen.searchEnded = await look(page);
  await page.keyboard.type('f(');
  seen.badSearch = await look(page);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape'); // out of the field
  await page.keyboard.press('?');
  seen.keys = await page.getByRole('dialog', { name: 'Keys', exact: true }).innerText();
  await page.keyboard.press('Escape');
  await look(page);
  seen.dialogs = await page.getByRole('dialog').count();
  await page.keyboard.press('m');
  seen.mine = await page.getByRole('checkbox', { name: 'My code', exact: true }).isChecked();
  await page.keyboard.press('m');
  await tab(page, 'Functions').focus();
  await page.keyboard.press('ArrowRight');
  seen.nextTab = await look(page);
  await page.keyboard.press('ArrowLeft');
}

async function tables(page, seen) {
  const head = name => page.getByRole('columnheader', { name, exact: true });
  await head('function').click();
  seen.byName = await look(page);
  await head('function').getByRole('button').focus();
  await page.keyboard.press('Enter');
  seen.byNameDown = await look(page);
  await reload(page);
  seen.byNameAgain = await look(page);
  await head('self%').click();
  await page.getByRole('grid').focus();
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowUp');
  seen.walked = await look(page);
  await page.getByRole('row').nth(1).hover();
  seen.hovered = await look(page);
  await page.getByRole('button', { name: 'Copy as CSV', exact: true }).click();
  seen.csv = await page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole('searchbox').fill('app.py');
  await page.keyboard.press('Escape'); // keeps nothing: the field was filled without keys, and is emptied as by them
  await tab(page, 'Calls').click();
  const tree = page.getByRole('treegrid');
  await tree.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowLeft');
  seen.closed = await look(page);
  await page.keyboard.press('ArrowRight');
  seen.treeOpened = await look(page);
  await page.getByRole('searchbox').fill('listcomp');
  seen.treeSearched = await look(page);
  await page.getByRole('searchbox').fill('');
}

async function flame(page, seen) {
  await tab(page, 'Flame graph').click();
  const tree = page.getByRole('tree', { name: 'Flame graph', exact: true });
  await tree.focus();
  seen.root = await box(page);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  seen.down = await look(page, { box: await box(page) });
  await page.keyboard.press('ArrowRight');
  seen.right = await box(page);
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Enter');
  seen.zoomed = await look(page, { box: await box(page) });
  await reload(page);
  await tree.focus();
  seen.zoomedAgain = await look(page, { box: await box(page) });
  await page.keyboard.press('Escape');
  const painted = async () => (await settled(page), page.getByRole('tabpanel').locator('canvas').first().evaluate(c => c.toDataURL()));
  const plain = await painted();
  await page.getByRole('searchbox').fill('listcomp');
  seen.flameSearched = await look(page);
  seen.isHighlighted = await painted() !== plain;
  await tree.focus();
  await page.keyboard.press('n');
  seen.match = await box(page);
  await page.keyboard.press('N');
  seen.matchBack = await box(page);
  await page.getByRole('searchbox').fill('');
  seen.orders = await page.getByRole('radiogroup', { name: 'Order', exact: true }).getByRole('radio').evaluateAll(all => all.map(e => e.labels[0].innerText.trim()));
  await page.getByRole('radio', { name: 'Inverted', exact: true }).check();
  await tree.focus();
  await page.keyboard.press('ArrowDown');
  seen.inverted = await box(page);
  await page.keyboard.press('Enter');
  seen.invertedZoom = await look(page);
  await page.getByRole('radio', { name: 'Left heavy', exact: true }).check();
  await tree.focus();
  seen.reordered = await look(page, { box: await box(page) });
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  seen.up = await box(page);
  const place = await tree.boundingBox();
  await page.mouse.click(place.x + 20, place.y + 50); // the third row, below the root and <module>
  seen.clicked = await look(page, { box: await box(page) });
  await page.keyboard.press('Escape');
}

// --- What leaves the page

async function saved(page, name, to) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).click()]);
  const at = path.join(folder, to);
  await download.saveAs(at);
  return { name: download.suggestedFilename(), head: fs.readFileSync(at).subarray(0, 4).toString('latin1'), text: to.endsWith('svg') ? fs.readFileSync(at, 'utf8') : '' };
}

// --- How it looks

async function looks(page, seen) {
  const ground = () => page.evaluate(() => getComputedStyle(document.querySelector('.head')).backgroundColor);
  seen.grounds = [await ground()];
  await page.getByRole('button', { name: 'Theme', exact: true }).click();
  seen.grounds.push(await ground());
  await page.screenshot({ path: path.join(folder, 'dark.png') });
  await page.getByRole('button', { name: 'Theme', exact: true }).click();
  await page.getByRole('button', { name: 'Theme', exact: true }).click();
  await page.emulateMedia({ colorScheme: 'dark' });
  seen.grounds.push(await ground());
  await page.emulateMedia({ colorScheme: 'light' });
  await tab(page, 'Functions').click();
  await page.emulateMedia({ media: 'print' });
  seen.printed = await page.evaluate(() => ({ tabs: document.querySelector('[role=tablist]').checkVisibility(), width: document.documentElement.scrollWidth }));
  await page.emulateMedia({ media: null });
  seen.widths = {};
  for (const width of [400, 3840]) {
    await page.setViewportSize({ width, height: 900 });
    for (const name of seen.names.tabs) {
      await tab(page, name).click();
      seen.widths[`${width} ${name}`] = await page.evaluate(() => document.documentElement.scrollWidth);
    }
    await page.screenshot({ path: path.join(folder, `${width}.png`) });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

// What axe-core finds wrong in each view, light and dark.
async function axe(page, seen) {
  const at = path.join(packages, 'axe-core', 'axe.min.js');
  if (!fs.existsSync(at)) return;
  const source = fs.readFileSync(at, 'utf8');
  seen.axe = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' }); // a colour on its way to another has no contrast
    for (const name of seen.names.tabs) {
      await tab(page, name).click();
      const wrong = await page.evaluate(async text => {
        if (!window.axe) (0, eval)(text);
        const found = await window.axe.run({ resultTypes: ['violations'] });
        return found.violations.filter(v => v.impact === 'serious' || v.impact === 'critical').map(v => `${v.id}: ${v.nodes[0].html.slice(0, 200)}`);
      }, source);
      seen.axe.push(...wrong.map(w => `${name}, ${colorScheme}: ${w}`));
    }
  }
  seen.axeRuns = 2 * seen.names.tabs.length;
  await page.emulateMedia({ colorScheme: 'light' });
}

// As a cell of a notebook shows it: neither the address nor the clipboard may be used there.
async function framed(page, seen) {
  const html = fs.readFileSync(file, 'utf8').replace(/&/g, '&amp;').replace(/"/g, '&quot;');
  const host = path.join(folder, 'frame.html');
  fs.writeFileSync(host, `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><iframe sandbox="allow-scripts allow-downloads" width="1200" height="760" srcdoc="${html}"></iframe>`);
  await page.goto('file://' + host);
  const frame = page.frameLocator('iframe');
  await frame.getByRole('tab', { name: 'Functions', exact: true }).click();
  await frame.getByRole('searchbox', { name: 'Search' }).fill('listcomp');
  seen.framedMatches = await frame.getByRole('status', { name: 'Matches' }).textContent();
  await frame.getByRole('button', { name: 'Copy as CSV', exact: true }).click();
  seen.framedMessage = await frame.getByRole('status', { name: 'Message', exact: true }).filter({ hasText: /\w/ }).textContent();
  await frame.getByRole('tab', { name: 'Flame graph', exact: true }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), frame.getByRole('button', { name: 'Save as SVG', exact: true }).click()]);
  seen.framedSaved = download.suggestedFilename();
}

async function steps(page, seen) {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('tablist').waitFor();
  seen.names = await names(page);
  await tab(page, 'Functions').click();
  seen.opened = await look(page);
  for (const part of [pointer, findings, options, keyboard, tables, flame]) await part(page, seen);
  await tab(page, 'Flame graph').click();
  seen.svg = await saved(page, 'Save as SVG', 'saved.svg');
  seen.png = await saved(page, 'Save as PNG', 'saved.png');
  await looks(page, seen);
  seen.ran = [await page.title(), await page.evaluate(() => document.querySelectorAll('script').length)];
  await axe(page, seen);
  await framed(page, seen);
}

browse(packages, file, { width: 1280, height: 800 }, steps);
