// SPDX-License-Identifier: MIT
// wholerun: plainly says that the figures of a view are of the whole run while a part is selected that they do not follow.
import type { Follow, Selection, View } from './types';
import { isServed } from './served';
import { useStore } from './store';
import { isWholeRun } from './sums';

const PARTS: [Follow, (s: Selection) => boolean][] = [
  ['time', (s) => s.from !== null],
  ['section', (s) => s.section !== null],
  ['thread', (s) => s.thread !== null],
];

// Why it is so, or what will change it.
function whyWhole(view: View, parts: Follow[]): string {
  const canAsk = parts.some((part) => view.asks.includes(part)), names = parts.join(' and ');
  if (!canAsk) return `this view does not follow the selected ${names}`;
  return isServed() ? `the server reads the selected ${names}` : `this view does not follow the selected ${names} in a file; sonde view --serve does`;
}

export function WholeRun({ view }: { view: View }) {
  const selection = useStore((s) => s.selection);
  if (!isWholeRun(view, selection)) return null;
  const parts = PARTS.filter(([part, isSelected]) => isSelected(selection) && !view.follows.includes(part)).map(([part]) => part);
  return <p class="panel-whole"><b>whole run</b> ({whyWhole(view, parts)})</p>;
}
