/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_DEFINE_H
#define SD_CAPTURE_DEFINE_H
/* define: fills definition records whose header and length are set already; logs and
 * tables both put them. */
#include <string.h>

#include "base/assert.h"
#include "capture/record.h"

/* Padding is zeros: what stood there before is nobody's business. */
static inline void sd_fill_tail(struct sd_record *r, size_t used)
{
    sd_assert(used <= r->len);
    memset((char *)r + used, 0, r->len - used);
}

static inline void sd_fill_string(struct sd_rec_string *r, uint32_t id, const char *s,
                                  size_t n)
{
    r->id = id;
    r->n = (uint32_t)n;
    r->pad = 0;
    memcpy(r->text, s, n);
    sd_fill_tail(&r->head, sizeof *r + n);
}

static inline void sd_fill_site(struct sd_rec_site *r, uint32_t id,
                                enum sd_site_kind kind, uint32_t name, uint32_t file,
                                uint32_t line, uint32_t parent)
{
    *r = (struct sd_rec_site){ .head = r->head,
                               .id = id,
                               .kind = (uint16_t)kind,
                               .name = name,
                               .file = file,
                               .line = line,
                               .parent = parent };
}

/* A function: `label` is its qualified name, `line` its first. */
static inline void sd_fill_function(struct sd_rec_site *r, uint32_t id,
                                    enum sd_site_flags flags, uint32_t name,
                                    uint32_t label, uint32_t file, uint32_t line)
{
    *r = (struct sd_rec_site){ .head = r->head,
                               .id = id,
                               .kind = SD_SITE_FUNCTION,
                               .flags = (uint16_t)flags,
                               .name = name,
                               .file = file,
                               .line = line,
                               .label = label };
}

/* A function as it was called with arguments of these types: `parent` is the function,
 * `label` the signature. */
static inline void sd_fill_signature(struct sd_rec_site *r, uint32_t id, uint32_t name,
                                     uint32_t label, uint32_t file, uint32_t line,
                                     uint32_t parent)
{
    sd_fill_function(r, id, 0, name, label, file, line);
    r->parent = parent;
}

static inline void sd_fill_track(struct sd_rec_track *r, uint32_t id,
                                 enum sd_track_kind kind, uint32_t parent,
                                 uint64_t number, uint64_t start, uint32_t name)
{
    *r = (struct sd_rec_track){ .head = r->head,
                                .id = id,
                                .kind = (uint16_t)kind,
                                .parent = parent,
                                .number = number,
                                .start = start,
                                .name = name };
}
#endif
