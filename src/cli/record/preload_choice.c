/* SPDX-License-Identifier: MIT */
#include "cli/record/preload_choice.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/path.h"
#include "cli/record/interpreter.h"

/* The collector that could preload, or NULL; *asks: it is to do so. */
static const struct sd_collector_about *preloader(const struct sd_collector_set *chosen,
                                                  bool *asks)
{
    *asks = false;
    for (size_t i = 0; i < chosen->n; i++) {
        const struct sd_collector_about *about = chosen->abouts[i];

        if (!about->preloads)
            continue;
        *asks = about->preloads(sd_command_options_of(chosen->command, about));
        return about;
    }
    return NULL;
}

/* Does a word name an interpreter, or something that may start one ("env python",
 * "bash job.sh", "sh -c 'python x.py'")? */
static bool leads_to_python(const char *word)
{
    return sd_interpreter_is_python(word) || strstr(word, "python") ||
           sd_path_has_suffix(word, ".py") || sd_path_has_suffix(word, ".sh") ||
           (sd_path_is_regular(word) && sd_path_is_script(word));
}

/* A script may start anything; a program of machine code starts what it is told to. */
static bool may_have_python(const struct sd_program *p)
{
    if (p->is_python || sd_path_is_script(p->path))
        return true;
    for (size_t i = 0; p->argv[i]; i++)
        if (leads_to_python(p->argv[i]))
            return true;
    return false;
}

/* The dynamic linker separates paths by either, and knows no way to quote them. */
static int check_path(const char *library)
{
    const char *bad = strpbrk(library, ": ");

    if (!sd_path_exists(library))
        return sd_fail(SD_ELACKS,
                       "--preload needs %s, which is not there; install Sonde again",
                       library);
    return bad ? sd_fail(SD_ELACKS,
                         "--preload cannot load %s: LD_PRELOAD takes no path with a %s "
                         "in it; install Sonde in another folder",
                         library, *bad == ':' ? "colon" : "space")
               : 0;
}

int sd_preload_choose(struct sd_arena *a, const struct sd_collector_set *chosen,
                      const struct sd_program *program, const char *package,
                      const char **library)
{
    bool asks;
    const struct sd_collector_about *about = preloader(chosen, &asks);

    *library = NULL;
    if (about && !asks && !may_have_python(program))
        return sd_fail(SD_EUSAGE,
                       "%s is not Python, and %s records other programs only with "
                       "--%s%spreload",
                       program->argv[0], about->name,
                       chosen->command->verb->collector == about ? "" : about->name,
                       chosen->command->verb->collector == about ? "" : "-");
    if (!asks)
        return 0;
    if (!package)
        return sd_fail(SD_ELACKS, "--preload needs Sonde's Python package, which was "
                                  "not found beside the program; install Sonde again");
    *library = sd_arena_printf(a, "%s/libsonde_preload.so", package);
    return *library ? check_path(*library) : sd_no_memory();
}
