// SPDX-License-Identifier: MIT
// rows: tables of a selection, with the columns and figures of `sonde report --json`.

import type { Options, Payload, Selection, SourceData, TableData, View } from './types';

export function tableOf(view: View, payload: Payload, selection: Selection, options: Options): TableData {
  throw new Error(`not yet: ${view.name} ${payload.title} ${selection.search} ${options.by}`);
}

export function sourceOf(view: View, payload: Payload, selection: Selection, options: Options): SourceData {
  throw new Error(`not yet: ${view.name} ${payload.title} ${selection.search} ${options.by}`);
}
