/* SPDX-License-Identifier: MIT */
#include "collect/alloc/native/call_frames.h"

#include <string.h>

#include "base/cursor.h"

enum {
    RBP = 6, /* numbers of registers in the tables */
    RSP = 7,
    RETURN = 16,
    SAVED_MAX = 8,         /* states that are remembered at once */
    AUGMENTATION_MAX = 16, /* characters */
    STEPS_MAX = 4096,      /* instructions of one table */
};

/* How a pointer is written (DW_EH_PE_*). */
enum {
    ENCODED_AS = 0x0f,
    ENCODED_FROM = 0x70,
    FROM_HERE = 0x10,
    FROM_TABLE = 0x30,
    INDIRECT = 0x80,
    OMITTED = 0xff,
    SEARCHABLE = 0x3b, /* signed words of 4 bytes, counted from the table */
};

/* --- Numbers */

static uint64_t take_unsigned(struct sd_cursor *c)
{
    uint64_t v = 0;
    uint8_t byte = 128;

    for (unsigned shift = 0; byte & 128 && shift < 64 && !c->bad; shift += 7) {
        byte = sd_cursor_u8(c);
        v |= (uint64_t)(byte & 127) << shift;
    }
    return v;
}

static int64_t take_signed(struct sd_cursor *c)
{
    uint64_t v = 0;
    uint8_t byte = 128;
    unsigned shift = 0;

    for (; byte & 128 && shift < 64 && !c->bad; shift += 7) {
        byte = sd_cursor_u8(c);
        v |= (uint64_t)(byte & 127) << shift;
    }
    if (byte & 64 && shift < 64)
        v |= ~UINT64_C(0) << shift;
    return (int64_t)v;
}

/* The number itself, without what it is counted from. */
static uint64_t take_plain(struct sd_cursor *c, uint8_t encoding)
{
    switch (encoding & ENCODED_AS) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return sd_cursor_u64(c);
    case 0x02:
        return sd_cursor_u16(c);
    case 0x0a:
        return (uint64_t)(int16_t)sd_cursor_u16(c);
    case 0x03:
        return sd_cursor_u32(c);
    case 0x0b:
        return (uint64_t)(int32_t)sd_cursor_u32(c);
    case 0x01:
        return take_unsigned(c);
    case 0x09:
        return (uint64_t)take_signed(c);
    }
    c->bad = true;
    return 0;
}

/* Cursors run over the memory itself, so that they know where they are. */
static uintptr_t take_pointer(struct sd_cursor *c, uint8_t encoding)
{
    uintptr_t here = (uintptr_t)c->at, v = take_plain(c, encoding);

    if ((encoding & ENCODED_FROM) == FROM_HERE)
        v += here;
    else if (encoding & ENCODED_FROM)
        c->bad = true;
    return v;
}

/* What can be read from there on. */
static struct sd_cursor cursor_at(const struct sd_loaded *o, uintptr_t at)
{
    return sd_cursor_over((const void *)at, sd_loaded_room(o, at, PF_R));
}

/* --- One entry: what all functions of a kind share, and one function */

struct common {
    uint64_t code_unit;
    int64_t data_unit;
    uint8_t encoding; /* of addresses */
    bool has_more;    /* data before the instructions */
    struct sd_cursor instructions;
};

/* The content of an entry, behind its length; bad: it is the end, or too large. */
static struct sd_cursor entry_at(const struct sd_loaded *o, uintptr_t at)
{
    struct sd_cursor c = cursor_at(o, at);
    uint32_t n = sd_cursor_u32(&c);

    if (n == 0 || n == UINT32_MAX || n > sd_cursor_left(&c))
        c.bad = true;
    else
        c.end = c.at + n;
    return c;
}

static bool read_augmentation(struct sd_cursor *c, const char *words, struct common *to)
{
    uint64_t n;
    const uint8_t *end;

    if (!*words)
        return true;
    if (*words++ != 'z')
        return false;
    to->has_more = true;
    n = take_unsigned(c);
    if (n > sd_cursor_left(c))
        return false;
    end = c->at + n;
    for (; *words; words++)
        if (*words == 'R')
            to->encoding = sd_cursor_u8(c);
        else if (*words == 'L')
            sd_cursor_u8(c);
        else if (*words == 'P')
            take_plain(c, sd_cursor_u8(c));
        else if (*words == 'S') /* a signal: the kernel's frame */
            return false;
        else if (*words != 'B')
            return false;
    if (c->at > end)
        return false;
    c->at = end;
    return true;
}

static bool read_common(const struct sd_loaded *o, uintptr_t at, struct common *to)
{
    struct sd_cursor c = entry_at(o, at);
    char words[AUGMENTATION_MAX];
    uint8_t version;
    size_t n = 0;

    *to = (struct common){ 0 };
    if (sd_cursor_u32(&c) != 0)
        return false;
    version = sd_cursor_u8(&c);
    do
        words[n] = (char)sd_cursor_u8(&c);
    while (words[n] && ++n < sizeof words);
    if (n == sizeof words || (version != 1 && version != 3))
        return false;
    to->code_unit = take_unsigned(&c);
    to->data_unit = take_signed(&c);
    if ((version == 1 ? sd_cursor_u8(&c) : take_unsigned(&c)) != RETURN)
        return false;
    if (!read_augmentation(&c, words, to))
        return false;
    to->instructions = c;
    return !c.bad;
}

/* --- The instructions */

struct state {
    uint64_t base; /* number of a register, or AT_RBP */
    int64_t base_offset;
    enum sd_saved_rbp rbp;
    int64_t rbp_offset;
    bool is_known, is_outermost;
};
enum { AT_RBP = 1000 };

struct machine {
    const struct common *common;
    struct state now, first; /* first: when the function begins */
    struct state saved[SAVED_MAX];
    size_t n_saved;
    uintptr_t at, wanted;
};

/* "What stands so far from this register": the one form that is understood. */
static bool read_expression(struct sd_cursor *c, bool is_fetched, int64_t *offset)
{
    uint64_t n = take_unsigned(c);
    const uint8_t *p = sd_cursor_take(c, n);
    struct sd_cursor e;

    if (!p)
        return false;
    e = sd_cursor_over(p, n);
    if (sd_cursor_u8(&e) != 0x70 + RBP)
        return false;
    *offset = take_signed(&e);
    if (is_fetched && sd_cursor_u8(&e) != 0x06)
        return false;
    return !e.bad && sd_cursor_left(&e) == 0;
}

/* In units of the table.  Any bytes are read, so it may wrap around. */
static int64_t scaled(const struct machine *m, uint64_t n)
{
    return (int64_t)(n * (uint64_t)m->common->data_unit);
}

static void save_register(struct machine *m, uint64_t number, int64_t offset)
{
    if (number == RBP) {
        m->now.rbp = SD_RBP_AT_FRAME;
        m->now.rbp_offset = offset;
    } else if (number == RETURN) {
        m->now.is_known = m->now.is_known && offset == -8;
    }
}

static void restore(struct machine *m, uint64_t number)
{
    if (number == RBP) {
        m->now.rbp = m->first.rbp;
        m->now.rbp_offset = m->first.rbp_offset;
    }
}

/* A register of which nothing more is known.  A function whose return address is such
 * was called by nobody. */
static void lose(struct machine *m, uint64_t number)
{
    if (number == RETURN)
        m->now.is_outermost = true;
    else if (number == RBP)
        m->now.rbp = SD_RBP_SAME;
}

static void expression(struct machine *m, struct sd_cursor *c, uint64_t number)
{
    int64_t offset = 0;
    bool is_understood = read_expression(c, false, &offset);

    if (number == RBP && is_understood) {
        m->now.rbp = SD_RBP_AT_RBP;
        m->now.rbp_offset = offset;
    } else if (number == RBP || number == RETURN) {
        m->now.is_known = false;
    }
}

static void base_expression(struct machine *m, struct sd_cursor *c)
{
    m->now.is_known = read_expression(c, true, &m->now.base_offset);
    m->now.base = AT_RBP;
}

static void remember(struct machine *m, struct sd_cursor *c)
{
    if (m->n_saved == SAVED_MAX)
        c->bad = true;
    else
        m->saved[m->n_saved++] = m->now;
}

static void recall(struct machine *m, struct sd_cursor *c)
{
    if (m->n_saved == 0)
        c->bad = true;
    else
        m->now = m->saved[--m->n_saved];
}

static void set_base(struct machine *m, uint64_t number, int64_t offset)
{
    m->now.base = number;
    m->now.base_offset = offset;
    m->now.is_known = true;
}

/* Those with their operand in the lowest six bits.  False: it is another. */
static bool run_short(struct machine *m, struct sd_cursor *c, uint8_t code)
{
    uint8_t operand = code & 63;

    switch (code & 0xc0) {
    case 0x40:
        m->at += operand * m->common->code_unit;
        return true;
    case 0x80:
        save_register(m, operand, scaled(m, take_unsigned(c)));
        return true;
    case 0xc0:
        restore(m, operand);
        return true;
    }
    return false;
}

static bool run_base(struct machine *m, struct sd_cursor *c, uint8_t code)
{
    uint64_t number;

    switch (code) {
    case 0x0c: /* def_cfa */
        number = take_unsigned(c);
        set_base(m, number, (int64_t)take_unsigned(c));
        return true;
    case 0x0d:
        set_base(m, take_unsigned(c), m->now.base_offset);
        return true;
    case 0x0e:
        m->now.base_offset = (int64_t)take_unsigned(c);
        return true;
    case 0x0f:
        base_expression(m, c);
        return true;
    case 0x12: /* def_cfa_sf */
        number = take_unsigned(c);
        set_base(m, number, scaled(m, (uint64_t)take_signed(c)));
        return true;
    case 0x13:
        m->now.base_offset = scaled(m, (uint64_t)take_signed(c));
        return true;
    }
    return false;
}

static bool run_move(struct machine *m, struct sd_cursor *c, uint8_t code)
{
    switch (code) {
    case 0x00: /* nop */
        return true;
    case 0x01: /* set_loc */
        m->at = take_pointer(c, m->common->encoding);
        return true;
    case 0x02:
        m->at += sd_cursor_u8(c) * m->common->code_unit;
        return true;
    case 0x03:
        m->at += sd_cursor_u16(c) * m->common->code_unit;
        return true;
    case 0x04:
        m->at += sd_cursor_u32(c) * m->common->code_unit;
        return true;
    case 0x0a:
        remember(m, c);
        return true;
    case 0x0b:
        recall(m, c);
        return true;
    case 0x2e: /* GNU_args_size */
        take_unsigned(c);
        return true;
    }
    return false;
}

static bool run_register(struct machine *m, struct sd_cursor *c, uint8_t code)
{
    uint64_t number = take_unsigned(c);

    switch (code) {
    case 0x05: /* offset_extended */
        save_register(m, number, scaled(m, take_unsigned(c)));
        return true;
    case 0x06:
        restore(m, number);
        return true;
    case 0x07:
        lose(m, number);
        return true;
    case 0x08: /* same_value */
        if (number == RBP)
            m->now.rbp = SD_RBP_SAME;
        return number != RETURN;
    case 0x10:
        expression(m, c, number);
        return true;
    case 0x11: /* offset_extended_sf */
        save_register(m, number, scaled(m, (uint64_t)take_signed(c)));
        return true;
    case 0x2f: /* GNU_negative_offset_extended */
        save_register(m, number, -scaled(m, take_unsigned(c)));
        return true;
    }
    return false; /* others are not written for x86-64 */
}

/* Up to the row of the wanted address. */
static bool run(struct machine *m, struct sd_cursor c)
{
    for (int i = 0; i < STEPS_MAX && sd_cursor_left(&c) > 0; i++) {
        struct state before = m->now;
        uint8_t code = sd_cursor_u8(&c);

        if (!run_short(m, &c, code) && !run_base(m, &c, code) &&
            !run_move(m, &c, code) && !run_register(m, &c, code))
            return false;
        if (c.bad)
            return false;
        if (m->at > m->wanted) {
            m->now = before;
            return true;
        }
    }
    return sd_cursor_left(&c) == 0;
}

static bool fits(int64_t v) { return v == (int32_t)v; }

static bool put_rule(const struct state *s, struct sd_frame_rule *rule)
{
    if (s->is_outermost) {
        rule->base = SD_FRAME_OUTERMOST;
        return true;
    }
    if (!s->is_known || !fits(s->base_offset) || !fits(s->rbp_offset))
        return false;
    rule->base = s->base == RSP      ? SD_FRAME_RSP
                 : s->base == RBP    ? SD_FRAME_RBP
                 : s->base == AT_RBP ? SD_FRAME_AT_RBP
                                     : SD_FRAME_NONE;
    rule->rbp = (uint8_t)s->rbp;
    rule->base_offset = (int32_t)s->base_offset;
    rule->rbp_offset = (int32_t)s->rbp_offset;
    return rule->base != SD_FRAME_NONE;
}

/* --- The search table */

struct entry {
    int32_t start, at; /* counted from the table's head */
};

uintptr_t sd_call_frames_table(const struct sd_loaded *o)
{
    for (size_t i = 0; i < o->n_segments; i++)
        if (o->segments[i].p_type == PT_GNU_EH_FRAME)
            return o->base + o->segments[i].p_vaddr;
    return 0;
}

/* Its entries, in order; NULL: there are none that could be searched. */
static const struct entry *entries(const struct sd_loaded *o, uintptr_t table,
                                   size_t *n)
{
    struct sd_cursor c = cursor_at(o, table);
    uint8_t version = sd_cursor_u8(&c), frame = sd_cursor_u8(&c);
    uint8_t count = sd_cursor_u8(&c), encoding = sd_cursor_u8(&c);
    uint64_t said;

    if (version != 1 || encoding != SEARCHABLE || count == OMITTED)
        return NULL;
    take_plain(&c, frame);
    said = take_plain(&c, count);
    if (c.bad || (uintptr_t)c.at % 4 != 0)
        return NULL;
    *n = sd_cursor_left(&c) / sizeof(struct entry);
    *n = said < *n ? (size_t)said : *n;
    return (const void *)c.at;
}

/* The last that begins at or before `at`. */
static const struct entry *find_entry(const struct entry *all, size_t n,
                                      uintptr_t table, uintptr_t at)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (table + (uintptr_t)(intptr_t)all[middle].start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &all[low - 1] : NULL;
}

static bool read_function(const struct sd_loaded *o, uintptr_t at, struct machine *m,
                          struct common *common, uintptr_t *start)
{
    struct sd_cursor c = entry_at(o, at);
    uintptr_t here = (uintptr_t)c.at, n;
    uint32_t back = sd_cursor_u32(&c);
    uint64_t more;

    if (back == 0 || !read_common(o, here - back, common) ||
        common->encoding & INDIRECT)
        return false;
    m->at = take_pointer(&c, common->encoding);
    n = take_plain(&c, common->encoding);
    more = common->has_more ? take_unsigned(&c) : 0;
    if (c.bad || m->wanted - m->at >= n || !sd_cursor_take(&c, more))
        return false;
    *start = m->at;
    m->common = common;
    if (!run(m, common->instructions))
        return false;
    m->first = m->now;
    return run(m, c);
}

bool sd_call_frames_find(const struct sd_loaded *o, uintptr_t table, uintptr_t at,
                         struct sd_frame_rule *rule)
{
    struct machine m = { .wanted = at };
    const struct entry *all, *e;
    struct common common;
    size_t n = 0;

    *rule = (struct sd_frame_rule){ 0 };
    all = table ? entries(o, table, &n) : NULL;
    e = all ? find_entry(all, n, table, at) : NULL;
    return e &&
           read_function(o, table + (uintptr_t)(intptr_t)e->at, &m, &common,
                         &rule->start) &&
           put_rule(&m.now, rule);
}
