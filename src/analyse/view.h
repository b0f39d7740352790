/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_VIEW_H
#define SD_ANALYSE_VIEW_H
/* view: the answer to a question, in a shape a report can draw.
 *
 * Few shapes serve everything (shapes.def): table, tree (a table whose rows have
 * parents), series, flame (a tree whose rows have widths), graph, and some more for
 * growth and models.  A report draws shapes and knows no collector by name. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/matcher.h"

enum sd_cell_kind {
    SD_CELL_NONE,
    SD_CELL_TEXT,
    SD_CELL_COUNT,
    SD_CELL_NS,
    SD_CELL_BYTES,
    SD_CELL_PERCENT,
    SD_CELL_REAL
};

/* How a cell stands out, where there is colour. */
enum sd_heat {
    SD_HEAT_NONE,
    SD_HEAT_COLD, /* nothing happened there */
    SD_HEAT_MILD,
    SD_HEAT_WARM,
    SD_HEAT_HOT
};

/* A stack in a cell: its text is for eyes, its frames are for programs. */
struct sd_cell_frame {
    const char *function, *file, *short_file; /* or NULL */
    uint32_t line;                            /* 0: not known */
};
struct sd_cell_frames {
    struct sd_cell_frame *items; /* the outermost first */
    size_t n;
};

struct sd_cell {
    enum sd_cell_kind kind; /* NONE is an empty cell */
    enum sd_heat heat;
    int64_t number; /* COUNT, NS, BYTES */
    double real;    /* PERCENT (0..100 and more), REAL */
    const char *text;
    const struct sd_cell_frames *frames; /* of a TEXT that is a stack; or NULL */
};

struct sd_column {
    const char *name; /* heading, and key in CSV and JSON: "wall", "peak_rss" */
    const char *meaning;
    enum sd_cell_kind kind;
    bool is_hidden_in_text; /* only in CSV and JSON */
    uint8_t rank; /* 0: always shown; on a narrow terminal the highest goes first */
};

struct sd_view_table {
    const char *name;  /* key in JSON: "sections" */
    const char *title; /* or NULL */
    struct sd_column *columns;
    size_t n_columns;
    struct sd_cell *cells; /* row after row */
    size_t n_rows;
    int32_t
        *parents; /* NULL: a flat table; else row number of each row's parent or -1 */
    const char *note; /* "23 more rows", or NULL */
};

struct sd_curve_point { /* t in seconds; values in bytes, percent or counts */
    double t, min, max, last;
};
struct sd_curve {
    const char *name;       /* "rss of 1234 python" */
    enum sd_cell_kind kind; /* BYTES, PERCENT, COUNT */
    bool is_total;          /* the tree's sum: drawn strongest */
    struct sd_curve_point *points;
    size_t n_points;
    /* The straight line closest to the points (least squares), where it was asked for:
     * `start` at time 0, and so much more each second. */
    bool has_trend;
    double start, slope;
};
struct sd_band { /* a section, or several that follow each other closely */
    const char *name;
    double from, to;
    uint32_t depth;
    uint64_t n; /* how many sections it stands for */
};
struct sd_view_series {
    const char *title;
    const char *subtitle; /* whose it is, or NULL */
    const char *quantity; /* what the curves measure: "resident memory" */
    struct sd_curve *curves;
    size_t n_curves;
    struct sd_band *bands;
    size_t n_bands;
    double from, to;     /* seconds */
    double peak_t, peak; /* where the peak is; peak < 0: none */
    const char *peak_label;
    /* The kernel's own high-water mark, where it saw more than the readings; < 0: none.
     */
    double mark;
    const char *mark_label;
    const char *note; /* what is not drawn: "12 more processes", or NULL */
    bool has_boxes;   /* sections are boxes behind the curves, not a strip above */
};

/* What a box of a flame graph stands for. */
enum sd_flame_kind {
    SD_FLAME_ALL,     /* the whole: the one box without a parent */
    SD_FLAME_PROCESS, /* who ran what is below */
    SD_FLAME_THREAD,
    SD_FLAME_OWN,     /* a Python function of the program's own */
    SD_FLAME_LIBRARY, /* one of the standard library or an installed package */
    SD_FLAME_NATIVE,  /* compiled code */
    SD_FLAME_MARK,    /* no function: "[partial]" */
    SD_FLAME_IDLE,    /* what the function above waited */
    SD_FLAME_FOLDED,  /* several too small to be drawn, or too deep */
    SD_FLAME_KINDS
};
struct sd_flame_box {
    const char *name;  /* of the function, process or thread */
    const char *where; /* "train.py:12", or NULL */
    enum sd_flame_kind kind;
    uint32_t parent; /* box, or UINT32_MAX */
    uint32_t depth;  /* 0: the whole */
    /* Amounts: where it begins, counted from the left end of the whole; how wide it is;
     * what was seen in it and in nothing below it, and in waiting threads. */
    int64_t from, total, self, idle;
    int64_t waited; /* of `idle`, what it waited itself: the box "[idle]" on it.  Tables
                       that count idle samples have it in self, too */
};
struct sd_view_flame {
    const char *title;    /* what was run */
    const char *subtitle; /* what was recorded of it */
    const char *note;     /* what is not drawn, or NULL */
    const char *search;   /* looked for when it is opened, or NULL */
    const char *unit;     /* "samples" after a number; NULL: `kind` says it */
    enum sd_cell_kind kind;
    struct sd_flame_box *boxes; /* parents before children, these one after the other:
                                   depth first, the widest first, what is folded last */
    size_t n_boxes;
    uint32_t n_levels;
};

/* Functions and who calls whom. */
struct sd_graph_node {
    const char *name;     /* "module:12:function" */
    const char *function; /* the last part of it */
    const char *file;     /* whole */
    int64_t line;
    int64_t calls;
    double self, total;               /* shares of the whole, 0 to 1 */
    double self_amount, total_amount; /* in the graph's unit */
    double weight;                    /* for its colour, 0 to 1 */
    const char *label; /* all that is written on it; NULL: its name and numbers */
    /* Of a comparison: the same of the other graph, where it is in it.  What is only
     * there has nothing above. */
    bool is_in_other;
    double other_self, other_total;
    int64_t other_calls;
};

struct sd_graph_edge {
    uint32_t from, to; /* nodes; the same in a recursion */
    int64_t calls;
    double total;      /* share of the whole that was spent below these calls */
    const char *label; /* all that is written on it; NULL: its numbers */
    bool is_in_other;
    double other_total;
    int64_t other_calls;
};

struct sd_view_graph {
    const char *title;    /* what was run */
    const char *subtitle; /* what is drawn of it */
    const char *search;   /* looked for when it is opened, or NULL */
    const char *unit;     /* of amounts: "s", "samples" */
    bool has_calls;       /* calls were counted */
    bool is_compared;
    struct sd_graph_node *nodes; /* in the order of the stats */
    size_t n_nodes, n_all_nodes; /* drawn, and known */
    struct sd_graph_edge *edges; /* by their callers */
    size_t n_edges, n_all_edges;
};

/* How a function's time grows with size: points, and the curve through them. */
struct sd_growth_mark {
    double n, ns;
};
struct sd_growth_panel {
    const char *title;    /* "pairs  match.py:12" */
    const char *subtitle; /* "n², exponent 2.01 (1.97 to 2.06)" */
    const char *argument; /* what n is: "len(rows)" */
    bool is_flagged;
    struct sd_growth_mark *points;
    size_t n_points;
    struct sd_growth_mark *curve; /* by size; goes on beyond what was measured */
    size_t n_curve;
    double measured_to;  /* size */
    double linear_slope; /* 1; of a product of two sizes 0.5 */
};
struct sd_view_growth {
    const char *title;
    const char *quantity; /* "time of a call" */
    struct sd_growth_panel *panels;
    size_t n_panels;
    const char *note; /* what is not drawn, or NULL */
};

/* Amounts side by side: a bar for each of one or two series of every row. */
enum {
    SD_BARS_SERIES = 2,
    SD_BARS_MAX = 400, /* that are drawn: pictures higher than that nobody looks at */
};
struct sd_bar {
    const char *name;  /* "layer1.0.conv1" */
    const char *about; /* what it is: "Conv2d"; or NULL */
    double values[SD_BARS_SERIES];
};
struct sd_view_bars {
    const char *title;
    const char *subtitle;               /* or NULL */
    const char *series[SD_BARS_SERIES]; /* what the bars measure */
    size_t n_series;
    enum sd_cell_kind kind; /* COUNT, NS, BYTES, PERCENT */
    struct sd_bar *bars;
    size_t n_bars;
    const char *note; /* what is not drawn, or NULL */
};

/* What a machine can do at most with so many operations for each byte, and what was
 * done. */
struct sd_roofline_point {
    const char *name;
    double intensity; /* operations for each byte read or written */
    double rate;      /* operations a second; 0: not timed */
    double share;     /* of all operations, 0 to 1 */
};
struct sd_view_roofline {
    const char *title;
    const char *subtitle; /* or NULL */
    double peak;          /* operations a second */
    double bandwidth;     /* bytes a second, of memory */
    struct sd_roofline_point *points;
    size_t n_points;
    const char *note; /* or NULL */
};

/* Parts of something and what goes from one to another: layers of a model. */
struct sd_map_box {
    const char *name;
    const char *about; /* "Conv2d 1×64×112×112" */
    const char *value; /* "118.01M MACs, 6.5 %" */
    double share;      /* of the whole, 0 to 1: its colour */
};
struct sd_map_link {
    uint32_t from, to; /* boxes */
    const char *about; /* what goes there, or NULL */
};
struct sd_view_map {
    const char *title;
    const char *subtitle; /* or NULL */
    const char *quantity; /* what the colours mean */
    struct sd_map_box *boxes;
    size_t n_boxes;
    struct sd_map_link *links;
    size_t n_links;
    const char *note; /* what is not drawn, or NULL */
};

/* Stacks over time: amounts by slice of time, thread, stack and open sections.  Whoever
 * adds up entries has the figures of any part of the run.  All arrays but `functions`
 * and `threads` are columns. */
struct sd_stacks_function { /* told apart by name, file and line */
    const char *name;
    const char *file;       /* whole, or NULL */
    const char *short_file; /* the end of it that is enough to know it, or NULL */
    uint32_t line;
    uint32_t module;
    enum sd_flame_kind kind; /* OWN, LIBRARY, NATIVE, MARK or FOLDED */
    bool is_library;         /* "only my code" leaves it out */
};
struct sd_stacks_thread {
    const char *name; /* or NULL */
    const char *process_label;
    uint64_t process, number;
    bool is_process; /* it is the process itself: nobody knows which thread */
};
struct sd_stacks_frame {
    uint32_t parent; /* frame, smaller than its own; UINT32_MAX: the outermost */
    uint32_t function, line;
    uint32_t import;   /* a place in `imports`; UINT32_MAX: not part of an import */
    uint32_t importer; /* of a frame with an import: the frame that imports, or
                          UINT32_MAX */
    bool is_startup;   /* of Sonde itself: tables leave such stacks out */
};
struct sd_stacks_place { /* what entries are of */
    uint32_t frame;      /* UINT32_MAX: no frame was read */
    uint32_t thread;
    bool is_idle, has_gil, waits_for_gil, is_partial, is_stopped;
};
struct sd_stacks_entry {
    uint32_t slice, place, set;
};
struct sd_stacks_metric {
    const char *name;
    const char *meaning;
    enum sd_cell_kind kind; /* COUNT, NS, BYTES */
    const int64_t *values;  /* by entry; borrowed */
};
struct sd_view_stacks {
    const char *evidence; /* "samples" */
    const char *verb;     /* "sampled" */
    const char *metric;   /* that shares are of when nobody says */
    bool has_time;        /* false: one slice, which is the whole run */
    uint64_t slice_ns;    /* from the beginning of the run on */
    struct sd_stacks_function *functions;
    size_t n_functions;
    const char **modules; /* names of files, as they are imported */
    size_t n_modules;
    const char **imports; /* "import json" */
    size_t n_imports;
    struct sd_stacks_thread *threads;
    size_t n_threads;
    struct sd_stacks_frame *frames;
    size_t n_frames;
    struct sd_stacks_place *places;
    size_t n_places;
    const char **sections; /* paths */
    size_t n_sections;
    /* Sections that were open together: the members of set i are those from
     * set_starts[i] to set_starts[i + 1].  Set 0 is empty. */
    uint32_t *set_starts, *set_members;
    size_t n_sets;
    struct sd_stacks_entry *entries; /* by slice */
    size_t n_entries;
    struct sd_stacks_metric *metrics;
    size_t n_metrics;
    const char *note; /* what is not told apart, or NULL */
};

/* Figures beside the lines of source files.  All texts but `text` and `note` are of who
 * makes it, which reads no files; whoever shows the source attaches that. */
struct sd_source_file {
    const char *file;       /* as the interpreter names it */
    const char *short_file; /* the end of it that is enough to know it */
    bool is_library;        /* not the program's own */
    uint32_t *lines;        /* ascending: those with figures */
    size_t n_lines;
    struct sd_cell *cells; /* a row of the view's columns for each of them */
    const char *text;      /* all of the file, UTF-8; NULL: it is not shown */
    size_t n_text;
    const char *note; /* why not, or what is to be known of it; or NULL */
};
struct sd_view_source {
    const char *evidence; /* "samples" */
    const char *verb;     /* "sampled" */
    struct sd_column *columns;
    size_t n_columns;
    struct sd_source_file *files; /* the hottest first */
    size_t n_files;
    const char *note; /* what is not shown, or NULL */
};

enum sd_shape {
#define SHAPE(id, name) SD_SHAPE_##id,
#include "analyse/shapes.def"
#undef SHAPE
    SD_SHAPES
};

/* Any shape but a table. */
struct sd_drawing {
    const char *name; /* key in JSON: "flame" */
    enum sd_shape shape;
    union {
#define SHAPE(id, name) struct sd_view_##name name;
#include "analyse/shapes.def"
#undef SHAPE
    };
};

/* What one run gives: everything `sonde report` prints, in order. */
struct sd_view {
    struct sd_arena arena; /* owns all below */
    struct sd_view_table *tables;
    size_t n_tables;
    struct sd_drawing *drawings;
    size_t n_drawings;
};
void sd_view_release(struct sd_view *v);

/* Adds a drawing that is all zero, to be filled in the view's arena; NULL when out of
 * memory, with its sentence.  Earlier ones may move. */
struct sd_drawing *sd_view_draw(struct sd_view *v, const char *name,
                                enum sd_shape shape);

/* Adds a table of empty cells; NULL when out of memory, with its sentence.  Columns
 * and texts are copied into the view.  Earlier tables may move. */
struct sd_view_table *sd_view_add(struct sd_view *v, const char *name,
                                  const char *title, const struct sd_column *columns,
                                  size_t n_columns, size_t n_rows);
static inline struct sd_cell *sd_view_cell(const struct sd_view_table *t, size_t row,
                                           size_t column)
{
    return &t->cells[row * t->n_columns + column];
}
struct sd_cell sd_cell_number(enum sd_cell_kind kind, int64_t number);
struct sd_cell sd_cell_real(enum sd_cell_kind kind, double real);
/* What its number is, as JSON and pages name it: "count", "bytes"; NULL: it has none.
 */
const char *sd_cell_unit(enum sd_cell_kind kind);
/* The text is borrowed: it should live in the view's arena. */
struct sd_cell sd_cell_text(const char *text);

/* Keeps the rows in which a text matches, and those of a tree that they hang on; says
 * in `note` how many do not. */
int sd_view_table_match(struct sd_view *v, struct sd_view_table *t,
                        const struct sd_matcher *match);

/* Sorts by the column called `key` (largest first, text upwards; "-key" the other way
 * round; NULL: the order stays) and keeps `limit` rows (0: all), saying in `note` how
 * many are left out.  A tree sorts within parents, and is cut after `limit` rows from
 * its top.  SD_EUSAGE with a sentence that lists the columns. */
int sd_view_table_sort(struct sd_view *v, struct sd_view_table *t, const char *key,
                       size_t limit);
#endif
