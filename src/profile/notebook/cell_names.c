/* SPDX-License-Identifier: MIT */
#include "profile/notebook/cell_names.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "profile/profile_define.h"

static const char name_key[] = "cell.name:", text_key[] = "cell.text:";

const char *sd_cell_names_source(const struct sd_profile *p, const char *file)
{
    size_t n = sizeof text_key - 1;

    for (size_t i = 0; i < p->n_metas; i++)
        if (strncmp(p->metas[i].key, text_key, n) == 0 &&
            strcmp(p->metas[i].key + n, file) == 0)
            return p->metas[i].value;
    return NULL;
}

/* --- Names ----------------------------------------------------------------------- */

static const char *name_of(const struct sd_profile *p, const char *file)
{
    size_t n = sizeof name_key - 1;

    for (size_t i = 0; i < p->n_metas; i++)
        if (strncmp(p->metas[i].key, name_key, n) == 0 &&
            strcmp(p->metas[i].key + n, file) == 0)
            return p->metas[i].value;
    return NULL;
}

/* Sites of one file mostly follow each other. */
static void name_cells(struct sd_profile *p)
{
    const char *file = NULL, *name = NULL;

    for (size_t i = 0; i < p->n_sites; i++) {
        struct sd_site *s = &p->sites[i];

        if (!s->file)
            continue;
        if (s->file != file) {
            file = s->file;
            name = name_of(p, file);
        }
        if (name)
            s->file = name;
    }
}

/* --- Frames of the shell --------------------------------------------------------- */

/* Is the file one of those lines, or in a folder of one? */
static bool is_listed(const char *lines, const char *file)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        bool is_folder = n > 0 && lines[n - 1] == '/';

        if (n > 0 && strncmp(lines, file, n) == 0 && (is_folder || !file[n]))
            return true;
        lines += n + (lines[n] == '\n');
    }
    return false;
}

enum kind { USERS, LIBRARYS, RUNNERS, SHELLS, CORE, BASE, DISPLAY, CELL };

struct lists {
    const char *shell, *core, *base, *display, *runner; /* none is NULL */
};

static enum kind kind_of_file(const struct sd_profile *p, const struct lists *l,
                              const struct sd_site *s)
{
    if (name_of(p, s->file))
        return CELL;
    if (is_listed(l->core, s->file))
        return CORE;
    if (is_listed(l->base, s->file))
        return BASE;
    if (is_listed(l->display, s->file))
        return DISPLAY;
    if (is_listed(l->shell, s->file))
        return SHELLS;
    if (is_listed(l->runner, s->file))
        return RUNNERS;
    return *s->file == '<' || sd_site_is_library(s) ? LIBRARYS : USERS;
}

/* Of each site; sites of one file mostly follow each other. */
static void sort_sites(const struct sd_profile *p, const struct lists *l,
                       uint8_t *kinds)
{
    const char *file = NULL;
    enum kind kind = LIBRARYS;

    for (size_t i = 0; i < p->n_sites; i++) {
        const struct sd_site *s = &p->sites[i];

        if (s->file && s->file != file) {
            file = s->file;
            kind = kind_of_file(p, l, s);
        }
        kinds[i] = (uint8_t)(s->file ? kind : LIBRARYS);
    }
}

enum place { VISIBLE, IN_RUNNER, IN_SHELL };
enum { LEADS_TO_CORE = 1, LEADS_TO_BASE = 2 }; /* bits */

/* Of a frame that stands on another, or on none.  What runs code of others is outermost
 * where a library's is called from no frame: one that was there before was the shell's.
 */
static enum place place_of(enum kind kind, unsigned leads, bool is_outermost,
                           enum place below)
{
    bool is_in_shell = !is_outermost && below == IN_SHELL;

    if (leads & LEADS_TO_BASE)
        return IN_SHELL;
    if (kind == CELL)
        return VISIBLE;
    if (!is_outermost && below == VISIBLE)
        return kind == DISPLAY ? IN_SHELL : VISIBLE;
    if (leads || kind >= SHELLS)
        return IN_SHELL;
    if (kind == RUNNERS)
        return is_in_shell ? IN_SHELL : IN_RUNNER;
    return kind == LIBRARYS && (is_in_shell || is_outermost) ? IN_SHELL : VISIBLE;
}

static unsigned leads_to(unsigned kind)
{
    return kind == CORE ? LEADS_TO_CORE : kind == BASE ? LEADS_TO_BASE : 0;
}

/* Which stacks are the shell's alone; a parent comes before what stands on it. */
static void find_outer(const struct sd_profile *p, const uint8_t *kinds, uint8_t *leads,
                       uint8_t *places)
{
    for (size_t i = p->n_stacks; i-- > 0;) {
        uint32_t parent = p->stacks[i].parent.at;

        sd_assert(parent == UINT32_MAX || parent < i);
        if (parent != UINT32_MAX)
            leads[parent] |=
                (uint8_t)(leads[i] | leads_to(kinds[p->stacks[i].site.at]));
    }
    for (size_t i = 0; i < p->n_stacks; i++) {
        uint32_t parent = p->stacks[i].parent.at;
        bool is_outermost = parent == UINT32_MAX;

        places[i] = (uint8_t)place_of(
            (enum kind)kinds[p->stacks[i].site.at], leads[i], is_outermost,
            is_outermost ? VISIBLE : (enum place)places[parent]);
    }
}

/* Those in the shell go; the places of the others are known anew. */
static int drop_totals(struct sd_profile *p, enum sd_evidence e,
                       const uint8_t *places_of)
{
    struct sd_stack_totals *t = &p->evidence[e].stacks;
    struct sd_triples *places = &p->index->places[e];
    size_t n = 0;
    int rc = 0;

    sd_triples_release(places);
    memset(places, 0, sizeof *places);
    for (size_t i = 0; i < t->n && rc == 0; i++) {
        uint32_t stack = t->items[i].stack.at, at;

        if (stack != UINT32_MAX && places_of[stack] != VISIBLE)
            continue;
        t->items[n] = t->items[i];
        for (uint32_t k = 0; k < t->n_metrics; k++)
            t->values[k][n] = t->values[k][i];
        rc = sd_triples_add(
            places,
            (struct sd_triple){ stack, t->items[n].track.at, t->items[n].flags }, &at);
        sd_assert(rc < 0 || at == n);
        n++;
    }
    for (uint32_t k = 0; k < t->n_metrics; k++)
        memset(t->values[k] + n, 0, (t->n - n) * sizeof **t->values);
    t->n = n;
    return rc;
}

static void cut_stacks(struct sd_profile *p, const uint8_t *places_of, sd_site_id shell)
{
    for (size_t i = 0; i < p->n_stacks; i++) {
        struct sd_stack *s = &p->stacks[i];

        if (s->parent.at != UINT32_MAX && places_of[s->parent.at] != VISIBLE)
            s->parent = SD_NO_STACK;
        if (places_of[i] != VISIBLE) {
            s->site = shell;
            s->line = 0;
        }
    }
}

static int define_shell_site(struct sd_profile *p, sd_site_id *out)
{
    static const char name[] = "[notebook]";
    struct sd_site_key key = { SD_SITE_FUNCTION, 0,          UINT32_MAX, 0,
                               UINT32_MAX,       UINT32_MAX, 0 };
    int rc = sd_define_string(p, name, sizeof name - 1, &key.name);

    return rc < 0 ? rc : sd_define_site(p, &key, &out->at);
}

static int take_shell_away(struct sd_profile *p, const struct lists *l)
{
    uint8_t *kinds = sd_zalloc(p->n_sites + 1);
    uint8_t *places_of = sd_zalloc(p->n_stacks + 1);
    uint8_t *leads = sd_zalloc(p->n_stacks + 1);
    sd_site_id shell;
    int rc = kinds && leads && places_of ? 0 : sd_no_memory();

    if (rc == 0) {
        sort_sites(p, l, kinds);
        find_outer(p, kinds, leads, places_of);
        rc = drop_totals(p, SD_SAMPLES, places_of);
    }
    if (rc == 0)
        rc = drop_totals(p, SD_CALLS, places_of);
    if (rc == 0)
        rc = define_shell_site(p, &shell);
    if (rc == 0)
        cut_stacks(p, places_of, shell);
    sd_free(kinds);
    sd_free(leads);
    sd_free(places_of);
    return rc;
}

static const char *list_of(const struct sd_profile *p, const char *key)
{
    const char *list = sd_profile_meta(p, key);

    return list ? list : "";
}

int sd_cell_names_settle(struct sd_profile *p)
{
    const struct lists l = { list_of(p, "frames.shell"), list_of(p, "frames.core"),
                             list_of(p, "frames.base"), list_of(p, "frames.display"),
                             list_of(p, "frames.runner") };
    int rc = *l.core ? take_shell_away(p, &l) : 0;

    name_cells(p);
    return rc;
}
