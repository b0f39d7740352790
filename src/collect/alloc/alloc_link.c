/* SPDX-License-Identifier: MIT */
#include "collect/alloc/alloc_link.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "collect/alloc/process_recording.h"
#include "sonde.h"

static const struct sd_alloc_link own = {
    .sizes = { sizeof(struct sd_alloc_link), sizeof(struct sd_alloc_thread),
               sizeof(struct sd_alloc_recorder), sizeof(struct sd_alloc_stacks) },
    .version = SONDE_VERSION,
    .here = &sd_alloc_here,
    .recorder = &sd_alloc_recorder,
    .stacks = &sd_alloc_stacks,
    .enter_slowly = sd_alloc_enter_slowly,
    .began = sd_alloc_began,
    .ends = sd_alloc_ends,
    .undo = sd_alloc_undo,
    .drop = sd_alloc_drop,
    .ask = sd_alloc_ask,
    .asked_began = sd_alloc_asked_began,
    .asked_ends = sd_alloc_asked_ends,
    .hear_uncounted = sd_alloc_hear_uncounted,
    .add = sd_alloc_add,
    .no_frame = sd_alloc_no_frame,
    .code_dies = sd_alloc_code_dies,
    .flush = sd_alloc_recorder_end,
    .end = sd_process_recording_end,
};

struct sd_alloc_link sd_alloc_link;

void sd_alloc_link_own(void)
{
    sd_alloc_link = own;
    sd_alloc_link.self = (char *)&sd_alloc_self - sd_linked_base();
}

static bool is_same(const struct sd_alloc_link *l)
{
    return memcmp(l->sizes, own.sizes, sizeof own.sizes) == 0 &&
           memcmp(l->version, own.version, sizeof own.version) == 0;
}

int sd_alloc_link_preloaded(void)
{
    sd_alloc_link_function *ask =
        (sd_alloc_link_function *)dlsym(RTLD_DEFAULT, SD_ALLOC_LINK_FUNCTION);
    const struct sd_alloc_link *l = ask ? ask() : NULL;

    if (!l)
        return 0;
    if (!is_same(l))
        return sd_fail(SD_ELACKS,
                       "the library that --preload loaded belongs to another "
                       "version of Sonde than this package");
    sd_alloc_link = *l;
    return 1;
}
