// SPDX-License-Identifier: MIT
// flamenames: what the boxes of the flame graph are called, and what is said of them.
import { IDLE_KIND, shadeOf, THREAD_KIND, WHOLE_KIND } from '../colors';
import type { Counts } from './flamecounts';
import type { Boxes } from './flamelayout';
import { subjectsOf, type Subjects } from './flamenodes';
import { LIBRARY, type Stacks } from '../types';
import type { Detail } from '../store';
import type { Sums } from '../sums';
import { amount, count, percent, shown } from '../text';

export interface Named {
  name: string; // as shown
  raw: string;
  file: string | null; // all of it, as the capture has it
  short: string | null; // enough to know it, as shown
  line: number;
  kind: number; // of colors.ts
  shade: number;
}

// Names of the subjects of a block; each is looked up once.
export class FlameNames {
  readonly subjects: Subjects;
  private readonly known: (Named | undefined)[] = [];
  constructor(readonly block: Stacks) {
    this.subjects = subjectsOf(block);
  }
  of(subject: number): Named {
    return (this.known[subject] ??= this.look(subject));
  }
  private look(subject: number): Named {
    const { imports, whole, idle, threads } = this.subjects;
    if (subject < imports) return this.functionNamed(subject);
    if (subject < whole) return plain(this.block.strings[this.block.imports[subject - imports]!]!, LIBRARY);
    if (subject === whole) return plain('all', WHOLE_KIND);
    if (subject === idle) return plain('[idle]', IDLE_KIND);
    const thread = this.block.threads[subject - threads]!;
    return plain(thread.tid === null ? thread.process : `${thread.name ?? 'thread'} ${thread.tid}`, THREAD_KIND);
  }
  private functionNamed(fn: number): Named {
    const { strings, functions: f } = this.block;
    const text = (at: number) => (at > 0 ? strings[at - 1]! : null);
    const raw = strings[f.name[fn]!]!, file = text(f.file[fn]!), short = text(f.short[fn]!) ?? file;
    return { name: shown(raw), raw, file, short: short === null ? null : shown(short), line: f.line[fn]!, kind: f.kind[fn]!, shade: shadeOf(raw, file) };
  }
}
const plain = (raw: string, kind: number): Named => ({ name: shown(raw), raw, file: null, short: null, line: 0, kind, shade: shadeOf(raw, null) });

// "f (app.py:10)"
export function labelOf(n: Named): string {
  if (n.short === null) return n.name;
  return `${n.name} (${n.short}${n.line > 0 ? `:${n.line}` : ''})`;
}

// "30 samples", "1.2 s"
export function amountText(value: number, sums: Sums): string {
  const text = amount(value, sums.unit);
  return sums.unit === 'count' ? `${text} ${metricName(sums)}` : text;
}
const metricName = (sums: Sums) => shown(sums.block.metrics[sums.metric]!.name);
const share = (part: number, of: number) => `${percent(of > 0 ? (100 * part) / of : 0)} %`;

// "f (app.py:10), 30 samples, 12.00 %, self 10 samples, wall 1.2 s": the name of a box for those who do not see it.
export function sentenceOf(boxes: Boxes, b: number, names: FlameNames, sums: Sums, counts: Counts | null): string {
  const total = boxes.total[b]!, label = labelOf(names.of(boxes.subject[b]!)), part = share(total, sums.total);
  if (!counts) return `${label}, ${amountText(total, sums)}, ${part}, self ${amountText(boxes.self[b]!, sums)}`;
  const seen = (n: number) => `${count(n)} ${counts.name}`;
  return `${label}, ${seen(counts.total(b))}, ${part}, self ${seen(counts.self(b))}, ${metricName(sums)} ${amount(total, sums.unit)}`;
}

// Shares are of the whole run and of what is shown now: the zoomed box, or what is selected.  Between them stands that of
// the selection, which the tables have, where it is neither.
export function detailOf(boxes: Boxes, b: number, zoomed: number, names: FlameNames, sums: Sums, counts: Counts | null): Detail {
  const n = names.of(boxes.subject[b]!), total = boxes.total[b]!, view = boxes.total[zoomed]!;
  const rows: [string, string][] = [['total', amountText(total, sums)]];
  if (counts) rows.push([counts.name, count(counts.total(b))]);
  rows.push(['share of whole', share(total, sums.whole)]);
  if (sums.total !== sums.whole && sums.total !== view) rows.push(['share of selection', share(total, sums.total)]);
  rows.push(['share of view', share(total, view)], ['self', `${amountText(boxes.self[b]!, sums)}, ${share(boxes.self[b]!, sums.total)}`]);
  return { name: n.raw, file: n.file, line: n.line, rows };
}
