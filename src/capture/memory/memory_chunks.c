/* SPDX-License-Identifier: MIT */
#include "capture/memory/memory_chunks.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

/* No second capture is in the same file, so any number will do. */
enum { SALT = 1, FACT_KEY_MAX = 8000, FACT_VALUE_MAX = 32000 };

void sd_making_begin(struct sd_making *m, uint64_t real_ns, uint64_t mono_ns)
{
    struct sd_preamble preamble;

    sd_preamble_fill(&preamble, SALT, real_ns, mono_ns);
    sd_buf_add(m->to, &preamble, sizeof preamble);
}

void sd_making_add_as(struct sd_making *m, struct sd_chunk_head head, const void *p,
                      uint32_t n)
{
    sd_assert(n <= SD_CHUNK_RAW_MAX);
    head.magic = SD_CHUNK_MAGIC;
    head.salt = SALT;
    head.raw_len = head.stored_len = n;
    head.crc = sd_chunk_sum(&head, p);
    sd_buf_add(m->to, &head, sizeof head);
    sd_buf_add(m->to, p, n);
    m->n_chunks++;
    m->n_events += head.count;
}

void sd_making_add(struct sd_making *m, enum sd_chunk_type type, uint64_t stream,
                   uint32_t seq, const void *p, uint32_t n)
{
    struct sd_chunk_head head = { .type = (uint16_t)type,
                                  .stream = stream,
                                  .seq = seq };

    sd_making_add_as(m, head, p, n);
}

int sd_making_add_fact(struct sd_making *m, const char *key, const char *value)
{
    size_t key_n = strnlen(key, FACT_KEY_MAX), n = strnlen(value, FACT_VALUE_MAX);
    size_t len = sizeof(struct sd_rec_meta) + key_n + n;
    struct sd_rec_meta *r = sd_zalloc(sd_align8((uint32_t)len));

    if (!r)
        return sd_no_memory();
    r->head = (struct sd_record){ (uint16_t)sd_align8((uint32_t)len), SD_REC_META,
                                  (uint8_t)(m->seq + 1) };
    r->key_n = (uint16_t)key_n;
    r->value_n = (uint16_t)n;
    memcpy(r->text, key, key_n);
    memcpy(r->text + key_n, value, n);
    sd_making_add(m, SD_CHUNK_META, 0, ++m->seq, r, r->head.len);
    sd_free(r);
    return 0;
}

int sd_making_add_command(struct sd_making *m, const char *command)
{
    return sd_making_add_fact(m, "command", command);
}

int sd_making_end(struct sd_making *m, uint64_t real_ns, uint64_t mono_ns, int rc)
{
    struct sd_end last = { .chunks = m->n_chunks,
                           .events = m->n_events,
                           .mono_ns = mono_ns,
                           .real_ns = real_ns };

    sd_making_add(m, SD_CHUNK_END, 0, ++m->seq, &last, sizeof last);
    return rc == 0 && m->to->bad ? sd_no_memory() : rc;
}
