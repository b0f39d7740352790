/* SPDX-License-Identifier: MIT */
#include "report/picture/cairo.h"

#ifdef HAVE_CAIRO
#include <dlfcn.h>
#include <string.h>

#include "base/error.h"

/* A function of the library; the copy goes round ISO C, which knows no such cast. */
static void find(struct sd_cairo *c, const char *name, void *function, size_t n,
                 const char **missing)
{
    void *found = dlsym(c->library, name);

    if (!found && !*missing)
        *missing = name;
    memcpy(function, &found, n);
}

int sd_cairo_open(struct sd_cairo *c)
{
    const char *missing = NULL;

    /* Never unloaded: fontconfig under it does not like that. */
    c->library = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!c->library)
        return sd_fail(SD_ELACKS, "plots need cairo: apt install libcairo2");
#define FIND(name) find(c, #name, &c->name, sizeof c->name, &missing);
    SD_CAIRO_FUNCTIONS(FIND)
#undef FIND
    if (!missing)
        return 0;
    sd_cairo_close(c);
    return sd_fail(SD_ELACKS,
                   "plots need cairo 1.16 or later, and the installed cairo lacks %s: "
                   "apt install libcairo2",
                   missing);
}

void sd_cairo_close(struct sd_cairo *c)
{
    if (c->library)
        dlclose(c->library);
    c->library = NULL;
}
#endif
