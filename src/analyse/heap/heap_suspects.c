/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_suspects.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/heap/heap_paths.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

enum {
    SUSPECTS_MAX = 100 / SD_SUSPECT_PERCENT + 1,
    MOST_PERCENT = 70,  /* of a holder's bytes: they have not broken up yet */
    SAME_IN_A_ROW = 50, /* objects of a type on a way down that make it a linked list */
};

struct suspicion {
    const struct sd_heap_dominators *d;
    const struct sd_heap_graph *g;
    struct sd_arena *arena;
    uint64_t least_bytes;
    struct sd_pages seen; /* uint32_t[n_types]: how often on the way down */
    struct sd_heap_suspect *list;
    uint32_t n;
    int rc;
};

static uint64_t retained_of(const struct suspicion *s, uint32_t object)
{
    return sd_heap_dominators_retained(s->d, object);
}

/* --- What a holder holds */

struct held {
    uint64_t count, bytes;
};

/* The type whose objects, directly below, retain most; those of the list's type, for a
 * linked list, are counted all the way down. */
static int find_held(struct suspicion *s, struct sd_heap_suspect *suspect,
                     uint32_t list_type)
{
    uint32_t n;
    const uint32_t *children = sd_heap_dominators_children(s->d, suspect->holder, &n);
    struct held *held = sd_zalloc(((size_t)s->g->n_types + 1) * sizeof *held);

    if (!held)
        return sd_no_memory();
    if (list_type != SD_HEAP_NONE) {
        uint32_t at = suspect->holder;

        while (n > 0) {
            uint32_t heaviest = children[0];

            for (uint32_t i = 1; i < n; i++)
                if (retained_of(s, children[i]) > retained_of(s, heaviest))
                    heaviest = children[i];
            at = heaviest;
            held[sd_heap_type_of(s->g, at)].count++;
            children = sd_heap_dominators_children(s->d, at, &n);
        }
        suspect->held_type = list_type;
    } else {
        for (uint32_t i = 0; i < n; i++) {
            struct held *h = &held[sd_heap_type_of(s->g, children[i])];

            h->count++;
            h->bytes += retained_of(s, children[i]);
        }
        suspect->held_type = sd_heap_type_of(s->g, suspect->holder);
        for (uint32_t i = 0; i < s->g->n_types; i++)
            if (held[i].bytes > held[suspect->held_type].bytes)
                suspect->held_type = i;
    }
    suspect->count = held[suspect->held_type].count;
    sd_free(held);
    return 0;
}

/* --- Words */

static const char *copy_of(struct suspicion *s, struct sd_buf *text)
{
    const char *copy =
        text->bad ? NULL : sd_arena_string(s->arena, sd_buf_string(text), text->n);

    sd_buf_release(text);
    if (!copy)
        s->rc = sd_no_memory();
    return copy;
}

static const char *name_of(struct suspicion *s, uint32_t holder)
{
    struct sd_heap_path path;
    struct sd_buf text = { 0 };

    s->rc = sd_heap_path_make(s->g, s->d->reach->parents.p, holder, s->arena, &path);
    if (s->rc == 0)
        sd_heap_path_text(s->d->reach, &path, &text);
    return copy_of(s, &text);
}

static const char *sentence_of(struct suspicion *s,
                               const struct sd_heap_suspect *suspect)
{
    const char *held =
        sd_heap_name(s->g, sd_heap_type_at(s->g, suspect->held_type)->name);
    char bytes[SD_TEXT_MAX], count[SD_TEXT_MAX];
    struct sd_buf text = { 0 };

    sd_text_bytes(bytes, (int64_t)suspect->retained);
    sd_text_count(count, (int64_t)suspect->count);
    sd_buf_printf(&text, "%s (%.0f %%) ", bytes, suspect->share * 100);
    if (suspect->holder == SD_HEAP_NONE) {
        sd_buf_printf(&text, "are held by %s %s, which no single object holds", count,
                      held);
    } else {
        sd_buf_printf(&text, "hang on the %s %s",
                      sd_heap_type_name(s->g, suspect->holder), suspect->name);
        if (suspect->count)
            sd_buf_printf(&text, ": %s %s", count, held);
    }
    return copy_of(s, &text);
}

static void add(struct suspicion *s, struct sd_heap_suspect suspect)
{
    if (s->rc < 0 || s->n == SUSPECTS_MAX)
        return;
    suspect.share = s->g->bytes ? (double)suspect.retained / (double)s->g->bytes : 0;
    suspect.name = suspect.holder == SD_HEAP_NONE ? "" : name_of(s, suspect.holder);
    if (s->rc == 0)
        suspect.sentence = sentence_of(s, &suspect);
    if (s->rc == 0)
        s->list[s->n++] = suspect;
}

/* --- The way down */

/* The child that retains most; SD_HEAP_NONE: there is none.  `large`: how many bytes
 * children retain that could be suspects themselves. */
static uint32_t heaviest_of(const struct suspicion *s, uint32_t object, uint64_t *large)
{
    uint32_t n, heaviest = SD_HEAP_NONE;
    const uint32_t *children = sd_heap_dominators_children(s->d, object, &n);

    *large = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t retained = retained_of(s, children[i]);

        if (heaviest == SD_HEAP_NONE || retained > retained_of(s, heaviest))
            heaviest = children[i];
        if (retained >= s->least_bytes)
            *large += retained;
    }
    return heaviest;
}

static bool is_most(uint64_t part, uint64_t whole)
{
    return part >= whole / 100 * MOST_PERCENT;
}

/* A type that comes often on the way down from `from`, and the object above its first.
 */
static uint32_t find_list(struct suspicion *s, uint32_t from, uint32_t *type)
{
    uint32_t *seen = s->seen.p, at = from, above = SD_HEAP_NONE, found = SD_HEAP_NONE;
    uint64_t large;

    memset(seen, 0, s->g->n_types * sizeof *seen);
    *type = SD_HEAP_NONE;
    while (at != SD_HEAP_NONE && *type == SD_HEAP_NONE) {
        uint32_t t = sd_heap_type_of(s->g, at), next = heaviest_of(s, at, &large);

        if (++seen[t] == SAME_IN_A_ROW)
            *type = t;
        if (next == SD_HEAP_NONE || !is_most(retained_of(s, next), retained_of(s, at)))
            break;
        at = next;
    }
    for (at = from; *type != SD_HEAP_NONE && found == SD_HEAP_NONE;) {
        if (sd_heap_type_of(s->g, at) == *type)
            found = above == SD_HEAP_NONE ? at : above;
        above = at;
        at = heaviest_of(s, at, &large);
    }
    return found;
}

static void suspect_holder(struct suspicion *s, uint32_t holder, uint32_t list_type)
{
    struct sd_heap_suspect suspect = { .holder = holder,
                                       .retained = retained_of(s, holder) };

    s->rc = find_held(s, &suspect, list_type);
    add(s, suspect);
}

static void go_down(struct suspicion *s, uint32_t object)
{
    uint32_t list_type, list = find_list(s, object, &list_type), n;
    uint64_t large;

    if (list != SD_HEAP_NONE) {
        suspect_holder(s, list, list_type);
        return;
    }
    for (;;) {
        uint32_t next = heaviest_of(s, object, &large);
        const uint32_t *children;

        if (next != SD_HEAP_NONE &&
            is_most(retained_of(s, next), retained_of(s, object))) {
            object = next;
            continue;
        }
        if (!is_most(large, retained_of(s, object)))
            break;
        children = sd_heap_dominators_children(s->d, object, &n);
        for (uint32_t i = 0; i < n && s->rc == 0; i++)
            if (retained_of(s, children[i]) >= s->least_bytes)
                go_down(s, children[i]);
        return;
    }
    suspect_holder(s, object, SD_HEAP_NONE);
}

/* That there are many dicts and texts says nothing. */
static bool is_builtin(const struct sd_heap_graph *g, uint32_t type)
{
    return strcmp(sd_heap_name(g, sd_heap_type_at(g, type)->module), "builtins") == 0;
}

/* Objects of one class at the top of the tree, each small. */
static void suspect_types(struct suspicion *s)
{
    uint32_t n;
    const uint32_t *tops = sd_heap_dominators_children(s->d, SD_HEAP_NONE, &n);
    struct held *held = sd_zalloc(((size_t)s->g->n_types + 1) * sizeof *held);

    if (!held) {
        s->rc = sd_no_memory();
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct held *h = &held[sd_heap_type_of(s->g, tops[i])];

        if (retained_of(s, tops[i]) >= s->least_bytes)
            continue;
        h->count++;
        h->bytes += retained_of(s, tops[i]);
    }
    for (uint32_t i = 0; i < s->g->n_types && s->rc == 0; i++)
        if (held[i].bytes >= s->least_bytes && !is_builtin(s->g, i))
            add(s, (struct sd_heap_suspect){ .holder = SD_HEAP_NONE,
                                             .held_type = i,
                                             .retained = held[i].bytes,
                                             .count = held[i].count });
    sd_free(held);
}

static int by_retained(const void *a, const void *b)
{
    const struct sd_heap_suspect *x = a, *y = b;

    return (x->retained < y->retained) - (x->retained > y->retained);
}

int sd_heap_suspects_make(const struct sd_heap_dominators *d, struct sd_arena *a,
                          struct sd_heap_suspect **out, uint32_t *n)
{
    struct suspicion s = { .d = d, .g = d->graph, .arena = a };
    uint32_t n_tops;
    const uint32_t *tops = sd_heap_dominators_children(d, SD_HEAP_NONE, &n_tops);

    *n = 0;
    s.least_bytes = s.g->bytes / 100 * SD_SUSPECT_PERCENT + 1;
    s.list = sd_arena_alloc(a, (SUSPECTS_MAX + 1) * sizeof *s.list);
    *out = s.list;
    if (!s.list)
        return sd_no_memory();
    s.rc = sd_pages_grow(&s.seen, ((size_t)s.g->n_types + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < n_tops && s.rc == 0; i++)
        if (retained_of(&s, tops[i]) >= s.least_bytes)
            go_down(&s, tops[i]);
    if (s.rc == 0)
        suspect_types(&s);
    sd_pages_release(&s.seen);
    *n = s.n;
    if (s.n)
        qsort(s.list, s.n, sizeof *s.list, by_retained);
    return s.rc;
}
