/* SPDX-License-Identifier: MIT */
/* pstats_input: reads files of cProfile and profile. */
#include "base/error.h"
#include "formats/pstats.h"
#include "outputs/inputs.h"

static bool recognises(const char *path, const void *head, size_t n)
{
    (void)path;
    return n > 0 && sd_pstats_is(head, n);
}

/* An empty file says nothing of who ran, so it is a mistake. */
static int load_file(const char *file, struct sd_call_stats *into)
{
    int rc = sd_pstats_load(sd_input_path(file), into);

    if (rc == 0 && into->n_listed == 0)
        rc = sd_fail(SD_EFORMAT, "%s is a pstats file without any calls", file);
    return rc;
}

static int add_file(const char *file, struct sd_call_stats *into)
{
    struct sd_call_stats one;
    int rc;

    sd_call_stats_init(&one);
    rc = load_file(file, &one);
    if (rc == 0)
        rc = sd_call_stats_add(into, &one);
    sd_call_stats_release(&one);
    return rc;
}

/* pstats takes the first and then the others from the last on; sums and the order of
 * functions depend on it. */
static int load(const struct sd_loader *how, char *const *files, size_t n,
                struct sd_contents *into)
{
    int rc = n > 0 ? load_file(files[0], &into->calls) : 0;

    (void)how;
    for (size_t i = n; i > 1 && rc == 0; i--)
        rc = add_file(files[i - 1], &into->calls);
    return rc;
}

const struct sd_input sd_input_pstats = {
    .name = "pstats",
    .title = "a pstats file",
    .has = "only functions and their callers",
    .gives = SD_HOLDS_CALLS,
    .recognises = recognises,
    .load = load,
};
