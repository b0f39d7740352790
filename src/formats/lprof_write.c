/* SPDX-License-Identifier: MIT */
/* lprof_write: writes a pickle of protocol 4, which every Python from 3.4 on reads.
 *
 * Each part stands where it is needed; only names are kept, since a file's stands with
 * each of its functions.  There is no frame, which a pickle may do without. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "formats/lprof.h"

struct writing {
    struct sd_out *out;
    const struct sd_line_stats *s;
    uint32_t *kept; /* owned; by string, its number in the memo + 1; 0: none yet */
    uint32_t n_kept;
};

static void put_u8(struct writing *w, uint8_t v) { sd_out_write(w->out, &v, 1); }

static void put_u32(struct writing *w, uint32_t v)
{
    sd_out_write(w->out, &v, sizeof v); /* little-endian */
}

static void put_text(struct writing *w, const char *p, size_t n)
{
    if (n < 256) {
        put_u8(w, 0x8c);
        put_u8(w, (uint8_t)n);
    } else {
        put_u8(w, 'X');
        put_u32(w, (uint32_t)n);
    }
    sd_out_write(w->out, p, n);
}

/* A name that may come again. */
static void put_name(struct writing *w, uint32_t id)
{
    struct sd_intern_string name = w->s->strings.items[id];

    if (w->kept[id]) {
        put_u8(w, 'j');
        put_u32(w, w->kept[id] - 1);
        return;
    }
    put_text(w, name.p, name.n);
    put_u8(w, 0x94);
    w->kept[id] = ++w->n_kept;
}

static void put_long(struct writing *w, int64_t v)
{
    put_u8(w, 0x8a);
    put_u8(w, sizeof v);
    sd_out_write(w->out, &v, sizeof v);
}

static void put_int(struct writing *w, int64_t v)
{
    if (v >= 0 && v < 256) {
        put_u8(w, 'K');
        put_u8(w, (uint8_t)v);
    } else if (v >= INT32_MIN && v <= INT32_MAX) {
        put_u8(w, 'J');
        put_u32(w, (uint32_t)v);
    } else {
        put_long(w, v);
    }
}

static void put_real(struct writing *w, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    bits = __builtin_bswap64(bits); /* big-endian */
    put_u8(w, 'G');
    sd_out_write(w->out, &bits, sizeof bits);
}

static void put_line(struct writing *w, const struct sd_line_entry *e)
{
    put_int(w, e->line);
    put_int(w, e->hits);
    if (e->time == rint(e->time) && fabs(e->time) < 0x1p62)
        put_int(w, (int64_t)e->time);
    else
        put_real(w, e->time);
    put_u8(w, 0x87);
}

static void put_function(struct writing *w, const struct sd_line_function *f)
{
    put_name(w, f->file_id);
    put_int(w, f->line);
    put_name(w, f->name_id);
    put_u8(w, 0x87);
    put_u8(w, ']');
    put_u8(w, '(');
    for (size_t i = 0; i < f->n; i++)
        put_line(w, &f->entries[i]);
    put_u8(w, 'e');
}

static void put_all(struct writing *w)
{
    static const char class[] = "\x80\x04\x8c\x1bline_profiler.line_profiler"
                                "\x8c\tLineStats\x93)\x81}(";

    sd_out_write(w->out, class, sizeof class - 1);
    put_text(w, "timings", 7);
    put_u8(w, '}');
    put_u8(w, '(');
    for (size_t i = 0; i < w->s->n; i++)
        put_function(w, &w->s->functions[i]);
    put_u8(w, 'u');
    put_text(w, "unit", 4);
    put_real(w, w->s->unit);
    sd_out_text(w->out, "ub.");
}

int sd_line_stats_write_lprof(const struct sd_line_stats *s, struct sd_out *out)
{
    struct writing w = { .out = out, .s = s };

    w.kept = sd_zalloc((s->strings.n + 1) * sizeof *w.kept);
    if (!w.kept)
        return sd_no_memory();
    put_all(&w);
    sd_free(w.kept);
    return 0;
}
