/* SPDX-License-Identifier: MIT */
#include "analyse/findings/findings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "analyse/views.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

enum { NAME_BYTES = 120 }; /* of a function; longer ones end in "…" */

static const struct {
    const char *name;
    sd_finding_rule *find;
} rules[] = {
#define FINDING(name, rule) { #name, rule },
#include "analyse/findings/findings.def"
#undef FINDING
};
enum { N_RULES = sizeof rules / sizeof *rules };

int sd_findings_make(const struct sd_profile *p, const struct sd_view_request *r,
                     struct sd_arena *a, struct sd_profile_findings *out)
{
    struct sd_finding_case c = { .p = p, .r = r, .arena = a };
    int rc = 0;

    *out = (struct sd_profile_findings){ 0 };
    for (size_t i = 0; i < N_RULES && rc >= 0 && out->n < SD_FINDINGS_MAX; i++) {
        struct sd_profile_finding one = { .rule = rules[i].name };

        rc = rules[i].find(&c, &one);
        sd_assert(rc != 1 || (one.text && one.value.kind != SD_CELL_NONE));
        if (rc == 1)
            out->items[out->n++] = one;
    }
    if (c.has_tree)
        sd_calltree_release(&c.tree);
    return rc < 0 ? rc : 0;
}

/* --- For rules */

/* Rules that ask for the tree speak of time. */
static bool is_of_memory(const struct sd_calltree *t)
{
    return t->n_metrics > 0 &&
           t->p->metrics[t->totals->metrics[t->metric].at].unit == SD_UNIT_BYTES;
}

int sd_finding_tree(struct sd_finding_case *c)
{
    struct sd_sample_choice choice = c->r->stacks.choice;
    int rc = 0;

    if (!sd_profile_has_stacks(c->p))
        return 0;
    choice.folds_imports = true;
    choice.is_mine = choice.has_track = false;
    if (!c->has_tree)
        rc = sd_calltree_make(c->p, &choice, SD_CALLS_BY_FUNCTION, &c->tree);
    c->has_tree |= rc == 0;
    return rc < 0 ? rc : c->tree.n_nodes > 0 && !is_of_memory(&c->tree);
}

static const char *text_of(struct sd_finding_case *c, struct sd_buf *b)
{
    const char *text =
        b->bad ? NULL : sd_arena_string(c->arena, (const char *)b->p, b->n);

    if (!text)
        sd_no_memory();
    sd_buf_release(b);
    return text;
}

int sd_finding_say(struct sd_finding_case *c, struct sd_profile_finding *out,
                   const char *fmt, ...)
{
    struct sd_buf b = { 0 };
    va_list args;

    va_start(args, fmt);
    sd_buf_vprintf(&b, fmt, args);
    va_end(args);
    out->text = text_of(c, &b);
    return out->text ? 1 : SD_ENOMEM;
}

const char *sd_finding_function(struct sd_finding_case *c, const struct sd_site *s)
{
    const char *file = s->file ? sd_site_short_file(s) : NULL;
    size_t n = strlen(s->name), n_cut = n;
    struct sd_buf b = { 0 };

    if (n > NAME_BYTES)
        n_cut = sd_text_whole(s->name, NAME_BYTES);
    sd_buf_add(&b, s->name, n_cut);
    sd_buf_text(&b, n > NAME_BYTES ? "…" : "");
    if (file && strlen(file) <= NAME_BYTES)
        sd_buf_printf(&b, s->line ? " (%s:%u)" : " (%s)", file, s->line);
    return text_of(c, &b);
}

static void put_search(struct sd_buf *to, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\^$.|?*+()[]{}", *text))
            sd_buf_u8(to, '\\');
        sd_buf_u8(to, (uint8_t)*text);
    }
}

const char *sd_finding_search(struct sd_finding_case *c, const char *text)
{
    struct sd_buf b = { 0 };

    put_search(&b, text);
    return text_of(c, &b);
}

const char *sd_finding_search_name(struct sd_finding_case *c, const char *name)
{
    struct sd_buf b = { 0 };

    sd_buf_u8(&b, '^');
    put_search(&b, name);
    sd_buf_u8(&b, '$');
    return text_of(c, &b);
}

const char *sd_finding_thread(struct sd_finding_case *c, sd_track_id t)
{
    sd_track_id process = sd_profile_process_of(c->p, t);
    struct sd_buf b = { 0 };

    if (process.at != UINT32_MAX)
        sd_buf_printf(&b, "%" PRIu64, c->p->tracks[process.at].number);
    if (process.at != t.at)
        sd_buf_printf(&b, "%s%" PRIu64, b.n ? "/" : "", c->p->tracks[t.at].number);
    return text_of(c, &b);
}

const char *sd_finding_verb(const struct sd_finding_case *c)
{
    static const char *const verbs[] = {
#define SD_EVIDENCE(id, shape, name, verb, ...) [SD_##id] = verb " ",
#include "profile/evidence.def"
#undef SD_EVIDENCE
    };

    return sd_profile_n_stacked(c->p) > 1 ? verbs[c->tree.evidence] : "";
}

/* --- As a table */

enum column { RULE, TEXT, VALUE, UNIT, VIEW, SELECTION, N_COLUMNS };

static const struct sd_column columns[N_COLUMNS] = {
    [RULE] = { "finding", "which rule found it", SD_CELL_TEXT, true, 0 },
    [TEXT] = { "text", "what stands out", SD_CELL_TEXT, false, 0 },
    [VALUE] = { "value", "its figure", SD_CELL_REAL, true, 0 },
    [UNIT] = { "unit", "of the value", SD_CELL_TEXT, true, 0 },
    [VIEW] = { "view", "the table or picture that shows it", SD_CELL_TEXT, false, 2 },
    [SELECTION] = { "selection", "options of report that select what it is about",
                    SD_CELL_TEXT, false, 1 },
};

/* A word for a shell, in quotes where it needs them. */
static void put_word(struct sd_buf *to, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_.:/=+,@%-";

    if (*word && word[strspn(word, plain)] == '\0') {
        sd_buf_text(to, word);
        return;
    }
    sd_buf_text(to, "'");
    for (; *word; word++)
        if (*word == '\'')
            sd_buf_text(to, "'\\''");
        else
            sd_buf_u8(to, (uint8_t)*word);
    sd_buf_text(to, "'");
}

static void put_option(struct sd_buf *to, const char *option, const char *word)
{
    if (!word)
        return;
    sd_buf_printf(to, "%s--%s ", to->n ? " " : "", option);
    put_word(to, word);
}

static int selection_cell(struct sd_finding_case *c,
                          const struct sd_finding_selection *s, struct sd_cell *cell)
{
    struct sd_buf b = { 0 };
    const char *text;

    if (s->to_ns > 0)
        sd_buf_printf(&b, "--from %" PRIu64 "ns --to %" PRIu64 "ns", s->from_ns,
                      s->to_ns);
    put_option(&b, "section", s->section);
    put_option(&b, "track", s->thread);
    put_option(&b, "match", s->search);
    put_option(&b, "metric", s->metric);
    if (b.n == 0 && !b.bad)
        return 0;
    text = text_of(c, &b);
    *cell = sd_cell_text(text);
    return text ? 0 : SD_ENOMEM;
}

int sd_findings_view(const struct sd_profile *p, const struct sd_view_request *r,
                     struct sd_view *v)
{
    struct sd_finding_case c = { .arena = &v->arena };
    struct sd_profile_findings all;
    struct sd_view_table *t;
    int rc = sd_findings_make(p, r, &v->arena, &all);

    if (rc < 0)
        return rc;
    t = sd_views_add(v, "findings", columns, N_COLUMNS, all.n);
    for (size_t i = 0; t && i < all.n && rc == 0; i++) {
        const struct sd_profile_finding *f = &all.items[i];
        struct sd_cell *row = sd_view_cell(t, i, 0);

        row[RULE] = sd_cell_text(f->rule);
        row[TEXT] = sd_cell_text(f->text);
        row[VALUE] = f->value;
        row[UNIT] = sd_cell_text(sd_cell_unit(f->value.kind));
        row[VIEW] = f->view ? sd_cell_text(f->view) : (struct sd_cell){ 0 };
        rc = selection_cell(&c, &f->selection, &row[SELECTION]);
    }
    return t ? rc : SD_ENOMEM;
}
