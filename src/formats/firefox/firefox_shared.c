/* SPDX-License-Identifier: MIT */
/* firefox_shared: writes what all threads of a Firefox profile share: functions,
 * frames, stacks, files. */
#include <string.h>

#include "base/mem.h"
#include "formats/firefox/firefox_parts.h"

enum { RESOURCE_LIBRARY = 1 };

static int64_t zero(struct sd_firefox *w, size_t i)
{
    (void)w;
    (void)i;
    return 0;
}

static int64_t minus_one(struct sd_firefox *w, size_t i)
{
    (void)w;
    (void)i;
    return -1;
}

static int64_t blank(struct sd_firefox *w, size_t i)
{
    (void)w;
    (void)i;
    return SD_FIREFOX_BLANK;
}

int sd_firefox_find_funcs(struct sd_firefox *w)
{
    size_t n = w->p->n_sites + 1;

    w->func_of = sd_alloc(n * sizeof *w->func_of);
    w->funcs = sd_alloc(n * sizeof *w->funcs);
    if (!w->func_of || !w->funcs)
        return sd_no_memory();
    memset(w->func_of, 0xff, n * sizeof *w->func_of);
    for (size_t i = 0; i < w->frames.n; i++) {
        uint32_t site = w->frames.items[i].site.at;

        if (w->func_of[site] != SD_FIREFOX_NONE)
            continue;
        w->func_of[site] = (uint32_t)w->n_funcs;
        w->funcs[w->n_funcs++] = site;
    }
    return 0;
}

static const struct sd_site *func(const struct sd_firefox *w, size_t i)
{
    return &w->p->sites[w->funcs[i]];
}

static int64_t func_name(struct sd_firefox *w, size_t i)
{
    return sd_firefox_string(w, func(w, i)->name);
}

static int64_t func_resource(struct sd_firefox *w, size_t i)
{
    const struct sd_site *s = func(w, i);

    return s->is_native && s->file
               ? (int64_t)sd_firefox_intern(w, &w->libraries, s->file)
               : -1;
}

static int64_t func_source(struct sd_firefox *w, size_t i)
{
    const struct sd_site *s = func(w, i);

    return !s->is_native && s->file ? sd_firefox_intern(w, &w->files, s->file)
                                    : SD_FIREFOX_BLANK;
}

static int64_t func_line(struct sd_firefox *w, size_t i)
{
    return func(w, i)->line ? func(w, i)->line : SD_FIREFOX_BLANK;
}

static void put_funcs(struct sd_firefox *w)
{
    sd_firefox_object(w, "funcTable");
    sd_firefox_column(w, "name", w->n_funcs, func_name);
    sd_firefox_falses(w, "isJS", w->n_funcs);
    sd_firefox_falses(w, "relevantForJS", w->n_funcs);
    sd_firefox_column(w, "resource", w->n_funcs, func_resource);
    sd_firefox_column(w, "source", w->n_funcs, func_source);
    sd_firefox_column(w, "lineNumber", w->n_funcs, func_line);
    sd_firefox_column(w, "columnNumber", w->n_funcs, blank);
    sd_firefox_end(w, w->n_funcs);
}

static int64_t frame_category(struct sd_firefox *w, size_t i)
{
    const struct sd_site *s = &w->p->sites[w->frames.items[i].site.at];

    return s->is_native ? SD_FIREFOX_NATIVE
           : s->file    ? SD_FIREFOX_PYTHON
                        : SD_FIREFOX_OTHER;
}

static int64_t frame_func(struct sd_firefox *w, size_t i)
{
    return w->func_of[w->frames.items[i].site.at];
}

static int64_t frame_line(struct sd_firefox *w, size_t i)
{
    return w->frames.items[i].line ? w->frames.items[i].line : SD_FIREFOX_BLANK;
}

static void put_frames(struct sd_firefox *w)
{
    size_t n = w->frames.n;

    sd_firefox_object(w, "frameTable");
    sd_firefox_column(w, "address", n, minus_one);
    sd_firefox_column(w, "inlineDepth", n, zero);
    sd_firefox_column(w, "category", n, frame_category);
    sd_firefox_column(w, "subcategory", n, zero);
    sd_firefox_column(w, "func", n, frame_func);
    sd_firefox_column(w, "nativeSymbol", n, blank);
    sd_firefox_column(w, "innerWindowID", n, zero);
    sd_firefox_column(w, "line", n, frame_line);
    sd_firefox_column(w, "column", n, blank);
    sd_firefox_end(w, n);
}

static int64_t stack_frame(struct sd_firefox *w, size_t i)
{
    return w->frames.of_stack[i];
}

static int64_t stack_prefix(struct sd_firefox *w, size_t i)
{
    uint32_t parent = w->p->stacks[i].parent.at;

    return parent == SD_FIREFOX_NONE ? SD_FIREFOX_BLANK : parent;
}

static void put_stacks(struct sd_firefox *w)
{
    sd_firefox_object(w, "stackTable");
    sd_firefox_column(w, "frame", w->p->n_stacks, stack_frame);
    sd_firefox_column(w, "prefix", w->p->n_stacks, stack_prefix);
    sd_firefox_end(w, w->p->n_stacks);
}

static int64_t file_name(struct sd_firefox *w, size_t i)
{
    return sd_firefox_string(w, w->files.items[i].p);
}

static int64_t library_name(struct sd_firefox *w, size_t i)
{
    const char *whole = w->libraries.items[i].p, *last = strrchr(whole, '/');

    return sd_firefox_string(w, last && last[1] ? last + 1 : whole);
}

static int64_t library_type(struct sd_firefox *w, size_t i)
{
    (void)w;
    (void)i;
    return RESOURCE_LIBRARY;
}

static void put_files(struct sd_firefox *w)
{
    sd_firefox_object(w, "sources");
    sd_firefox_column(w, "id", w->files.n, blank);
    sd_firefox_column(w, "filename", w->files.n, file_name);
    sd_firefox_end(w, w->files.n);
    sd_firefox_object(w, "resourceTable");
    sd_firefox_column(w, "lib", w->libraries.n, blank);
    sd_firefox_column(w, "name", w->libraries.n, library_name);
    sd_firefox_column(w, "host", w->libraries.n, blank);
    sd_firefox_column(w, "type", w->libraries.n, library_type);
    sd_firefox_end(w, w->libraries.n);
    sd_firefox_object(w, "nativeSymbols");
    sd_firefox_column(w, "libIndex", 0, zero);
    sd_firefox_column(w, "address", 0, zero);
    sd_firefox_column(w, "name", 0, zero);
    sd_firefox_column(w, "functionSize", 0, zero);
    sd_firefox_end(w, 0);
}

/* Files and texts are known once the functions are written, and the texts last. */
void sd_firefox_put_shared(struct sd_firefox *w)
{
    sd_firefox_object(w, "shared");
    put_stacks(w);
    put_frames(w);
    put_funcs(w);
    put_files(w);
    sd_firefox_array(w, "stringArray");
    for (size_t i = 0; i < w->strings.n; i++)
        sd_json_text(&w->j, w->strings.items[i].p, w->strings.items[i].n);
    sd_json_end(&w->j);
    sd_json_end(&w->j);
}
