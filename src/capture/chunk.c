/* SPDX-License-Identifier: MIT */
#include "capture/chunk.h"

#include <string.h>
#define ZSTD_STATIC_LINKING_ONLY /* for contexts that allocate through us */
#include <zstd.h>

#include "base/assert.h"
#include "base/encoding/crc.h"
#include "base/error.h"
#include "base/mem.h"

void sd_preamble_fill(struct sd_preamble *p, uint64_t salt, uint64_t real_ns,
                      uint64_t mono_ns)
{
    *p = (struct sd_preamble){ .major = SD_FORMAT_MAJOR,
                               .minor = SD_FORMAT_MINOR,
                               .bytes = sizeof *p,
                               .salt = salt,
                               .created_real_ns = real_ns,
                               .created_mono_ns = mono_ns };
    memcpy(p->magic, SD_PREAMBLE_MAGIC, sizeof p->magic);
    sd_preamble_sum(p);
}

void sd_preamble_sum(struct sd_preamble *p)
{
    p->crc = sd_crc32c(0, p, offsetof(struct sd_preamble, crc));
}

bool sd_preamble_is_sound(const struct sd_preamble *p)
{
    return memcmp(p->magic, SD_PREAMBLE_MAGIC, sizeof p->magic) == 0 &&
           p->crc == sd_crc32c(0, p, offsetof(struct sd_preamble, crc));
}

uint32_t sd_chunk_sum(const struct sd_chunk_head *h, const void *payload)
{
    uint32_t crc = sd_crc32c(0, h, offsetof(struct sd_chunk_head, crc));

    return sd_crc32c(crc, payload, h->stored_len);
}

/* A payload that zstd made is never longer than this; a raw one is its own length. */
static bool lengths_fit(const struct sd_chunk_head *h)
{
    if (h->raw_len > SD_CHUNK_RAW_MAX)
        return false;
    if (h->flags & SD_CHUNK_ZSTD)
        return h->stored_len < h->raw_len;
    return h->stored_len == h->raw_len;
}

bool sd_chunk_head_is_sound(const struct sd_chunk_head *h, uint64_t salt)
{
    return h->magic == SD_CHUNK_MAGIC && (salt == 0 || h->salt == salt) &&
           lengths_fit(h);
}

bool sd_chunk_sum_holds(const struct sd_chunk_head *h, const void *payload)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)payload;
    return true;
#else
    return h->crc == sd_chunk_sum(h, payload);
#endif
}

static void *allocate(void *unused, size_t n)
{
    (void)unused;
    return sd_alloc(n);
}

static void release(void *unused, void *p)
{
    (void)unused;
    sd_free(p);
}

static const ZSTD_customMem through_us = { allocate, release, NULL };

static bool can_compress(struct sd_squeezer *s)
{
    if (!s->compress)
        s->compress = ZSTD_createCCtx_advanced(through_us);
    if (!s->out) {
        s->cap = SD_CHUNK_RAW_MAX; /* a payload that gets no smaller stays raw */
        s->out = sd_alloc(s->cap);
    }
    return s->compress && s->out;
}

const void *sd_squeeze(struct sd_squeezer *s, int level, const void *raw, uint32_t n,
                       struct sd_chunk_head *h)
{
    size_t done = 0;

    sd_assert(n <= SD_CHUNK_RAW_MAX);
    h->flags &= (uint16_t)~SD_CHUNK_ZSTD;
    h->raw_len = h->stored_len = n;
    if (level == 0 || n < 64 || !can_compress(s))
        return raw;
    done = ZSTD_compressCCtx(s->compress, s->out, n - 1, raw, n, level);
    if (ZSTD_isError(done))
        return raw; /* it does not get smaller, or there is no memory: raw is as good */
    sd_assert(done < n);
    h->flags |= SD_CHUNK_ZSTD;
    h->stored_len = (uint32_t)done;
    return s->out;
}

int sd_expand(struct sd_squeezer *s, const struct sd_chunk_head *h, const void *payload,
              uint8_t *to)
{
    size_t done;

    sd_assert(lengths_fit(h)); /* whoever checked the payload checked them */
    if (!(h->flags & SD_CHUNK_ZSTD)) {
        memcpy(to, payload, h->raw_len);
        return 0;
    }
    if (!s->expand)
        s->expand = ZSTD_createDCtx_advanced(through_us);
    if (!s->expand)
        return sd_no_memory();
    done = ZSTD_decompressDCtx(s->expand, to, SD_CHUNK_RAW_MAX, payload, h->stored_len);
    return ZSTD_isError(done) || done != h->raw_len ? SD_EFORMAT : 0;
}

void sd_squeezer_release(struct sd_squeezer *s)
{
    ZSTD_freeCCtx(s->compress);
    ZSTD_freeDCtx(s->expand);
    sd_free(s->out);
    *s = (struct sd_squeezer){ 0 };
}
