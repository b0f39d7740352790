/* SPDX-License-Identifier: MIT */
#include "collect/lines/line_choice.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Up to the next comma that is none of its own; other backslashes are fnmatch's. */
static const char *take_name(const char *at, char *text, size_t *to)
{
    for (; *at && *at != ','; at++) {
        if (*at == '\\' && at[1] == ',')
            at++;
        else if (*at == '\\' && at[1])
            text[(*to)++] = *at++;
        text[(*to)++] = *at;
    }
    return at;
}

static void cut(char *from, const char *to) { memmove(from, to, strlen(to) + 1); }

/* "a/../b", "a//b" and "a/./b" mean what is shorter; a ".." at the beginning stays. */
static void straighten(char *item)
{
    char *at, *part;

    while ((at = strstr(item, "//")) != NULL)
        cut(at, at + 1);
    while ((at = strstr(item, "/./")) != NULL)
        cut(at, at + 2);
    for (at = item; (at = strstr(at, "/../")) != NULL;) {
        for (part = at; part > item && part[-1] != '/';)
            part--;
        if (part == at || strncmp(part, "../", 3) == 0) {
            at += 3;
        } else {
            cut(part, at + 4);
            at = item;
        }
    }
}

int sd_line_choice_read(const char *typed, const char *folder,
                        struct sd_line_choice *out)
{
    size_t n = strlen(typed), to = 0;

    memset(out, 0, sizeof *out);
    out->text = sd_alloc(n + 1);
    out->folder = sd_strdup(folder);
    if (!out->text || !out->folder) {
        sd_line_choice_release(out);
        return sd_no_memory();
    }
    for (const char *at = typed; *at; at += *at == ',') {
        size_t from = to;

        at = take_name(at + strspn(at, " "), out->text, &to);
        while (to > from && out->text[to - 1] == ' ')
            to--;
        out->text[to] = '\0';
        straighten(out->text + from);
        to = from + strlen(out->text + from);
        if (to > from)
            out->text[to++] = '\0';
    }
    out->n = to;
    if (to == 0) {
        sd_line_choice_release(out);
        return sd_fail(SD_EUSAGE, "--only needs names of functions, modules or files, "
                                  "such as --only 'train,src/*.py'");
    }
    return 0;
}

void sd_line_choice_release(struct sd_line_choice *c)
{
    sd_free(c->text);
    sd_free(c->folder);
    memset(c, 0, sizeof *c);
}

static bool matches(const char *glob, const char *text)
{
    return fnmatch(glob, text, 0) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Text that has no file of its own has a name in brackets: "<ipython-input-7-...>". */
bool sd_line_choice_is_file(const char *place)
{
    return (*place == '<' && ends_with(place, ">")) || strchr(place, '/') ||
           ends_with(place, ".py") || ends_with(place, ".pyw");
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool has_file(const struct sd_line_choice *c, const char *glob, const char *file)
{
    size_t n = strlen(c->folder);

    if (!file)
        return false;
    if (fnmatch(glob, file, FNM_PATHNAME) == 0)
        return true;
    if (!strchr(glob, '/') && strcmp(glob, last_part(file)) == 0)
        return true; /* a script is found by its name from anywhere */
    if (*glob == '/')
        return false;
    /* The folder is no pattern, whatever its name is. */
    n -= n > 0 && c->folder[n - 1] == '/';
    for (;;) {
        if (strncmp(glob, "./", 2) == 0) {
            glob += 2;
        } else if (strncmp(glob, "../", 3) == 0 && n > 0) {
            glob += 3;
            while (c->folder[--n] != '/' && n > 0)
                ;
        } else {
            break;
        }
    }
    return strncmp(file, c->folder, n) == 0 && file[n] == '/' &&
           fnmatch(glob, file + n + 1, FNM_PATHNAME) == 0;
}

/* By its name, the end of it, or the name of a class that it is in. */
static bool has_name(const char *glob, const char *name)
{
    const char *at = name;

    for (; at; at = strchr(at, '.'), at = at ? at + 1 : NULL) {
        size_t n = strlen(glob);

        if (matches(glob, at))
            return true;
        if (strncmp(at, glob, n) == 0 && at[n] == '.' && at[n + 1] != '<')
            return true;
    }
    return false;
}

/* "pkg.mod", "pkg.mod.func" or "pkg.mod.Class". */
static bool has_module(const char *glob, const char *module, const char *name)
{
    size_t n = strlen(module);

    if (matches(glob, module))
        return true;
    return strncmp(glob, module, n) == 0 && glob[n] == '.' &&
           has_name(glob + n + 1, name);
}

/* "x.py:12" */
static bool has_line(const char *typed, uint32_t first)
{
    char *end;
    unsigned long n = strtoul(typed, &end, 10);

    return end != typed && !*end && n == first;
}

static bool has_item(const struct sd_line_choice *c, const char *item,
                     const struct sd_line_subject *f)
{
    const char *colon = strrchr(item, ':');
    char place[PATH_MAX];
    bool is_there;

    if (!colon)
        return sd_line_choice_is_file(item)
                   ? has_file(c, item, f->file)
                   : has_name(item, f->name) ||
                         (f->module && has_module(item, f->module, f->name));
    snprintf(place, sizeof place, "%.*s", (int)(colon - item), item);
    is_there = sd_line_choice_is_file(place) ? has_file(c, place, f->file)
                                             : f->module && matches(place, f->module);
    return is_there && (has_line(colon + 1, f->first) || has_name(colon + 1, f->name));
}

bool sd_line_choice_has(const struct sd_line_choice *c, const struct sd_line_subject *f)
{
    for (size_t at = 0; at < c->n; at += strlen(c->text + at) + 1)
        if (has_item(c, c->text + at, f))
            return true;
    return false;
}
