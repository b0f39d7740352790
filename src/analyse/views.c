/* SPDX-License-Identifier: MIT */
#include "analyse/views.h"

#include <string.h>

#include "analyse/analyse.h"
#include "analyse/model/model_view.h"
#include "analyse/stacks/threads.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

/* --- The list */

enum { /* as views.def writes them */
       PLAIN = SD_VIEW_PLAIN,
       SHARES = SD_VIEW_SHARES,
       EACH = SD_VIEW_EACH,
       OWNERS = SD_VIEW_OWNERS,
       PSTATS = SD_VIEW_PSTATS,
       ANSWER = SD_VIEW_ANSWER,
       APART = SD_VIEW_APART,
       TIME = SD_PART_TIME,
       TRACK = SD_PART_TRACK,
       SECTION = SD_PART_SECTION,
       NOTHING = SD_PART_NOTHING,
};

const struct sd_view_about sd_views[] = {
#define VIEW(name, title, shape, needs, when, flags, follows, recipe, make)            \
    { #name,                                                                           \
      title,                                                                           \
      SD_SHAPE_##shape,                                                                \
      SD_NEEDS_##needs,                                                                \
      SD_WHEN_##when,                                                                  \
      flags,                                                                           \
      follows,                                                                         \
      recipe,                                                                          \
      make,                                                                            \
      NULL,                                                                            \
      NULL },
#define MODEL_VIEW(name, title, shape, when, make)                                     \
    { #name,                                                                           \
      title,                                                                           \
      SD_SHAPE_##shape,                                                                \
      SD_NEEDS_ANY,                                                                    \
      SD_WHEN_##when,                                                                  \
      PLAIN,                                                                           \
      NOTHING,                                                                         \
      NULL,                                                                            \
      NULL,                                                                            \
      make,                                                                            \
      NULL },
#define MODEL_PLOT(name, word, title, shape, needs, make)                              \
    { #name,                                                                           \
      title,                                                                           \
      SD_SHAPE_##shape,                                                                \
      SD_NEEDS_##needs,                                                                \
      SD_WHEN_NAMED,                                                                   \
      PLAIN,                                                                           \
      NOTHING,                                                                         \
      NULL,                                                                            \
      NULL,                                                                            \
      make,                                                                            \
      #word },
#include "analyse/views.def"
#undef VIEW
#undef MODEL_VIEW
#undef MODEL_PLOT
    { .name = NULL },
};

const char sd_profile_view_names[] = ""
#define VIEW(name, ...) "|" #name
#define MODEL_VIEW(...)
#define MODEL_PLOT(...)
#include "analyse/views.def"
#undef VIEW
#undef MODEL_VIEW
#undef MODEL_PLOT
    ;

const char sd_model_view_names[] = ""
#define VIEW(...)
#define MODEL_VIEW(name, ...) "|" #name
#define MODEL_PLOT(name, ...) "|" #name
#include "analyse/views.def"
#undef VIEW
#undef MODEL_VIEW
#undef MODEL_PLOT
    ;

const char sd_model_plot_words[] = ""
#define VIEW(...)
#define MODEL_VIEW(...)
#define MODEL_PLOT(name, word, ...) "|" #word
#include "analyse/views.def"
#undef VIEW
#undef MODEL_VIEW
#undef MODEL_PLOT
    ;

static bool is_of(const struct sd_view_about *a, enum sd_view_subject s)
{
    return s == SD_OF_MODEL ? a->of_model != NULL : a->of_profile != NULL;
}

const struct sd_view_about *sd_view_named(enum sd_view_subject s, const char *name,
                                          size_t n)
{
    for (const struct sd_view_about *a = sd_views; a->name; a++)
        if (is_of(a, s) && strlen(a->name) == n && memcmp(a->name, name, n) == 0)
            return a;
    return NULL;
}

unsigned sd_view_follows(const struct sd_view_about *a, enum sd_evidence e,
                         bool has_time)
{
    bool is_of_evidence = a->needs == SD_NEEDS_STACKS || a->needs == SD_NEEDS_LINES;

    if (!is_of_evidence || has_time)
        return a->follows;
    return a->follows & sd_evidence[e].follows & SD_PART_TRACK;
}

struct sd_view_table *sd_views_add(struct sd_view *v, const char *name,
                                   const struct sd_column *columns, size_t n_columns,
                                   size_t n_rows)
{
    const struct sd_view_about *a = sd_views;

    while (a->name && strcmp(a->name, name) != 0)
        a++;
    sd_assert(a->name && a->shape == SD_SHAPE_TABLE);
    return sd_view_add(v, a->name, a->title, columns, n_columns, n_rows);
}

const struct sd_view_about *sd_view_of_plot(const char *word)
{
    for (const struct sd_view_about *a = sd_views; a->name; a++)
        if (a->plot && strcmp(a->plot, word) == 0)
            return a;
    return NULL;
}

bool sd_view_names_have(const char *names, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = names; *at; at += strspn(at, ",")) {
        size_t k = strcspn(at, ",");

        if (k == n && memcmp(at, name, n) == 0)
            return true;
        at += k;
    }
    return false;
}

/* Adds "functions, calls and lines": tables, or all others. */
static void put_names(struct sd_buf *to, enum sd_view_subject s, bool are_tables)
{
    const char *before = NULL;
    size_t n = 0;

    for (const struct sd_view_about *a = sd_views; a->name; a++) {
        if (!is_of(a, s) || (a->shape == SD_SHAPE_TABLE) != are_tables)
            continue;
        if (before)
            sd_buf_printf(to, "%s%s", n++ ? ", " : "", before);
        before = a->name;
    }
    sd_buf_printf(to, "%s%s", n ? " and " : "", before);
}

static int no_view(enum sd_view_subject s, const char *name, size_t n)
{
    struct sd_buf tables = { 0 }, drawings = { 0 };
    int rc;

    put_names(&tables, s, true);
    put_names(&drawings, s, false);
    rc = sd_fail(
        SD_EUSAGE,
        "there is no table \"%.*s\"%s; the tables are %s, and with --json also %s",
        (int)n, name, s == SD_OF_MODEL ? " of a model" : "", sd_buf_string(&tables),
        sd_buf_string(&drawings));
    sd_buf_release(&tables);
    sd_buf_release(&drawings);
    return rc;
}

/* Those of tables without rows are names, too. */
int sd_view_names_check(enum sd_view_subject s, const struct sd_view_request *r)
{
    const char *names = r->views;

    for (const char *at = names; at && *at; at += strspn(at, ",")) {
        size_t n = strcspn(at, ",");
        const struct sd_view_about *a = sd_view_named(s, at, n);

        if (!a)
            return no_view(s, at, n);
        if (a->shape != SD_SHAPE_TABLE && !r->has_drawings)
            return sd_fail(SD_EUSAGE,
                           "%s is a picture, not a table; --json writes its data",
                           a->name);
        at += n;
    }
    return names && !*names ? no_view(s, names, 0) : 0;
}

/* --- What of a profile is wanted */

/* Traced calls know no lines; the view itself sees to that. */
static bool lacks_evidence(const struct sd_profile *p, const struct sd_view_about *a)
{
    switch (a->needs) {
    case SD_NEEDS_STACKS:
        return !sd_profile_has_stacks(p);
    case SD_NEEDS_LINES:
        return !sd_profile_has_stacks(p) && !sd_profile_has(p, SD_LINES);
    case SD_NEEDS_ANY:
    case SD_NEEDS_SLICES:
    case SD_NEEDS_MACHINE:
        break;
    }
    return false;
}

static bool is_wanted(const struct sd_profile *p, const struct sd_view_request *r,
                      const struct sd_view_about *a)
{
    if (r->views)
        return sd_view_names_have(r->views, a->name);
    if (lacks_evidence(p, a))
        return false;
    switch (a->when) {
    case SD_WHEN_FLAT:
        return !r->is_tree;
    case SD_WHEN_TREE:
        return r->is_tree;
    case SD_WHEN_ALWAYS:
        return true;
    case SD_WHEN_READINGS: /* without them a row would be little more than a pid */
        return !r->is_short || p->n_series > 0;
    case SD_WHEN_LONG:
        return !r->is_short;
    case SD_WHEN_UNCOUNTED: /* of models */
    case SD_WHEN_WEIGHTS:
    case SD_WHEN_NAMED:
        return false;
    }
    return false;
}

bool sd_views_have(const struct sd_profile *p, const struct sd_view_request *r,
                   const char *name)
{
    const struct sd_view_about *a = sd_view_named(SD_OF_PROFILE, name, strlen(name));

    return a && is_wanted(p, r, a);
}

bool sd_views_need_slices(const struct sd_view_request *r)
{
    for (const struct sd_view_about *a = sd_views; r->views && a->name; a++)
        if (a->needs == SD_NEEDS_SLICES && sd_view_names_have(r->views, a->name))
            return true;
    return false;
}

bool sd_views_are_traced(const struct sd_profile *p, const struct sd_view_request *r)
{
    return sd_profile_has(p, SD_CALLS) &&
           sd_sample_choice_evidence(p, &r->stacks.choice) == SD_CALLS;
}

bool sd_views_are_both(const struct sd_profile *p, const struct sd_view_request *r)
{
    unsigned n = 0;

    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        n += sd_evidence_has_stacks(e) && sd_profile_recorded(p, e);
    return r->has_both && !r->stacks.choice.metric && n > 1;
}

bool sd_views_leave_idle_out(const struct sd_profile *p,
                             const struct sd_view_request *r)
{
    for (const struct sd_view_about *a = sd_views;
         a->name && !r->stacks.choice.has_idle; a++)
        if (a->flags & SHARES && is_wanted(p, r, a))
            return true;
    return false;
}

bool sd_views_by_cpu(const struct sd_profile *p, const struct sd_sample_choice *choice,
                     struct sd_buf *why)
{
    double share;

    if (choice->metric || choice->has_idle || !sd_analyse_lacks_cpu(p, &share))
        return false;
    sd_buf_printf(why,
                  "threads that could run had a CPU %.0f %% of the time (a busy "
                  "machine, or a limit), so shares are of CPU time; to see shares of "
                  "samples: sonde report --metric samples",
                  100 * share);
    return true;
}

/* --- Views of a profile */

/* "Functions" becomes "Sampled functions", or "Traced functions" in JSON under a key of
 * its own: the keys of the first evidence are those that it has alone. */
static int tell_apart(struct sd_view *v, size_t from, enum sd_evidence e, bool is_first)
{
    const char *verb = sd_evidence[e].verb;

    for (size_t i = from; i < v->n_tables; i++) {
        struct sd_view_table *t = &v->tables[i];
        char *title = sd_arena_printf(&v->arena, "%s %s", verb, t->title);
        char *name = sd_arena_printf(&v->arena, "%s_%s", verb, t->name);

        if (!title || !name)
            return sd_no_memory();
        title[0] = (char)(title[0] - 'a' + 'A');
        title[strlen(verb) + 1] = (char)(title[strlen(verb) + 1] - 'A' + 'a');
        t->title = title;
        t->name = is_first ? t->name : name;
    }
    return 0;
}

static int name_drawings(struct sd_view *v, size_t from, enum sd_evidence e)
{
    for (size_t i = from; i < v->n_drawings; i++) {
        struct sd_drawing *d = &v->drawings[i];

        d->name = sd_arena_printf(&v->arena, "%s_%s", sd_evidence[e].verb, d->name);
        if (!d->name)
            return sd_no_memory();
    }
    return 0;
}

/* Has a table before this one given the reason? */
static bool is_told(const struct sd_view *v, size_t n_tables, const char *why)
{
    for (size_t i = 0; i < n_tables; i++)
        if (v->tables[i].note && strstr(v->tables[i].note, why))
            return true;
    return false;
}

/* Behind what the table says itself. */
static int add_note(struct sd_view *v, struct sd_view_table *t, const char *text)
{
    const char *note = sd_arena_printf(&v->arena, "%s%s%s", t->note ? t->note : "",
                                       t->note ? "; " : "", text);

    if (!note)
        return sd_no_memory();
    t->note = note;
    return 0;
}

static int make_rows(const struct sd_profile *p, const struct sd_view_request *r,
                     const struct sd_view_about *a, struct sd_view *v)
{
    return r->has_threads && a->flags & OWNERS
               ? sd_stacks_by_thread(p, r, a->of_profile, v)
               : a->of_profile(p, r, v);
}

static int make_by_cpu(const struct sd_profile *p, const struct sd_view_request *r,
                       const struct sd_view_about *a, struct sd_view *v)
{
    struct sd_view_request by_cpu = *r;
    struct sd_buf why = { 0 };
    size_t from = v->n_tables;
    bool is_by_cpu = sd_views_by_cpu(p, &r->stacks.choice, &why);
    int rc;

    if (is_by_cpu)
        by_cpu.stacks.choice.metric = "cpu";
    rc = make_rows(p, &by_cpu, a, v);
    if (rc == 0 && why.bad)
        rc = sd_no_memory();
    for (; is_by_cpu && from < v->n_tables && rc == 0; from++)
        rc = add_note(v, &v->tables[from],
                      is_told(v, from, sd_buf_string(&why)) ? "shares are of CPU time"
                                                            : sd_buf_string(&why));
    sd_buf_release(&why);
    return rc;
}

static int make(const struct sd_profile *p, const struct sd_view_request *r,
                const struct sd_view_about *a, struct sd_view *v)
{
    if (!is_wanted(p, r, a) || lacks_evidence(p, a) ||
        (a->flags & PSTATS && r->has_pstats && sd_views_are_traced(p, r)))
        return 0;
    if (r->is_for_eyes && a->flags & SHARES && sd_profile_has(p, SD_SAMPLES) &&
        sd_sample_choice_evidence(p, &r->stacks.choice) == SD_SAMPLES)
        return make_by_cpu(p, r, a, v);
    return make_rows(p, r, a, v);
}

/* One evidence, where another has been shown already. */
static int make_other(const struct sd_profile *p, const struct sd_view_request *r,
                      enum sd_evidence e, struct sd_view *v)
{
    struct sd_view_request other = *r;
    size_t from = v->n_tables, from_drawing = v->n_drawings;
    int rc = 0;

    other.stacks.choice.evidence = &sd_evidence[e];
    for (const struct sd_view_about *a = sd_views; a->name && rc == 0; a++)
        if (a->flags & EACH)
            rc = make(p, &other, a, v);
    if (rc == 0)
        rc = tell_apart(v, from, e, false);
    return rc < 0 ? rc : name_drawings(v, from_drawing, e);
}

/* Whoever asks for lines where there are none is told who has them. */
static int check_lines(const struct sd_profile *p, const struct sd_view_request *r)
{
    bool are_wanted =
        r->stacks.by == SD_CALLS_BY_LINE ||
        (r->views && sd_view_names_have(r->views, "lines")) ||
        (r->views && strcmp(r->views, "source") == 0 && !sd_profile_has(p, SD_LINES));

    if (!are_wanted || !sd_views_are_traced(p, r))
        return 0;
    return sd_fail(SD_EUSAGE,
                   "traced calls have no lines, only whole functions; samples have "
                   "lines: sonde record, or sonde run --with calls,sample");
}

static bool is_whole(const struct sd_filter *f)
{
    return !f->from_ns && !f->to_ns && !f->track && !f->section && !f->match;
}

static bool is_any_without_stacks(const struct sd_profile *p,
                                  const struct sd_view_request *r)
{
    for (const struct sd_view_about *a = sd_views; a->name; a++)
        if (a->of_profile && a->needs != SD_NEEDS_SLICES && !lacks_evidence(p, a) &&
            sd_view_names_have(r->views, a->name))
            return true;
    return false;
}

/* A selection may leave no stacks, and none is an answer then.  But whoever asks for
 * nothing but views of stacks, where none were recorded, is told how they are. */
static int check_stacks(const struct sd_profile *p, const struct sd_view_request *r)
{
    char verbs[SD_EVIDENCE_TEXT], commands[SD_EVIDENCE_TEXT];

    if (!r->views || sd_profile_has_stacks(p) || !is_whole(&r->selection) ||
        is_any_without_stacks(p, r))
        return 0;
    return sd_fail(SD_EABSENT, "nothing was %s, so %s cannot be shown; record with: %s",
                   sd_evidence_verbs(verbs), r->views, sd_evidence_commands(commands));
}

int sd_views_draw(const struct sd_profile *p, const struct sd_view_request *r,
                  const char *name, struct sd_view *v)
{
    const struct sd_view_about *a = sd_view_named(SD_OF_PROFILE, name, strlen(name));

    sd_assert(a && a->shape != SD_SHAPE_TABLE);
    return a->of_profile(p, r, v);
}

int sd_views_make(const struct sd_profile *p, const struct sd_view_request *r,
                  struct sd_view *v)
{
    bool are_both = sd_views_are_both(p, r);
    enum sd_evidence first = sd_sample_choice_evidence(p, &r->stacks.choice);
    int rc = sd_view_names_check(SD_OF_PROFILE, r);

    if (rc == 0 && !are_both)
        rc = check_lines(p, r);
    if (rc == 0)
        rc = check_stacks(p, r);
    for (const struct sd_view_about *a = sd_views; a->name && rc == 0; a++) {
        size_t from = v->n_tables;

        rc = a->of_profile ? make(p, r, a, v) : 0;
        if (rc == 0 && are_both && a->flags & EACH)
            rc = tell_apart(v, from, first, true);
    }
    for (enum sd_evidence e = first + 1; are_both && e < SD_EVIDENCES && rc == 0; e++)
        if (sd_evidence_has_stacks(e) && sd_profile_has(p, e))
            rc = make_other(p, r, e, v);
    return rc;
}

/* --- Views of a model */

static bool is_wanted_of_model(const struct sd_model_costs *c,
                               const struct sd_view_request *r,
                               const struct sd_view_about *a)
{
    bool has_operators = sd_model_knows_operators(c->model);
    bool is_flat = !r->is_tree && !r->has_impact;

    if (r->views)
        return sd_view_names_have(r->views, a->name);
    switch (a->when) {
    case SD_WHEN_ALWAYS:
        return has_operators || !is_flat || !r->is_short;
    case SD_WHEN_FLAT:
        return (has_operators && is_flat) || !r->is_short;
    case SD_WHEN_UNCOUNTED: /* programs have them beside the sums */
        return has_operators && is_flat && c->total.n_unknown > 0 && r->is_short;
    case SD_WHEN_WEIGHTS:
        return (!has_operators && is_flat) || !r->is_short;
    case SD_WHEN_LONG:
        return !r->is_short;
    case SD_WHEN_TREE:
    case SD_WHEN_READINGS:
    case SD_WHEN_NAMED:
        return false;
    }
    return false;
}

int sd_views_make_model(const struct sd_model_costs *c, const struct sd_view_request *r,
                        struct sd_view *v)
{
    int rc = sd_view_names_check(SD_OF_MODEL, r);

    if (rc == 0 && r->is_tree && (r->type || r->has_impact))
        rc = sd_fail(SD_EUSAGE,
                     "%s cannot be combined with --tree, which shows all layers",
                     r->type ? "--type" : "--impact");
    for (const struct sd_view_about *a = sd_views; a->name && rc == 0; a++)
        if (a->of_model && is_wanted_of_model(c, r, a))
            rc = a->of_model(c, r, v);
    return rc;
}
