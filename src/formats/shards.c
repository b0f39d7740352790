/* SPDX-License-Identifier: MIT */
#include "formats/shards.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/gguf.h"
#include "formats/model_files.h"
#include "formats/safetensors.h"
#include "formats/weights.h"

enum {
    SHARDS_MAX = 100000, /* the names have five digits */
    NAMED_MAX = 5,       /* of files that were left out */
};

/* --- One file of weights */

static int add_file(const char *path, struct sd_weights *to)
{
    struct sd_map map = { 0 };
    int rc = sd_map_file(&map, path);

    if (rc < 0)
        return rc;
    /* A damaged one is of the kind that its name says. */
    rc = sd_gguf_is(map.p, map.n) || sd_text_ends(path, ".gguf")
             ? sd_gguf_read(map.p, map.n, to)
             : sd_safetensors_read(map.p, map.n, to);
    sd_map_release(&map);
    return rc < 0 ? sd_fail_in(rc, "%s", path) : 0;
}

static bool read_five_digits(const char *p, unsigned *n)
{
    *n = 0;
    for (int i = 0; i < 5; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        *n = *n * 10 + (unsigned)(p[i] - '0');
    }
    return true;
}

bool sd_shard_name(const char *name, size_t *at, unsigned *which, unsigned *of)
{
    static const char form[] = "-00001-of-00002.";

    for (const char *p = strchr(name, '-'); p; p = strchr(p + 1, '-')) {
        if (strlen(p) < sizeof form || memcmp(p + 6, "-of-", 4) != 0 || p[15] != '.' ||
            !read_five_digits(p + 1, which) || !read_five_digits(p + 10, of))
            continue;
        *at = (size_t)(p + 1 - name);
        return *which >= 1 && *which <= *of;
    }
    return false;
}

static int note_shard(const char *path, struct sd_model *m)
{
    unsigned which, of;
    size_t at;

    if (!sd_shard_name(path, &at, &which, &of) || of < 2)
        return 0;
    return sd_model_note(m,
                         "this is file %u of %u of a model: name its folder to add all "
                         "of them up",
                         which, of);
}

static int read_alone(const char *path, const char *source, struct sd_model *m)
{
    struct sd_weights w = { .into = m };
    int rc = add_file(path, &w);

    sd_weights_release(&w);
    if (rc == 0)
        rc = note_shard(path, m);
    return rc == 0 ? sd_model_fact(m, "source", source) : rc;
}

int sd_safetensors_file(const char *path, const struct sd_model_wish *wish,
                        struct sd_model *m)
{
    (void)wish;
    return read_alone(path, "safetensors", m);
}

int sd_gguf_file(const char *path, const struct sd_model_wish *wish, struct sd_model *m)
{
    (void)wish;
    return read_alone(path, "gguf", m);
}

/* --- A list of files */

struct listing {
    struct sd_json_in json;
    const char *path;
    size_t n_folder; /* bytes of the path that name the folder, with the slash */
    struct sd_weights to;
    struct sd_arena arena;
    struct sd_intern files;   /* names, each once */
    struct sd_intern tensors; /* names */
    uint32_t *file_of;        /* owned; of each tensor */
    size_t cap;
    int64_t total_bytes; /* claimed; -1: not */
};

static int bad_list(const struct listing *l, const char *what)
{
    if (l->json.kind == SD_JSON_BAD)
        return sd_json_in_wrong(&l->json, l->path);
    return sd_fail(SD_EFORMAT, "%s is no list of a model's files: %s", l->path, what);
}

/* A list from a stranger names files beside it, and no others. */
static int check_file_name(const struct listing *l)
{
    const char *text = l->json.text;
    size_t n = l->json.n;

    if (n == 0 || n > 255 || memchr(text, '/', n) || memchr(text, 0, n) ||
        text[0] == '.')
        return bad_list(l, "it names a file that is not beside it");
    if (n >= 12 && memcmp(text + n - 12, ".safetensors", 12) == 0)
        return 0;
    return sd_fail(SD_EFORMAT,
                   "%s lists %.*s, which is not read: only files of safetensors are",
                   l->path, (int)n, text);
}

static int read_place(struct listing *l)
{
    size_t n_before = l->tensors.n;
    uint32_t tensor, file, *grown;
    int rc = sd_intern(&l->tensors, l->json.text, l->json.n, &tensor);

    if (rc < 0)
        return rc;
    if (l->tensors.n == n_before)
        return bad_list(l, "it places a tensor twice");
    if (sd_json_in_next(&l->json) != SD_JSON_TEXT)
        return bad_list(l, "a tensor is in no file");
    rc = check_file_name(l);
    if (rc == 0)
        rc = sd_intern(&l->files, l->json.text, l->json.n, &file);
    if (rc < 0)
        return rc;
    grown = sd_grow_array(l->file_of, &l->cap, l->tensors.n, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    l->file_of = grown;
    grown[tensor] = file;
    return 0;
}

static int read_map(struct listing *l)
{
    int rc = 0;

    if (sd_json_in_next(&l->json) != SD_JSON_OBJECT)
        return bad_list(l, "its weight_map is none");
    while (rc == 0 && sd_json_in_next(&l->json) == SD_JSON_KEY)
        rc = read_place(l);
    if (rc == 0 && l->json.kind != SD_JSON_CLOSE)
        rc = bad_list(l, "its weight_map is none");
    return rc;
}

static void read_metadata(struct listing *l)
{
    if (sd_json_in_next(&l->json) != SD_JSON_OBJECT)
        return;
    while (sd_json_in_next(&l->json) == SD_JSON_KEY) {
        bool is_total = sd_json_in_is(&l->json, "total_size");

        if (sd_json_in_next(&l->json) == SD_JSON_WHOLE && is_total)
            l->total_bytes = l->json.whole;
        sd_json_in_skip(&l->json);
    }
}

static int read_list(struct listing *l)
{
    bool has_map = false;
    int rc = 0;

    if (sd_json_in_next(&l->json) != SD_JSON_OBJECT)
        return bad_list(l, "it is no object");
    while (rc == 0 && sd_json_in_next(&l->json) == SD_JSON_KEY) {
        if (sd_json_in_is(&l->json, "weight_map")) {
            has_map = true;
            rc = read_map(l);
        } else if (sd_json_in_is(&l->json, "metadata")) {
            read_metadata(l);
        } else {
            sd_json_in_next(&l->json);
            sd_json_in_skip(&l->json);
        }
    }
    if (rc == 0 && sd_json_in_next(&l->json) != SD_JSON_STOP)
        rc = bad_list(l, "it does not end");
    if (rc == 0 && (!has_map || l->files.n == 0))
        rc = bad_list(l, "it has no weight_map");
    if (rc == 0 && l->files.n > SHARDS_MAX)
        rc = bad_list(l, "it names too many files");
    return rc;
}

/* The files add what they hold; each that the list promised must then be there. */
static int add_files(struct listing *l)
{
    int rc = 0;

    for (size_t i = 0; i < l->files.n && rc == 0; i++) {
        char *path = sd_arena_printf(&l->arena, "%.*s%s", (int)l->n_folder, l->path,
                                     l->files.items[i].p);

        rc = path ? add_file(path, &l->to) : sd_no_memory();
    }
    for (size_t i = 0; i < l->tensors.n && rc == 0; i++) {
        const struct sd_interned *t = &l->tensors.items[i];

        if (!sd_weights_has(&l->to, t->p, t->n))
            rc =
                sd_fail(SD_EFORMAT, "%s: the tensor %.200s should be in %s, but is not",
                        l->path, t->p, l->files.items[l->file_of[i]].p);
    }
    return rc;
}

static int tell_list(struct listing *l)
{
    struct sd_model *m = l->to.into;
    char text[64];
    int rc;

    snprintf(text, sizeof text, "safetensors, %zu files", l->files.n);
    rc = sd_model_fact(m, "source", text);
    if (rc == 0 && l->total_bytes >= 0 && l->total_bytes != l->to.bytes)
        rc = sd_model_note(m,
                           "the list claims %lld bytes of weights; the files have %lld",
                           (long long)l->total_bytes, (long long)l->to.bytes);
    return rc;
}

int sd_shards_file(const char *path, const struct sd_model_wish *wish,
                   struct sd_model *m)
{
    const char *slash = strrchr(path, '/');
    struct listing l = { .path = path,
                         .n_folder = slash ? (size_t)(slash + 1 - path) : 0,
                         .to.into = m,
                         .total_bytes = -1 };
    struct sd_map map = { 0 };
    int rc = sd_map_file(&map, path);

    (void)wish;
    l.files.arena = l.tensors.arena = &l.arena;
    sd_json_in_init(&l.json, map.p, map.n);
    if (rc == 0)
        rc = read_list(&l);
    if (rc == 0)
        rc = add_files(&l);
    if (rc == 0)
        rc = tell_list(&l);
    sd_json_in_release(&l.json);
    sd_map_release(&map);
    sd_weights_release(&l.to);
    sd_intern_release(&l.files);
    sd_intern_release(&l.tensors);
    sd_free(l.file_of);
    sd_arena_release(&l.arena);
    return rc;
}

/* --- A folder */

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

    return sd_shard_name(first, &at, &which, &of) &&
           sd_shard_name(name, &other_at, &other_which, &other_of) && at == other_at &&
           of == other_of && strncmp(first, name, at) == 0 &&
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

    sd_shard_name(first, &at, &which, &of);
    for (size_t i = 0; i < f->n && rc == 0; i++) {
        char *path;

        if (!is_of_set(first, f->names[i]))
            continue;
        path = sd_arena_printf(&f->arena, "%s/%s", f->path, f->names[i]);
        rc = path ? add_file(path, &w) : sd_no_memory();
        n++;
    }
    sd_weights_release(&w);
    if (rc == 0 && n != of)
        rc = sd_fail(SD_EFORMAT, "%s has %u of the %u files of %s", f->path, n, of,
                     first);
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

/* Files of the same kind that are not of what was read: another model, an adapter, the
 * same weights in one piece.  Nobody can tell which of them belong together, so the
 * first lines say what was taken, and a note names what was not. */
static int tell_left_out(const struct folder *f, const char *chosen, const char *taken,
                         struct sd_model *m)
{
    const char *dot = strrchr(chosen, '.');
    struct sd_buf names = { 0 };
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < f->n; i++) {
        if (!sd_text_ends(f->names[i], dot) || strcmp(f->names[i], chosen) == 0 ||
            is_of_set(chosen, f->names[i]))
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
                           "%s has several models: only %s was counted, not %s; name a "
                           "file to count another",
                           f->path, taken, sd_buf_string(&names));
    sd_buf_release(&names);
    return rc;
}

static int read_chosen(struct folder *f, const char *chosen,
                       const struct sd_model_wish *wish, struct sd_model *m)
{
    unsigned which, of;
    char *path;
    size_t at;
    int rc;

    if (sd_shard_name(chosen, &at, &which, &of)) {
        path = sd_arena_printf(&f->arena, "%.*s*%s", (int)at, chosen,
                               strrchr(chosen, '.'));
        rc = path ? read_set(f, chosen, m) : sd_no_memory();
        return rc == 0 ? tell_left_out(f, chosen, path, m) : rc;
    }
    path = sd_arena_printf(&f->arena, "%s/%s", f->path, chosen);
    if (!path)
        return sd_no_memory();
    if (sd_text_ends(chosen, ".index.json"))
        return sd_shards_file(path, wish, m);
    if (sd_text_ends(chosen, ".safetensors"))
        rc = sd_safetensors_file(path, wish, m);
    else if (sd_text_ends(chosen, ".gguf"))
        rc = sd_gguf_file(path, wish, m);
    else if (sd_text_ends(chosen, ".onnx"))
        rc = sd_onnx_file(path, wish, m);
    else
        return sd_hf_config_file(path, wish, m);
    return rc == 0 ? tell_left_out(f, chosen, chosen, m) : rc;
}

int sd_model_folder(const char *path, const struct sd_model_wish *wish,
                    struct sd_model *m)
{
    struct folder f = { .path = path };
    const char *chosen;
    int rc = list_folder(&f);

    if (rc == 0) {
        chosen = choose(&f);
        rc = chosen ? read_chosen(&f, chosen, wish, m)
                    : sd_fail(SD_EFORMAT,
                              "%s holds no model: no .safetensors, .gguf, .onnx or "
                              "config.json",
                              path);
    }
    sd_free(f.names);
    sd_arena_release(&f.arena);
    return rc;
}
