// SPDX-License-Identifier: MIT
// search: what the text in the search box matches.

import type { Stacks } from './types';
import type { Sums } from './sums';

export type Matcher = (name: string) => boolean;

let lastText = '';
let lastMatcher: Matcher | null = null;

function made(text: string): Matcher {
  try {
    const pattern = new RegExp(text, 'im');
    return (name) => pattern.test(name);
  } catch {
    const plain = text.toLowerCase();
    return (name) => name.toLowerCase().includes(plain);
  }
}

// A regular expression, or plain text when it is not a valid one; upper and lower case are the same.  Null: nothing is
// searched for.  The same text gives the same function, so that it serves as a key.
export function matcher(text: string): Matcher | null {
  if (text === '') return null;
  if (text !== lastText || !lastMatcher) {
    lastText = text;
    lastMatcher = made(text);
  }
  return lastMatcher;
}

// What is searched in, as `report --match` does: the name, the file, and both as pstats writes them.  Each is a line, so
// that ^ and $ are the ends of each.
export function searchText(name: string, file: string | null, line: number): string {
  return file === null ? name : `${name}\n${file}\n${file}:${line}(${name})`;
}

const matching = new WeakMap<Matcher, WeakMap<Stacks, Uint8Array>>();

// Which functions of a block match: 1 or 0 for each.
export function matchingFunctions(block: Stacks, match: Matcher): Uint8Array {
  let byBlock = matching.get(match);
  if (!byBlock) matching.set(match, (byBlock = new WeakMap()));
  let found = byBlock.get(block);
  if (!found) {
    const f = block.functions;
    found = new Uint8Array(f.name.length);
    for (let i = 0; i < found.length; i++) {
      const file = f.file[i]! > 0 ? block.strings[f.file[i]! - 1]! : null;
      found[i] = match(searchText(block.strings[f.name[i]!]!, file, f.line[i]!)) ? 1 : 0;
    }
    byBlock.set(block, found);
  }
  return found;
}

// How much of the selection's total is in stacks that hold a match, 0 to 100.
export function matchedShare(sums: Sums, match: Matcher): number {
  if (sums.total <= 0) return 0;
  const isMatch = matchingFunctions(sums.block, match);
  const { parent, fn } = sums.block.frames;
  const has = new Uint8Array(sums.self.length);
  let matched = 0;
  for (let i = 0; i < has.length; i++) {
    const up = parent[i]!;
    has[i] = (sums.frameOf[i] === i && isMatch[fn[i]!]) || (up > 0 && has[up - 1]) ? 1 : 0;
    if (has[i]) matched += sums.self[i]!;
  }
  return (100 * matched) / sums.total;
}
