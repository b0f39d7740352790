/* SPDX-License-Identifier: MIT */
#include "process/python/code.h"

#include <limits.h>
#include <string.h>

#include "base/encoding/crc.h"
#include "base/error.h"
#include "base/mem.h"
#include "cpython/str_object.h"
#include "process/python/source_path.h"

enum {
    N_HEADER = 1024,     /* code_size of every version is at most this */
    N_BYTES_HEADER = 64, /* bytes_size of every version is at most this */
#ifdef SD_TINY
    N_FIRST_SLOTS = 4,
#else
    N_FIRST_SLOTS = 256,
#endif
};

/* --- Reading one ----------------------------------------------------------------- */

struct text { /* a str of the process on its way here */
    uint64_t at;
    uint8_t header[SD_STR_HEADER];
    struct sd_str str;
    size_t n; /* characters taken */
};

struct draft { /* a code object on its way here */
    uint8_t header[N_HEADER];
    struct text name, qualname, filename;
    uint64_t lines, n_table;
    uint64_t bytecode, n_code;
};

static bool is_possible(uint64_t address)
{
    return address >= 4096 && address % 8 == 0;
}

static int read_header(const struct sd_remote *r, const struct sd_runtime *rt,
                       uint64_t at, struct draft *d)
{
    const struct sd_layout *l = &rt->layout;
    int rc;

    if (!is_possible(at) || l->code_size > sizeof d->header)
        return SD_EFORMAT;
    rc = sd_remote_read(r, at, d->header, l->code_size);
    if (rc < 0)
        return rc;
    if (rt->code_type && sd_field_word(d->header, l->object_type) != rt->code_type)
        return SD_EFORMAT;
    d->name.at = sd_field_word(d->header, l->code_name);
    d->qualname.at = sd_field_word(d->header, l->code_qualname);
    d->filename.at = sd_field_word(d->header, l->code_filename);
    d->lines = sd_field_word(d->header, l->code_lines);
    if (!is_possible(d->name.at) || !is_possible(d->filename.at) ||
        !is_possible(d->lines))
        return SD_EFORMAT;
    return d->qualname.at && !is_possible(d->qualname.at) ? SD_EFORMAT : 0;
}

static int understand(const struct sd_layout *l, struct text *t)
{
    int rc = sd_str_parse(l, t->header, &t->str);

    t->n = t->str.length < SD_CODE_NAME_MAX ? t->str.length : SD_CODE_NAME_MAX;
    return rc;
}

static void want(struct iovec *to, struct iovec *from, size_t *n, void *here,
                 uint64_t there, size_t bytes)
{
    to[*n] = (struct iovec){ here, bytes };
    from[(*n)++] = (struct iovec){ (void *)(uintptr_t)there, bytes };
}

/* The headers of the three names and of the line table, by one system call. */
static int read_parts(const struct sd_remote *r, const struct sd_layout *l, uint64_t at,
                      struct draft *d)
{
    struct iovec to[5], from[5];
    uint64_t code_bytes = sd_field_word(d->header, l->code_bytes), n_bytes = 0;
    size_t n = 0;
    int rc;

    want(to, from, &n, d->name.header, d->name.at, l->str_ascii);
    want(to, from, &n, d->filename.header, d->filename.at, l->str_ascii);
    want(to, from, &n, &d->n_table, d->lines + l->bytes_n, 8);
    if (d->qualname.at)
        want(to, from, &n, d->qualname.header, d->qualname.at, l->str_ascii);
    if (l->bytecode_style == SD_BYTECODE_OBJECT)
        want(to, from, &n, &n_bytes, code_bytes + l->bytes_n, 8);
    rc = sd_remote_readv(r, to, n, from, n);
    if (rc < 0)
        return rc;
    switch (l->bytecode_style) {
    case SD_BYTECODE_OBJECT:
        d->bytecode = code_bytes + l->bytes_data;
        d->n_code = n_bytes;
        break;
    case SD_BYTECODE_INLINE:
        d->bytecode = at + l->code_bytecode;
        d->n_code = 2 * sd_field_word(d->header, l->code_n_units);
        break;
    }
    if (d->n_code == 0 || d->n_code > SD_CODE_BYTES_MAX)
        return SD_EFORMAT;
    if (d->n_table > SD_CODE_LINES_MAX)
        d->n_table = 0; /* nobody writes such a function; it has no lines then */
    rc = understand(l, &d->name);
    if (rc == 0)
        rc = understand(l, &d->filename);
    if (rc == 0 && d->qualname.at)
        rc = understand(l, &d->qualname);
    return rc;
}

/* Equal names are kept once: a file name is shared by all functions of the file. */
static int keep_text(struct sd_codes *c, const struct text *t, const uint8_t *p,
                     const char **out)
{
    struct sd_buf b = { 0 };
    uint32_t id;
    int rc;

    sd_str_utf8(&b, &t->str, p, t->n);
    rc = b.bad ? sd_no_memory() : sd_intern(&c->names, b.p, b.n, &id);
    sd_buf_release(&b);
    if (rc == 0)
        *out = c->names.items[id].p;
    return rc;
}

static struct sd_code_part part_of_text(const struct sd_layout *l, const struct text *t,
                                        const uint8_t *data)
{
    return sd_code_part_of(t->at, l->str_length, t->str.length, t->str.data, data,
                           t->n * t->str.width);
}

/* Characters and line table, by one more, into *room, which is the caller's. */
static int read_contents(struct sd_codes *c, const struct sd_remote *r,
                         const struct sd_layout *l, const struct draft *d,
                         struct sd_code *out, uint8_t **room)
{
    struct text const *texts[3] = { &d->name, &d->filename, &d->qualname };
    const char **names[3] = { &out->name, &out->filename, &out->qualname };
    size_t n_texts = d->qualname.at ? 3 : 2, n = 0, sum = 0, i;
    struct iovec to[4], from[4];
    uint8_t *table;
    int rc;

    for (i = 0; i < n_texts; i++)
        sum += texts[i]->n * texts[i]->str.width;
    *room = sd_alloc(sum + d->n_table + 1);
    if (!*room)
        return sd_no_memory();
    table = *room + sum;
    for (i = 0, sum = 0; i < n_texts; i++) {
        size_t bytes = texts[i]->n * texts[i]->str.width;

        want(to, from, &n, *room + sum, texts[i]->at + texts[i]->str.data, bytes);
        sum += bytes;
    }
    want(to, from, &n, table, d->lines + l->bytes_data, d->n_table);
    rc = sd_remote_readv(r, to, n, from, n);
    for (i = 0, sum = 0; rc == 0 && i < n_texts; i++) {
        rc = keep_text(c, texts[i], *room + sum, names[i]);
        out->parts[i] = part_of_text(l, texts[i], *room + sum);
        sum += texts[i]->n * texts[i]->str.width;
    }
    out->table = table;
    out->n_table = (uint32_t)d->n_table;
    if (d->n_table) /* 0 may stand for one too long to be read */
        out->parts[SD_CODE_PARTS - 1] = sd_code_part_of(
            d->lines, l->bytes_n, d->n_table, l->bytes_data, table, d->n_table);
    return rc;
}

/* Functions of a file come one after the other, so the last one is remembered. */
static int find_path(struct sd_codes *c, const struct sd_remote *r,
                     struct sd_code *code)
{
    char path[PATH_MAX];
    uint32_t id;
    int rc;

    if (code->filename != c->file) {
        c->file = c->file_path = code->filename;
        if (sd_source_path(r->pid, code->filename, path, sizeof path)) {
            rc = sd_intern(&c->names, path, strlen(path), &id);
            if (rc < 0)
                return rc;
            c->file_path = c->names.items[id].p;
        }
    }
    code->path = c->file_path;
    return 0;
}

static uint32_t frame_bytes(const struct sd_layout *l, const uint8_t *header)
{
    if (l->frames_style == SD_FRAMES_OBJECTS)
        return 0;
    if (l->code_frame_words != SD_NO_OFFSET)
        return 8 * sd_field_half(header, l->code_frame_words);
    return 8 * (sd_field_half(header, l->code_n_locals) +
                sd_field_half(header, l->code_n_stack) + l->frame_specials);
}

/* All kinds of them stand first among the variables. */
static uint32_t n_arguments(const struct sd_layout *l, const uint8_t *header)
{
    enum { HAS_ARGS = 4, HAS_KWARGS = 8 };
    uint32_t flags = sd_field_half(header, l->code_flags);

    return sd_field_half(header, l->code_n_args) +
           sd_field_half(header, l->code_n_keyword_args) + ((flags & HAS_ARGS) != 0) +
           ((flags & HAS_KWARGS) != 0);
}

/* Into *code, which is not kept yet, with its line table in *room: most of what is read
 * of a program that compiles all the time is torn, or known. */
static int read_code(struct sd_codes *c, const struct sd_remote *r,
                     const struct sd_runtime *rt, uint64_t at, struct sd_code *code,
                     uint8_t **room)
{
    const struct sd_layout *l = &rt->layout;
    struct draft d;
    int rc = read_header(r, rt, at, &d);

    if (rc == 0)
        rc = read_parts(r, l, at, &d);
    if (rc < 0)
        return rc;
    *code =
        (struct sd_code){ .address = at,
                          .bytecode = d.bytecode,
                          .n_code = (uint32_t)d.n_code,
                          .frame_bytes = frame_bytes(l, d.header),
                          .first_line =
                              (int32_t)sd_field_half(d.header, l->code_first_line),
                          .n_locals = sd_field_half(d.header, l->code_n_locals),
                          .n_args = n_arguments(l, d.header),
                          .local_names = sd_field_word(d.header, l->code_local_names),
                          .name = "",
                          .qualname = "",
                          .filename = "",
                          .path = "" };
    sd_code_take_stamp(l, d.header, code->stamp);
    rc = read_contents(c, r, l, &d, code, room);
    return rc < 0 ? rc : find_path(c, r, code);
}

/* --- The table ------------------------------------------------------------------- */

static struct sd_code_slot *slot_of(struct sd_code_slot *slots, size_t n_slots,
                                    uint64_t address)
{
    size_t at = sd_codes_place(address) & (n_slots - 1);

    while (slots[at].address && slots[at].address != address)
        at = (at + 1) & (n_slots - 1);
    return &slots[at];
}

/* At most half full, so that a search that finds nothing ends soon. */
static int grow(struct sd_codes *c)
{
    size_t n_slots = c->n_slots ? 2 * c->n_slots : N_FIRST_SLOTS, i;
    struct sd_code_slot *slots;

    if (2 * (c->n_used + 1) <= c->n_slots)
        return 0;
    slots = sd_zalloc(n_slots * sizeof *slots);
    if (!slots)
        return sd_no_memory();
    for (i = 0; i < c->n_slots; i++)
        if (c->slots[i].address)
            *slot_of(slots, n_slots, c->slots[i].address) = c->slots[i];
    sd_free(c->slots);
    c->slots = slots;
    c->n_slots = n_slots;
    return 0;
}

/* --- Entries that are taken again */

static uint64_t hash_contents(const struct sd_code *code)
{
    const uint64_t what[] = { (uintptr_t)code->name,
                              (uintptr_t)code->qualname,
                              (uintptr_t)code->filename,
                              (uintptr_t)code->path,
                              (uint32_t)code->first_line,
                              code->n_code,
                              code->n_locals,
                              code->n_args };

    return sd_hash(what, sizeof what, sd_crc32c(0, code->table, code->n_table));
}

/* Names are kept once, so their addresses tell. */
static bool has_same_contents(const struct sd_code *a, const struct sd_code *b)
{
    return a->name == b->name && a->qualname == b->qualname &&
           a->filename == b->filename && a->path == b->path &&
           a->first_line == b->first_line && a->n_code == b->n_code &&
           a->n_locals == b->n_locals && a->n_args == b->n_args &&
           a->n_table == b->n_table && memcmp(a->table, b->table, a->n_table) == 0;
}

/* Without memory it is not found again. */
void sd_codes_retire(struct sd_codes *c, const struct sd_code *which)
{
    struct sd_code *code = c->all[which->id];
    uint64_t first;

    code->is_retired = true;
    code->retired_ns = c->now_ns;
    c->n_retired++;
    slot_of(c->slots, c->n_slots, code->address)->code = NULL;
    code->next_retired =
        sd_table_get(&c->by_contents, code->contents, &first) ? c->all[first] : NULL;
    sd_table_put(&c->by_contents, code->contents, code->id);
}

/* Out of the list of its hash, in which `before` (NULL: none) stands before it. */
static void unlink_retired(struct sd_codes *c, struct sd_code *before,
                           struct sd_code *code)
{
    if (before)
        before->next_retired = code->next_retired;
    else if (code->next_retired)
        sd_table_put(&c->by_contents, code->contents, code->next_retired->id);
    else
        sd_table_remove(&c->by_contents, code->contents);
    code->next_retired = NULL;
}

/* A retired entry of these contents, or NULL.  One that was retired this very moment
 * may be in the hands of who asked for that, and has to stay what it was. */
static struct sd_code *take_retired(struct sd_codes *c, const struct sd_code *made)
{
    struct sd_code *before = NULL, *code;
    uint64_t first;

    if (!sd_table_get(&c->by_contents, made->contents, &first))
        return NULL;
    for (code = c->all[first]; code; before = code, code = code->next_retired)
        if (code->retired_ns < c->now_ns && has_same_contents(code, made)) {
            unlink_retired(c, before, code);
            return code;
        }
    return NULL;
}

/* It is another object with the same text: all that depends on where it lies is new. */
static void move_to(struct sd_code *code, const struct sd_code *made)
{
    code->address = made->address;
    code->bytecode = made->bytecode;
    code->frame_bytes = made->frame_bytes;
    code->local_names = made->local_names;
    memcpy(code->stamp, made->stamp, sizeof code->stamp);
    memcpy(code->parts, made->parts, sizeof code->parts);
    code->is_retired = false;
    code->checked_ns = code->asked_ns = 0;
}

/* --- New entries */

/* The limit comes first: an array that has grown is elsewhere, and must be kept. */
static int make_room(struct sd_codes *c)
{
    struct sd_code **all;

    if (c->n >= SD_CODES_MAX)
        return sd_fail(SD_EFULL,
                       "the program has more than %d code objects (functions), the "
                       "most that can be sampled",
                       SD_CODES_MAX);
    all = sd_grow_array(c->all, &c->cap, c->n + 1, sizeof *all);
    if (!all)
        return sd_no_memory();
    c->all = all;
    return 0;
}

static int add(struct sd_codes *c, const struct sd_code *made, struct sd_code **out)
{
    struct sd_code *code;
    const uint8_t *table;
    int rc = make_room(c);

    if (rc < 0)
        return rc;
    code = sd_arena_copy(&c->arena, made, sizeof *made);
    table = sd_arena_copy(&c->arena, made->table, made->n_table + 1);
    if (!code || !table)
        return sd_no_memory();
    code->table = table;
    code->id = (uint32_t)c->n;
    *out = c->all[c->n++] = code;
    return 0;
}

static int keep(struct sd_codes *c, struct sd_code *made, const struct sd_code **out)
{
    struct sd_code_slot *slot;
    struct sd_code *code;
    int rc = grow(c);

    if (rc < 0)
        return rc;
    made->contents = hash_contents(made);
    code = take_retired(c, made);
    if (code)
        move_to(code, made);
    else
        rc = add(c, made, &code);
    if (rc < 0)
        return rc;
    code->read_ns = c->now_ns;
    slot = slot_of(c->slots, c->n_slots, code->address);
    if (!slot->address)
        c->n_used++;
    *slot = (struct sd_code_slot){ code->address, code };
    *out = code;
    return 0;
}

int sd_codes_get(struct sd_codes *c, const struct sd_remote *r,
                 const struct sd_runtime *rt, uint64_t address,
                 const struct sd_code **out)
{
    struct sd_code made;
    uint8_t *room = NULL;
    int rc;

    *out = sd_codes_find(c, address);
    if (*out)
        return 0;
    c->names.arena = &c->arena;
    rc = read_code(c, r, rt, address, &made, &room);
    if (rc == 0)
        rc = keep(c, &made, out);
    sd_free(room);
    return rc;
}

void sd_codes_release(struct sd_codes *c)
{
    sd_free(c->slots);
    sd_free(c->all);
    sd_code_proof_release(&c->proof);
    sd_free(c->room);
    sd_intern_release(&c->names);
    sd_table_release(&c->by_contents);
    sd_arena_release(&c->arena);
    *c = (struct sd_codes){ 0 };
}

/* --- Lines ----------------------------------------------------------------------- */

static void decode(struct sd_codes *c, struct sd_code *code, const struct sd_layout *l)
{
    struct sd_line_table it;
    struct sd_line_run run;
    uint32_t n = 0;

    sd_line_table_init(&it, l->lines_style, code->table, code->n_table,
                       code->first_line, code->n_code);
    while (sd_line_table_next(&it, &run))
        n++;
    code->runs = sd_arena_alloc(&c->arena, (n + 1) * sizeof *code->runs);
    if (!code->runs)
        return;
    sd_line_table_init(&it, l->lines_style, code->table, code->n_table,
                       code->first_line, code->n_code);
    while (code->n_runs < n && sd_line_table_next(&it, &run))
        code->runs[code->n_runs++] = run;
}

int32_t sd_codes_line(struct sd_codes *c, const struct sd_code *code,
                      const struct sd_layout *l, uint64_t raw_instr)
{
    struct sd_code *own = c->all[code->id];
    int64_t offset = sd_layout_instr(l, raw_instr, code->bytecode);
    size_t low = 0, high;

    if (offset < 0)
        return code->first_line;
    if (!own->runs)
        decode(c, own, l);
    high = own->n_runs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((int64_t)own->runs[middle].to <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < own->n_runs ? own->runs[low].line : SD_NO_LINE;
}
