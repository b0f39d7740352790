/* SPDX-License-Identifier: MIT */
#include "machine/machine.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "machine/machine_loops.h"

static void make_example(struct sd_machine *m)
{
    sd_machine_identify(m);
    m->measured_at = 1700000000;
    m->one_core[SD_MACHINE_F32] = 1e11;
    m->all_cores[SD_MACHINE_F32] = 4e11;
    m->all_cores[SD_MACHINE_F64] = 2e11;
    m->n_levels = 2;
    m->levels[0] = (struct sd_machine_level){ "L1", 32768, 2e11, 8e11 };
    m->levels[1] = (struct sd_machine_level){ "memory", 0, 1e10, 3e10 };
    m->triad = 2.5e10;
}

TEST(machine_figures_are_kept_and_read_back)
{
    struct sd_machine m, again;
    struct sd_buf text = { 0 };

    make_example(&m);
    sd_machine_write(&m, &text);
    CHECK(!text.bad);
    CHECK(sd_machine_read((char *)text.p, text.n, &again) == 0);
    CHECK(strcmp(again.cpu, m.cpu) == 0 && again.n_cores == m.n_cores);
    CHECK(again.all_cores[SD_MACHINE_F32] == 4e11 && again.triad == 2.5e10);
    CHECK(again.n_levels == 2 && again.levels[0].bytes == 32768 &&
          strcmp(again.levels[1].name, "memory") == 0);
    for (size_t n = 0; n + 1 < text.n; n++)
        CHECK(sd_machine_read((char *)text.p, n, &again) == SD_EFORMAT);
    sd_buf_release(&text);
}

/* What the test keeps is kept in a folder of its own. */
static char *move_cache(const char *folder)
{
    const char *before = getenv("XDG_CACHE_HOME");
    char *kept = before ? sd_strdup(before) : NULL;

    setenv("XDG_CACHE_HOME", folder, 1);
    return kept;
}

static void move_cache_back(char *kept)
{
    if (kept)
        setenv("XDG_CACHE_HOME", kept, 1);
    else
        unsetenv("XDG_CACHE_HOME");
    sd_free(kept);
}

/* How many files are in it; they are removed, and it, too. */
static int empty_cache(const char *folder)
{
    char path[512], inner[64];
    struct dirent *e;
    int n = 0;
    DIR *d;

    snprintf(inner, sizeof inner, "%s/sonde", folder);
    d = opendir(inner);
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", inner, e->d_name);
            unlink(path);
            n++;
        }
    if (d)
        closedir(d);
    rmdir(inner);
    CHECK(rmdir(folder) == 0);
    return n;
}

TEST(machine_figures_are_of_one_host_and_number_of_cores)
{
    char folder[] = "/tmp/sonde-machine-XXXXXX", *kept;
    struct sd_machine m, again;

    CHECK(mkdtemp(folder));
    kept = move_cache(folder);
    CHECK(sd_machine_load(&again) == SD_EABSENT);
    make_example(&m);
    m.n_cores++;
    CHECK(sd_machine_keep(&m) == 0);
    CHECK(sd_machine_load(&again) == SD_EABSENT);
    make_example(&m);
    m.host[0] ^= 1;
    CHECK(sd_machine_keep(&m) == 0);
    CHECK(sd_machine_load(&again) == SD_EABSENT);
    make_example(&m);
    CHECK(sd_machine_keep(&m) == 0);
    m.n_cores++; /* one does not take the other's place */
    CHECK(sd_machine_keep(&m) == 0);
    CHECK(sd_machine_load(&again) == 0 && again.all_cores[SD_MACHINE_F32] == 4e11);
    CHECK(empty_cache(folder) == 3);
    move_cache_back(kept);
}

TEST(machine_figures_that_cannot_be_are_not_taken)
{
    char folder[] = "/tmp/sonde-machine-XXXXXX", *kept;
    struct sd_machine m, again;

    CHECK(mkdtemp(folder));
    kept = move_cache(folder);
    make_example(&m);
    m.levels[1].all_cores = 0;
    CHECK(sd_machine_keep(&m) == 0 && sd_machine_load(&again) == SD_EABSENT);
    make_example(&m);
    m.n_levels = 1;
    CHECK(sd_machine_keep(&m) == 0 && sd_machine_load(&again) == SD_EABSENT);
    make_example(&m);
    m.one_core[SD_MACHINE_F64] = 1.2e19; /* what a -5 in the file is read as */
    CHECK(sd_machine_keep(&m) == 0 && sd_machine_load(&again) == SD_EABSENT);
    make_example(&m);
    m.one_core[SD_MACHINE_F32] = 0;
    CHECK(sd_machine_keep(&m) == 0 && sd_machine_load(&again) == SD_EABSENT);
    make_example(&m);
    CHECK(sd_machine_keep(&m) == 0 && sd_machine_load(&again) == 0);
    empty_cache(folder);
    move_cache_back(kept);
}

TEST(machine_figures_without_a_home_are_not_kept_and_it_is_said)
{
    const char *home = getenv("HOME");
    char *kept = move_cache("/proc/nowhere"), *old = home ? sd_strdup(home) : NULL;
    struct sd_machine m, again;

    make_example(&m);
    CHECK(sd_machine_keep(&m) < 0 && strstr(sd_fail_text(), "/proc/nowhere/"));
    CHECK(sd_machine_load(&again) == SD_EABSENT);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    CHECK(sd_machine_keep(&m) == SD_EABSENT &&
          strstr(sd_fail_text(), "HOME is not set"));
    CHECK(sd_machine_load(&again) == SD_EABSENT);
    if (old)
        setenv("HOME", old, 1);
    sd_free(old);
    move_cache_back(kept);
}

/* Once, and all that must be true of any machine. */
TEST(machine_is_measured_whole)
{
    struct sd_machine m;

    CHECK(sd_machine_measure(&m) == 0);
    CHECK(sd_machine_is_whole(&m) && m.measured_at > 1700000000);
    CHECK(m.n_figures >= 7 && m.n_unsettled <= m.n_figures && m.triad > 0);
    CHECK(m.bytes_read > 0);
    for (int k = 0; k < SD_MACHINE_NUMBERS; k++) {
        bool can = sd_machine_kernel((enum sd_machine_number)k).run;

        CHECK(can == (m.one_core[k] > 0) && m.all_cores[k] >= m.one_core[k]);
        CHECK(m.all_cores[k] <= m.n_cores * m.one_core[k] * 1.001);
    }
    for (unsigned i = 0; i < m.n_levels; i++) {
        CHECK(m.levels[i].one_core > 0);
        CHECK(m.levels[i].all_cores >= m.levels[i].one_core);
    }
    if (m.n_unsettled > 0) /* others work beside us: figures are not to be compared */
        return;
    CHECK(m.one_core[SD_MACHINE_F32] > m.one_core[SD_MACHINE_F64]);
    /* With sanitizers all levels are about as fast as their checks. */
    CHECK(m.levels[0].all_cores >= 0.8 * m.levels[m.n_levels - 1].all_cores);
}

TEST(machine_peak_of_a_type_that_it_cannot_do_is_that_of_a_larger_one)
{
    struct sd_machine m;

    make_example(&m);
    CHECK(sd_machine_peak(&m, "float32") == 4e11);
    CHECK(sd_machine_peak(&m, "bfloat16") == 4e11);
    CHECK(sd_machine_peak(&m, "float64") == 2e11);
    CHECK(sd_machine_peak(&m, "int64") == 4e11);
    CHECK(sd_machine_bandwidth(&m) == 3e10);
}

TEST(machine_loops_run_and_their_numbers_stay_small)
{
    for (int k = 0; k < SD_MACHINE_NUMBERS; k++) {
        struct sd_machine_kernel kernel = sd_machine_kernel((enum sd_machine_number)k);
        double sink = 0;

        if (!kernel.run)
            continue;
        kernel.run(1000, &sink);
        CHECK(sink - sink == 0); /* neither NaN nor infinite */
        CHECK(kernel.ops_per_round >= 12 * 2 * 2);
    }
}

TEST(machine_memory_loops_read_and_write_all)
{
    _Alignas(64) double a[256], b[256], c[256];
    double sink = 0;

    for (int i = 0; i < 256; i++) {
        a[i] = 0;
        b[i] = i;
        c[i] = 1;
    }
    sd_machine_triad(a, b, c, 256);
    CHECK(a[0] == 3 && a[255] == 258);
    sd_machine_sum(a, sizeof a, 3, &sink);
    CHECK(sink == sink);
}
