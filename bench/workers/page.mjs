// SPDX-License-Identifier: MIT
// page.mjs PACKAGES KIND ADDRESS [FILE]: opens a page in a fresh Chromium and uses it.
//
// KIND says whose page it is.  FILE is what speedscope's page is given to open.  Before and after everything that costs
// CPU time it prints a line of JSON and waits for an answer, so that page.py can read the clocks of Chromium's processes:
// {"step": NAME} when something has just been done, {"rest": NAME} when page.py shall wait until nothing runs any more.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

const [packages, kind, address, file] = process.argv.slice(2);
const { chromium } = createRequire(join(packages, 'x'))('playwright-core');
const SIZE = { width: 1280, height: 800 };
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const LIMIT = { timeout: 240000 };

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function tell(what) {
  process.stdout.write(JSON.stringify(what) + '\n');
  await answers.next();
}

const frames = (page, n = 2) => page.evaluate((left) => new Promise((done) => {
  const next = () => (left-- > 0 ? requestAnimationFrame(next) : done(null));
  next();
}), n);

async function did(page, name, action) {
  await tell({ rest: name });
  await action();
  await frames(page);
  await tell({ step: name });
}

async function drag(page, from, to) {
  await page.mouse.move(...from);
  await page.mouse.down();
  for (const part of [0.25, 0.5, 0.75, 1]) await page.mouse.move(from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part);
  await page.mouse.up();
}

// --- Whose page it is: how it is opened, when its first picture is there, and what a person does with it

const empty = { open: (page) => page.goto(address), picture: (page) => page.locator('body').waitFor(), uses: {} };

const role = (page, name, label) => page.getByRole(name, { name: label, exact: true });

const sonde = {
  open: (page) => page.goto(address, LIMIT),
  picture: (page) => page.locator('[role=tabpanel] [role=grid], [role=tabpanel] [role=treegrid], [role=tabpanel] [role=tree]').first().waitFor(LIMIT),
  uses: {
    'view flame graph': (page) => role(page, 'tab', 'Flame graph').click(),
    'search in the flame graph': (page) => role(page, 'searchbox', 'Search').fill('_1'),
    'end of the search': (page) => role(page, 'searchbox', 'Search').fill(''),
    async zoom(page) {
      const box = await role(page, 'tree', 'Flame graph').boundingBox();
      await page.mouse.click(box.x + box.width * 0.2, box.y + 70);
    },
    'end of the zoom': (page) => page.keyboard.press('Escape'),
    'drag in the flame graph': (page) => dragOnTimeline(page, 0.2, 0.7),
    'order inverted': (page) => page.getByRole('radio', { name: 'Inverted', exact: true }).check(),
    'drag in the inverted graph': (page) => dragOnTimeline(page, 0.3, 0.8),
    'order by time': (page) => page.getByRole('radio', { name: 'Time order', exact: true }).check(),
    'order left heavy': (page) => page.getByRole('radio', { name: 'Left heavy', exact: true }).check(),
    'view functions': (page) => role(page, 'tab', 'Functions').click(),
    'drag in functions': (page) => dragOnTimeline(page, 0.1, 0.6),
    'search in functions': (page) => role(page, 'searchbox', 'Search').fill('_2'),
    'whole run': (page) => page.keyboard.press('Escape').then(() => page.keyboard.press('Escape')),
    'view calls': (page) => role(page, 'tab', 'Calls').click(),
    'drag in calls': (page) => dragOnTimeline(page, 0.4, 0.9),
    'search in calls': (page) => role(page, 'searchbox', 'Search').fill('_3'),
    'view call graph': (page) => role(page, 'tab', 'Call graph').click(),
  },
};

async function dragOnTimeline(page, from, to) {
  const plot = await role(page, 'region', 'Timeline').boundingBox();
  await drag(page, [plot.x + plot.width * from, plot.y + 20], [plot.x + plot.width * to, plot.y + 25]);
}

const speedscope = {
  async open(page) {
    await page.goto(address, LIMIT);
    await page.locator('input[type=file]').first().setInputFiles(file);
  },
  picture: (page) => page.getByText('Sandwich').first().waitFor(LIMIT),
  uses: {
    zoom: (page) => page.mouse.dblclick(300, 200),
    'end of the zoom': (page) => page.keyboard.press('0'),
    drag: (page) => drag(page, [SIZE.width * 0.3, 60], [SIZE.width * 0.6, 60]),
    'view left heavy': (page) => page.keyboard.press('2'),
    'zoom in left heavy': (page) => page.mouse.dblclick(300, 200),
    search: async (page) => {
      await page.keyboard.press('Control+f');
      await page.keyboard.insertText('_1');
    },
    'end of the search': (page) => page.keyboard.press('Escape'),
    'view sandwich': (page) => page.keyboard.press('3'),
    'view time order': (page) => page.keyboard.press('1'),
  },
};

const snakeviz = {
  open: (page) => page.goto(address, LIMIT),
  picture: (page) => page.locator('#chart svg g').first().waitFor(LIMIT),
  uses: {
    search: (page) => page.locator('#pstats-table_filter input').fill('json'),
    'end of the search': (page) => page.locator('#pstats-table_filter input').fill(''),
    zoom: (page) => page.locator('#chart svg rect').nth(6).dispatchEvent('click'),
    'end of the zoom': (page) => page.locator('#resetbutton-root').dispatchEvent('click'),
    'view sunburst': (page) => page.locator('#sv-style-select').selectOption('sunburst'),
    'view icicle': (page) => page.locator('#sv-style-select').selectOption('icicle'),
  },
};

const memray = {
  open: (page) => page.goto(address, { waitUntil: 'commit' }),
  picture: (page) => page.locator('#chart svg g').first().waitFor({ timeout: 20000 }),
  uses: {
    search: (page) => page.locator('#searchTerm').fill('json'),
    'end of the search': (page) => page.locator('#searchTerm').fill(''),
    zoom: (page) => page.locator('#chart svg g.frame').nth(6).dispatchEvent('click'),
    'end of the zoom': (page) => page.locator('#resetZoomButton').click(),
    'view flames': (page) => page.locator('#flames').dispatchEvent('click'),
    'view icicles': (page) => page.locator('#icicles').dispatchEvent('click'),
  },
};

const kinds = { empty, sonde, speedscope, snakeviz, memray };

async function use(page, { open, picture, uses }) {
  await did(page, 'open', async () => {
    await open(page);
    await picture(page);
  });
  await tell({ step: 'opened', shows: process.env.BENCH_PICTURE ? await page.screenshot({ path: process.env.BENCH_PICTURE }).then(() => 1) : 0 });
  for (const [name, action] of Object.entries(uses)) await did(page, name, () => action(page));
  await tell({ rest: 'end' });
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: FLAGS });
const page = await browser.newPage({ viewport: SIZE });
const asked = { requests: 0, failed: [], bytes: 0, errors: [] };
page.on('request', (r) => { if (!/^(data|blob):/.test(r.url())) asked.requests++; });
page.on('requestfailed', (r) => { if (/^https?:/.test(r.url())) asked.failed.push(`${new URL(r.url()).host}: ${r.failure()?.errorText}`); });
page.on('response', (r) => { if (/^(https?|file):/.test(r.url())) r.body().then((b) => { asked.bytes += b.length; }).catch(() => {}); });
page.on('pageerror', (e) => asked.errors.push(e.message));
page.setDefaultTimeout(15000);
try {
  await use(page, kinds[kind]);
} catch (e) {
  asked.errors.push(String(e.message).split('\n')[0]);
}
await tell({ asked });
await browser.close();
process.exit(0);
