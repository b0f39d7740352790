/* SPDX-License-Identifier: MIT */
#include "cli/record/compiled_modules.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/table.h"
#include "cli/path.h"
#include "process/maps.h"

enum { NONE = UINT32_MAX, LEAST_SAMPLES = 20 };
#define LEAST_SHARE 0.3   /* of all samples, that the hottest function has */
#define LEAST_OF_LINE 0.9 /* of those, that one line has */

/* --- Files */

/* An extension module, and not one of the standard library. */
static bool is_module(const char *path)
{
    const char *name = sd_path_base(path);

    return sd_path_has_suffix(name, ".so") &&
           (strstr(name, ".cpython-") || strstr(name, ".abi3.")) &&
           !strstr(path, "/lib-dynload/");
}

static void add(struct sd_compiled_modules *c, struct sd_arena *a, const char *path)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->modules[i], path) == 0)
            return;
    if (c->n < SD_COMPILED_MODULES_MAX &&
        (c->modules[c->n] = sd_arena_string(a, path, strlen(path))))
        c->n++;
}

void sd_compiled_modules_look(struct sd_compiled_modules *c, struct sd_arena *a,
                              pid_t pid)
{
    struct sd_maps maps = { 0 };

    if (sd_maps_read(&maps, pid) == 0)
        for (size_t i = 0; i < maps.n; i++)
            if (is_module(maps.items[i].path))
                add(c, a, maps.items[i].path);
    sd_maps_release(&maps);
}

/* What Cython makes looks for this module when it is loaded. */
static bool is_of_cython(const char *path)
{
    static const char mark[] = "cython_runtime";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = false;
    struct stat st;
    void *p;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED) {
            is = memmem(p, (size_t)st.st_size, mark, sizeof mark) != NULL;
            munmap(p, (size_t)st.st_size);
        }
    }
    if (fd >= 0)
        close(fd);
    return is;
}

void sd_compiled_modules_put(const struct sd_compiled_modules *c, struct sd_buf *to)
{
    for (size_t i = 0; i < c->n && to->n == 0; i++)
        if (strstr(sd_path_base(c->modules[i]), "__mypyc."))
            sd_buf_printf(to, "mypyc (%s)", c->modules[i]);
    for (size_t i = 0; i < c->n && to->n == 0; i++)
        if (is_of_cython(c->modules[i]))
            sd_buf_printf(to, "Cython (%s)", c->modules[i]);
}

/* --- The hottest function */

struct hottest {
    uint32_t site, line;
    int64_t all, of_site, of_line;
};

static bool is_counted(const struct sd_profile *p, size_t i)
{
    const struct sd_stack_totals *samples = &p->evidence[SD_SAMPLES].stacks;

    return samples->items[i].stack.at != NONE &&
           !(samples->items[i].flags & SD_SAMPLE_IDLE);
}

static void find_site(const struct sd_profile *p, const int64_t *n, int64_t *sums,
                      struct hottest *h)
{
    const struct sd_stack_totals *samples = &p->evidence[SD_SAMPLES].stacks;

    for (size_t i = 0; i < samples->n; i++) {
        uint32_t site;

        if (!is_counted(p, i))
            continue;
        site = p->stacks[samples->items[i].stack.at].site.at;
        sums[site] += n[i];
        h->all += n[i];
        if (h->site == NONE || sums[site] > sums[h->site])
            h->site = site;
    }
    h->of_site = h->site == NONE ? 0 : sums[h->site];
}

static int find_line(const struct sd_profile *p, const int64_t *n, struct hottest *h)
{
    const struct sd_stack_totals *samples = &p->evidence[SD_SAMPLES].stacks;
    struct sd_table lines = { 0 };
    int rc = 0;

    for (size_t i = 0; i < samples->n && rc == 0; i++) {
        const struct sd_stack *s;
        uint64_t sum = 0;

        if (!is_counted(p, i))
            continue;
        s = &p->stacks[samples->items[i].stack.at];
        if (s->site.at != h->site)
            continue;
        sd_table_get(&lines, s->line, &sum);
        sum += (uint64_t)n[i];
        rc = sd_table_put(&lines, s->line, sum);
        if ((int64_t)sum > h->of_line) {
            h->of_line = (int64_t)sum;
            h->line = s->line;
        }
    }
    sd_table_release(&lines);
    return rc;
}

static bool has_native(const struct sd_profile *p)
{
    const struct sd_stack_totals *samples = &p->evidence[SD_SAMPLES].stacks;

    for (size_t i = 0; i < samples->n; i++)
        if (samples->items[i].flags & SD_SAMPLE_NATIVE)
            return true;
    return false;
}

void sd_compiled_modules_hint(const struct sd_profile *p, struct sd_buf *to)
{
    const char *compiled = sd_profile_meta(p, SD_COMPILED_MODULES_META);
    uint32_t samples = sd_profile_sample_metric(p, "samples");
    struct hottest h = { .site = NONE };
    int64_t *sums;

    if (!compiled || !*compiled || samples == NONE || has_native(p))
        return;
    sums = sd_zalloc((p->n_sites + 1) * sizeof *sums);
    if (!sums)
        return;
    find_site(p, p->evidence[SD_SAMPLES].stacks.values[samples], sums, &h);
    sd_free(sums);
    if (h.of_site < LEAST_SAMPLES || (double)h.of_site < LEAST_SHARE * (double)h.all ||
        find_line(p, p->evidence[SD_SAMPLES].stacks.values[samples], &h) < 0 ||
        (double)h.of_line < LEAST_OF_LINE * (double)h.of_site)
        return;
    sd_buf_printf(
        to,
        "%.0f %% of the samples are in one line, %s:%u; if it calls code that was "
        "compiled by %s, sonde sample --native shows the functions there",
        100.0 * (double)h.of_line / (double)h.all,
        p->sites[h.site].file ? sd_site_short_file(&p->sites[h.site]) : "?", h.line,
        compiled);
}
