// SPDX-License-Identifier: MIT
// types: what the page is given (the payload, written by src/report/page), and the nouns that all files of it share.
//
// The page draws shapes and knows no collector by name: a payload is a list of views, each with a shape, and what is
// common to them (stacks over time, sections, sources).  Who adds a view in C adds nothing here.

// --- The payload

// A column of numbers.  In the payload it is { at, n, as, delta? }, a place in the bytes behind the JSON; the loader
// (payload.ts) puts a typed array in its place.
export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

// What a number is.  "ns" and "bytes" are whole; "percent" is 0 to 100 and more; "text" is a place in `strings`.
export type Unit = 'count' | 'ns' | 'bytes' | 'percent' | 'real' | 'text';

export interface Payload {
  version: 1;
  title: string; // of the document: the name of the file
  program: string; // "sonde 0.1.0"
  strings: string[]; // texts of strangers, as they are; see text.ts for how they are shown
  durationNs: number; // how long the run took
  opens: string | null; // what is selected at first, as the address has it behind the #; an address with one of its own wins
  head: Head;
  findings: Finding[];
  sections: string[]; // paths, "train:epoch"
  lanes: Lane[]; // of the timeline, from top to bottom; none: nothing in the file has a time
  bands: Band[]; // sections over time
  stacks: Stacks[]; // one for each evidence with stacks
  views: View[]; // in the order of their tabs
}

export interface Head {
  command: string | null;
  items: { label: string; value: string }[]; // "wall": "12.4 s"
  complaint: string | null; // what is missing of a damaged file
  notes: string[]; // other sentences that a reader should see
}

export interface Finding {
  finding: string; // which rule found it: "hottest_function"
  text: string; // the sentence, with its figure
  value: number | null;
  unit: Unit | null;
  view: string | null; // the name of the view that shows it
  selection: FindingSelection | null;
}
export interface FindingSelection {
  from_ns?: number; // both or none
  to_ns?: number;
  section?: string;
  thread?: string; // "pid/tid" or "pid"
  search?: string;
  metric?: string;
}

// A part of the timeline: curves of readings, or what is derived from a block of stacks while the page runs.
export interface Lane {
  title: string; // "Memory"
  unit: Unit;
  curves?: Curve[];
  stacks?: number; // place in Payload.stacks
  make?: 'activity' | 'gil'; // CPU or samples by time; share of samples with the interpreter's lock
}
export interface Curve {
  name: string;
  isTotal: boolean;
  t: Numbers; // seconds
  min: Numbers;
  max: Numbers;
  last: Numbers;
}
export interface Band {
  name: string; // a section's path
  from: number; // seconds
  to: number;
  depth: number;
  n: number; // how many sections it stands for
}

// --- Stacks over time

// Bits of Places.flags.
export const IDLE = 1, GIL = 2, WAITS = 4, PARTIAL = 8, STOPPED = 16;
// Kinds of functions, as boxes of a flame graph are coloured.
export const OWN = 0, LIBRARY = 1, NATIVE = 2, MARK = 3, PRUNED = 4;

// Amounts by slice of time, thread, stack, flags and open sections.  Sums over entries are the figures of any part of
// the run.  A column whose comment says "+ 1" holds a place plus one, and 0 for none.
export interface Stacks {
  evidence: string; // "samples"
  verb: string; // "sampled"
  hasTime: boolean; // false: one slice, which is the whole run
  sliceNs: number;
  metric: string; // that shares are of by default
  metrics: { name: string; unit: Unit; meaning: string; values: Numbers }[]; // by entry
  // A function is a name, a file and a first line: places here are what callees are told apart by.
  functions: { name: Numbers /* string */; file: Numbers /* string + 1 */; short: Numbers /* string + 1: the end of the
    file that is enough to know it */; line: Numbers; kind: Numbers; isLibrary: Numbers; module: Numbers };
  modules: Numbers; // string: names of modules
  frames: { parent: Numbers /* frame + 1, smaller than its own place + 1 */; fn: Numbers; line: Numbers /* executed */;
    isStartup: Numbers /* Sonde's own start: such stacks are in no view */;
    importRow: Numbers /* place in imports + 1 */; importer: Numbers /* frame + 1: who imports; of frames with a row */ };
  imports: Numbers; // string: "import json"
  threads: Thread[];
  places: { frame: Numbers /* + 1; 0: no frame was read */; thread: Numbers; flags: Numbers };
  // Sections that were open together: the members of set i are members[starts[i]..starts[i + 1]), places in
  // Payload.sections.  Set 0 is empty.
  sets: { starts: Numbers; members: Numbers };
  entries: { slice: Numbers; place: Numbers; set: Numbers }; // by slice
  // Not in the payload; the loader puts its lists here, so that a block is enough to sum and to search:
  strings: string[];
  sections: string[];
}
export interface Thread {
  track: string; // "pid/tid", or "pid" where samples belong to a process: what `report --track` takes
  process: string; // its label, "1234 python"
  pid: number;
  tid: number | null;
  name: string | null;
}

// --- Views

export type Shape = 'table' | 'series' | 'flame' | 'graph' | 'growth' | 'bars' | 'roofline' | 'map' | 'source';
export type By = 'function' | 'line' | 'module';
// What the page derives from a block of stacks itself, so that it follows a selection.
export type Make = 'functions' | 'tree' | 'lines' | 'callers' | 'callees' | 'threads' | 'flame' | 'graph' | 'source';
export type Follow = 'time' | 'thread' | 'section';

export interface View {
  name: string; // "functions", "traced_functions"
  title: string; // of its tab
  shape: Shape;
  follows: Follow[]; // parts of a selection that change it; while another part is selected it says `whole run`
  asks: Follow[]; // parts by which a server can cut its data; a page from a file has the whole run's alone
  stacks?: number; // with `make`: the block that it is made of
  make?: Make;
  data?: TableData | SeriesData | GraphData | GrowthData | BarsData | RooflineData | MapData | SourceData;
  variants?: { by: By; mine: boolean; data: TableData }[]; // the same table by other rows
}

export interface TableColumn {
  name: string; // heading, and key in CSV and JSON
  meaning: string;
  unit: Unit;
  isHidden: boolean; // only in CSV
  cells: Numbers; // text: string + 1; numbers: NaN is an empty cell
  values?: Numbers; // of texts that are numbers of several units: these, for CSV and sorting
}
export interface TableData {
  columns: TableColumn[];
  n: number;
  parents: Numbers | null; // row + 1: a tree
  note: string | null;
}
export interface SeriesData { title: string; subtitle: string | null; note: string | null; quantity: string; unit: Unit; curves: Curve[]; bands: Band[] }
// Positions are found in C.  Amounts are those of the whole run; with `stacks` the page weighs nodes and edges itself.
export interface GraphData {
  title: string; subtitle: string | null; note: string | null;
  unit: string; width: number; height: number;
  nodes: { fn: number | null /* in functions of the block */; name: string; file: string | null; line: number; x: number; y: number; w: number;
    h: number /* centre and size */; self: number; total: number /* shares, 0 to 1 */; calls: number }[];
  edges: { from: number; to: number; total: number; calls: number; points: number[] /* x, y, x, y, ... : two points in
    each layer; empty: to itself */ }[];
}
export interface GrowthData { title: string | null; note: string | null; quantity: string; panels: { title: string; subtitle: string; argument: string; is_flagged: boolean; measured_to: number; points: { n: number; ns: number }[]; curve: { n: number; ns: number }[] }[] }
export interface BarsData { title: string | null; subtitle: string | null; note: string | null; series: string[]; unit: string; bars: { name: string; about: string | null; values: number[] }[] }
export interface RooflineData { title: string | null; subtitle: string | null; note: string | null; peak_per_s: number; bytes_per_s: number; points: { name: string; operations_per_byte: number; operations_per_s: number | null; share: number }[] }
export interface MapData { title: string | null; subtitle: string | null; note: string | null; quantity: string; width: number; height: number;
  boxes: { name: string; about: string | null; value: string | null; share: number; x: number; y: number; w: number; h: number }[];
  links: { from: number; to: number; about: string | null; points: number[] }[] }
// Files with their lines.  Figures of samples are derived from `stacks` where the view has one; counted lines bring
// columns of their own.
export interface SourceData {
  files: {
    file: number; // string: as the interpreter names it
    short: number; // string
    text: string | null; // null: `note` says why
    note: string | null;
    lines: Numbers; // of the rows below, from 1 on
    columns: TableColumn[]; // by row of `lines`
  }[];
}

// --- What is selected

export interface Selection {
  from: number | null; // slices of the block with the shortest ones, in ns, snapped; both or none
  to: number | null; // ns; the end is not part of it
  section: string | null;
  thread: string | null; // a Thread.track or a pid
  search: string; // as typed
}
export interface Options {
  metric: string; // a name; blocks that do not have it use their own
  by: By;
  idle: boolean;
  gilOnly: boolean;
  mine: boolean;
  foldImports: boolean; // tables of functions: an import is one row, as in the text of `report`
}
export type Order = 'left' | 'time' | 'inverted' | 'sandwich';
export interface Sort { column: string; isDown: boolean } // of a table, by the heading of a column
