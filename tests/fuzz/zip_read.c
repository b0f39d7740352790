/* SPDX-License-Identifier: MIT */
/* Zip archives: whatever the bytes say, reading ends within memory bounded by them, and
 * what comes out is as long as it says. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding/inflate.h"
#include "base/encoding/zip.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_bytes(const struct sd_zip *z, uint64_t at, void *to, size_t n)
{
    if (at > z->n || n > z->n - at)
        abort();
    memcpy(to, (const uint8_t *)z->bytes + at, n);
    return true;
}

static void check_inflating(const uint8_t *data, size_t size)
{
    static uint8_t to[4096];
    size_t n = size > 0 ? (size_t)data[0] * 16 : 0;

    sd_inflate(data + (size > 0), size - (size > 0), to, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sd_zip z = { .read = read_bytes, .bytes = data, .n = size };
    static const char *const names[] = { "a.py", "pkg/b.py" };
    char *p;
    size_t n;

    for (size_t i = 0; i < 2; i++) {
        if (sd_zip_read(&z, names[i], 1 << 20, &p, &n) == 1 &&
            (n > 1 << 20 || n / SD_INFLATE_MOST > size || p[n] != '\0'))
            abort();
        sd_free(p);
    }
    check_inflating(data, size);
    return 0;
}
