/* SPDX-License-Identifier: MIT */
#include "report/page/payload.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text.h"

enum { ALIGNED = 8 };

void sd_payload_init(struct sd_payload *p)
{
    *p = (struct sd_payload){ 0 };
    p->strings.arena = &p->arena;
    sd_out_to_memory(&p->json);
    sd_json_init(&p->j, &p->json, false);
    sd_json_object(&p->j);
}

void sd_payload_release(struct sd_payload *p)
{
    sd_out_release(&p->json);
    sd_buf_release(&p->columns);
    sd_intern_release(&p->strings);
    sd_arena_release(&p->arena);
    sd_free(p->scratch);
    p->scratch = NULL;
}

/* --- Names */

const char *sd_payload_cut(const char *name, char cut[SD_PAYLOAD_CUT])
{
    static const char more[] = "…";
    size_t n = strlen(name);

    if (n <= SD_PAYLOAD_NAME)
        return name;
    n = sd_text_whole(name, SD_PAYLOAD_NAME);
    sd_assert(n + sizeof more <= SD_PAYLOAD_CUT);
    memcpy(cut, name, n);
    memcpy(cut + n, more, sizeof more);
    return cut;
}

uint32_t sd_payload_name(struct sd_payload *p, const char *name)
{
    char cut[SD_PAYLOAD_CUT];
    uint32_t id = 0;

    name = sd_payload_cut(name, cut);
    if (sd_intern(&p->strings, name, strlen(name), &id) < 0)
        p->bad = true;
    return id;
}

uint32_t sd_payload_name_or_0(struct sd_payload *p, const char *name)
{
    return name ? sd_payload_name(p, name) + 1 : 0;
}

/* --- Columns */

int64_t *sd_payload_column(struct sd_payload *p, size_t n)
{
    int64_t *scratch =
        sd_grow_array(p->scratch, &p->cap_scratch, n ? n : 1, sizeof *p->scratch);

    if (!scratch) {
        p->bad = true;
        return NULL;
    }
    return p->scratch = scratch;
}

static void put_place(struct sd_payload *p, const char *key, size_t n, const char *as,
                      bool is_delta)
{
    static const uint8_t zeros[ALIGNED];

    sd_buf_add(&p->columns, zeros, (ALIGNED - p->columns.n % ALIGNED) % ALIGNED);
    sd_json_key_object(&p->j, key);
    sd_json_key_uint(&p->j, "at", p->columns.n);
    sd_json_key_uint(&p->j, "n", n);
    sd_json_key_string(&p->j, "as", as);
    if (is_delta)
        sd_json_key_bool(&p->j, "delta", true);
    sd_json_end(&p->j);
}

static void put_real(struct sd_buf *to, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    sd_buf_u64(to, bits);
}

/* The narrowest kind that holds them all. */
static void put_numbers(struct sd_payload *p, const char *key, const int64_t *v,
                        size_t n, bool is_delta)
{
    int64_t most = 0;

    for (size_t i = 0; i < n; i++) {
        sd_assert_slow(v[i] >= 0);
        most = v[i] > most ? v[i] : most;
    }
    put_place(p, key, n,
              most <= UINT8_MAX    ? "u8"
              : most <= UINT16_MAX ? "u16"
              : most <= UINT32_MAX ? "u32"
                                   : "f64",
              is_delta);
    for (size_t i = 0; i < n; i++)
        if (most <= UINT8_MAX)
            sd_buf_u8(&p->columns, (uint8_t)v[i]);
        else if (most <= UINT16_MAX)
            sd_buf_u16(&p->columns, (uint16_t)v[i]);
        else if (most <= UINT32_MAX)
            sd_buf_u32(&p->columns, (uint32_t)v[i]);
        else
            put_real(&p->columns, (double)v[i]);
}

void sd_payload_put_column(struct sd_payload *p, const char *key, size_t n,
                           enum sd_payload_flags flags)
{
    bool is_delta = flags & SD_PAYLOAD_DELTA && n > 0;

    if (p->bad || !p->scratch)
        return;
    sd_assert(n <= p->cap_scratch);
    for (size_t i = n; is_delta && i-- > 1;) {
        sd_assert_slow(p->scratch[i] >= p->scratch[i - 1]);
        p->scratch[i] -= p->scratch[i - 1];
    }
    put_numbers(p, key, p->scratch, n, is_delta);
}

static bool is_whole(double v) { return v >= 0 && v <= UINT32_MAX && v == floor(v); }

void sd_payload_put_reals(struct sd_payload *p, const char *key, const double *reals,
                          size_t n)
{
    size_t n_whole = 0;
    int64_t *whole;

    while (n_whole < n && is_whole(reals[n_whole]))
        n_whole++;
    if (n_whole < n) {
        put_place(p, key, n, "f64", false);
        for (size_t i = 0; i < n; i++)
            put_real(&p->columns, reals[i]);
        return;
    }
    whole = sd_payload_column(p, n);
    for (size_t i = 0; whole && i < n; i++)
        whole[i] = (int64_t)reals[i];
    sd_payload_put_column(p, key, n, SD_PAYLOAD_PLAIN);
}

/* --- All of it */

int sd_payload_finish(struct sd_payload *p, struct sd_buf *to)
{
    static const uint8_t zeros[ALIGNED];
    const struct sd_buf *json = &p->json.pending;

    sd_json_key_array(&p->j, "strings");
    for (size_t i = 0; i < p->strings.n; i++)
        sd_json_text(&p->j, p->strings.items[i].p, p->strings.items[i].n);
    sd_json_end(&p->j);
    sd_json_end(&p->j);
    sd_assert(p->j.depth == 0);
    if (p->bad || json->bad || p->columns.bad || json->n > UINT32_MAX)
        return sd_no_memory();
    sd_buf_u32(to, (uint32_t)json->n);
    sd_buf_add(to, json->p, json->n);
    sd_buf_add(to, zeros, (ALIGNED - to->n % ALIGNED) % ALIGNED);
    sd_buf_add(to, p->columns.p, p->columns.n);
    return to->bad ? sd_no_memory() : 0;
}
