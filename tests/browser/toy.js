// SPDX-License-Identifier: MIT
// toy.js PACKAGES FILE.html: opens the tab of a view that nobody told the page of.  Prints one JSON object with what it
// showed; judging is test_toy_view.py's.
const [packages, file] = process.argv.slice(2);
const { browse } = require('./browse.js');

browse(packages, file, { width: 1200, height: 800 }, async (page, seen) => {
  await page.getByRole('tab', { name: 'Toys' }).click();
  const panel = page.getByRole('tabpanel');
  const words = async role => (await panel.getByRole(role).allInnerTexts()).map(text => text.replace(/[^\w ]/g, '').trim());
  seen.columns = await words('columnheader');
  seen.row = (await words('gridcell')).concat(await words('cell')).slice(0, 2);
});
