/* SPDX-License-Identifier: MIT */
/* op_einsum: products that are given as an equation, "bij,bjk->bik".
 *
 * Two operands at a time, from left to right, as torch does without an optimizer: all
 * letters of the two span a space, and if a letter is summed away by this step each
 * point of it is one multiply-add; else the step only multiplies element by element.
 * Letters are kept as sets of bits; an ellipsis is up to eight letters of its own. */
#include "analyse/model/op_rules.h"

#include <string.h>

enum { UNFIT = -1, N_LETTERS = 60, ELLIPSIS = 52, ELLIPSIS_MAX = 8, TERMS_MAX = 16 };

struct equation {
    uint64_t terms[TERMS_MAX]; /* letters of each operand */
    size_t n;
    uint64_t out;
    int64_t sizes[N_LETTERS]; /* 1 until an operand says more */
};

static int letter(char c)
{
    if (c >= 'a' && c <= 'z')
        return c - 'a';
    return c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

/* One operand's letters, whose sizes are its axes'. */
struct term {
    char letters[SD_MODEL_DIMS_MAX];
    uint32_t n;
    int ellipsis; /* before which letter it stands; -1: there is none */
};

static const char *read_term(const char *p, struct term *t)
{
    *t = (struct term){ .ellipsis = -1 };
    for (; *p && *p != ',' && strncmp(p, "->", 2) != 0; p++) {
        if (*p == ' ')
            continue;
        if (strncmp(p, "...", 3) == 0 && t->ellipsis < 0) {
            t->ellipsis = (int)t->n;
            p += 2;
        } else if (letter(*p) >= 0 && t->n < SD_MODEL_DIMS_MAX) {
            t->letters[t->n++] = *p;
        } else {
            return NULL;
        }
    }
    return p;
}

static int take_size(struct equation *e, uint64_t *set, int at, int64_t size)
{
    if (size != 1 && e->sizes[at] != 1 && e->sizes[at] != size)
        return UNFIT;
    if (size != 1)
        e->sizes[at] = size;
    *set |= UINT64_C(1) << at;
    return 0;
}

/* Axes of an ellipsis are told apart from the right, as broadcasting does. */
static int place(struct equation *e, const struct term *t, struct sd_dims d,
                 uint64_t *set)
{
    uint32_t hidden = d.n - t->n, at = 0;
    int rc = 0;

    if (d.n < t->n || (hidden > 0 && t->ellipsis < 0) || hidden > ELLIPSIS_MAX)
        return UNFIT;
    for (uint32_t i = 0; i <= t->n && rc == 0; i++) {
        if ((int)i == t->ellipsis)
            for (uint32_t k = hidden; k > 0 && rc == 0; k--)
                rc = take_size(e, set, ELLIPSIS + (int)k - 1, d.d[at++]);
        if (i < t->n && rc == 0)
            rc = take_size(e, set, letter(t->letters[i]), d.d[at++]);
    }
    return rc;
}

/* Without an arrow the result has the letters that stand there once. */
static uint64_t implied(const char *text)
{
    uint64_t once = 0, twice = 0;

    for (; *text; text++) {
        int at = letter(*text);
        uint64_t bit = at < 0 ? 0 : UINT64_C(1) << at;

        twice |= once & bit;
        once |= bit;
    }
    return once & ~twice;
}

static uint64_t letters_of(const struct term *t)
{
    uint64_t set = 0;

    for (uint32_t i = 0; i < t->n; i++)
        set |= UINT64_C(1) << letter(t->letters[i]);
    return set;
}

static uint64_t all_ellipsis(void)
{
    return ((UINT64_C(1) << ELLIPSIS_MAX) - 1) << ELLIPSIS;
}

static int read_equation(const char *text, const struct sd_model_op *op,
                         struct equation *e)
{
    const char *p = text;
    struct term t;

    for (size_t i = 0; i < N_LETTERS; i++)
        e->sizes[i] = 1;
    for (e->n = 0; e->n < op->n_in; e->n++) {
        p = e->n < TERMS_MAX ? read_term(p, &t) : NULL;
        if (!p || place(e, &t, op->in[e->n].dims, &e->terms[e->n]) < 0)
            return UNFIT;
        if (*p != ',')
            break;
        p++;
    }
    if (++e->n != op->n_in)
        return UNFIT;
    if (*p == 0) {
        e->out = implied(text) | all_ellipsis();
        return 0;
    }
    p = *p == '-' ? read_term(p + 2, &t) : NULL;
    if (!p || *p)
        return UNFIT;
    e->out = letters_of(&t) | (t.ellipsis >= 0 ? all_ellipsis() : 0);
    return 0;
}

static int64_t points(const struct equation *e, uint64_t set)
{
    int64_t all = 1;

    for (int i = 0; i < N_LETTERS; i++)
        if (set >> i & 1 && e->sizes[i] == 0)
            return 0;
    for (int i = 0; i < N_LETTERS; i++)
        if (set >> i & 1)
            all = sd_times(all, e->sizes[i]);
    return all;
}

/* A letter that only one of the two has, and nobody later, is summed before the product
 * and costs none. */
static int64_t steps(const struct equation *e)
{
    uint64_t have = e->terms[0];
    int64_t all = 0;

    for (size_t i = 1; i < e->n; i++) {
        uint64_t later = e->out, next = e->terms[i], both;

        for (size_t k = i + 1; k < e->n; k++)
            later |= e->terms[k];
        have &= later | next;
        next &= later | have;
        both = have & next & ~later;
        if (both)
            all = sd_plus(all, points(e, have | next));
        have = (have | next) & later;
    }
    return all;
}

int64_t sd_rule_einsum(const struct sd_model *m, const struct sd_model_op *op)
{
    const struct sd_attr *a = sd_attr_find(m, op->attrs, op->n_attrs, "equation");
    struct equation e = { .n = 0 };

    if (!a || a->kind != SD_ATTR_TEXT || op->n_in == 0 ||
        read_equation(sd_model_text(m, a->text), op, &e) < 0)
        return UNFIT;
    return steps(&e);
}
