// SPDX-License-Identifier: MIT
// wholerun: plainly says that the figures of a view are of the whole run while a part is selected that they do not follow.
import type { Follow, Selection, View } from './types';
import { useStore } from './store';
import { isWholeRun } from './sums';

const ASKS: [Follow, (s: Selection) => boolean][] = [
  ['time', (s) => s.from !== null],
  ['section', (s) => s.section !== null],
  ['thread', (s) => s.thread !== null],
];

export function WholeRun({ view }: { view: View }) {
  const selection = useStore((s) => s.selection);
  if (!isWholeRun(view, selection)) return null;
  const parts = ASKS.filter(([part, isAsked]) => isAsked(selection) && !view.follows.includes(part)).map(([part]) => part);
  return <p class="panel-whole"><b>whole run</b> (this view does not follow the selected {parts.join(' and ')})</p>;
}
