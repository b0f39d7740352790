/* SPDX-License-Identifier: MIT */
/* collapsed: writes one line for each different stack, outermost frame first, frames
 * separated by ';', then a space and its amount.  What flamegraph.pl, speedscope and
 * many others read; py-spy calls it raw. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "formats/format_frames.h"
#include "formats/output.h"
#include "profile/triples.h"

enum { NONE = UINT32_MAX };

/* Stacks as they are shown: a tree again, because some that differ in the profile may
 * now be equal.  A node is (parent, label); labels are frames, then tracks. */
struct shown {
    const struct sd_profile *p;
    const struct sd_stack_style *style;
    const struct sd_stack_totals *totals;
    struct sd_frames frames;
    struct sd_triples nodes;
    struct sd_triples places; /* root, stack, 0 */
    uint32_t *node_at;        /* owned; by place */
    size_t cap_places;
    int64_t *amounts; /* owned; by node */
    size_t cap_amounts;
    uint32_t column;
    uint32_t *path; /* owned; labels from the newest out */
    size_t cap_path;
};

/* --- From totals to nodes */

static int add_node(struct shown *s, uint32_t parent, uint32_t label, uint32_t *id)
{
    struct sd_triple key = { parent, label, 0 };
    int64_t *amounts;
    int rc = sd_triples_add(&s->nodes, key, id);

    if (rc < 0)
        return rc;
    if (*id < s->cap_amounts)
        return 0;
    amounts = sd_regrow(s->amounts, s->nodes.cap * sizeof *amounts);
    if (!amounts)
        return sd_no_memory();
    memset(amounts + s->cap_amounts, 0,
           (s->nodes.cap - s->cap_amounts) * sizeof *amounts);
    s->amounts = amounts;
    s->cap_amounts = s->nodes.cap;
    return 0;
}

/* The nodes that stand before the first frame: process, thread. */
static int root_of(struct shown *s, sd_track_id track, uint32_t *root)
{
    uint32_t first_track = (uint32_t)s->frames.n;
    sd_track_id process = sd_profile_process_of(s->p, track);
    int rc = 0;

    *root = NONE;
    if (s->style->has_processes && process.at != NONE)
        rc = add_node(s, NONE, first_track + process.at, root);
    if (rc == 0 && s->style->has_threads &&
        !(s->style->has_processes && process.at == track.at))
        rc = add_node(s, *root, first_track + track.at, root);
    return rc;
}

/* The node of this stack under this root, if it has one already. */
static uint32_t placed(const struct shown *s, uint32_t root, uint32_t stack)
{
    uint32_t at = sd_triples_find(&s->places, (struct sd_triple){ root, stack, 0 });

    return at == NONE ? NONE : s->node_at[at];
}

static int set_place(struct shown *s, uint32_t root, uint32_t stack, uint32_t node)
{
    uint32_t at, *node_at;
    int rc = sd_triples_add(&s->places, (struct sd_triple){ root, stack, 0 }, &at);

    if (rc < 0)
        return rc;
    node_at = sd_grow_array(s->node_at, &s->cap_places, s->places.n, sizeof *node_at);
    if (!node_at)
        return sd_no_memory();
    s->node_at = node_at;
    node_at[at] = node;
    return 0;
}

/* Makes the nodes of a stack: out to the first frame that has one, then back in. */
static int place_stack(struct shown *s, uint32_t root, uint32_t stack, uint32_t *node)
{
    size_t depth = 0;
    uint32_t at = stack;
    int rc = 0;

    *node = NONE;
    for (; at != NONE; at = s->p->stacks[at].parent.at) {
        uint32_t *path;

        *node = placed(s, root, at);
        if (*node != NONE)
            break;
        path = sd_grow_array(s->path, &s->cap_path, depth + 1, sizeof *path);
        if (!path)
            return sd_no_memory();
        s->path = path;
        path[depth++] = at;
    }
    if (*node == NONE)
        *node = root;
    while (depth-- > 0 && rc == 0) {
        at = s->path[depth];
        rc = add_node(s, *node, s->frames.of_stack[at], node);
        if (rc == 0)
            rc = set_place(s, root, at, *node);
    }
    return rc;
}

static int add_total(struct shown *s, size_t i)
{
    const struct sd_sample_total *t = &s->totals->items[i];
    uint32_t root, node = NONE;
    int rc;

    if (t->stack.at == NONE || !sd_format_frames_wants(s->style, t->flags))
        return 0;
    rc = root_of(s, t->track, &root);
    if (rc == 0)
        rc = place_stack(s, root, t->stack.at, &node);
    if (rc == 0)
        s->amounts[node] =
            sd_sum_i64(s->amounts[node], s->totals->values[s->column][i]);
    return rc;
}

/* --- Lines */

/* A name must not end its frame or its line. */
static void put_text(struct sd_buf *to, const char *text)
{
    size_t from = to->n;

    sd_text_escape(to, text, strlen(text));
    for (size_t i = from; !to->bad && i < to->n; i++)
        if (to->p[i] == ';')
            to->p[i] = ',';
}

/* In py-spy's words: a process is known by its command. */
static void put_track(struct sd_buf *to, const struct sd_profile *p, uint32_t track)
{
    const struct sd_track *t = &p->tracks[track];
    const char *name = t->command ? t->command : t->name;

    if (t->kind == SD_TRACK_PROCESS)
        sd_buf_printf(to, "process %" PRIu64 ":\"", t->number);
    else
        sd_buf_printf(to, "thread (%" PRIu64 ")%s", t->number, name ? ": " : "");
    put_text(to, name ? name : "");
    sd_buf_text(to, t->kind == SD_TRACK_PROCESS ? "\"" : "");
}

static void put_label(struct sd_buf *to, const struct shown *s, uint32_t label)
{
    const struct sd_format_frame *f;

    if (label >= s->frames.n) {
        put_track(to, s->p, label - (uint32_t)s->frames.n);
        return;
    }
    f = &s->frames.items[label];
    put_text(to, f->name);
    if (!f->file || !*f->file)
        return;
    sd_buf_text(to, " (");
    put_text(to, f->file);
    if (f->line)
        sd_buf_printf(to, ":%u", f->line);
    sd_buf_text(to, ")");
}

static int put_line(struct shown *s, uint32_t node, struct sd_buf *line)
{
    size_t depth = 0;

    sd_buf_clear(line);
    for (uint32_t at = node; at != NONE; at = s->nodes.items[at].a) {
        uint32_t *path = sd_grow_array(s->path, &s->cap_path, depth + 1, sizeof *path);

        if (!path)
            return sd_no_memory();
        s->path = path;
        path[depth++] = s->nodes.items[at].b;
    }
    while (depth-- > 0) {
        put_label(line, s, s->path[depth]);
        sd_buf_text(line, depth ? ";" : " ");
    }
    sd_buf_printf(line, "%" PRId64 "\n", s->amounts[node]);
    return line->bad ? sd_no_memory() : 0;
}

static int put_lines(struct shown *s, struct sd_out *out)
{
    struct sd_buf line = { 0 };
    int rc = 0;

    for (uint32_t i = 0; i < s->nodes.n && rc == 0 && out->err == 0; i++) {
        if (s->amounts[i] <= 0)
            continue;
        rc = put_line(s, i, &line);
        if (rc == 0)
            sd_out_write(out, line.p, line.n);
    }
    sd_buf_release(&line);
    return rc;
}

static int write(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_profile *p = job->profile;
    const struct sd_stack_style style = sd_output_style(job);
    enum sd_evidence evidence = sd_profile_evidence(p, style.metric);
    struct shown s = { .p = p,
                       .style = &style,
                       .totals = &p->evidence[evidence].stacks };
    const char *metric = style.metric ? style.metric : sd_evidence_metric(p, evidence);
    int rc;

    s.column = sd_totals_metric(p, s.totals, metric);
    if (s.column == NONE)
        return s.totals->n == 0
                   ? 0
                   : sd_fail(SD_EUSAGE, "samples have no metric \"%s\"", metric);
    rc = sd_format_frames_make(p, &style, &s.frames);
    for (size_t i = 0; i < s.totals->n && rc == 0; i++)
        rc = add_total(&s, i);
    if (rc == 0)
        rc = put_lines(&s, out);
    sd_format_frames_release(&s.frames);
    sd_triples_release(&s.nodes);
    sd_triples_release(&s.places);
    sd_free(s.node_at);
    sd_free(s.amounts);
    sd_free(s.path);
    return rc;
}

const struct sd_output sd_output_collapsed = {
    .name = "collapsed",
    .suffixes = { ".collapsed" },
    .pyspy_word = "raw",
    .pyspy_suffix = ".txt",
    .summary = "one line per different stack and how often it was seen (for traced "
               "calls, how many ns); py-spy's raw",
    .loses =
        "the order of time, which thread it was unless asked for, every metric but "
        "one, sections, readings, idle samples unless asked for",
    .needs = SD_HOLDS_STACKS,
    .folds_paths = true,
    .write = write,
};
