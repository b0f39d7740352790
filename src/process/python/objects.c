/* SPDX-License-Identifier: MIT */
#include "process/python/objects.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cpython/str_object.h"

enum {
    N_KEYS_HEADER = 64,     /* keys_size of every version is at most this */
    N_KEY = 32,             /* longest key that is looked for */
    N_BATCH = 64,           /* keys that are read by one system call */
    N_INLINE_MAX = 4096,    /* attributes that an instance can have without a dict */
    MANAGED_DICT = 1 << 4,  /* type flag: the instance has its attributes before it */
    INLINE_VALUES = 1 << 2, /* type flag: or behind it */
    WORD = 8,
};

int sd_object_str(const struct sd_remote *r, const struct sd_layout *l, uint64_t at,
                  size_t most, struct sd_buf *to)
{
    uint8_t header[SD_STR_HEADER];
    struct sd_str s;
    uint8_t *p;
    size_t n;
    int rc = sd_remote_read(r, at, header, l->str_ascii);

    if (rc == 0)
        rc = sd_str_parse(l, header, &s);
    if (rc < 0)
        return rc;
    n = s.length < most ? s.length : most;
    if (n > SIZE_MAX / 8)
        return SD_EFORMAT;
    p = sd_alloc(n * s.width + 1);
    if (!p)
        return sd_no_memory();
    rc = sd_remote_read(r, at + s.data, p, n * s.width);
    if (rc == 0)
        sd_str_utf8(to, &s, p, n);
    sd_free(p);
    return rc < 0 ? rc : to->bad ? sd_no_memory() : 0;
}

/* How many digits, or SD_EFORMAT when it is negative or too long. */
static int n_digits(const struct sd_layout *l, uint64_t tag)
{
    switch (l->long_style) {
    case SD_LONG_SIZE:
        return tag <= 3 ? (int)tag : SD_EFORMAT;
    case SD_LONG_TAG:
        if ((tag & 3) == 1)
            return 0; /* zero */
        return (tag & 3) == 0 && tag >> 3 <= 3 ? (int)(tag >> 3) : SD_EFORMAT;
    }
    return SD_EFORMAT;
}

int sd_object_u64(const struct sd_remote *r, const struct sd_layout *l, uint64_t at,
                  uint64_t *v)
{
    uint32_t digits[3];
    uint64_t tag;
    int rc = sd_remote_u64(r, at + l->long_tag, &tag), n, i;

    *v = 0;
    if (rc < 0)
        return rc;
    n = n_digits(l, tag);
    if (n <= 0)
        return n;
    rc = sd_remote_read(r, at + l->long_digits, digits, (size_t)n * sizeof *digits);
    for (i = n - 1; rc == 0 && i >= 0; i--)
        *v = *v << 30 | (digits[i] & 0x3fffffff);
    return rc;
}

int sd_object_type(const struct sd_remote *r, const struct sd_layout *l, uint64_t at,
                   uint64_t *type)
{
    return sd_remote_u64(r, at + l->object_type, type);
}

int sd_type_name(const struct sd_remote *r, const struct sd_layout *l, uint64_t type,
                 char *to, size_t n)
{
    uint64_t at;
    int rc = sd_remote_u64(r, type + l->type_name, &at);

    return rc < 0 ? rc : sd_remote_string(r, at, to, n);
}

/* --- Dicts ----------------------------------------------------------------------- */

struct keys {
    uint64_t entries; /* address of the first */
    size_t n;
    bool has_hashes; /* in front of each key */
};

static uint64_t word_at(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* Bytes of the index of a table with `size` places, or 0 when there is no such table.
 */
static uint64_t index_bytes(const struct sd_layout *l, const uint8_t *header)
{
    uint64_t size = word_at(header + l->keys_log2_size);

    switch (l->keys_style) {
    case SD_KEYS_LOOKUP:
        if (size > 2 * (uint64_t)SD_DICT_MAX)
            return 0;
        return size <= 0xff ? size : size <= 0xffff ? 2 * size : 4 * size;
    case SD_KEYS_LOG2:
        return header[l->keys_log2_bytes] < 32 ? 1ull << header[l->keys_log2_bytes] : 0;
    }
    return 0;
}

static int read_keys(const struct sd_remote *r, const struct sd_layout *l, uint64_t at,
                     struct keys *out)
{
    uint8_t header[N_KEYS_HEADER];
    uint64_t n, skip;
    int rc;

    if (l->keys_index == SD_NO_OFFSET || l->keys_size > sizeof header)
        return SD_EFORMAT;
    rc = sd_remote_read(r, at, header, l->keys_size);
    if (rc < 0)
        return rc;
    n = word_at(header + l->keys_n_entries);
    skip = index_bytes(l, header);
    if (!skip || n > SD_DICT_MAX)
        return SD_EFORMAT;
    out->n = n;
    out->entries = at + l->keys_index + skip;
    out->has_hashes = l->keys_style == SD_KEYS_LOOKUP || header[l->keys_kind] == 0;
    return 0;
}

void sd_dict_release(struct sd_dict *d)
{
    sd_free(d->keys);
    *d = (struct sd_dict){ 0 };
}

/* The entries as they lie there, brought into two rows. */
static int read_entries(struct sd_dict *d, const struct sd_remote *r,
                        const struct keys *keys)
{
    size_t words = keys->has_hashes ? 3 : 2, i;
    uint64_t *raw = sd_alloc(keys->n * words * WORD + 1);
    int rc = raw ? sd_remote_read(r, keys->entries, raw, keys->n * words * WORD)
                 : sd_no_memory();

    for (i = 0; rc == 0 && i < keys->n; i++) {
        d->keys[i] = raw[i * words + words - 2];
        d->values[i] = raw[i * words + words - 1];
    }
    sd_free(raw);
    return rc;
}

/* `values` is 0 where the entries have the values themselves. */
static int read_table(struct sd_dict *d, const struct sd_remote *r,
                      const struct sd_layout *l, uint64_t keys_at, uint64_t values)
{
    struct keys keys;
    int rc = read_keys(r, l, keys_at, &keys);

    if (rc < 0)
        return rc;
    d->keys = sd_alloc(2 * keys.n * WORD + 1);
    if (!d->keys)
        return sd_no_memory();
    d->values = d->keys + keys.n;
    d->n = keys.n;
    rc = read_entries(d, r, &keys);
    if (rc == 0 && values)
        rc = sd_remote_read(r, values + l->values_items, d->values, keys.n * WORD);
    if (rc < 0)
        sd_dict_release(d);
    return rc;
}

int sd_dict_read(struct sd_dict *d, const struct sd_remote *r,
                 const struct sd_layout *l, uint64_t at)
{
    uint64_t keys, values;
    int rc;

    *d = (struct sd_dict){ 0 };
    if (!at)
        return SD_EABSENT;
    rc = sd_remote_u64(r, at + l->dict_keys, &keys);
    if (rc == 0)
        rc = sd_remote_u64(r, at + l->dict_values, &values);
    return rc < 0 ? rc : read_table(d, r, l, keys, values);
}

/* Whether the header and the first bytes of a str say that it is `key`. */
static bool is_key(const struct sd_layout *l, const uint8_t *p, const char *key,
                   size_t n)
{
    struct sd_str s;

    return sd_str_parse(l, p, &s) == 0 && s.is_ascii && s.length == n &&
           memcmp(p + s.data, key, n) == 0;
}

/* Many keys by one system call.  How many of them came: the next one could not be read.
 */
static size_t read_batch(const struct sd_dict *d, const struct sd_remote *r,
                         size_t from, size_t n, uint8_t *to, size_t bytes)
{
    struct iovec there[N_BATCH], here = { to, n * bytes };
    size_t i;
    ssize_t got;

    for (i = 0; i < n; i++)
        there[i] = (struct iovec){ (void *)(uintptr_t)d->keys[from + i], bytes };
    got = sd_remote_readv_some(r, &here, 1, there, n);
    return got < 0 ? 0 : (size_t)got / bytes;
}

int sd_dict_find(const struct sd_dict *d, const struct sd_remote *r,
                 const struct sd_layout *l, const char *key, uint64_t *value)
{
    uint8_t room[N_BATCH * (SD_STR_HEADER + N_KEY)];
    size_t length = strlen(key), bytes = l->str_ascii + length, from = 0, i;

    while (length <= N_KEY && from < d->n) {
        size_t n = d->n - from < N_BATCH ? d->n - from : N_BATCH;
        size_t got = read_batch(d, r, from, n, room, bytes);

        for (i = 0; i < got; i++) {
            if (d->values[from + i] && is_key(l, room + i * bytes, key, length)) {
                *value = d->values[from + i];
                return 0;
            }
        }
        from += got < n ? got + 1 : got; /* past the one that cannot be read */
    }
    return SD_EABSENT;
}

/* --- Attributes ------------------------------------------------------------------ */

/* Values that stand behind the object, as the keys of its class say. */
static int read_shared(struct sd_dict *d, const struct sd_remote *r,
                       const struct sd_layout *l, uint64_t type, uint64_t values)
{
    uint64_t keys;
    int rc = sd_remote_u64(r, type + l->type_cached_keys, &keys);

    if (rc < 0)
        return rc;
    return keys ? read_table(d, r, l, keys, values) : SD_EABSENT;
}

static int read_at_offset(struct sd_dict *d, const struct sd_remote *r,
                          const struct sd_layout *l, uint64_t type, uint64_t at)
{
    uint64_t offset, dict;
    int rc = sd_remote_u64(r, type + l->type_dict_offset, &offset);

    if (rc < 0)
        return rc;
    if (offset == 0 || offset > N_INLINE_MAX) /* below 0: an object of variable size */
        return SD_EABSENT;
    rc = sd_remote_u64(r, at + offset, &dict);
    return rc < 0 ? rc : sd_dict_read(d, r, l, dict);
}

static int read_before(struct sd_dict *d, const struct sd_remote *r,
                       const struct sd_layout *l, uint64_t type, uint64_t at)
{
    uint64_t before[2]; /* values, dict */
    int rc = sd_remote_read(r, at - 4 * WORD, before, sizeof before);

    if (rc < 0)
        return rc;
    return before[0] ? read_shared(d, r, l, type, before[0])
                     : sd_dict_read(d, r, l, before[1]);
}

static int read_tagged(struct sd_dict *d, const struct sd_remote *r,
                       const struct sd_layout *l, uint64_t type, uint64_t at)
{
    uint64_t either;
    int rc = sd_remote_u64(r, at - 3 * WORD, &either);

    if (rc < 0)
        return rc;
    return either & 1 ? read_shared(d, r, l, type, either + 1) /* stored one too low */
                      : sd_dict_read(d, r, l, either);
}

static int read_inline(struct sd_dict *d, const struct sd_remote *r,
                       const struct sd_layout *l, uint64_t type, uint64_t flags,
                       uint64_t at)
{
    uint64_t dict, size;
    int rc = sd_remote_u64(r, at - 3 * WORD, &dict);

    if (rc < 0)
        return rc;
    if (dict)
        return sd_dict_read(d, r, l, dict);
    if (!(flags & INLINE_VALUES))
        return SD_EABSENT;
    rc = sd_remote_u64(r, type + l->type_basic_size, &size);
    if (rc < 0 || size > N_INLINE_MAX)
        return rc < 0 ? rc : SD_EFORMAT;
    return read_shared(d, r, l, type, at + size);
}

int sd_instance_read(struct sd_dict *d, const struct sd_remote *r,
                     const struct sd_layout *l, uint64_t at)
{
    uint64_t type, flags;
    int rc;

    *d = (struct sd_dict){ 0 };
    if (l->type_cached_keys == SD_NO_OFFSET)
        return SD_EFORMAT;
    rc = sd_object_type(r, l, at, &type);
    if (rc == 0)
        rc = sd_remote_u64(r, type + l->type_flags, &flags);
    if (rc < 0)
        return rc;
    if (l->instance_style == SD_INSTANCE_OFFSET)
        return read_at_offset(d, r, l, type, at);
    if (!(flags & MANAGED_DICT))
        return SD_EABSENT;
    switch (l->instance_style) {
    case SD_INSTANCE_OFFSET:
        break;
    case SD_INSTANCE_BEFORE:
        return read_before(d, r, l, type, at);
    case SD_INSTANCE_TAGGED:
        return read_tagged(d, r, l, type, at);
    case SD_INSTANCE_INLINE:
        return read_inline(d, r, l, type, flags, at);
    }
    return SD_EFORMAT;
}
