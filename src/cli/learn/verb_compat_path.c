/* SPDX-License-Identifier: MIT */
/* compat-path: prints the folder whose modules have other tools' names (cProfile,
 * pstats, line_profiler, ...) and are Sonde's.  First on PYTHONPATH it makes a program
 * use Sonde that knows nothing of it.  Another one has such programs, for PATH: they
 * are not installed beside `sonde`, where they would replace those of the tools
 * themselves. */
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "cli/learn/verb_help.h"
#include "cli/path.h"
#include "cli/record/package.h"
#include "cli/say.h"

enum { OPT_PROGRAMS };
static const struct sd_option options[] = {
    [OPT_PROGRAMS] = { "programs", SD_FLAG, NULL,
                       "print the folder of programs instead, for PATH: kernprof, "
                       "mprof, memray",
                       0, NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* The folder in the arena, or NULL with a sentence. */
static const char *find(struct sd_arena *a, const char *name)
{
    const char *package = sd_package_find(a);
    const char *folder = package ? sd_arena_printf(a, "%s/%s", package, name) : NULL;

    if (folder && sd_path_exists(folder))
        return folder;
    sd_fail(SD_EABSENT, "the Python package of sonde is not beside this program; "
                        "install sonde again, or name its folder in SONDE_PACKAGE");
    return NULL;
}

static int run(const struct sd_command *c)
{
    struct sd_arena a = { 0 };
    const char *folder;
    struct sd_out out;
    int status;

    if (c->n_words > 0)
        return sd_say_failure(
            sd_fail(SD_EUSAGE,
                    "compat-path takes no arguments but got \"%s\"; it prints a folder",
                    c->words[0]));
    folder = find(&a, c->values[OPT_PROGRAMS].number ? "_programs" : "_alias");
    if (folder) {
        sd_out_to_fd(&out, STDOUT_FILENO);
        sd_out_printf(&out, "%s\n", folder);
        status = sd_finish_stdout(&out, 0);
    } else {
        status = sd_say_failure(SD_EABSENT);
    }
    sd_arena_release(&a);
    return status;
}

const struct sd_verb sd_verb_compat_path = {
    .name = "compat-path",
    .group = SD_GROUP_LEARN,
    .summary = "prints the folder whose modules replace cProfile and other profilers "
               "with Sonde's",
    .usage = "[OPTION...]",
    .about =
        "Prints the folder of modules named cProfile, pstats, profile, _lsprof, yappi, "
        "line_profiler, kernprof, memory_profiler, mprof, memray, tracemalloc, "
        "timeit, objgraph, and on Python 3.15 profiling, that are Sonde's. First on "
        "PYTHONPATH, they are what an unmodified program imports, and what python -m "
        "cProfile runs. "
        "An interpreter that sonde has no extension for goes on with its own modules.",
    .examples = "PYTHONPATH=$(sonde compat-path) python app.py\n"
                "PYTHONPATH=$(sonde compat-path) python -m cProfile -s time app.py\n"
                "PATH=$(sonde compat-path --programs):$PATH kernprof -l -v app.py\n"
                "PATH=$(sonde compat-path --programs):$PATH mprof run app.py\n",
    .options = options,
    .run = run,
};
