/* SPDX-License-Identifier: MIT */
/* machine_cache: stores what was measured in the user's cache, one line for each
 * figure, readable for people too.  A home may be shared by many machines, and the
 * number of usable cores may change with each start: every machine and number has a
 * file of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/table.h"
#include "machine/machine.h"

enum { TEXT_MAX = 1 << 16 };

void sd_machine_write(const struct sd_machine *m, struct sd_buf *to)
{
    sd_buf_printf(
        to, "sonde machine 2\nhost %s\ncpu %s\nvectors %s\ncores %u\nat %llu\n",
        m->host, m->cpu, m->vectors, m->n_cores, (unsigned long long)m->measured_at);
    sd_buf_printf(to, "read %llu %llu\nunsettled %u %u\n",
                  (unsigned long long)m->bytes_read, (unsigned long long)m->cache_bytes,
                  m->n_unsettled, m->n_figures);
    for (int k = 0; k < SD_MACHINE_NUMBERS; k++)
        sd_buf_printf(
            to, "number %s %llu %llu\n", sd_machine_word((enum sd_machine_number)k),
            (unsigned long long)m->one_core[k], (unsigned long long)m->all_cores[k]);
    for (unsigned i = 0; i < m->n_levels; i++)
        sd_buf_printf(to, "level %s %llu %llu %llu\n", m->levels[i].name,
                      (unsigned long long)m->levels[i].bytes,
                      (unsigned long long)m->levels[i].one_core,
                      (unsigned long long)m->levels[i].all_cores);
    sd_buf_printf(to, "triad %llu\nend\n", (unsigned long long)m->triad);
}

static int read_line(const char *line, struct sd_machine *m)
{
    unsigned long long a, b, c;
    char word[16];

    if (sscanf(line, "host %23s", m->host) == 1 ||
        sscanf(line, "unsettled %u %u", &m->n_unsettled, &m->n_figures) == 2 ||
        sscanf(line, "cpu %95[^\n]", m->cpu) == 1 ||
        sscanf(line, "vectors %15s", m->vectors) == 1 ||
        sscanf(line, "cores %u", &m->n_cores) == 1)
        return 0;
    if (sscanf(line, "at %llu", &a) == 1) {
        m->measured_at = a;
    } else if (sscanf(line, "read %llu %llu", &a, &b) == 2) {
        m->bytes_read = a;
        m->cache_bytes = b;
    } else if (sscanf(line, "triad %llu", &a) == 1) {
        m->triad = (double)a;
    } else if (sscanf(line, "number %15s %llu %llu", word, &a, &b) == 3) {
        for (int k = 0; k < SD_MACHINE_NUMBERS; k++)
            if (strcmp(word, sd_machine_word((enum sd_machine_number)k)) == 0) {
                m->one_core[k] = (double)a;
                m->all_cores[k] = (double)b;
            }
    } else if (sscanf(line, "level %7s %llu %llu %llu", word, &a, &b, &c) == 4) {
        struct sd_machine_level *l = &m->levels[m->n_levels];

        if (m->n_levels == SD_MACHINE_LEVELS)
            return SD_EFORMAT;
        m->n_levels++;
        memcpy(l->name, word, sizeof l->name);
        l->bytes = a;
        l->one_core = (double)b;
        l->all_cores = (double)c;
    }
    return 0;
}

int sd_machine_read(const char *text, size_t n, struct sd_machine *m)
{
    const char *end = text + n, *next;
    bool is_whole = false;
    char line[256];
    int rc = 0;

    *m = (struct sd_machine){ 0 };
    if (n < 16 || memcmp(text, "sonde machine 2\n", 16) != 0)
        return SD_EFORMAT;
    for (const char *at = text + 16; at < end && rc == 0; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        if (!next || (size_t)(next - at) >= sizeof line)
            return SD_EFORMAT;
        memcpy(line, at, (size_t)(next - at));
        line[next - at] = 0;
        is_whole |= strcmp(line, "end") == 0;
        rc = read_line(line, m);
    }
    return rc == 0 && is_whole && sd_machine_is_whole(m) ? 0 : SD_EFORMAT;
}

bool sd_machine_cache_path(const struct sd_machine *m, const char *what, bool make,
                           char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    uint64_t key = sd_hash(m->host, strlen(m->host), m->n_cores);
    int n;

    key = sd_hash(m->cpu, strlen(m->cpu), key);
    key = sd_hash(m->vectors, strlen(m->vectors), key);
    if (cache && cache[0] == '/')
        n = snprintf(path, size, "%s", cache);
    else if (home && home[0] == '/')
        n = snprintf(path, size, "%s/.cache", home);
    else
        return false;
    if (n < 0 || (size_t)n + 64 > size)
        return false;
    if (make)
        mkdir(path, 0700);
    n += snprintf(path + n, size - (size_t)n, "/sonde");
    if (make)
        mkdir(path, 0700);
    snprintf(path + n, size - (size_t)n, "/%s-%016llx.txt", what,
             (unsigned long long)key);
    return true;
}

/* Whoever reads a pipe waits. */
bool sd_machine_cache_has(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

int sd_machine_load(struct sd_machine *m)
{
    struct sd_machine here;
    char path[4096], *text;
    size_t n;
    int rc;

    sd_machine_identify(&here);
    if (!sd_machine_cache_path(&here, "machine", false, path, sizeof path) ||
        !sd_machine_cache_has(path) || sd_read_file(path, TEXT_MAX, &text, &n) < 0)
        return SD_EABSENT;
    rc = sd_machine_read(text, n, m);
    sd_free(text);
    if (rc < 0 || strcmp(m->host, here.host) != 0 || strcmp(m->cpu, here.cpu) != 0 ||
        m->n_cores != here.n_cores || strcmp(m->vectors, here.vectors) != 0)
        return SD_EABSENT;
    return 0;
}

int sd_machine_keep(const struct sd_machine *m)
{
    char path[4096], *beside = NULL;
    struct sd_buf text = { 0 };
    int fd = -1, rc;

    if (!sd_machine_cache_path(m, "machine", true, path, sizeof path))
        return sd_fail(SD_EABSENT,
                       "HOME is not set, so the measured speeds cannot be saved");
    sd_machine_write(m, &text);
    rc = text.bad ? sd_no_memory()
                  : sd_file_create_beside(path, SD_CREATE_OVER, &beside, &fd);
    if (rc == 0) {
        if (sd_write_all(fd, text.p, text.n) < 0)
            rc = sd_fail_errno(errno, "cannot write %s", path);
        close(fd);
        if (rc == 0)
            rc = sd_file_place(path, beside, SD_CREATE_OVER);
        if (rc < 0)
            unlink(beside);
    }
    sd_free(beside);
    sd_buf_release(&text);
    return rc;
}
