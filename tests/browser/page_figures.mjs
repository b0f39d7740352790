// SPDX-License-Identifier: MIT
// page_figures.mjs PACKAGES SOURCES PAGE PARTS: what the tables of a page come to, without a browser.
//
// PACKAGES is node_modules with esbuild, which bundles the files of web/src that decode a page and sum selections.
// PARTS is a file of JSON: a list of { selection, options, tables, calls }; with `calls` tables of traced calls
// are summed too, which a page without a timeline of calls brings along.  Prints { block, views, tables: [{ name: rows }] },
// where a row has its cells by column, as `report --json` has them.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [packages, sources, page, parts] = process.argv.slice(2);
const { buildSync } = createRequire(join(packages, 'x'))('esbuild');
const entry = "export * from './payload'; export { tableOf } from './rows';";
const made = buildSync({ stdin: { contents: entry, resolveDir: sources, loader: 'ts' }, bundle: true, write: false, format: 'esm', platform: 'node', target: 'node18' });
const { base64, decode, decompressed, tableOf } = await import('data:text/javascript;base64,' + Buffer.from(made.outputFiles[0].text).toString('base64'));

const [, data] = /<script type="application\/x-sonde" id="data">([^<]*)<\/script>/.exec(readFileSync(page, 'utf8'));
const payload = decode(await decompressed(base64(data)));

const MAKES = { functions: 'functions', calls: 'tree', callers: 'callers', callees: 'callees', threads: 'threads' };

function viewOf(name, ofCalls) {
  if (!ofCalls) return payload.views.find((v) => v.name === name);
  return { name, follows: ['thread'], make: MAKES[name], stacks: payload.stacks.findIndex((b) => b.evidence === 'calls') };
}

function rowsOf(name, { selection, options, calls }) {
  const view = viewOf(name, calls);
  if (!view) return [];
  const table = tableOf(view, payload, selection, options);
  const cell = (c, i) => (c.values && !Number.isNaN(c.values[i]) ? c.values[i] : c.unit === 'text' ? (c.cells[i] ? payload.strings[c.cells[i] - 1] : null) : Number.isNaN(c.cells[i]) ? null : c.cells[i]);
  const rows = Array.from({ length: table.n }, (_, i) => Object.fromEntries(table.columns.map((c) => [c.name, cell(c, i)])));
  if (table.parents) rows.forEach((row, i) => { row.parent = table.parents[i] ? table.parents[i] - 1 : null; });
  return rows;
}

const wanted = JSON.parse(readFileSync(parts, 'utf8'));
const { sliceNs, threads, metrics } = payload.stacks[0];
process.stdout.write(JSON.stringify({
  block: { sliceNs, threads, metrics: metrics.map((m) => m.name), durationNs: payload.durationNs, sections: payload.sections },
  views: payload.views.map((v) => v.name),
  tables: wanted.map((part) => Object.fromEntries(part.tables.map((name) => [name, rowsOf(name, part)]))),
}));
