/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_OUTPUT_H
#define SD_FORMATS_OUTPUT_H
/* output: the contract of a kind of file that is written: another program's format, a
 * picture, or tables.  Each is one .c and a line in outputs/outputs.def; it says what
 * it needs and what it loses. */
#include "base/out.h"
#include "formats/stack_style.h"
#include "profile/call_stats.h"
#include "profile/events.h"
#include "profile/lines/line_stats.h"

struct sd_remarks;

/* What is left out of a page that others will see. */
enum sd_page_privacy {
    SD_PAGE_WHOLE = 0,
    SD_PAGE_NO_SOURCE = 1,
    SD_PAGE_SHARED = 2, /* no source, host, folders, arguments */
};

/* What a file can hold, as bits: an input gives some of it, an output needs one of
 * several. */
enum sd_holds {
    SD_HOLDS_EVENTS = 1 << 0,   /* all events, in a capture */
    SD_HOLDS_STACKS = 1 << 1,   /* samples or traced calls, with their stacks */
    SD_HOLDS_CALLS = 1 << 2,    /* functions and who calls whom */
    SD_HOLDS_LINES = 1 << 3,    /* counted lines of functions */
    SD_HOLDS_READINGS = 1 << 4, /* memory, CPU time, ... over time */
    SD_HOLDS_MODEL = 1 << 5,    /* layers and operators of a model */
    SD_HOLDS_SECTIONS = 1 << 6, /* named regions that the program opened */
    SD_HOLDS_TIMELINE = 1 << 7, /* when each call began and ended */
    SD_HOLDS_TIMES = 1 << 8,    /* samples, traced calls or events of readings: what a
                                   trace shows, and allocations are not */
    SD_HOLDS_TIMINGS = 1 << 9,  /* batches of timed statements */
};

/* What is written.  All of it is borrowed for the call. */
struct sd_output_job {
    const char *from; /* the file that was read; it can be opened again */
    const char *name; /* by which that was typed, where it is another; or NULL */
    const char *to;   /* the file that is written; "-" is stdout */
    const struct sd_profile *profile;   /* of a capture, else NULL */
    const struct sd_filter *filter;     /* it was loaded with this; NULL: with none */
    struct sd_call_stats *calls;        /* of a file with calls alone, else NULL */
    const struct sd_line_stats *lines;  /* of a file with lines alone, else NULL */
    const struct sd_stack_style *style; /* which stacks are written, and how; NULL: as
                                           the output does by itself */
    unsigned privacy;                   /* of a page: enum sd_page_privacy */
    const struct sd_remarks *remarks;   /* takes what the user should know, or NULL */
};

/* How tables are written. */
enum sd_table_form { SD_TABLE_TEXT, SD_TABLE_CSV, SD_TABLE_JSON };

enum { SD_SUFFIXES_MAX = 6 };

struct sd_output {
    const char *name; /* a word of --format */
    /* Ended by NULL; the usual one first.  Outputs may share one: the first in the list
     * that can be made of what was read is chosen. */
    const char *suffixes[SD_SUFFIXES_MAX];
    const char *pyspy_word;   /* py-spy's word for it, or NULL: the name */
    const char *pyspy_suffix; /* of py-spy's files, where it is another */
    const char *summary;
    const char *loses; /* what is not in the file */
    unsigned needs;    /* enum sd_holds: one of these */
    bool reads_events; /* reads the capture once more, event by event */
    bool has_tables; /* `sonde report -o` writes tables to such a file, in this form */
    enum sd_table_form form;
    bool is_page;     /* shows everything at once, for a browser */
    bool folds_paths; /* has every path of traced calls in full: large ones are folded
                         (outputs/path_fold.h) */
    bool shows_functions;  /* by itself frames are functions, not their lines */
    bool prefers_timeline; /* where calls have one, it is written instead of their paths
                            */
    const struct sd_output *of_timeline; /* what the suffix alone means for a capture
                                            with a timeline; NULL: the same */
    int (*write)(const struct sd_output_job *job, struct sd_out *out); /* NULL: only
                                                                          recorded */
};

/* What is shown of where it comes from. */
static inline const char *sd_output_from(const struct sd_output_job *job)
{
    return job->name ? job->name : job->from;
}

static inline struct sd_stack_style sd_output_style(const struct sd_output_job *job)
{
    return job->style ? *job->style : (struct sd_stack_style){ 0 };
}
#endif
