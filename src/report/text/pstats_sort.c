/* SPDX-License-Identifier: MIT */
/* pstats_sort: sorts functions by pstats' sort keys. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "report/text/pstats_text.h"

enum { /* negative: the largest first */
       PRIMITIVE = 1,
       CALLS,
       OWN,
       TOTAL,
       FILE_NAME,
       LINE,
       NAME,
       LABEL,
       FIELDS_MAX = 3, /* of one word; unused ones are 0 */
};

struct key {
    const char *word, *about;
    int fields[FIELDS_MAX];
};
#define KEY(word, about, ...) { word, about, __VA_ARGS__ },
static const struct key keys[] = {
#include "report/text/pstats_keys.def"
};
#undef KEY
enum { N_KEYS = sizeof keys / sizeof *keys };

/* What SampledStats has besides; it takes no prefixes of them. */
static const struct key sampled_keys[] = {
    { "samples", "sample count", { -CALLS } },
    { "nsamples", "sample count", { -CALLS } },
    { "psamples", "primitive call count", { -PRIMITIVE } },
};

#define KEY(word, about, ...) word,
const char *const sd_pstats_words[] = {
#include "report/text/pstats_keys.def"
    NULL
};
#undef KEY

const char *sd_pstats_word_of(long number)
{
    static const char *const words[] = { "stdname", "calls", "time", "cumulative" };

    return number >= -1 && number <= 2 ? words[number + 1] : NULL;
}

/* --- Words */

static bool is_prefix(const char *prefix, size_t n, const char *word)
{
    return strncmp(prefix, word, n) == 0;
}

/* pstats gives each word its prefixes, from the longest on, until it meets one that
 * an earlier word has; that one is nobody's then.  So "cu" means cumtime, but "cum"
 * nothing.  shortest[i] is how many letters the ith word needs at least. */
static void find_shortest(size_t shortest[N_KEYS])
{
    for (size_t i = 0; i < N_KEYS; i++) {
        size_t n = strlen(keys[i].word);
        bool is_taken = false;

        while (n > 0 && !is_taken) {
            for (size_t j = 0; j < i && !is_taken; j++)
                is_taken = n >= shortest[j] && is_prefix(keys[i].word, n, keys[j].word);
            n -= !is_taken;
        }
        shortest[i] = n + 1;
    }
}

/* pstats' own answer; NULL: it knows no such word. */
static const struct key *find_key(const char *word)
{
    size_t shortest[N_KEYS], n = strlen(word);
    const struct key *found = NULL;

    find_shortest(shortest);
    for (size_t i = 0; i < N_KEYS; i++) {
        if (n > 0 && n == shortest[i] - 1 && is_prefix(word, n, keys[i].word))
            return NULL;
        if (n >= shortest[i] && is_prefix(word, n, keys[i].word))
            found = &keys[i];
    }
    return found;
}

static const struct key *find_sampled_key(const char *word)
{
    for (size_t i = 0; i < sizeof sampled_keys / sizeof *sampled_keys; i++)
        if (strcmp(word, sampled_keys[i].word) == 0)
            return &sampled_keys[i];
    return NULL;
}

const char *sd_pstats_word_like(const char *typed)
{
    const struct key *found = find_key(typed);

    if (found)
        return found->word;
    if (strcmp(typed, "self") == 0)
        return "time";
    for (size_t i = 0; i < N_KEYS && *typed; i++) {
        if (!is_prefix(typed, strlen(typed), keys[i].word))
            continue;
        if (found && strcmp(found->about, keys[i].about) != 0)
            return NULL;
        found = &keys[i];
    }
    return found ? found->word : NULL;
}

static int fail_unknown(const char *word)
{
    struct sd_buf known = { 0 };
    int rc;

    for (size_t i = 0; i < N_KEYS; i++)
        sd_buf_printf(&known, "%s%s",
                      i == 0            ? ""
                      : i < N_KEYS - 1u ? ", "
                                        : " and ",
                      keys[i].word);
    rc = sd_fail(SD_EUSAGE, "calls cannot be sorted by \"%s\"; the sort keys are %s",
                 word, sd_buf_string(&known));
    sd_buf_release(&known);
    return rc;
}

/* --- Order */

struct item {
    const struct sd_call_function *f;
    sd_function_id id;
    uint32_t place;                /* in the file */
    struct sd_intern_string label; /* only where it is asked for */
};

struct by {
    int *fields; /* owned */
    size_t n;
};

/* A number that is none has no place among others, and is as large as any. */
static int compare_reals(double a, double b) { return (a > b) - (a < b); }

static int compare_whole(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int compare_field(const struct item *a, const struct item *b, int field)
{
    switch (field) {
    case PRIMITIVE:
        return compare_whole(a->f->n.primitive, b->f->n.primitive);
    case CALLS:
        return compare_whole(a->f->n.calls, b->f->n.calls);
    case OWN:
        return compare_reals(a->f->n.own, b->f->n.own);
    case TOTAL:
        return compare_reals(a->f->n.total, b->f->n.total);
    case FILE_NAME:
        return sd_call_name_compare(&a->f->file, &b->f->file);
    case LINE:
        return compare_whole(a->f->line, b->f->line);
    case NAME:
        return sd_call_name_compare(&a->f->name, &b->f->name);
    default:
        return sd_call_name_compare(&a->label, &b->label);
    }
}

static int compare_items(const void *left, const void *right, void *context)
{
    const struct item *a = left, *b = right;
    const struct by *by = context;

    for (size_t i = 0; i < by->n; i++) {
        int field = by->fields[i];
        int order = compare_field(a, b, field < 0 ? -field : field);

        if (order != 0)
            return field < 0 ? -order : order;
    }
    return compare_whole(a->place, b->place);
}

/* The fields of all words, and what the heading says of them. */
static int read_words(const char *const *words, size_t n, bool is_sampled,
                      struct by *by, struct sd_buf *about, size_t *unknown)
{
    by->fields = sd_alloc((n * FIELDS_MAX + 1) * sizeof *by->fields);
    if (!by->fields)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++) {
        const struct key *key = find_key(words[i]);

        if (!key && is_sampled)
            key = find_sampled_key(words[i]);
        if (unknown)
            *unknown = i;
        if (!key)
            return fail_unknown(words[i]);
        for (size_t f = 0; f < FIELDS_MAX && key->fields[f]; f++)
            by->fields[by->n++] = key->fields[f];
        sd_buf_printf(about, "%s%s", i == 0 ? "" : ", ", key->about);
    }
    return about->bad ? sd_no_memory() : 0;
}

static bool needs_labels(const struct by *by)
{
    for (size_t i = 0; i < by->n; i++)
        if (by->fields[i] == LABEL)
            return true;
    return false;
}

static int make_label(struct item *item, struct sd_arena *arena, struct sd_buf *room)
{
    sd_buf_clear(room);
    sd_call_function_label(room, item->f);
    item->label.n = (uint32_t)room->n;
    item->label.p =
        room->bad ? NULL : sd_arena_string(arena, (const char *)room->p, room->n);
    return item->label.p ? 0 : sd_no_memory();
}

static int fill_items(const struct sd_call_stats *s, const struct by *by,
                      struct sd_arena *arena, struct item *items)
{
    bool has_labels = needs_labels(by);
    struct sd_buf room = { 0 };
    int rc = 0;

    for (size_t i = 0; i < s->n_listed && rc == 0; i++) {
        items[i] = (struct item){ .f = sd_call_stats_at(s, s->listed[i]),
                                  .id = s->listed[i],
                                  .place = (uint32_t)i };
        if (has_labels)
            rc = make_label(&items[i], arena, &room);
    }
    sd_buf_release(&room);
    return rc;
}

static int sort_items(const struct sd_call_stats *s, struct by *by,
                      struct sd_pstats_order *out)
{
    struct sd_arena arena = { 0 };
    struct item *items = sd_alloc((s->n_listed + 1) * sizeof *items);
    int rc = items ? 0 : sd_no_memory();

    out->ids = sd_alloc((s->n_listed + 1) * sizeof *out->ids);
    if (rc == 0 && !out->ids)
        rc = sd_no_memory();
    if (rc == 0)
        rc = fill_items(s, by, &arena, items);
    if (rc == 0) {
        qsort_r(items, s->n_listed, sizeof *items, compare_items, by);
        for (; out->n < s->n_listed; out->n++)
            out->ids[out->n] = items[out->n].id;
    }
    sd_free(items);
    sd_arena_release(&arena);
    return rc;
}

int sd_pstats_sort(const struct sd_call_stats *s, const char *const *words, size_t n,
                   struct sd_pstats_order *out, size_t *unknown)
{
    struct by by = { 0 };
    int rc;

    *out = (struct sd_pstats_order){ 0 };
    rc = read_words(words, n, s->is_sampled, &by, &out->by, unknown);
    if (rc == 0)
        rc = sort_items(s, &by, out);
    sd_free(by.fields);
    if (rc < 0)
        sd_pstats_order_release(out);
    return rc;
}

void sd_pstats_order_reverse(struct sd_pstats_order *order)
{
    for (size_t i = 0; i < order->n / 2; i++) {
        sd_function_id first = order->ids[i];

        order->ids[i] = order->ids[order->n - 1 - i];
        order->ids[order->n - 1 - i] = first;
    }
}

void sd_pstats_order_release(struct sd_pstats_order *order)
{
    sd_free(order->ids);
    sd_buf_release(&order->by);
    *order = (struct sd_pstats_order){ 0 };
}
