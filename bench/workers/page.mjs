// SPDX-License-Identifier: MIT
// page.mjs PACKAGES KIND ADDRESS [FILE]: opens a page in a fresh Chromium and uses it.
//
// KIND says whose page it is.  FILE is what speedscope's page is given to open.  Before and after everything that costs
// CPU time it prints a line of JSON and waits for an answer, so that page.py can read the clocks of Chromium's processes:
// {"step": NAME} when something has just been done, {"rest": NAME} when page.py shall wait until nothing runs any more: what
// was done before ends there and NAME begins (null: nothing that counts).
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

// Where something is is found before the clock begins: looking for it by its role costs the page more than many an interaction.
async function did(page, name, [find, action]) {
  await tell({ rest: null });
  const found = await find(page);
  await tell({ rest: name });
  await action(page, found);
  await frames(page);
  await tell({ step: name });
}

const nothing = () => null;
const handle = (selector, nth = 0) => (page) => page.locator(selector).nth(nth).elementHandle();

// From the press over four moves to the release.
async function drag(page, [from, to]) {
  await page.mouse.move(...from);
  await page.mouse.down();
  for (const part of [0.25, 0.5, 0.75, 1]) await page.mouse.move(from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part);
  await page.mouse.up();
}

// --- Whose page it is: how it is opened, when its first picture is there, and what a person does with it: [what is looked
// for before, what is done]

const empty = {
  open: (page) => page.goto(address),
  picture: (page) => page.locator('body').waitFor(),
  uses: {
    click: [nothing, (page) => page.mouse.click(400, 300)],
    drag: [nothing, (page) => drag(page, [[300, 100], [800, 105]])],
  },
};

const role = (page, name, label) => page.getByRole(name, { name: label, exact: true });

async function middleOf(locator) {
  await locator.scrollIntoViewIfNeeded();
  const box = await locator.boundingBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

const clickOn = (name, label) => [(page) => middleOf(role(page, name, label)), (page, place) => page.mouse.click(...place)];
const press = (...keys) => [nothing, async (page) => { for (const key of keys) await page.keyboard.press(key); }];
// With the field chosen and its text marked, as after a double click.
const search = (text) => [
  (page) => role(page, 'searchbox', 'Search').evaluate((field) => (field.focus(), field.select())),
  (page) => (text ? page.keyboard.insertText(text) : page.keyboard.press('Delete')),
];
const dragOnTimeline = (from, to) => [
  async (page) => {
    const plot = await role(page, 'region', 'Timeline').boundingBox();
    return [[plot.x + plot.width * from, plot.y + 20], [plot.x + plot.width * to, plot.y + 25]];
  },
  drag,
];

const sonde = {
  open: (page) => page.goto(address, LIMIT),
  picture: (page) => page.locator('[role=tabpanel] [role=grid], [role=tabpanel] [role=treegrid], [role=tabpanel] [role=tree]').first().waitFor(LIMIT),
  uses: {
    'view flame graph': clickOn('tab', 'Flame graph'),
    'search in the flame graph': search('_1'),
    'end of the search': search(''),
    zoom: [(page) => role(page, 'tree', 'Flame graph').boundingBox(), (page, box) => page.mouse.click(box.x + box.width * 0.2, box.y + 70)],
    'end of the zoom': press('Escape'),
    'drag in the flame graph': dragOnTimeline(0.2, 0.7),
    'order inverted': clickOn('radio', 'Inverted'),
    'drag in the inverted graph': dragOnTimeline(0.3, 0.8),
    'order by time': clickOn('radio', 'Time order'),
    'drag in time order': dragOnTimeline(0.2, 0.7),
    'order left heavy': clickOn('radio', 'Left heavy'),
    'view functions': clickOn('tab', 'Functions'),
    'drag in functions': dragOnTimeline(0.1, 0.6),
    'search in functions': search('_2'),
    'whole run': press('Escape', 'Escape'),
    'view calls': clickOn('tab', 'Calls'),
    'drag in calls': dragOnTimeline(0.4, 0.9),
    'search in calls': search('_3'),
    'view source': clickOn('tab', 'Source'),
    'view call graph': clickOn('tab', 'Call graph'),
    'drag in the call graph': dragOnTimeline(0.3, 0.6),
    'search in the call graph': search('_4'),
    'zoom in the call graph': [(page) => role(page, 'button', 'Zoom in').boundingBox(), (page, box) => page.mouse.click(box.x + 8, box.y + 8)],
  },
};

const speedscope = {
  async open(page) {
    await page.goto(address, LIMIT);
    await page.locator('input[type=file]').first().setInputFiles(file);
  },
  picture: (page) => page.getByText('Sandwich').first().waitFor(LIMIT),
  uses: {
    zoom: [nothing, (page) => page.mouse.dblclick(300, 200)],
    'end of the zoom': press('0'),
    drag: [nothing, (page) => drag(page, [[SIZE.width * 0.3, 60], [SIZE.width * 0.6, 60]])],
    'view left heavy': press('2'),
    'zoom in left heavy': [nothing, (page) => page.mouse.dblclick(300, 200)],
    search: [nothing, async (page) => {
      await page.keyboard.press('Control+f');
      await page.keyboard.insertText('_1');
    }],
    'end of the search': press('Escape'),
    'view sandwich': press('3'),
    'view time order': press('1'),
  },
};

const snakeviz = {
  open: (page) => page.goto(address, LIMIT),
  picture: (page) => page.locator('#chart svg g').first().waitFor(LIMIT),
  uses: {
    search: [handle('#pstats-table_filter input'), (page, found) => found.fill('json')],
    'end of the search': [handle('#pstats-table_filter input'), (page, found) => found.fill('')],
    zoom: [handle('#chart svg rect', 6), (page, found) => found.dispatchEvent('click')],
    'end of the zoom': [handle('#resetbutton-root'), (page, found) => found.dispatchEvent('click')],
    'view sunburst': [handle('#sv-style-select'), (page, found) => found.selectOption('sunburst')],
    'view icicle': [handle('#sv-style-select'), (page, found) => found.selectOption('icicle')],
  },
};

const memray = {
  open: (page) => page.goto(address, { waitUntil: 'commit' }),
  picture: (page) => page.locator('#chart svg g').first().waitFor({ timeout: 20000 }),
  uses: {
    search: [handle('#searchTerm'), (page, found) => found.fill('json')],
    'end of the search': [handle('#searchTerm'), (page, found) => found.fill('')],
    zoom: [handle('#chart svg g.frame', 6), (page, found) => found.dispatchEvent('click')],
    'end of the zoom': [handle('#resetZoomButton'), (page, found) => found.click()],
    'view flames': [handle('#flames'), (page, found) => found.dispatchEvent('click')],
    'view icicles': [handle('#icicles'), (page, found) => found.dispatchEvent('click')],
  },
};

const kinds = { empty, sonde, speedscope, snakeviz, memray };

async function use(page, { open, picture, uses }) {
  await did(page, 'open', [nothing, async () => {
    await open(page);
    await picture(page);
  }]);
  await tell({ step: 'opened', shows: process.env.BENCH_PICTURE ? await page.screenshot({ path: process.env.BENCH_PICTURE }).then(() => 1) : 0 });
  for (const [name, use] of Object.entries(uses)) await did(page, name, use);
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
