/* SPDX-License-Identifier: MIT */
#include "process/native/dw.h"

#ifdef HAVE_DW
#include <dlfcn.h>
#include <string.h>

#include "base/error.h"

/* A function of a library; the copy goes round ISO C, which knows no such cast. */
static void *find(void *library, const char *name, void *function, size_t n)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, n);
    return found;
}

int sd_dw_open(struct sd_dw *d)
{
    const char *missing = NULL;

    *d = (struct sd_dw){ 0 };
    d->library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!d->library)
        return sd_fail(SD_ELACKS, "native frames need elfutils: apt install libdw1");
    d->cxx = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    if (d->cxx)
        find(d->cxx, "__cxa_demangle", &d->demangle, sizeof d->demangle);
#define FIND(name)                                                                     \
    if (!find(d->library, #name, &d->name, sizeof d->name))                            \
        missing = #name;
    SD_DW_FUNCTIONS(FIND)
#undef FIND
    find(d->library, "dwfl_frame_reg", &d->frame_register, sizeof d->frame_register);
    /* Not that of the library: what was allocated may be by a malloc in front of libc.
     */
    if (!find(RTLD_DEFAULT, "free", &d->drop, sizeof d->drop))
        missing = "free";
    if (!missing && d->elf_version(EV_CURRENT) != EV_NONE)
        return 0;
    sd_dw_close(d);
    return sd_fail(SD_ELACKS,
                   "native frames need elfutils 0.170 or later, and the installed "
                   "elfutils lacks %s: apt install libdw1",
                   missing ? missing : "this version of ELF");
}

void sd_dw_close(struct sd_dw *d)
{
    if (d->cxx)
        dlclose(d->cxx);
    if (d->library)
        dlclose(d->library);
    *d = (struct sd_dw){ 0 };
}
#endif
