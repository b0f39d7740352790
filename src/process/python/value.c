/* SPDX-License-Identifier: MIT */
#include "process/python/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "process/python/objects.h"

/* Bits of a type's flags: its instances are these, or of a class made from them. */
enum type_bits {
    IS_INT = 1 << 24,
    IS_LIST = 1 << 25,
    IS_TUPLE = 1 << 26,
    IS_BYTES = 1 << 27,
    IS_STR = 1 << 28,
    IS_DICT = 1 << 29,
};

enum { N_TYPE_NAME = 64, N_BYTES_MAX = 4096 };
/* Of an int: bits of one of its digits; so many digits are always written out, and at
 * most so many, which is 4,300 decimals, where int() itself refuses. */
enum { DIGIT = 0x3fffffff, SMALL = 3, N_DIGITS_MAX = 477 };

struct writing {
    struct sd_buf *to;
    const struct sd_remote *r;
    const struct sd_layout *l;
    size_t end; /* of `to`: what is longer is cut */
    int depth;
};

static int put(struct writing *w, uint64_t at);

static bool is_full(const struct writing *w) { return w->to->n >= w->end; }

static size_t room(const struct writing *w)
{
    return is_full(w) ? 0 : w->end - w->to->n;
}

/* Digits of 30 bits, the lowest first, become digits of nine decimals: as repr() says
 * it, by the long division of school.  `digits` is used up. */
static void put_decimal(struct sd_buf *to, uint32_t *digits, size_t n)
{
    uint32_t nines[N_DIGITS_MAX * 30 / 29 + 2];
    size_t n_nines = 0;

    while (n > 0) {
        uint64_t rest = 0;

        for (size_t i = n; i-- > 0;) {
            rest = rest << 30 | digits[i];
            digits[i] = (uint32_t)(rest / 1000000000u);
            rest %= 1000000000u;
        }
        nines[n_nines++] = (uint32_t)rest;
        while (n > 0 && digits[n - 1] == 0)
            n--;
    }
    sd_buf_printf(to, "%" PRIu32, n_nines ? nines[n_nines - 1] : 0);
    while (n_nines > 1)
        sd_buf_printf(to, "%09" PRIu32, nines[--n_nines - 1]);
}

/* Larger than what there is room for: part of a number would be another number. */
static int put_huge(struct writing *w, uint64_t digits_at, uint64_t n)
{
    uint32_t highest;
    int rc = sd_remote_read(w->r, digits_at + (n - 1) * sizeof highest, &highest,
                            sizeof highest);
    int n_bits = 0;

    for (highest &= DIGIT; rc == 0 && highest; highest >>= 1)
        n_bits++;
    if (rc == 0)
        sd_buf_printf(w->to, "<int of %" PRIu64 " bits>",
                      (n - 1) * 30 + (uint64_t)n_bits);
    return rc;
}

static int put_int(struct writing *w, uint64_t at)
{
    const struct sd_layout *l = w->l;
    uint32_t digits[N_DIGITS_MAX];
    uint64_t tag, n;
    bool is_negative;
    int rc = sd_remote_u64(w->r, at + l->long_tag, &tag);

    if (rc < 0)
        return rc;
    if (l->long_style == SD_LONG_TAG) {
        is_negative = (tag & 3) == 2;
        n = (tag & 3) == 1 ? 0 : tag >> 3;
    } else {
        is_negative = (int64_t)tag < 0;
        n = is_negative ? -tag : tag;
    }
    if (n > SMALL && (n > N_DIGITS_MAX || n * 9 > room(w)))
        return put_huge(w, at + l->long_digits, n);
    rc = sd_remote_read(w->r, at + l->long_digits, digits, n * sizeof *digits);
    for (size_t i = 0; rc == 0 && i < n; i++)
        digits[i] &= DIGIT;
    if (rc == 0 && is_negative)
        sd_buf_u8(w->to, '-');
    if (rc == 0)
        put_decimal(w->to, digits, n);
    return rc;
}

static int put_float(struct writing *w, uint64_t at)
{
    char text[SD_TEXT_MAX];
    double v;
    int rc = sd_remote_read(w->r, at + w->l->float_value, &v, sizeof v);

    if (rc == 0)
        sd_buf_text(w->to, sd_text_real(text, v));
    return rc;
}

/* As repr() chooses it: double quotes only where they save backslashes. */
static char quote_for(const uint8_t *p, size_t n)
{
    return n && memchr(p, '\'', n) && !memchr(p, '"', n) ? '"' : '\'';
}

/* One byte of a literal: the quote, a backslash and what is no text have a backslash.
 */
static void put_byte(struct writing *w, uint8_t c, char quote, bool is_text)
{
    if (c == (uint8_t)quote || c == '\\')
        sd_buf_printf(w->to, "\\%c", c);
    else if (c == '\n')
        sd_buf_text(w->to, "\\n");
    else if (c == '\t')
        sd_buf_text(w->to, "\\t");
    else if (c == '\r')
        sd_buf_text(w->to, "\\r");
    else if (c < 0x20 || c == 0x7f || (c >= 0x80 && !is_text))
        sd_buf_printf(w->to, "\\x%02x", c);
    else
        sd_buf_u8(w->to, c);
}

static int put_str(struct writing *w, uint64_t at)
{
    size_t most = room(w) + 1, i;
    struct sd_buf text = { 0 };
    int rc = sd_object_str(w->r, w->l, at, most, &text);

    if (rc == 0) {
        char quote = quote_for(text.p, text.n);

        sd_buf_u8(w->to, (uint8_t)quote);
        for (i = 0; i < text.n; i++) {
            if (is_full(w) && (text.p[i] & 0xc0) != 0x80)
                break; /* never in the middle of a character */
            put_byte(w, text.p[i], quote, true);
        }
        if (i < text.n)
            sd_buf_text(w->to, "...");
        else
            sd_buf_u8(w->to, (uint8_t)quote);
    }
    sd_buf_release(&text);
    return rc;
}

static int put_bytes(struct writing *w, uint64_t at)
{
    uint8_t p[N_BYTES_MAX];
    char quote;
    uint64_t length;
    size_t n, i;
    int rc = sd_remote_u64(w->r, at + w->l->bytes_n, &length);

    if (rc < 0)
        return rc;
    n = room(w) < sizeof p ? room(w) : sizeof p;
    if (length < n)
        n = length;
    rc = sd_remote_read(w->r, at + w->l->bytes_data, p, n);
    if (rc < 0)
        return rc;
    quote = quote_for(p, n);
    sd_buf_printf(w->to, "b%c", quote);
    for (i = 0; i < n && !is_full(w); i++)
        put_byte(w, p[i], quote, false);
    if (i < length)
        sd_buf_text(w->to, "...");
    else
        sd_buf_u8(w->to, (uint8_t)quote);
    return 0;
}

/* n items whose addresses stand in a row at `items`. */
static int put_items(struct writing *w, uint64_t items, uint64_t n)
{
    uint64_t i, item;
    int rc = 0;

    if (n > 0 && w->depth >= SD_VALUE_DEPTH) {
        sd_buf_text(w->to, "...");
        return 0;
    }
    w->depth++;
    for (i = 0; rc == 0 && i < n; i++) {
        sd_buf_text(w->to, i ? ", " : "");
        if (is_full(w)) {
            sd_buf_text(w->to, "...");
            break;
        }
        rc = sd_remote_u64(w->r, items + i * 8, &item);
        if (rc == 0)
            rc = put(w, item);
    }
    w->depth--;
    return rc;
}

static int put_tuple(struct writing *w, uint64_t at)
{
    uint64_t n;
    int rc = sd_remote_u64(w->r, at + w->l->var_n_items, &n);

    if (rc < 0)
        return rc;
    sd_buf_text(w->to, "(");
    rc = put_items(w, at + w->l->tuple_items, n);
    sd_buf_text(w->to, n == 1 ? ",)" : ")");
    return rc;
}

static int put_list(struct writing *w, uint64_t at)
{
    uint64_t n, items;
    int rc = sd_remote_u64(w->r, at + w->l->var_n_items, &n);

    if (rc == 0)
        rc = sd_remote_u64(w->r, at + w->l->list_items, &items);
    if (rc < 0)
        return rc;
    sd_buf_text(w->to, "[");
    rc = put_items(w, items, n);
    sd_buf_text(w->to, "]");
    return rc;
}

static int put_pairs(struct writing *w, const struct sd_dict *d)
{
    bool is_first = true;
    size_t i;
    int rc = 0;

    w->depth++;
    for (i = 0; rc == 0 && i < d->n; i++) {
        if (!d->keys[i] || !d->values[i])
            continue; /* deleted */
        sd_buf_text(w->to, is_first ? "" : ", ");
        is_first = false;
        if (is_full(w) || w->depth > SD_VALUE_DEPTH) {
            sd_buf_text(w->to, "...");
            break;
        }
        rc = put(w, d->keys[i]);
        sd_buf_text(w->to, ": ");
        if (rc == 0)
            rc = put(w, d->values[i]);
    }
    w->depth--;
    return rc;
}

static int put_dict(struct writing *w, uint64_t at)
{
    struct sd_dict d;
    int rc = sd_dict_read(&d, w->r, w->l, at);

    if (rc < 0)
        return rc;
    sd_buf_text(w->to, "{");
    rc = put_pairs(w, &d);
    sd_buf_text(w->to, "}");
    sd_dict_release(&d);
    return rc;
}

static int put_bool(struct writing *w, uint64_t at)
{
    uint64_t v;
    int rc = sd_object_u64(w->r, w->l, at, &v);

    if (rc == 0)
        sd_buf_text(w->to, v ? "True" : "False");
    return rc;
}

/* A variable that an inner function uses too stands in a cell. */
static int put_cell(struct writing *w, uint64_t at)
{
    uint64_t in;
    int rc = sd_remote_u64(w->r, at + w->l->object_size, &in);

    if (rc < 0)
        return rc;
    if (!in || w->depth >= SD_VALUE_DEPTH) {
        sd_buf_text(w->to, in ? "..." : "<empty>");
        return 0;
    }
    w->depth++;
    rc = put(w, in);
    w->depth--;
    return rc;
}

static int put_by_type(struct writing *w, uint64_t at, uint64_t flags, const char *type)
{
    if (strcmp(type, "bool") == 0)
        return put_bool(w, at);
    if (flags & IS_INT)
        return put_int(w, at);
    if (flags & IS_STR)
        return put_str(w, at);
    if (flags & IS_BYTES)
        return put_bytes(w, at);
    if (flags & IS_TUPLE)
        return put_tuple(w, at);
    if (flags & IS_LIST)
        return put_list(w, at);
    if (flags & IS_DICT)
        return put_dict(w, at);
    if (strcmp(type, "NoneType") == 0)
        sd_buf_text(w->to, "None");
    else if (strcmp(type, "float") == 0)
        return put_float(w, at);
    else if (strcmp(type, "cell") == 0)
        return put_cell(w, at);
    else
        sd_buf_printf(w->to, "<%s at 0x%" PRIx64 ">", type, at);
    return 0;
}

static int put(struct writing *w, uint64_t at)
{
    char type[N_TYPE_NAME];
    uint64_t type_at, flags;
    int rc = sd_object_type(w->r, w->l, at, &type_at);

    if (rc == 0)
        rc = sd_remote_u64(w->r, type_at + w->l->type_flags, &flags);
    if (rc == 0)
        rc = sd_type_name(w->r, w->l, type_at, type, sizeof type);
    if (rc == 0)
        rc = put_by_type(w, at, flags, type);
    if (rc == SD_ETORN || rc == SD_EFORMAT || rc == SD_EABSENT) {
        sd_buf_text(w->to, "<unreadable>");
        return 0;
    }
    return rc;
}

int sd_value_text(struct sd_buf *to, const struct sd_remote *r,
                  const struct sd_layout *l, uint64_t at, size_t most)
{
    struct writing w = { to, r, l, to->n + (most ? most : SD_VALUE_BYTES), 0 };
    int rc = put(&w, at);

    return rc < 0 ? rc : to->bad ? sd_no_memory() : 0;
}

/* --- Locals ---------------------------------------------------------------------- */

static int add_local(struct sd_locals *locals, const struct sd_remote *r,
                     const struct sd_layout *l, uint64_t name, uint64_t value,
                     bool is_argument)
{
    struct sd_local *items =
        sd_grow_array(locals->items, &locals->cap, locals->n + 1, sizeof *items);
    struct sd_buf text = { 0 };
    size_t n;
    int rc;

    if (!items)
        return sd_no_memory();
    locals->items = items;
    rc = sd_object_str(r, l, name, SD_LOCAL_NAME, &text);
    if (rc == 0) {
        struct sd_local *one = &locals->items[locals->n++];

        n = text.n < SD_LOCAL_NAME - 1 ? text.n : SD_LOCAL_NAME - 1;
        memcpy(one->name, text.n ? (char *)text.p : "", n);
        one->name[n] = 0;
        one->value = value;
        one->is_argument = is_argument;
    }
    sd_buf_release(&text);
    return rc;
}

/* `n` variables whose values stand at `slots` and whose names are the items of a tuple.
 */
static int read_slots(struct sd_locals *locals, const struct sd_remote *r,
                      const struct sd_layout *l, uint64_t slots, uint64_t names,
                      size_t n, size_t n_args)
{
    uint64_t *words = sd_alloc(2 * n * sizeof *words + 1);
    size_t i;
    int rc;

    if (!words)
        return sd_no_memory();
    rc = sd_remote_read(r, slots, words, n * sizeof *words);
    if (rc == 0)
        rc = sd_remote_read(r, names + l->tuple_items, words + n, n * sizeof *words);
    for (i = 0; rc == 0 && i < n; i++)
        if (words[i] & l->code_mask)
            rc = add_local(locals, r, l, words[n + i], words[i] & l->code_mask,
                           i < n_args);
    sd_free(words);
    return rc;
}

/* Where cells have lists of their own: those of the tuple at this offset of the code.
 * They begin at *slots, which becomes where they end. */
static int read_cells(struct sd_locals *locals, const struct sd_remote *r,
                      const struct sd_layout *l, const struct sd_code *code,
                      uint32_t offset, uint64_t *slots)
{
    uint64_t names, n;
    int rc = sd_remote_u64(r, code->address + offset, &names);

    if (rc == 0)
        rc = sd_remote_u64(r, names + l->var_n_items, &n);
    if (rc == 0 && n > SD_LOCALS_MAX)
        rc = SD_ETORN;
    if (rc == 0 && n > 0)
        rc = read_slots(locals, r, l, *slots, names, n, 0);
    if (rc == 0)
        *slots += n * 8;
    return rc;
}

int sd_locals_read(struct sd_locals *locals, const struct sd_remote *r,
                   const struct sd_runtime *rt, const struct sd_frame *frame,
                   const struct sd_code *code)
{
    const struct sd_layout *l = &rt->layout;
    uint64_t slots = frame->address + l->frame_locals;
    size_t n = code->n_locals < SD_LOCALS_MAX ? code->n_locals : SD_LOCALS_MAX;
    int rc;

    locals->n = 0;
    rc = read_slots(locals, r, l, slots, code->local_names, n, code->n_args);
    slots += (uint64_t)code->n_locals * 8;
    if (rc == 0 && l->code_cell_names != SD_NO_OFFSET)
        rc = read_cells(locals, r, l, code, l->code_cell_names, &slots);
    if (rc == 0 && l->code_free_names != SD_NO_OFFSET)
        rc = read_cells(locals, r, l, code, l->code_free_names, &slots);
    return rc;
}

void sd_locals_release(struct sd_locals *locals)
{
    sd_free(locals->items);
    *locals = (struct sd_locals){ 0 };
}
