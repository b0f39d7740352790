/* SPDX-License-Identifier: MIT */
#include "process/python/code_proof.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/encoding/crc.h"
#include "base/error.h"
#include "base/mem.h"
#include "process/python/code.h"

enum {
    N_PART = 512, /* bytes of a name or a table that are compared */
    GAP = 256,    /* bytes between two pieces that are rather read than left out */
#ifdef SD_TINY
    N_AT_ONCE = 2, /* codes that are compared by one system call */
#else
    N_AT_ONCE = SD_REMOTE_RANGES / (1 + SD_CODE_PARTS),
#endif
};

/* --- What tells a code object from another --------------------------------------- */

void sd_code_take_stamp(const struct sd_layout *l, const uint8_t *header,
                        uint64_t stamp[SD_CODE_STAMP])
{
    stamp[0] = sd_field_word(header, l->object_type);
    stamp[1] = sd_field_word(header, l->code_name);
    stamp[2] = sd_field_word(header, l->code_filename);
    stamp[3] = sd_field_word(header, l->code_lines);
    stamp[4] = (uint64_t)sd_field_half(header, l->code_first_line) << 32 |
               sd_field_half(header, l->code_version);
    stamp[5] = sd_field_word(header, l->code_qualname);
    stamp[6] = l->bytecode_style == SD_BYTECODE_OBJECT
                   ? sd_field_word(header, l->code_bytes)
                   : sd_field_word(header, l->code_n_units);
}

static uint32_t crc_of_part(uint64_t n, const uint8_t *data, size_t n_data)
{
    return sd_crc32c(sd_crc32c(0, &n, sizeof n), data, n_data);
}

struct sd_code_part sd_code_part_of(uint64_t address, uint32_t n_at, uint64_t n,
                                    uint32_t data_at, const uint8_t *data,
                                    size_t n_data)
{
    size_t n_compared = n_data < N_PART ? n_data : N_PART;

    return (struct sd_code_part){ address, n_at, data_at, (uint32_t)n_compared,
                                  crc_of_part(n, data, n_compared) };
}

/* Whether its number alone tells it from any other. */
static bool is_numbered(const struct sd_code *code) { return (uint32_t)code->stamp[4]; }

static bool is_same_part(const struct sd_code_part *p, const uint8_t *at)
{
    return crc_of_part(sd_field_word(at, 0), at + (p->data_at - p->n_at), p->n_data) ==
           p->crc;
}

/* --- What must be read ------------------------------------------------------------ */

static int add_piece(struct sd_code_proof *p, uint64_t address, size_t n)
{
    struct sd_code_piece *pieces =
        sd_grow_array(p->pieces, &p->cap_pieces, p->n_pieces + 1, sizeof *pieces);

    if (!pieces)
        return SD_ENOMEM;
    p->pieces = pieces;
    pieces[p->n_pieces++] = (struct sd_code_piece){ address, n, 0 };
    return 0;
}

/* Its header first. */
static int add_code(struct sd_code_proof *p, const struct sd_layout *l,
                    const struct sd_code *code)
{
    int rc = add_piece(p, code->address, l->code_size);
    size_t i;

    for (i = 0; rc == 0 && !is_numbered(code) && i < SD_CODE_PARTS; i++) {
        const struct sd_code_part *part = &code->parts[i];

        if (part->address)
            rc = add_piece(p, part->address + part->n_at,
                           part->data_at + part->n_data - part->n_at);
    }
    return rc;
}

static int compare_pieces(const void *a, const void *b, void *of)
{
    const struct sd_code_proof *p = of;
    uint64_t x = p->pieces[*(const uint32_t *)a].address;
    uint64_t y = p->pieces[*(const uint32_t *)b].address;

    return x < y ? -1 : x > y;
}

static int add_range(struct sd_code_proof *p, uint64_t first, uint64_t end)
{
    struct iovec *from =
        sd_grow_array(p->from, &p->cap_from, p->n_from + 1, sizeof *from);

    if (!from)
        return SD_ENOMEM;
    p->from = from;
    from[p->n_from++] = (struct iovec){ (void *)(uintptr_t)first, end - first };
    p->n_bytes += end - first;
    return 0;
}

/* Pieces may be the same, or overlap.  A gap of less than a page has no page of its own
 * that could be missing. */
static int join_pieces(struct sd_code_proof *p)
{
    size_t i, k;
    int rc = 0;

    for (i = 0; rc == 0 && i < p->n_pieces; i = k) {
        uint64_t first = p->pieces[p->order[i]].address, end = first;

        for (k = i; k < p->n_pieces; k++) {
            struct sd_code_piece *piece = &p->pieces[p->order[k]];

            if (k > i && piece->address > end + GAP)
                break;
            piece->at = p->n_bytes + (piece->address - first);
            if (piece->address + piece->n > end)
                end = piece->address + piece->n;
        }
        rc = add_range(p, first, end);
    }
    return rc;
}

static int set_in_order(struct sd_code_proof *p)
{
    uint32_t *order =
        sd_grow_array(p->order, &p->cap_order, p->n_pieces + 1, sizeof *order);
    size_t i;

    if (!order)
        return SD_ENOMEM;
    p->order = order;
    for (i = 0; i < p->n_pieces; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, p->n_pieces, sizeof *order, compare_pieces, p);
    return join_pieces(p);
}

static int take_codes(struct sd_code_proof *p, const struct sd_code *const *codes,
                      size_t n)
{
    const struct sd_code **own = sd_grow_array(p->codes, &p->cap, n + 1, sizeof *own);

    if (!own)
        return SD_ENOMEM;
    p->codes = own;
    memcpy(own, codes, n * sizeof *own);
    p->n = n;
    p->n_pieces = p->n_from = p->n_bytes = 0;
    return 0;
}

int sd_code_proof_plan(struct sd_code_proof *p, const struct sd_codes *c,
                       const struct sd_layout *l, const struct sd_code *const *codes,
                       size_t n)
{
    size_t i;
    int rc;

    if (n == p->n && p->n_retired == c->n_retired &&
        (n == 0 || memcmp(codes, p->codes, n * sizeof *codes) == 0))
        return 0;
    p->n_retired = c->n_retired;
    rc = take_codes(p, codes, n);
    for (i = 0; rc == 0 && i < n; i++)
        rc = add_code(p, l, codes[i]);
    if (rc == 0)
        rc = set_in_order(p);
    if (rc < 0)
        p->n = 0;
    return rc;
}

void sd_code_proof_release(struct sd_code_proof *p)
{
    sd_free(p->codes);
    sd_free(p->pieces);
    sd_free(p->order);
    sd_free(p->from);
    *p = (struct sd_code_proof){ 0 };
}

/* --- What came ------------------------------------------------------------------- */

/* *pieces are its own, and become those of the next code. */
static bool is_same_code(const struct sd_layout *l, const struct sd_code *code,
                         const struct sd_code_piece **pieces, const uint8_t *came)
{
    uint64_t stamp[SD_CODE_STAMP];
    bool is_same;
    size_t i;

    sd_code_take_stamp(l, came + (*pieces)++->at, stamp);
    is_same = memcmp(stamp, code->stamp, sizeof stamp) == 0;
    for (i = 0; !is_numbered(code) && i < SD_CODE_PARTS; i++)
        if (code->parts[i].address)
            is_same &= is_same_part(&code->parts[i], came + (*pieces)++->at);
    return is_same;
}

size_t sd_code_proof_judge(const struct sd_code_proof *p, struct sd_codes *c,
                           const struct sd_layout *l, const uint8_t *came)
{
    const struct sd_code_piece *pieces = p->pieces;
    size_t n_retired = 0, i;

    for (i = 0; i < p->n; i++) {
        struct sd_code *code = c->all[p->codes[i]->id];
        bool is_same = is_same_code(l, code, &pieces, came);

        if (code->is_retired) /* by another thread's stack, since it was asked for */
            continue;
        if (is_same) {
            code->checked_ns = c->now_ns;
        } else {
            sd_codes_retire(c, code);
            n_retired++;
        }
    }
    sd_assert(pieces == p->pieces + p->n_pieces);
    return n_retired;
}

/* What cannot be read all at once is asked for one by one.  A single one that cannot be
 * read is no code object any more. */
static int verify_some(struct sd_codes *c, const struct sd_remote *r,
                       const struct sd_layout *l, const struct sd_code *const *some,
                       size_t n, size_t *n_retired)
{
    struct iovec to = { 0 };
    uint8_t *room;
    size_t i;
    int rc = sd_code_proof_plan(&c->proof, c, l, some, n);

    if (rc < 0)
        return sd_no_memory();
    room = sd_grow_array(c->room, &c->cap_room, c->proof.n_bytes, 1);
    if (!room)
        return sd_no_memory();
    c->room = room;
    to = (struct iovec){ room, c->proof.n_bytes };
    rc = sd_remote_readv(r, &to, 1, c->proof.from, c->proof.n_from);
    if (rc == 0)
        *n_retired += sd_code_proof_judge(&c->proof, c, l, room);
    if (rc != SD_ETORN)
        return rc;
    if (n == 1) {
        sd_codes_retire(c, some[0]);
        ++*n_retired;
        return 0;
    }
    for (i = 0, rc = 0; rc == 0 && i < n; i++)
        rc = verify_some(c, r, l, some + i, 1, n_retired);
    return rc;
}

int sd_codes_verify(struct sd_codes *c, const struct sd_remote *r,
                    const struct sd_runtime *rt, const struct sd_code *const *some,
                    size_t n, size_t *n_retired)
{
    size_t at, k;
    int rc = 0;

    *n_retired = 0;
    for (at = 0; rc == 0 && at < n; at += k) {
        k = n - at < N_AT_ONCE ? n - at : N_AT_ONCE;
        rc = verify_some(c, r, &rt->layout, some + at, k, n_retired);
    }
    return rc;
}
