/* SPDX-License-Identifier: MIT */
#include "profile/model/shapes.h"

#include <string.h>

#include "base/assert.h"

/* --- Numbers */

int64_t sd_times(int64_t a, int64_t b)
{
    int64_t v;

    return __builtin_mul_overflow(a, b, &v) ? INT64_MAX : v;
}

int64_t sd_plus(int64_t a, int64_t b)
{
    int64_t v;

    return __builtin_add_overflow(a, b, &v) ? INT64_MAX : v;
}

/* A 0 makes it 0, however large the others are: also INT64_MAX times 0 is 0. */
int64_t sd_product(const int64_t *v, size_t n)
{
    int64_t all = 1;

    for (size_t i = 0; i < n; i++)
        if (v[i] < 0)
            return -1;
    for (size_t i = 0; i < n; i++)
        all = sd_times(all, v[i]);
    return all;
}

int64_t sd_dims_elements(struct sd_dims d) { return sd_product(d.d, d.n); }

/* --- Axes */

bool sd_shapes_axis_find(int64_t axis, uint32_t n, uint32_t *at)
{
    if (axis < 0)
        axis += n;
    if (axis < 0 || axis >= n)
        return false;
    *at = (uint32_t)axis;
    return true;
}

bool sd_dims_is_same(struct sd_dims a, struct sd_dims b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.d, b.d, a.n * sizeof *a.d) == 0);
}

/* --- Broadcasting */

bool sd_shapes_axis_broadcast(int64_t a, int64_t b, int64_t *out)
{
    if (a != b && a != 1 && b != 1)
        return false;
    *out = a == 1 ? b : a;
    return true;
}

bool sd_dims_broadcast(struct sd_dims a, struct sd_dims b, int64_t *out,
                       uint32_t *n_out)
{
    uint32_t n = a.n > b.n ? a.n : b.n;

    sd_assert(n <= SD_MODEL_DIMS_MAX);
    for (uint32_t i = 1; i <= n; i++) {
        int64_t x = i <= a.n ? a.d[a.n - i] : 1, y = i <= b.n ? b.d[b.n - i] : 1;

        if (!sd_shapes_axis_broadcast(x, y, &out[n - i]))
            return false;
    }
    *n_out = n;
    return true;
}

bool sd_dims_broadcasts_to(struct sd_dims a, struct sd_dims whole)
{
    int64_t both[SD_MODEL_DIMS_MAX];
    uint32_t n;

    return sd_dims_broadcast(a, whole, both, &n) &&
           sd_dims_is_same((struct sd_dims){ both, n }, whole);
}

/* --- Products of matrices */

/* The last two axes of a side, in the order of the product; a vector has one. */
struct matrix {
    struct sd_dims lead;
    int64_t inner, outer;
};

static struct matrix matrix_of(struct sd_dims d, bool is_inner_last)
{
    if (d.n == 1)
        return (struct matrix){ .inner = d.d[0], .outer = 1 };
    return (struct matrix){ .lead = { d.d, d.n - 2 },
                            .inner = d.d[d.n - (is_inner_last ? 1 : 2)],
                            .outer = d.d[d.n - (is_inner_last ? 2 : 1)] };
}

bool sd_dims_matmul(struct sd_dims a, struct sd_dims b, unsigned flags, int64_t *out,
                    uint32_t *n_out, int64_t *inner)
{
    struct matrix left, right;

    if (a.n == 0 || b.n == 0)
        return false;
    left = matrix_of(a, !(flags & SD_MATMUL_TURN_A));
    right = matrix_of(b, flags & SD_MATMUL_TURN_B);
    if (left.inner != right.inner ||
        !sd_dims_broadcast(left.lead, right.lead, out, n_out))
        return false;
    if (a.n > 1)
        out[(*n_out)++] = left.outer;
    if (b.n > 1)
        out[(*n_out)++] = right.outer;
    sd_assert(*n_out <= SD_MODEL_DIMS_MAX);
    *inner = left.inner;
    return true;
}

/* --- Windows.  128 bits hold all sums and products of these numbers. */

static bool is_window(const struct sd_axis_window *w)
{
    return w->stride >= 1 && w->dilation >= 1 && w->kernel >= 1 && w->before >= 0 &&
           w->after >= 0;
}

/* From the first element that a window sees to the last. */
static __int128 reach_of(const struct sd_axis_window *w)
{
    return (__int128)w->dilation * (w->kernel - 1);
}

static int64_t in_64_bits(__int128 v)
{
    return v < 0 || v > INT64_MAX ? -1 : (int64_t)v;
}

int64_t sd_shapes_axis_window_steps(const struct sd_axis_window *w, int64_t length,
                                    enum sd_axis_window_end end)
{
    __int128 room, steps;

    if (!is_window(w) || length < 0)
        return -1;
    if (end == SD_WINDOW_COVERS)
        return length / w->stride + (length % w->stride != 0);
    room = (__int128)length + w->before + w->after - reach_of(w) - 1;
    if (room < 0)
        return -1;
    steps = room / w->stride + 1;
    if (end == SD_WINDOW_HANGS && room % w->stride != 0 &&
        steps * w->stride < (__int128)length + w->before)
        steps++;
    return in_64_bits(steps);
}

int64_t sd_shapes_axis_window_spread(const struct sd_axis_window *w, int64_t steps,
                                     int64_t more, enum sd_axis_window_end end)
{
    if (!is_window(w) || steps < 0 || more < 0)
        return -1;
    if (end == SD_WINDOW_COVERS)
        return in_64_bits((__int128)steps * w->stride);
    return in_64_bits((__int128)w->stride * ((__int128)steps - 1) + reach_of(w) + 1 +
                      more - w->before - w->after);
}

bool sd_shapes_conv_channels(struct sd_dims weight, int64_t groups, bool is_transposed,
                             int64_t in, int64_t *out)
{
    int64_t grouped;

    if (weight.n < 2 || groups < 1 || weight.d[0] % groups != 0 ||
        __builtin_mul_overflow(weight.d[1], groups, &grouped))
        return false;
    *out = is_transposed ? grouped : weight.d[0];
    return in == (is_transposed ? weight.d[0] : grouped);
}

/* --- Equations */

enum { ELLIPSIS_MAX = SD_EINSUM_LETTERS - SD_EINSUM_ELLIPSIS };

struct term { /* places in `sizes`, axis by axis */
    uint8_t letters[SD_EINSUM_ELLIPSIS];
    uint32_t n;
    uint32_t ellipsis; /* before which letter it stands */
    bool has_ellipsis;
};

static int letter(char c)
{
    if (c >= 'a' && c <= 'z')
        return c - 'a';
    return c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

static uint64_t bit(unsigned at) { return UINT64_C(1) << at; }

/* Up to a comma, an arrow or the end; NULL: it is none. */
static const char *read_term(const char *p, const char *end, struct term *t)
{
    *t = (struct term){ .n = 0 };
    for (; p < end && *p != ',' && *p != '-'; p++) {
        if (*p == ' ')
            continue;
        if (end - p >= 3 && memcmp(p, "...", 3) == 0 && !t->has_ellipsis) {
            t->has_ellipsis = true;
            t->ellipsis = t->n;
            p += 2;
        } else if (letter(*p) >= 0 && t->n < SD_EINSUM_ELLIPSIS) {
            t->letters[t->n++] = (uint8_t)letter(*p);
        } else {
            return NULL;
        }
    }
    return p;
}

static bool take_axis(struct sd_einsum *e, uint64_t *set, unsigned at, int64_t size)
{
    *set |= bit(at);
    return sd_shapes_axis_broadcast(e->sizes[at], size, &e->sizes[at]);
}

/* Axes of an ellipsis are told apart from the last one, as broadcasting does. */
static bool take_operand(struct sd_einsum *e, const struct term *t, struct sd_dims d,
                         uint32_t *n_hidden)
{
    uint64_t *set = &e->terms[e->n_terms++];
    uint32_t hidden = d.n - t->n, at = 0;
    bool fits = true;

    if (d.n < t->n || (hidden > 0 && !t->has_ellipsis) || hidden > ELLIPSIS_MAX)
        return false;
    for (uint32_t i = 0; i <= t->n && fits; i++) {
        for (uint32_t k = hidden; t->has_ellipsis && i == t->ellipsis && k > 0; k--)
            fits = fits && take_axis(e, set, SD_EINSUM_ELLIPSIS + k - 1, d.d[at++]);
        if (i < t->n)
            fits = fits && take_axis(e, set, t->letters[i], d.d[at++]);
    }
    *n_hidden = hidden > *n_hidden ? hidden : *n_hidden;
    return fits;
}

static void give_axis(struct sd_einsum *e, unsigned at)
{
    e->order[e->n_out++] = (uint8_t)at;
    e->out |= bit(at);
}

static void give_ellipsis(struct sd_einsum *e, uint32_t n_hidden)
{
    for (uint32_t k = n_hidden; k > 0; k--)
        give_axis(e, SD_EINSUM_ELLIPSIS + k - 1);
}

/* Each letter of the result is one of an operand's, and stands in it once. */
static bool give_term(struct sd_einsum *e, const struct term *t, uint32_t n_hidden)
{
    uint64_t met = 0;

    for (uint32_t i = 0; i < e->n_terms; i++)
        met |= e->terms[i];
    for (uint32_t i = 0; i <= t->n; i++) {
        if (t->has_ellipsis && i == t->ellipsis)
            give_ellipsis(e, n_hidden);
        if (i == t->n)
            break;
        if (!(met & ~e->out & bit(t->letters[i])))
            return false;
        give_axis(e, t->letters[i]);
    }
    return true;
}

static void give_implied(struct sd_einsum *e, const char *p, const char *end,
                         uint32_t n_hidden)
{
    uint64_t once = 0, twice = 0;

    for (; p < end; p++)
        if (letter(*p) >= 0) {
            twice |= once & bit((unsigned)letter(*p));
            once |= bit((unsigned)letter(*p));
        }
    give_ellipsis(e, n_hidden);
    for (unsigned i = 0; i < 52; i++) /* capitals have the higher places */
        if (once & ~twice & bit((i + 26) % 52))
            give_axis(e, (i + 26) % 52);
}

bool sd_shapes_einsum_read(const char *equation, size_t length,
                           const struct sd_dims *operands, uint32_t n,
                           struct sd_einsum *e)
{
    const char *p = equation, *end = equation + length;
    uint32_t n_hidden = 0;
    struct term t;

    *e = (struct sd_einsum){ .n_terms = 0 };
    for (uint32_t i = 0; i < SD_EINSUM_LETTERS; i++)
        e->sizes[i] = 1;
    if (n == 0 || n > SD_EINSUM_TERMS_MAX)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && (p == end || *p++ != ','))
            return false;
        p = read_term(p, end, &t);
        if (!p || !take_operand(e, &t, operands[i], &n_hidden))
            return false;
    }
    if (p == end) {
        give_implied(e, equation, end, n_hidden);
        return true;
    }
    if (end - p < 2 || memcmp(p, "->", 2) != 0)
        return false;
    p = read_term(p + 2, end, &t);
    return p == end && give_term(e, &t, n_hidden);
}
