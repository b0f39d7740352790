/* SPDX-License-Identifier: MIT */
#include "collect/alloc/callers.h"

#include <string.h>

#include "collect/alloc/loaded.h"

struct question {
    uintptr_t caller;
    bool has_rpath;
};

static int visit(struct dl_phdr_info *info, size_t bytes, void *to)
{
    struct question *q = to;
    struct sd_loaded o = sd_loaded_outline(info);

    (void)bytes;
    if (!sd_loaded_room(&o, q->caller, PF_X))
        return 0;
    q->has_rpath = sd_loaded_read(&o) && o.has_rpath;
    return 1;
}

bool sd_callers_matter(const char *path, const void *caller)
{
    struct question q = { .caller = (uintptr_t)caller };

    if (!path || !strchr(path, '/') || strchr(path, '$'))
        return true;
    /* A caller in no object is code made at run time: nothing is known of it. */
    return !dl_iterate_phdr(visit, &q) || q.has_rpath;
}
