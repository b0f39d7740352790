/* SPDX-License-Identifier: MIT */
#include "collect/collector.h"

#include <string.h>

#define OUTSIDE(name)                                                                  \
    extern const struct sd_collector_about sd_about_##name;                            \
    extern const struct sd_collector sd_collector_##name;
#define INSIDE(name) extern const struct sd_collector_about sd_about_##name;
#define PYTHON(name) extern const struct sd_collector_about sd_about_##name;
#define ASKED(name)
#include "collect/collectors.def"
#undef OUTSIDE
#undef INSIDE
#undef PYTHON

#define OUTSIDE(name) &sd_about_##name,
#define INSIDE(name) &sd_about_##name,
#define PYTHON(name) &sd_about_##name,
const struct sd_collector_about *const sd_abouts[] = {
#include "collect/collectors.def"
    NULL,
};
#undef OUTSIDE
#undef INSIDE
#undef PYTHON

#define OUTSIDE(name) &sd_collector_##name,
#define INSIDE(name)
#define PYTHON(name)
const struct sd_collector *const sd_outside_collectors[] = {
#include "collect/collectors.def"
    NULL,
};
#undef OUTSIDE
#undef INSIDE
#undef PYTHON
#undef ASKED

const struct sd_collector_about *sd_collectors_find(const char *name)
{
    const struct sd_collector_about *const *a;

    for (a = sd_abouts; *a; a++)
        if (strcmp((*a)->name, name) == 0)
            return *a;
    return NULL;
}
