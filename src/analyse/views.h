/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_VIEWS_H
#define SD_ANALYSE_VIEWS_H
/* views: the list of what can be shown of a profile or a model (views.def), and the
 * choice of what is shown.
 *
 * Whoever shows something walks this list and knows no view by name; a view that is
 * added is then in reports, in JSON, in help, completions and refusals. */
#include "analyse/view.h"
#include "analyse/view_request.h"

/* Without this a view is left out. */
enum sd_view_needs {
    SD_NEEDS_ANY,    /* nothing: a view of nothing has no rows, or says what it lacks */
    SD_NEEDS_STACKS, /* evidence with stacks */
    SD_NEEDS_LINES,  /* evidence with lines: of stacks, or counted */
    SD_NEEDS_SLICES, /* samples, and the capture by time, in the request */
    SD_NEEDS_MACHINE, /* the peak of this machine, in the request */
};

/* When a view is shown without being asked for by name. */
enum sd_view_when {
    SD_WHEN_FLAT,      /* unless a tree is wanted; of models also unless impact is */
    SD_WHEN_TREE,      /* when a tree is wanted */
    SD_WHEN_ALWAYS,    /* in either case; of models where operators are known */
    SD_WHEN_READINGS,  /* if there are readings over time, or as LONG */
    SD_WHEN_LONG,      /* unless the request is short (is_short): in JSON */
    SD_WHEN_UNCOUNTED, /* as FLAT, where operators could not be counted */
    SD_WHEN_WEIGHTS,   /* of a file of weights alone, or as LONG */
    SD_WHEN_NAMED,     /* never */
};

enum sd_view_flags {
    SD_VIEW_PLAIN = 0,
    SD_VIEW_SHARES = 1,  /* has shares of samples; on a busy machine they are of CPU
                            time instead: choice.metric says which */
    SD_VIEW_EACH = 2,    /* once for each evidence with stacks */
    SD_VIEW_OWNERS = 4,  /* with --per-thread: a table or rows for each thread */
    SD_VIEW_PSTATS = 8,  /* of traced calls: printed in the tables of pstats */
    SD_VIEW_ANSWER = 16, /* is shown without rows, too: that there are none is news */
    SD_VIEW_APART = 32,  /* a page has it in its head and no tab for it */
};

typedef int sd_profile_view(const struct sd_profile *p, const struct sd_view_request *r,
                            struct sd_view *v);
typedef int sd_model_view(const struct sd_model_costs *c,
                          const struct sd_view_request *r, struct sd_view *v);

struct sd_view_about {
    const char *name;  /* of --table, and the key in JSON */
    const char *title; /* its heading */
    enum sd_shape shape;
    enum sd_view_needs needs;
    enum sd_view_when when;
    unsigned flags; /* enum sd_view_flags */
    /* What of a selection it follows (enum sd_selection_part), where its evidence does:
     * sd_view_follows.  While something else is selected it shows the whole run, and
     * whoever shows it says so. */
    unsigned follows;
    /* How whoever has stacks over time (struct sd_view_stacks) makes it from them, for
     * any selection: "functions"; NULL: it cannot be made from them. */
    const char *recipe;
    sd_profile_view *of_profile; /* adds it to a view; NULL: it is of a model */
    sd_model_view *of_model;     /* the same of a model */
    const char *plot;            /* the word of --plot that draws it, or NULL */
};
extern const struct sd_view_about sd_views[]; /* ended by a name of NULL */

enum sd_view_subject { SD_OF_PROFILE, SD_OF_MODEL };
/* By its name, of `n` letters, or NULL. */
const struct sd_view_about *sd_view_named(enum sd_view_subject s, const char *name,
                                          size_t n);
/* Adds a table of this list, with its title, as sd_view_add does. */
struct sd_view_table *sd_views_add(struct sd_view *v, const char *name,
                                   const struct sd_column *columns, size_t n_columns,
                                   size_t n_rows);
/* What of a selection it follows (enum sd_selection_part), made of this evidence, of
 * which one knows when it was, as of calls with a timeline, or only whose it is. */
unsigned sd_view_follows(const struct sd_view_about *a, enum sd_evidence e,
                         bool has_time);
/* By the word of --plot, or NULL. */
const struct sd_view_about *sd_view_of_plot(const char *word);
/* The names and the words of --plot, for tables of options: "|functions|calls|...". */
extern const char sd_profile_view_names[], sd_model_view_names[], sd_model_plot_words[];
/* Is the name one of these, which commas keep apart? */
bool sd_view_names_have(const char *names, const char *name);
/* Are all of them views?  SD_EUSAGE with a sentence that lists them, or that says how
 * to get a picture where drawings are not asked for. */
int sd_view_names_check(enum sd_view_subject s, const struct sd_view_request *r);

/* Makes one drawing, which the request need not name.  It is the last of the view's. */
int sd_views_draw(const struct sd_profile *p, const struct sd_view_request *r,
                  const char *name, struct sd_view *v);
/* Fills a zeroed view with all that is wanted of a profile.  Of evidence that is not
 * the first, names stand behind its verb: "traced_functions". SD_EUSAGE with a sentence
 * when there is no such view. */
int sd_views_make(const struct sd_profile *p, const struct sd_view_request *r,
                  struct sd_view *v);
/* The same of a model. */
int sd_views_make_model(const struct sd_model_costs *c, const struct sd_view_request *r,
                        struct sd_view *v);

/* Is this one of the views of a profile that are wanted? */
bool sd_views_have(const struct sd_profile *p, const struct sd_view_request *r,
                   const char *name);
/* Are those of stacks made of traced calls, not of samples? */
bool sd_views_are_traced(const struct sd_profile *p, const struct sd_view_request *r);
/* Is one of those that are named made of slices (view_request.h)? */
bool sd_views_need_slices(const struct sd_view_request *r);
/* Are there views of several kinds of evidence? */
bool sd_views_are_both(const struct sd_profile *p, const struct sd_view_request *r);
/* Is one of them of samples, without those of threads that waited? */
bool sd_views_leave_idle_out(const struct sd_profile *p,
                             const struct sd_view_request *r);
/* Should shares of samples be of CPU time, as nothing else was asked for?  Then *why is
 * a sentence about it. */
bool sd_views_by_cpu(const struct sd_profile *p, const struct sd_sample_choice *choice,
                     struct sd_buf *why);

/* The functions of the list. */
#define VIEW(name, title, shape, needs, when, flags, follows, recipe, make)            \
    sd_profile_view make;
#define MODEL_VIEW(name, title, shape, when, make) sd_model_view make;
#define MODEL_PLOT(name, word, title, shape, needs, make) sd_model_view make;
#include "analyse/views.def"
#undef VIEW
#undef MODEL_VIEW
#undef MODEL_PLOT
#endif
