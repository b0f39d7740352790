/* SPDX-License-Identifier: MIT */
#include "base/encoding/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/encoding/inflate.h"
#include "base/error.h"
#include "base/mem.h"

/* What each part begins with, and how long it is without the texts behind it. */
enum { END_MAGIC = 0x06054b50, ENTRY_MAGIC = 0x02014b50, LOCAL_MAGIC = 0x04034b50 };
enum { END_BYTES = 22, ENTRY_BYTES = 46, LOCAL_BYTES = 30 };
enum { COMMENT_MAX = 65535, LIST_MAX = 64 << 20 };
enum { STORED = 0, DEFLATED = 8, HAS_PASSWORD = 1 };

struct list {
    uint8_t *p; /* owned */
    size_t n;
    uint64_t before; /* bytes that stand before the archive */
};

struct entry {
    unsigned flags, method;
    uint32_t crc, n_packed, n;
    uint64_t at; /* of its local header */
};

static bool read_at(const struct sd_zip *z, uint64_t at, void *to, size_t n)
{
    return at <= z->n && n <= z->n - at && z->read(z, at, to, n);
}

/* The last bytes of the archive say where its list is.  Its comment may have the same
 * four bytes, but is then not as long as they say. */
static bool find_list(const struct sd_zip *z, const uint8_t *tail, size_t n_tail,
                      bool is_exact, uint64_t *at, struct list *out)
{
    sd_assert(n_tail >= END_BYTES && n_tail <= z->n);
    for (size_t i = n_tail - END_BYTES + 1; i-- > 0;) {
        struct sd_cursor c = sd_cursor_over(tail + i, n_tail - i);
        uint64_t end = z->n - n_tail + i, from;

        if (sd_cursor_u32(&c) != END_MAGIC)
            continue;
        sd_cursor_take(&c, 8);
        out->n = sd_cursor_u32(&c);
        from = sd_cursor_u32(&c);
        if (out->n > LIST_MAX || end < out->n || end - out->n < from)
            continue;
        if (is_exact && i + END_BYTES + sd_cursor_u16(&c) != n_tail)
            continue;
        *at = end - out->n;
        out->before = *at - from;
        return true;
    }
    return false;
}

/* Python takes archives, too, that were cut in their comment or have something behind
 * it. */
static bool find_any_list(const struct sd_zip *z, const uint8_t *tail, size_t n_tail,
                          uint64_t *at, struct list *out)
{
    return find_list(z, tail, n_tail, true, at, out) ||
           find_list(z, tail, n_tail, false, at, out);
}

/* 1, 0 or SD_ENOMEM, as all below. */
static int read_list(const struct sd_zip *z, struct list *out)
{
    size_t n_tail =
        z->n < END_BYTES + COMMENT_MAX ? (size_t)z->n : END_BYTES + COMMENT_MAX;
    uint8_t *tail = z->n < END_BYTES ? NULL : sd_alloc(n_tail);
    uint64_t at;
    bool is_read = tail && read_at(z, z->n - n_tail, tail, n_tail) &&
                   find_any_list(z, tail, n_tail, &at, out);

    if (z->n >= END_BYTES && !tail)
        return sd_no_memory();
    sd_free(tail);
    if (!is_read)
        return 0;
    out->p = sd_alloc(out->n + 1);
    if (!out->p)
        return sd_no_memory();
    return read_at(z, at, out->p, out->n);
}

/* The next of the list; false: it has ended, or is none. */
static bool next_entry(struct sd_cursor *c, struct entry *e, const uint8_t **name,
                       size_t *n_name)
{
    unsigned n_extra, n_comment;
    uint32_t magic = sd_cursor_u32(c);

    sd_cursor_take(c, 4);
    e->flags = sd_cursor_u16(c);
    e->method = sd_cursor_u16(c);
    sd_cursor_take(c, 4);
    e->crc = sd_cursor_u32(c);
    e->n_packed = sd_cursor_u32(c);
    e->n = sd_cursor_u32(c);
    *n_name = sd_cursor_u16(c);
    n_extra = sd_cursor_u16(c);
    n_comment = sd_cursor_u16(c);
    sd_cursor_take(c, 8);
    e->at = sd_cursor_u32(c);
    *name = sd_cursor_take(c, *n_name);
    sd_cursor_take(c, n_extra + n_comment);
    return !c->bad && magic == ENTRY_MAGIC;
}

/* The last of that name is it: what is written anew is added behind, and the old one
 * stays. */
static bool find_entry(const struct list *list, const char *name, struct entry *out)
{
    struct sd_cursor c = sd_cursor_over(list->p, list->n);
    size_t n = strlen(name), n_found;
    const uint8_t *found;
    struct entry e;
    bool is_there = false;

    while (next_entry(&c, &e, &found, &n_found))
        if (n_found == n && memcmp(found, name, n) == 0) {
            *out = e;
            out->at += list->before;
            is_there = true;
        }
    return is_there;
}

/* Where the bytes of the file begin: its own header may have other texts than the list
 * says. */
static bool find_bytes(const struct sd_zip *z, struct entry *e)
{
    uint8_t head[LOCAL_BYTES];
    struct sd_cursor c = sd_cursor_over(head, sizeof head);

    if (!read_at(z, e->at, head, sizeof head) || sd_cursor_u32(&c) != LOCAL_MAGIC)
        return false;
    sd_cursor_take(&c, 22);
    e->at += LOCAL_BYTES + (uint64_t)sd_cursor_u16(&c);
    e->at += sd_cursor_u16(&c);
    sd_assert(!c.bad && c.at == c.end); /* a header is as long as we say */
    return e->at <= z->n && e->n_packed <= z->n - e->at;
}

/* Deflate adds little to what it cannot make fewer: who says that it added much wants
 * gigabytes to be read for a few bytes. */
static bool is_packed(const struct entry *e)
{
    return e->n / SD_INFLATE_MOST <= e->n_packed &&
           e->n_packed <= (uint64_t)e->n + e->n / 8 + 64;
}

static bool is_readable(const struct entry *e, size_t most)
{
    if (e->flags & HAS_PASSWORD || e->n > most)
        return false;
    return e->method == STORED ? e->n == e->n_packed
                               : e->method == DEFLATED && is_packed(e);
}

/* CRC-32 as gzip and zip have it, bit by bit: it is some kilobytes. */
static uint32_t sum_of(const char *p, size_t n)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        crc ^= (uint8_t)p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static int unpack(const struct sd_zip *z, const struct entry *e, char *to)
{
    uint8_t *packed;
    int is_read;

    sd_assert(e->method == DEFLATED || e->n == e->n_packed);
    if (e->method == STORED)
        return read_at(z, e->at, to, e->n);
    packed = sd_alloc((size_t)e->n_packed + 1);
    if (!packed)
        return sd_no_memory();
    is_read = read_at(z, e->at, packed, e->n_packed) &&
              sd_inflate(packed, e->n_packed, (uint8_t *)to, e->n);
    sd_free(packed);
    return is_read;
}

int sd_zip_read(const struct sd_zip *z, const char *name, size_t most, char **p,
                size_t *n)
{
    struct list list = { 0 };
    struct entry e = { 0 };
    int rc = read_list(z, &list);

    *p = NULL;
    if (rc > 0)
        rc = find_entry(&list, name, &e) && is_readable(&e, most) && find_bytes(z, &e);
    sd_free(list.p);
    if (rc <= 0)
        return rc;
    *p = sd_alloc((size_t)e.n + 1);
    rc = *p ? unpack(z, &e, *p) : sd_no_memory();
    if (rc > 0)
        rc = sum_of(*p, e.n) == e.crc;
    if (rc > 0) {
        (*p)[e.n] = '\0';
        *n = e.n;
        return 1;
    }
    sd_free(*p);
    *p = NULL;
    return rc;
}

/* --- Files */

static bool read_file(const struct sd_zip *z, uint64_t at, void *to, size_t n)
{
    uint8_t *next = to;

    while (n > 0) {
        ssize_t got = pread(z->fd, next, n, (off_t)at);

        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        next += got > 0 ? got : 0;
        at += got > 0 ? (uint64_t)got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Cuts the path where it enters a file, and gives what was behind; NULL: it does not
 * enter one. */
static const char *split(char *path, struct stat *st)
{
    for (char *slash = strrchr(path, '/'); slash && slash > path;
         slash = strrchr(path, '/')) {
        *slash = '\0';
        if (stat(path, st) == 0)
            return S_ISREG(st->st_mode) ? slash + 1 : NULL;
        if (errno != ENOTDIR && errno != ENOENT)
            return NULL;
    }
    return NULL;
}

int sd_zip_read_path(const char *path, size_t most, char **p, size_t *n)
{
    char archive[PATH_MAX];
    struct sd_zip z = { .read = read_file };
    const char *name;
    struct stat st;
    int rc;

    *p = NULL;
    if (strlen(path) >= sizeof archive)
        return 0;
    strcpy(archive, path);
    name = split(archive, &st);
    if (!name)
        return 0;
    /* It may be another by now, and a pipe must not be waited for. */
    z.fd = open(archive, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (z.fd < 0)
        return 0;
    rc = fstat(z.fd, &st) == 0 && S_ISREG(st.st_mode);
    z.n = (uint64_t)st.st_size;
    if (rc > 0)
        rc = sd_zip_read(&z, path + (name - archive), most, p, n);
    close(z.fd);
    return rc;
}
