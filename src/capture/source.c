/* SPDX-License-Identifier: MIT */
#include "capture/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"

enum { WINDOW = 512 * 1024 };
_Static_assert(WINDOW >= SD_CHUNK_HEAD + SD_CHUNK_RAW_MAX, "a chunk fits the window");

void sd_source_of_bytes(struct sd_source *s, const void *p, size_t n)
{
    *s = (struct sd_source){ .p = p, .fd = -1, .n = n };
}

void sd_source_of_fd(struct sd_source *s, int take_fd, uint64_t base, uint64_t n)
{
    *s = (struct sd_source){ .fd = take_fd, .base = base, .n = n };
}

static void fill_window(struct sd_source *s, uint64_t at, size_t n)
{
    size_t fill = !s->fill ? WINDOW : n > s->fill ? n : s->fill;

    sd_assert(!s->p && s->fd >= 0 && fill <= WINDOW);
    s->window_at = at;
    s->window_n = 0;
    if (!s->window)
        s->window = sd_alloc(WINDOW);
    if (!s->window)
        s->error = ENOMEM;
    while (s->window && s->window_n < fill) {
        ssize_t done = pread(s->fd, s->window + s->window_n, fill - s->window_n,
                             (off_t)(s->base + at + s->window_n));

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            s->error = errno;
        if (done <= 0)
            break;
        s->window_n += (size_t)done;
    }
}

const uint8_t *sd_source_at(struct sd_source *s, uint64_t at, size_t n)
{
    if (at > s->n || n > s->n - at)
        return NULL;
    if (s->p)
        return s->p + at;
    if (n > WINDOW)
        return NULL;
    if (at < s->window_at || at + n > s->window_at + s->window_n)
        fill_window(s, at, n);
    sd_assert(at >= s->window_at);
    return n <= s->window_n ? s->window + (at - s->window_at) : NULL;
}

void sd_source_release(struct sd_source *s)
{
    if (s->fd >= 0)
        close(s->fd);
    sd_free(s->window);
    *s = (struct sd_source){ .fd = -1 };
}

void sd_scan_init(struct sd_scan *s, struct sd_source *source, uint64_t salt,
                  uint64_t at)
{
    *s = (struct sd_scan){ .source = source, .salt = salt, .at = at };
}

/* Does another chunk stand behind it, or the end? */
static bool is_followed(struct sd_scan *s, uint64_t end)
{
    struct sd_chunk_head next;
    const uint8_t *p;

    if (end == s->source->n)
        return true;
    p = sd_source_at(s->source, end, SD_CHUNK_HEAD);
    if (!p)
        return false;
    memcpy(&next, p, sizeof next);
    return sd_chunk_head_is_sound(&next, s->salt);
}

/* Is there a whole chunk at `at`?  *is_cut: there would be, were the file longer. */
static bool look(struct sd_scan *s, uint64_t at, struct sd_source_chunk *found,
                 bool *is_cut)
{
    const uint8_t *p = sd_source_at(s->source, at, SD_CHUNK_HEAD);
    struct sd_chunk_head *h = &found->head;

    *is_cut = false;
    if (!p)
        return false;
    memcpy(h, p, sizeof *h);
    if (!sd_chunk_head_is_sound(h, s->salt))
        return false;
    found->payload = NULL;
    found->at = at;
    if (s->is_quick && is_followed(s, at + SD_CHUNK_HEAD + (uint64_t)h->stored_len))
        return true;
    p = sd_source_at(s->source, at, SD_CHUNK_HEAD + (size_t)h->stored_len);
    if (!p) {
        *is_cut = true;
        return false;
    }
    found->payload = p + SD_CHUNK_HEAD;
    if (sd_chunk_sum_holds(h, found->payload))
        return true;
    s->spent += h->stored_len;
    return false;
}

bool sd_scan_here(struct sd_scan *s, struct sd_source_chunk *found)
{
    bool is_cut;

    if (!look(s, s->at, found, &is_cut))
        return false;
    s->salt = found->head.salt;
    s->at += SD_CHUNK_HEAD + (uint64_t)found->head.stored_len;
    return true;
}

/* The next place from `at` on where the magic number stands, or the end. */
static uint64_t next_magic(struct sd_source *source, uint64_t at)
{
    enum { STEP = 64 * 1024 };
    const uint32_t magic = SD_CHUNK_MAGIC;

    while (source->n - at >= sizeof magic) {
        size_t n = source->n - at < STEP ? (size_t)(source->n - at) : STEP;
        const uint8_t *p = sd_source_at(source, at, n), *hit;

        if (!p)
            break;
        hit = memmem(p, n, &magic, sizeof magic);
        if (hit)
            return at + (uint64_t)(hit - p);
        at += n - (sizeof magic - 1);
    }
    return source->n;
}

/* A file made to deceive could hold a header in every line, each claiming a quarter of
 * a megabyte; so much summing in vain is allowed, and then the rest is damage. */
static bool is_spent(const struct sd_scan *s)
{
    return s->spent > 16 * s->source->n + ((uint64_t)64 << 20);
}

bool sd_scan_next(struct sd_scan *s, struct sd_source_chunk *found)
{
    uint64_t from = s->at, at;
    bool is_cut, was_cut;

    if (sd_scan_here(s, found))
        return true;
    if (from >= s->source->n || s->source->error)
        return false;
    /* Remember whether the first bad place is a chunk that the end of the file cuts: if
     * nothing whole follows, that is what happened. */
    look(s, from, found, &was_cut);
    if (s->source->n - from < SD_CHUNK_HEAD)
        was_cut = true;
    for (at = from + 1; !is_spent(s); at++) {
        at = next_magic(s->source, at);
        if (at >= s->source->n)
            break;
        if (look(s, at, found, &is_cut)) {
            s->bad_chunks++;
            s->bad_bytes += at - from;
            s->salt = found->head.salt;
            s->at = at + SD_CHUNK_HEAD + found->head.stored_len;
            return true;
        }
    }
    if (s->source->error)
        return false;
    s->is_cut = was_cut;
    s->bad_chunks += !was_cut;
    s->bad_bytes += s->source->n - from;
    s->at = s->source->n;
    return false;
}
