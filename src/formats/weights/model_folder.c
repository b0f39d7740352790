/* SPDX-License-Identifier: MIT */
/* model_folder: decides which files of a folder are counted as its model. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/weights/model_files.h"
#include "formats/weights/packed.h"
#include "formats/weights/shards.h"
#include "formats/weights/weight_files.h"

enum { NAMED_MAX = 5 }; /* of files that were left out */

struct folder {
    const char *path;
    struct sd_arena arena;
    char **names; /* owned array; names in the arena; sorted */
    size_t n, cap;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_folder(struct folder *f)
{
    DIR *dir = opendir(f->path);
    struct dirent *entry;
    int rc = 0;

    if (!dir)
        return sd_fail_errno(errno, "cannot read the folder %s", f->path);
    while (rc == 0 && (entry = readdir(dir))) {
        char **grown = sd_grow_array(f->names, &f->cap, f->n + 1, sizeof *grown);

        if (grown) {
            f->names = grown;
            grown[f->n] =
                sd_arena_string(&f->arena, entry->d_name, strlen(entry->d_name));
        }
        if (!grown || !grown[f->n])
            rc = sd_no_memory();
        else if (entry->d_name[0] != '.')
            f->n++;
    }
    closedir(dir);
    if (rc == 0 && f->n)
        qsort(f->names, f->n, sizeof *f->names, by_text);
    return rc;
}

static const char *first_with(const struct folder *f, const char *suffix)
{
    for (size_t i = 0; i < f->n; i++)
        if (sd_text_ends(f->names[i], suffix))
            return f->names[i];
    return NULL;
}

static const char *named(const struct folder *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->names[i], name) == 0)
            return f->names[i];
    return NULL;
}

/* Is `name` a file of the same set as `first`, which has a number?  What a download
 * leaves beside it (.part, .md5) is not. */
static bool is_of_set(const char *first, const char *name)
{
    static const size_t n_numbers = sizeof "00001-of-00002" - 1;
    unsigned which, of, other_which, other_of;
    size_t at, other_at;

    return sd_weight_file_shard_name(first, &at, &which, &of) &&
           sd_weight_file_shard_name(name, &other_at, &other_which, &other_of) &&
           at == other_at && of == other_of && strncmp(first, name, at) == 0 &&
           strcmp(first + at + n_numbers, name + at + n_numbers) == 0;
}

/* All files of a set that has no list: each number must be there. */
static int read_set(struct folder *f, const char *first, struct sd_model *m)
{
    struct sd_weights w = { .into = m };
    unsigned which, of, n = 0;
    char source[64];
    size_t at;
    int rc = 0;

    sd_weight_file_shard_name(first, &at, &which, &of);
    for (size_t i = 0; i < f->n && rc == 0; i++) {
        char *path;

        if (!is_of_set(first, f->names[i]))
            continue;
        path = sd_arena_printf(&f->arena, "%s/%s", f->path, f->names[i]);
        rc = path ? sd_weight_file_add(path, &w) : sd_no_memory();
        n++;
    }
    if (rc == 0)
        rc = sd_packed_count(&w);
    sd_weights_release(&w);
    if (rc == 0 && n != of)
        rc = sd_fail(
            SD_EFORMAT,
            "the model in %s is not complete: %u of the %u files like %s are there",
            f->path, n, of, first);
    snprintf(source, sizeof source, "%s, %u files",
             sd_text_ends(first, ".gguf") ? "gguf" : "safetensors", of);
    return rc == 0 ? sd_model_fact(m, "source", source) : rc;
}

/* Weights before the configuration: what is there is truer than what it says.  Of
 * several files the list, the one with the usual name, or the first. */
static const char *choose(const struct folder *f)
{
    static const char *const names[] = { "model.safetensors.index.json",
                                         "model.safetensors", "model.onnx" };
    static const char *const suffixes[] = { ".safetensors.index.json", ".safetensors",
                                            ".gguf", ".onnx" };
    const char *found = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = named(f, names[i]);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && !found; i++)
        found = first_with(f, suffixes[i]);
    return found ? found : named(f, "config.json");
}

static bool is_model(const char *name)
{
    return sd_text_ends(name, ".safetensors") || sd_text_ends(name, ".gguf") ||
           sd_text_ends(name, ".onnx");
}

static bool is_listed(const struct sd_shards *list, const char *name)
{
    return list && sd_intern_find(&list->files, name, strlen(name)) != UINT32_MAX;
}

/* Files that are not of what was read: another model, an adapter, the same weights in
 * one piece or in another format.  Nobody can tell which of them belong together, so
 * the first lines say what was taken, and a note names what was not.  `list` (NULL:
 * none) is of files that were taken. */
static int tell_left_out(const struct folder *f, const char *chosen, const char *taken,
                         const struct sd_shards *list, struct sd_model *m)
{
    struct sd_buf names = { 0 };
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < f->n; i++) {
        if (!is_model(f->names[i]) || strcmp(f->names[i], chosen) == 0 ||
            is_of_set(chosen, f->names[i]) || is_listed(list, f->names[i]))
            continue;
        if (n++ < NAMED_MAX)
            sd_buf_printf(&names, "%s%s", n > 1 ? ", " : "", f->names[i]);
    }
    if (n > NAMED_MAX)
        sd_buf_printf(&names, " and %zu more", n - NAMED_MAX);
    if (names.bad)
        rc = sd_no_memory();
    else if (n > 0)
        rc = sd_model_fact(m, "only", taken);
    if (rc == 0 && n > 0)
        rc = sd_model_note(m,
                           "%s has several models: sonde counted only %s, not %s; name "
                           "a file to count another",
                           f->path, taken, sd_buf_string(&names));
    sd_buf_release(&names);
    return rc;
}

static int read_list(struct folder *f, const char *path, const char *chosen,
                     struct sd_model *m)
{
    struct sd_shards list;
    int rc = sd_shards_add(path, m, &list);

    if (rc == 0)
        rc = tell_left_out(f, chosen, chosen, &list, m);
    sd_shards_release(&list);
    return rc;
}

static int read_chosen(struct folder *f, const char *chosen,
                       const struct sd_model_request *request, struct sd_model *m)
{
    unsigned which, of;
    char *path;
    size_t at;
    int rc;

    if (sd_weight_file_shard_name(chosen, &at, &which, &of)) {
        path = sd_arena_printf(&f->arena, "%.*s*%s", (int)at, chosen,
                               strrchr(chosen, '.'));
        rc = path ? read_set(f, chosen, m) : sd_no_memory();
        return rc == 0 ? tell_left_out(f, chosen, path, NULL, m) : rc;
    }
    path = sd_arena_printf(&f->arena, "%s/%s", f->path, chosen);
    if (!path)
        return sd_no_memory();
    if (sd_text_ends(chosen, ".index.json"))
        return read_list(f, path, chosen, m);
    if (sd_text_ends(chosen, ".safetensors"))
        rc = sd_weight_file_safetensors(path, request, m);
    else if (sd_text_ends(chosen, ".gguf"))
        rc = sd_weight_file_gguf(path, request, m);
    else if (sd_text_ends(chosen, ".onnx"))
        rc = sd_onnx_file(path, request, m);
    else
        return sd_hf_config_file(path, request, m);
    return rc == 0 ? tell_left_out(f, chosen, chosen, NULL, m) : rc;
}

int sd_model_folder(const char *path, const struct sd_model_request *request,
                    struct sd_model *m)
{
    struct folder f = { .path = path };
    const char *chosen;
    int rc = list_folder(&f);

    if (rc == 0) {
        chosen = choose(&f);
        rc = chosen ? read_chosen(&f, chosen, request, m)
                    : sd_fail(SD_EFORMAT,
                              "%s holds no model: no .safetensors, .gguf, .onnx or "
                              "config.json",
                              path);
    }
    sd_free(f.names);
    sd_arena_release(&f.arena);
    return rc;
}
