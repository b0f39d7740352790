/* SPDX-License-Identifier: MIT */
/* lprof_input: reads files of line_profiler. */
#include "base/error.h"
#include "base/mem.h"
#include "formats/lprof.h"
#include "outputs/inputs.h"

static bool recognises(const char *path, const void *head, size_t n)
{
    (void)path;
    return n > 0 && sd_lprof_is(head, n);
}

static int load_parts(char *const *files, size_t n, struct sd_line_stats **parts)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        parts[i] = sd_zalloc(sizeof *parts[i]);
        if (!parts[i])
            return sd_no_memory();
        sd_line_stats_init(parts[i]);
        rc = sd_lprof_load(sd_input_path(files[i]), parts[i]);
    }
    return rc;
}

/* Added up as line_profiler's load_stats does.  One alone is taken as it is: adding up
 * would round it. */
static int load(const struct sd_loader *how, char *const *files, size_t n,
                struct sd_contents *into)
{
    struct sd_line_stats **parts;
    int rc;

    (void)how;
    if (n == 1)
        return sd_lprof_load(sd_input_path(files[0]), &into->lines);
    parts = sd_zalloc((n + 1) * sizeof *parts);
    if (!parts)
        return sd_no_memory();
    rc = load_parts(files, n, parts);
    if (rc == 0)
        rc = sd_line_stats_sum(&into->lines, parts, n);
    for (size_t i = 0; i < n && parts[i]; i++) {
        sd_line_stats_release(parts[i]);
        sd_free(parts[i]);
    }
    sd_free(parts);
    return rc;
}

const struct sd_input sd_input_lprof = {
    .name = "lprof",
    .title = "a line_profiler file",
    .has = "only functions and their lines",
    .gives = SD_HOLDS_LINES,
    .recognises = recognises,
    .load = load,
};
