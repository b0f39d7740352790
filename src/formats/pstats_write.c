/* SPDX-License-Identifier: MIT */
/* pstats_write: writes a pstats file.  Names and keys are written once and then named
 * by their number, which halves the file; everything else stands where it is. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/pstats.h"

enum { FLAG = 0x80 };

struct writing {
    const struct sd_call_stats *s;
    struct sd_out *out;
    uint32_t *names;     /* owned; by string, its number + 1; 0: not written yet */
    uint32_t *functions; /* owned; the same of keys */
    uint32_t n_refs;
};

static void put_u8(struct writing *w, uint8_t v) { sd_out_write(w->out, &v, 1); }

static void put_u32(struct writing *w, uint32_t v)
{
    sd_out_write(w->out, &v, sizeof v); /* little-endian, as marshal */
}

static void put_tuple(struct writing *w, uint8_t n, uint8_t flag)
{
    put_u8(w, ')' | flag);
    put_u8(w, n);
}

/* A number beyond 32 bits: digits of 15, the lowest first. */
static void put_long(struct writing *w, int64_t v)
{
    uint64_t left = v < 0 ? 0u - (uint64_t)v : (uint64_t)v;
    uint16_t digits[5];
    int32_t n = 0;

    for (; left; left >>= 15)
        digits[n++] = left & 0x7FFF;
    put_u8(w, 'l');
    put_u32(w, (uint32_t)(v < 0 ? -n : n));
    sd_out_write(w->out, digits, (size_t)n * sizeof *digits);
}

static void put_int(struct writing *w, int64_t v)
{
    if (v > INT32_MAX || v < INT32_MIN) {
        put_long(w, v);
        return;
    }
    put_u8(w, 'i');
    put_u32(w, (uint32_t)v);
}

static void put_seconds(struct writing *w, double v, bool is_whole)
{
    if (is_whole && v >= -0x1p62 && v <= 0x1p62) {
        put_int(w, (int64_t)v);
        return;
    }
    put_u8(w, 'g');
    sd_out_write(w->out, &v, sizeof v);
}

static void put_times(struct writing *w, const struct sd_call_numbers *n)
{
    put_seconds(w, n->own, n->whole & SD_WHOLE_OWN);
    put_seconds(w, n->total, n->whole & SD_WHOLE_TOTAL);
}

/* True when it was written before: then its number is.  Else it gets one. */
static bool put_known(struct writing *w, uint32_t *number)
{
    if (*number == 0) {
        *number = ++w->n_refs;
        return false;
    }
    put_u8(w, 'r');
    put_u32(w, *number - 1);
    return true;
}

static bool is_ascii(const struct sd_intern_string *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if ((unsigned char)s->p[i] >= 0x80)
            return false;
    return true;
}

static void put_string(struct writing *w, uint32_t id)
{
    const struct sd_intern_string *s = &w->s->strings.items[id];

    if (put_known(w, &w->names[id]))
        return;
    if (is_ascii(s) && s->n <= UINT8_MAX) {
        put_u8(w, 'z' | FLAG);
        put_u8(w, (uint8_t)s->n);
    } else {
        put_u8(w, (is_ascii(s) ? 'a' : 'u') | FLAG);
        put_u32(w, s->n);
    }
    sd_out_write(w->out, s->p, s->n);
}

static void put_key(struct writing *w, sd_function_id id)
{
    const struct sd_call_function *f = sd_call_stats_at(w->s, id);

    if (put_known(w, &w->functions[id.at]))
        return;
    put_tuple(w, 3, FLAG);
    put_string(w, f->file_id);
    put_int(w, f->line);
    put_string(w, f->name_id);
}

static void put_edge(struct writing *w, const struct sd_call_edge *e)
{
    put_key(w, e->caller);
    if (e->is_plain) {
        put_int(w, e->n.calls);
        return;
    }
    put_tuple(w, 4, 0);
    put_int(w, e->n.calls);
    put_int(w, e->n.primitive);
    put_times(w, &e->n);
}

static void put_function(struct writing *w, sd_function_id id)
{
    const struct sd_call_function *f = sd_call_stats_at(w->s, id);

    put_key(w, id);
    put_tuple(w, 5, 0);
    put_int(w, f->n.primitive);
    put_int(w, f->n.calls);
    put_times(w, &f->n);
    put_u8(w, '{');
    for (uint32_t e = f->first_caller; e != SD_NO_EDGE; e = w->s->edges[e].next)
        put_edge(w, &w->s->edges[e]);
    put_u8(w, '0');
}

/* ("__sampled__",): True */
static void put_marker(struct writing *w)
{
    static const char sampled[] = "__sampled__";

    put_tuple(w, 1, 0);
    put_u8(w, 'z');
    put_u8(w, sizeof sampled - 1);
    sd_out_write(w->out, sampled, sizeof sampled - 1);
    put_u8(w, 'T');
}

int sd_call_stats_write_pstats(const struct sd_call_stats *s, struct sd_out *out)
{
    struct writing w = { .s = s, .out = out };
    int rc = 0;

    w.names = sd_zalloc((s->strings.n + 1) * sizeof *w.names);
    w.functions = sd_zalloc((s->n_functions + 1) * sizeof *w.functions);
    if (!w.names || !w.functions) {
        rc = sd_no_memory();
        goto out;
    }
    put_u8(&w, '{');
    for (size_t i = 0; i < s->n_listed; i++)
        put_function(&w, s->listed[i]);
    if (s->is_sampled)
        put_marker(&w);
    put_u8(&w, '0');
out:
    sd_free(w.names);
    sd_free(w.functions);
    return rc;
}
