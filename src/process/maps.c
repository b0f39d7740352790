/* SPDX-License-Identifier: MIT */
#include "process/maps.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

static uint64_t hex(const char **p)
{
    uint64_t v = 0;

    for (;; ++*p) {
        char c = **p;

        if (c >= '0' && c <= '9')
            v = v << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v << 4 | (uint64_t)(c - 'a' + 10);
        else
            return v;
    }
}

static bool take(const char **p, char c)
{
    if (**p != c)
        return false;
    ++*p;
    return true;
}

static bool rights(const char **p, unsigned *out)
{
    static const char letters[] = "rwx";
    int i;

    *out = 0;
    for (i = 0; i < 3; i++) {
        if ((*p)[i] == letters[i])
            *out |= 1u << i;
        else if ((*p)[i] != '-')
            return false;
    }
    *p += 3;
    return take(p, 'p') || take(p, 's');
}

/* A line end in a path is written \012, so that a line stays one line. */
static void restore_line_ends(char *path)
{
    char *to = path;

    for (; *path; path++) {
        if (strncmp(path, "\\012", 4) == 0) {
            *to++ = '\n';
            path += 3;
        } else {
            *to++ = *path;
        }
    }
    *to = 0;
}

static void take_path(struct sd_mapping *m, char *path)
{
    static const char deleted[] = " (deleted)";
    size_t n = strlen(path), tail = sizeof deleted - 1;

    m->is_deleted = n > tail && strcmp(path + n - tail, deleted) == 0;
    if (m->is_deleted)
        path[n - tail] = 0;
    restore_line_ends(path);
    m->path = path;
}

/* "7f00-7f10 r-xp 00001000 08:01 123    /usr/lib/x.so" */
static bool parse_line(struct sd_mapping *m, char *line)
{
    const char *p = line;

    m->start = hex(&p);
    if (!take(&p, '-'))
        return false;
    m->end = hex(&p);
    if (!take(&p, ' ') || !rights(&p, &m->rights) || !take(&p, ' '))
        return false;
    m->offset = hex(&p);
    if (!take(&p, ' '))
        return false;
    m->dev = hex(&p) << 32;
    if (!take(&p, ':'))
        return false;
    m->dev |= hex(&p);
    if (!take(&p, ' '))
        return false;
    m->inode = 0;
    while (*p >= '0' && *p <= '9')
        m->inode = m->inode * 10 + (uint64_t)(*p++ - '0');
    while (take(&p, ' '))
        ;
    take_path(m, line + (p - line));
    return m->start < m->end;
}

int sd_maps_parse(struct sd_maps *m, char *text, size_t n)
{
    char *at = text, *stop = text + n;

    m->n = 0;
    while (at < stop) {
        char *end = memchr(at, '\n', (size_t)(stop - at));
        struct sd_mapping *items =
            sd_grow_array(m->items, &m->cap, m->n + 1, sizeof *m->items);

        if (!items)
            return sd_no_memory();
        m->items = items;
        if (!end)
            break; /* a last line that was cut off says nothing */
        *end = 0;
        if (parse_line(&m->items[m->n], at))
            m->n++;
        at = end + 1;
    }
    return 0;
}

int sd_maps_read(struct sd_maps *m, pid_t pid)
{
    char path[64];
    char *text = NULL;
    size_t n;
    int rc;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    rc = sd_read_file(path, SD_MAPS_MAX_BYTES, &text, &n);
    if (rc == SD_EABSENT)
        return sd_fail(SD_EGONE, "process %d has ended", (int)pid);
    if (rc < 0)
        return rc;
    sd_free(m->text);
    m->text = text;
    return sd_maps_parse(m, text, n);
}

const struct sd_mapping *sd_maps_find(const struct sd_maps *m, uint64_t address)
{
    size_t low = 0, high = m->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (m->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->n && m->items[low].start <= address ? &m->items[low] : NULL;
}

void sd_maps_release(struct sd_maps *m)
{
    sd_free(m->items);
    sd_free(m->text);
    *m = (struct sd_maps){ 0 };
}
