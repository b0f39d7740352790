/* SPDX-License-Identifier: MIT */
#include "ext/memray/alloc_transform.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/encoding/csv.h"
#include "base/encoding/json.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/profile.h"

enum { NONE = UINT32_MAX };

static const struct sd_site *site_of(const struct sd_profile *p, uint32_t stack)
{
    sd_assert(stack < p->n_stacks);
    return &p->sites[p->stacks[stack].site.at];
}

static uint32_t below(const struct sd_profile *p, uint32_t stack)
{
    return p->stacks[stack].parent.at;
}

/* The frame outward of this one, where it is shown: *left is how many still are. */
static uint32_t outward(const struct sd_profile *p, uint32_t stack, size_t *left)
{
    return --*left > 0 ? below(p, stack) : NONE;
}

static uint32_t innermost(const struct sd_py_alloc_source *s,
                          const struct sd_py_alloc_row *row, size_t *left)
{
    *left = sd_py_alloc_row_depth(s, row);
    return *left > 0 ? row->stack : NONE;
}

static const char *file_of(const struct sd_site *s) { return s->file ? s->file : ""; }

/* --- CSV */

static void put_cell(struct sd_out *out, const char *text)
{
    sd_csv_text(out, text, strlen(text));
}

static const char *thread_name(const struct sd_profile *p, int64_t tid)
{
    for (size_t i = 0; i < p->n_tracks; i++)
        if (p->tracks[i].kind == SD_TRACK_THREAD &&
            p->tracks[i].number == (uint64_t)tid && p->tracks[i].name)
            return p->tracks[i].name;
    return "";
}

static void put_thread(struct sd_out *out, const struct sd_profile *p, int64_t tid)
{
    const char *name = thread_name(p, tid);
    char text[300];

    if (tid == SD_MEMRAY_MERGED)
        snprintf(text, sizeof text, "merged thread");
    else if (*name)
        snprintf(text, sizeof text, "0x%llx (%.250s)", (unsigned long long)tid, name);
    else
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)tid);
    put_cell(out, text);
}

static void put_stack(struct sd_out *out, const struct sd_py_alloc_source *of,
                      const struct sd_py_alloc_row *row)
{
    const struct sd_profile *p = of->p;
    struct sd_buf text = { 0 };
    size_t left;

    for (uint32_t at = innermost(of, row, &left); at != NONE;
         at = outward(p, at, &left)) {
        const struct sd_site *s = site_of(p, at);

        sd_buf_printf(&text, "%s%s;%s;%lu", at == row->stack ? "" : "|", s->name,
                      file_of(s), (unsigned long)p->stacks[at].line);
    }
    put_cell(out, text.bad ? "" : sd_buf_string(&text));
    if (text.bad)
        out->err = ENOMEM;
    sd_buf_release(&text);
}

void sd_alloc_transform_csv(struct sd_out *out, const struct sd_py_alloc_source *s,
                            const struct sd_py_alloc_row *rows, size_t n)
{
    sd_out_text(out, "allocator,num_allocations,size,tid,thread_name,stack_trace\r\n");
    for (size_t i = 0; i < n; i++) {
        const struct sd_py_alloc_row *r = &rows[i];

        sd_out_printf(out, "%s,%llu,%llu,%lld,", sd_memray_allocator_name(r->by),
                      (unsigned long long)r->n, (unsigned long long)r->size,
                      (long long)r->tid);
        put_thread(out, s->p, r->tid);
        sd_out_text(out, ",");
        put_stack(out, s, r);
        sd_out_text(out, "\r\n");
    }
}

/* --- What JSON needs: sites that occur, by number */

static uint32_t *number_sites(const struct sd_py_alloc_source *s,
                              const struct sd_py_alloc_row *rows, size_t n)
{
    const struct sd_profile *p = s->p;
    size_t left;
    uint32_t *numbers = sd_alloc((p->n_sites + 1) * sizeof *numbers), next = 0;

    if (!numbers)
        return NULL;
    for (size_t i = 0; i <= p->n_sites; i++)
        numbers[i] = NONE;
    for (size_t i = 0; i < n; i++)
        for (uint32_t at = innermost(s, &rows[i], &left); at != NONE;
             at = outward(p, at, &left))
            numbers[p->stacks[at].site.at] = 0;
    for (size_t i = 0; i < p->n_sites; i++)
        if (numbers[i] == 0)
            numbers[i] = next++;
    return numbers;
}

static void put_sites(struct sd_json *j, const struct sd_profile *p,
                      const uint32_t *numbers, const char *file_key)
{
    for (size_t i = 0; i < p->n_sites; i++) {
        if (numbers[i] == NONE)
            continue;
        sd_json_object(j);
        sd_json_key_string(j, "name", p->sites[i].name);
        sd_json_key_string(j, file_key, file_of(&p->sites[i]));
        sd_json_end(j);
    }
}

/* --- gprof2dot */

static void put_event(struct sd_json *j, const struct sd_py_alloc_source *s,
                      const uint32_t *numbers, const struct sd_py_alloc_row *r)
{
    size_t left;
    uint32_t at = innermost(s, r, &left);

    if (at == NONE)
        return;
    sd_json_object(j);
    sd_json_key_array(j, "callchain");
    for (; at != NONE; at = outward(s->p, at, &left))
        sd_json_uint(j, numbers[s->p->stacks[at].site.at]);
    sd_json_end(j);
    sd_json_key_array(j, "cost");
    sd_json_uint(j, r->size);
    sd_json_end(j);
    sd_json_end(j);
}

void sd_alloc_transform_gprof2dot(struct sd_out *out,
                                  const struct sd_py_alloc_source *s,
                                  const struct sd_py_alloc_row *rows, size_t n)
{
    uint32_t *numbers = number_sites(s, rows, n);
    struct sd_json j;

    if (!numbers) {
        out->err = ENOMEM;
        return;
    }
    sd_json_init(&j, out, false);
    j.keeps_less = true;
    sd_json_object(&j);
    sd_json_key_int(&j, "version", 0);
    sd_json_key_array(&j, "costs");
    sd_json_object(&j);
    sd_json_key_string(&j, "description", "Memory");
    sd_json_key_string(&j, "unit", "bytes");
    sd_json_end(&j);
    sd_json_end(&j);
    sd_json_key_array(&j, "events");
    for (size_t i = 0; i < n; i++)
        put_event(&j, s, numbers, &rows[i]);
    sd_json_end(&j);
    sd_json_key_array(&j, "functions");
    put_sites(&j, s->p, numbers, "module");
    sd_json_end(&j);
    sd_json_end(&j);
    sd_free(numbers);
}

/* --- speedscope: outermost frame first */

static void put_outward(struct sd_json *j, const struct sd_py_alloc_source *s,
                        const uint32_t *numbers, uint32_t *chain,
                        const struct sd_py_alloc_row *row)
{
    size_t depth = 0, left;

    for (uint32_t at = innermost(s, row, &left); at != NONE;
         at = outward(s->p, at, &left))
        chain[depth++] = numbers[s->p->stacks[at].site.at];
    sd_json_array(j);
    while (depth-- > 0)
        sd_json_uint(j, chain[depth]);
    sd_json_end(j);
}

/* A profile of one amount; `chain` has room for the deepest stack. */
static void put_profile(struct sd_json *j, const struct sd_py_alloc_source *s,
                        const uint32_t *numbers, uint32_t *chain,
                        const struct sd_py_alloc_row *rows, size_t n, bool is_bytes)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += is_bytes ? rows[i].size : rows[i].n;
    sd_json_object(j);
    sd_json_key_string(j, "type", "sampled");
    sd_json_key_string(j, "name", is_bytes ? "Memory" : "Allocations");
    sd_json_key_string(j, "unit", is_bytes ? "bytes" : "none");
    sd_json_key_int(j, "startValue", 0);
    sd_json_key_uint(j, "endValue", sum);
    sd_json_key_array(j, "samples");
    for (size_t i = 0; i < n; i++)
        put_outward(j, s, numbers, chain, &rows[i]);
    sd_json_end(j);
    sd_json_key_array(j, "weights");
    for (size_t i = 0; i < n; i++)
        sd_json_uint(j, is_bytes ? rows[i].size : rows[i].n);
    sd_json_end(j);
    sd_json_end(j);
}

static size_t deepest(const struct sd_py_alloc_source *s,
                      const struct sd_py_alloc_row *rows, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++) {
        size_t depth = sd_py_alloc_row_depth(s, &rows[i]);

        most = depth > most ? depth : most;
    }
    return most;
}

void sd_alloc_transform_speedscope(struct sd_out *out,
                                   const struct sd_py_alloc_source *s,
                                   const struct sd_py_alloc_row *rows, size_t n)
{
    uint32_t *numbers = number_sites(s, rows, n);
    uint32_t *chain = sd_alloc((deepest(s, rows, n) + 1) * sizeof *chain);
    struct sd_json j;

    if (!numbers || !chain) {
        out->err = ENOMEM;
        goto out;
    }
    sd_json_init(&j, out, false);
    j.keeps_less = true;
    sd_json_object(&j);
    sd_json_key_string(&j, "$schema",
                       "https://www.speedscope.app/file-format-schema.json");
    sd_json_key_object(&j, "shared");
    sd_json_key_array(&j, "frames");
    put_sites(&j, s->p, numbers, "file");
    sd_json_end(&j);
    sd_json_end(&j);
    sd_json_key_array(&j, "profiles");
    put_profile(&j, s, numbers, chain, rows, n, true);
    put_profile(&j, s, numbers, chain, rows, n, false);
    sd_json_end(&j);
    sd_json_key_string(&j, "exporter", "sonde");
    sd_json_end(&j);
out:
    sd_free(numbers);
    sd_free(chain);
}

/* --- By function */

/* Functions of one site; `last` is the row that was added last, plus one. */
struct site_sum {
    uint64_t own_bytes, total_bytes, blocks;
    size_t last;
};

static bool add_row(struct site_sum *sums, const struct sd_py_alloc_source *s,
                    const struct sd_py_alloc_row *rows, size_t i)
{
    size_t left;
    uint32_t at = innermost(s, &rows[i], &left);
    bool is_any = at != NONE;

    for (; at != NONE; at = outward(s->p, at, &left)) {
        struct site_sum *sum = &sums[s->p->stacks[at].site.at];

        if (at == rows[i].stack)
            sum->own_bytes += rows[i].size;
        if (sum->last == i + 1)
            continue; /* a recursion counts once */
        sum->last = i + 1;
        sum->total_bytes += rows[i].size;
        sum->blocks += rows[i].n;
    }
    return is_any;
}

int sd_alloc_transform_functions(const struct sd_py_alloc_source *s,
                                 const struct sd_py_alloc_row *rows, size_t n,
                                 struct sd_alloc_function **out, size_t *n_out)
{
    const struct sd_profile *p = s->p;
    struct site_sum *sums = sd_zalloc((p->n_sites + 1) * sizeof *sums);
    struct sd_alloc_function *all = sd_alloc((p->n_sites + 1) * sizeof *all);
    struct sd_alloc_function none = { "???", "???", 0, 0, 0 };

    *out = all;
    *n_out = 0;
    if (!sums || !all) {
        sd_free(sums);
        return sd_no_memory();
    }
    for (size_t i = 0; i < n; i++) {
        if (!add_row(sums, s, rows, i)) {
            none.own_bytes = none.total_bytes += rows[i].size;
            none.blocks += rows[i].n;
        }
    }
    for (size_t i = 0; i < p->n_sites; i++)
        if (sums[i].last > 0)
            all[(*n_out)++] =
                (struct sd_alloc_function){ p->sites[i].name, file_of(&p->sites[i]),
                                            sums[i].own_bytes, sums[i].total_bytes,
                                            sums[i].blocks };
    if (none.blocks > 0)
        all[(*n_out)++] = none;
    sd_free(sums);
    return 0;
}
