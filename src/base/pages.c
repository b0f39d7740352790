/* SPDX-License-Identifier: MIT */
#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/mem.h"

#ifdef SD_TINY
enum { FIRST_BYTES = 4096 };
#else
enum { FIRST_BYTES = 1 << 20 };
#endif
enum { PAGE_BYTES = 4096 };

static size_t rounded(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

int sd_pages_grow(struct sd_pages *s, size_t bytes)
{
    size_t wanted = s->bytes ? s->bytes : FIRST_BYTES;
    void *p;

    if (bytes <= s->bytes)
        return 0;
    if (bytes > SIZE_MAX / 4)
        return sd_no_memory();
    while (wanted < bytes)
        wanted *= 2;
    wanted = rounded(wanted);
    if (sd_mem_is_refused())
        return sd_no_memory();
    p = s->p ? mremap(s->p, s->bytes, wanted, MREMAP_MAYMOVE)
             : mmap(NULL, wanted, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return sd_no_memory();
    s->p = p;
    s->bytes = wanted;
    return 0;
}

void sd_pages_shrink(struct sd_pages *s, size_t bytes)
{
    size_t left = rounded(bytes ? bytes : 1);

    if (s->p && left < s->bytes && munmap((char *)s->p + left, s->bytes - left) == 0)
        s->bytes = left;
}

void sd_pages_release(struct sd_pages *s)
{
    if (s->p)
        munmap(s->p, s->bytes);
    *s = (struct sd_pages){ 0 };
}
