/* SPDX-License-Identifier: MIT */
#include "cpython/debug_offsets.h"

#include <string.h>

#include "base/cursor.h"
#include "base/error.h"
#include "cpython/layouts.h"

enum { N_COOKIE = 8 };
static const char cookie[N_COOKIE + 1] = "xdebugpy";

/* Every word that some version tells, under the name of where it goes.  All bits set:
 * not told. */
struct told {
#define OFFSET(name, within, meaning) uint64_t name;
#include "cpython/offsets.def"
#undef OFFSET
    uint64_t runtime_size, interp_size, thread_size, frame_size, code_size, object_size;
    uint64_t type_size, tuple_size, list_size, dict_size, float_size, long_size,
        bytes_size, str_size;
    /* Parts from which offsets are made: */
    uint64_t interp_gc, gc_collecting, interp_own_gil, own_gil_locked, own_gil_holder;
    uint64_t unused;
};

#define TOLD(name) t->name = sd_cursor_u64(c);
static void read_cp313(struct told *t, struct sd_cursor *c)
{
#include "cpython/told/cp313.def"
}

static void read_cp314(struct told *t, struct sd_cursor *c)
{
#include "cpython/told/cp314.def"
}

static void read_cp315(struct told *t, struct sd_cursor *c)
{
#include "cpython/told/cp315.def"
}

#define TOLD_OF_DICTS(name)
static void read_cp315_seq(struct told *t, struct sd_cursor *c)
{
#include "cpython/told/cp315_seq.def"
}
#undef TOLD_OF_DICTS

#define TOLD_OF_DICTS(name) TOLD(name)
static void read_cp315_dicts(struct told *t, struct sd_cursor *c)
{
#include "cpython/told/cp315_seq.def"
}
#undef TOLD_OF_DICTS
#undef TOLD

struct order {
    uint32_t from, to; /* versions; `to` is in it */
    void (*read)(struct told *t, struct sd_cursor *c);
    uint8_t owner_last; /* of pre-releases; 0: as the headers of the release say */
};

/* Where two have a version in common, the first that makes sense counts: which of the
 * last pre-releases began to tell more is not in their version. */
static const struct order orders[] = {
    { 0x030d00a6, 0x030dffff, read_cp313, 0 },
    { 0x030e00b1, 0x030effff, read_cp314, 0 },
    { 0x030f00a3, 0x030f00b3, read_cp315, 4 },
    { 0x030f00b4, 0x030f00ef, read_cp315_dicts, 4 },
    { 0x030f00b4, 0x030f00ef, read_cp315_seq, 4 },
    { 0x030f00f0, 0x030fffff, read_cp315_dicts, 0 },
};

bool sd_debug_offsets_version(const uint8_t *p, size_t n, uint32_t *version)
{
    struct sd_cursor c = sd_cursor_over(p, n);
    const uint8_t *told = sd_cursor_take(&c, N_COOKIE);
    uint64_t v = sd_cursor_u64(&c);

    if (c.bad || memcmp(told, cookie, N_COOKIE) != 0 || v > UINT32_MAX)
        return false;
    *version = (uint32_t)v;
    return true;
}

static bool is_order_of(const struct order *order, uint32_t version)
{
    return version >= order->from && version <= order->to;
}

/* A free-threaded build has another object header, which moves what we know only from
 * the headers of the usual build.  Without these fields threads have no Python names.
 */
static void forget_what_is_not_told(struct sd_layout *l)
{
    l->type_basic_size = l->type_dict_offset = l->type_cached_keys = SD_NO_OFFSET;
    l->module_dict = SD_NO_OFFSET;
    l->code_cell_names = l->code_free_names = SD_NO_OFFSET;
    l->keys_log2_size = l->keys_log2_bytes = l->keys_kind = SD_NO_OFFSET;
    l->keys_n_entries = l->keys_index = l->values_items = SD_NO_OFFSET;
}

static bool take_size(uint32_t *to, uint64_t v, uint64_t least, uint64_t most)
{
    *to = (uint32_t)v;
    return v >= least && v <= most && v % 4 == 0;
}

static bool take_sizes(struct sd_layout *l, const struct told *t)
{
    bool ok = take_size(&l->runtime_size, t->runtime_size, 256, 64 << 20);

    ok &= take_size(&l->interp_size, t->interp_size, 256, 64 << 20);
    ok &= take_size(&l->thread_size, t->thread_size, 64, 1 << 20);
    ok &= take_size(&l->frame_size, t->frame_size, 40, 512);
    ok &= take_size(&l->code_size, t->code_size, 80, 1024);
    ok &= take_size(&l->object_size, t->object_size, 16, 64);
    ok &= take_size(&l->type_size, t->type_size, 200, 8192);
    ok &= take_size(&l->tuple_size, t->tuple_size, 24, 128);
    ok &= take_size(&l->list_size, t->list_size, 32, 128);
    ok &= take_size(&l->dict_size, t->dict_size, 32, 256);
    ok &= take_size(&l->float_size, t->float_size, 24, 128);
    ok &= take_size(&l->long_size, t->long_size, 24, 128);
    ok &= take_size(&l->bytes_size, t->bytes_size, 32, 128);
    ok &= take_size(&l->str_size, t->str_size, 40, 96);
    l->var_size = l->object_size + 8;
    return ok;
}

/* The fields that are told only through others. */
static void complete(struct told *t)
{
    t->thread_top = t->thread_chunk + 8;
    t->code_n_stack = t->code_first_line - 4;
    t->code_n_locals = t->code_first_line + 4;
    t->code_frame_words = t->code_first_line + 8;
    t->code_version = t->code_first_line + 24;
    t->code_n_keyword_args = t->code_n_args + 8;
    t->code_flags = t->code_n_args - 4;
    t->code_n_units = t->var_n_items;
    t->str_compact = t->str_size - 8;
    t->gil_holder = t->own_gil_holder - t->interp_own_gil;
    t->gil_locked = t->own_gil_locked - t->interp_own_gil;
    if (t->gc_collecting != UINT64_MAX)
        t->interp_collecting = t->interp_gc + t->gc_collecting;
}

/* Sums and differences must be made of possible numbers, or they could wrap into one.
 */
static bool has_possible_parts(const struct sd_layout *l, const struct told *t)
{
    return t->interp_gc < l->interp_size && t->interp_own_gil < l->interp_size &&
           t->own_gil_locked < l->interp_size && t->own_gil_holder < l->interp_size &&
           (t->gc_collecting == UINT64_MAX || t->gc_collecting < l->interp_size);
}

static bool take_offset(uint32_t *to, uint64_t v, uint32_t size)
{
    if (v == UINT64_MAX)
        return true; /* not told: as the headers say */
    *to = (uint32_t)v;
    return v < size;
}

static bool take_offsets(struct sd_layout *l, const struct told *t)
{
    bool ok = true;

#define OFFSET(name, within, meaning)                                                  \
    ok &= take_offset(&l->name, t->name, l->within##_size);
#include "cpython/offsets.def"
#undef OFFSET
    return ok;
}

/* What CPython has always kept side by side; were one word of the order missing or one
 * too many, hardly any of it would hold. */
static bool fits_together(const struct sd_layout *l)
{
    return l->object_type == l->object_size - 8 && l->var_n_items == l->object_size &&
           l->bytes_n == l->object_size && l->bytes_data == l->object_size + 16 &&
           l->str_length == l->object_size && l->str_state == l->object_size + 16 &&
           l->long_tag == l->object_size && l->long_digits == l->object_size + 8 &&
           l->float_value == l->object_size && l->list_items == l->object_size + 8 &&
           l->str_ascii < l->str_compact && l->type_name > l->object_size &&
           l->thread_next != l->thread_interp && l->frame_code % 8 == 0 &&
           l->frame_previous % 8 == 0 && l->frame_instr % 8 == 0 &&
           l->code_name != l->code_filename && l->frame_locals <= l->frame_size &&
           l->frame_locals > l->frame_owner && l->code_bytecode <= l->code_size;
}

/* Reads the words in this order; false when what they say cannot be.  *out then holds
 * anything. */
static bool read_in_order(struct sd_layout *out, const struct order *order,
                          uint32_t version, struct sd_cursor words)
{
    uint64_t flag = sd_cursor_u64(&words);
    struct told t;

    memset(&t, 0xff, sizeof t);
    order->read(&t, &words);
    complete(&t);
    if (!flag)
        t.frame_copy = t.code_copies = UINT64_MAX; /* told as 0 where there are none */

    *out = *sd_layout_of_version(version); /* every order's version has one */
    out->version = version;
    out->is_free_threaded = flag;
    if (order->owner_last)
        out->owner_last = order->owner_last;
    if (flag) {
        out->gil_style = SD_GIL_NONE;
        forget_what_is_not_told(out);
    }
    return !words.bad && flag <= 1 && take_sizes(out, &t) &&
           has_possible_parts(out, &t) && take_offsets(out, &t) && fits_together(out);
}

int sd_debug_offsets_read(struct sd_layout *out, const uint8_t *p, size_t n)
{
    struct sd_cursor c = sd_cursor_over(p, n), flag;
    char text[SD_VERSION_TEXT];
    bool is_known = false;
    uint32_t version;
    size_t i;

    if (!sd_debug_offsets_version(p, n, &version))
        return sd_fail(
            SD_EFORMAT,
            "its Python does not publish its memory layout (debug offsets) as CPython "
            "3.13 and later do, so it may be a modified build; use an unmodified one");
    sd_cursor_take(&c, N_COOKIE + 8);
    for (i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (!is_order_of(&orders[i], version))
            continue;
        is_known = true;
        if (!read_in_order(out, &orders[i], version, c))
            continue;
        /* What is read of a frame and of a code object ends where its variable part
         * begins. */
        out->frame_size = out->frame_locals;
        out->code_size = out->code_bytecode;
        return 0;
    }
    flag = c;
    sd_version_text(text, version, sd_cursor_u64(&flag));
    if (!is_known)
        return sd_fail(SD_EFORMAT,
                       "this version of sonde cannot read CPython %s; it reads %s",
                       text, sd_layout_supported());
    return sd_fail(SD_EFORMAT,
                   "this CPython %s cannot be read: its memory layout (debug offsets) "
                   "differs from that of the released version, so it may be a modified "
                   "build; use an unmodified one",
                   text);
}
