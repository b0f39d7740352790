// SPDX-License-Identifier: MIT
// build: makes dist/page.html of page.html, src/main.tsx and src/style.css, and with `tests` bundles src/*.test.ts(x)
// into tests/.  The same sources give the same bytes, with any Node from 18 on.
import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';

const common = { bundle: true, write: false, charset: 'utf8', legalComments: 'none', logLevel: 'warning' };
const browsers = ['chrome105', 'firefox115', 'safari16.4'];

async function bundled(entry, format) {
  const made = await build({ ...common, entryPoints: [entry], minify: true, format, target: browsers, jsx: 'automatic', jsxImportSource: 'preact' });
  return made.outputFiles[0].text.trim();
}

const hash = (text) => createHash('sha256').update(text).digest('base64');

async function page() {
  const parts = { css: await bundled('src/style.css'), js: await bundled('src/main.tsx', 'iife') };
  const frame = await readFile('page.html', 'utf8');
  const filled = { ...parts, script: hash(parts.js), style: hash(parts.css) };
  const html = frame.replace(/@(css|js|script|style)@/g, (_, name) => filled[name]);
  for (const mark of ['title', 'plain', 'data'])
    if (html.split(`<!--sonde:${mark}-->`).length !== 2) throw new Error(`the mark ${mark} must stand once in the page`);
  if (/<\/script/i.test(parts.js) || /<\/style/i.test(parts.css)) throw new Error('the script or style would end early');
  await mkdir('dist', { recursive: true });
  await writeFile('dist/page.html', html);
}

async function tests() {
  const files = (await readdir('src', { recursive: true })).filter((name) => /\.test\.tsx?$/.test(name)).sort();
  await rm('tests', { recursive: true, force: true });
  await build({ ...common, write: true, entryPoints: files.map((name) => `src/${name}`), outdir: 'tests', entryNames: '[name]', outExtension: { '.js': '.mjs' },
    format: 'esm', platform: 'node', target: 'node18', jsx: 'automatic', jsxImportSource: 'preact', sourcemap: 'inline' });
}

try {
  await (process.argv[2] === 'tests' ? tests() : page());
} catch (error) {
  if (!error.errors) console.error(error.message); // esbuild has printed its own
  process.exitCode = 1;
}
