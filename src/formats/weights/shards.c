/* SPDX-License-Identifier: MIT */
#include "formats/weights/shards.h"

#include <stdio.h>
#include <string.h>

#include "base/encoding/json_in.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "formats/weights/model_files.h"
#include "formats/weights/packed.h"
#include "formats/weights/weight_files.h"

enum { SHARDS_MAX = 100000 }; /* the names have five digits */

/* --- The list itself */

struct listing {
    struct sd_json_in json;
    struct sd_shards *s;
};

static int bad_list(const struct listing *l, const char *what)
{
    if (l->json.kind == SD_JSON_BAD)
        return sd_json_in_wrong(&l->json, "the list");
    return sd_fail(SD_EFORMAT, "this is not a list of a model's files: %s", what);
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
                   "the list names %.*s, but only safetensors files can be read",
                   (int)n, text);
}

static int read_place(struct listing *l)
{
    size_t n_before = l->s->tensors.n;
    uint32_t tensor, file, *grown;
    int rc = sd_intern(&l->s->tensors, l->json.text, l->json.n, &tensor);

    if (rc < 0)
        return rc;
    if (l->s->tensors.n == n_before)
        return bad_list(l, "it places a tensor twice");
    if (sd_json_in_next(&l->json) != SD_JSON_TEXT)
        return bad_list(l, "a tensor is in no file");
    rc = check_file_name(l);
    if (rc == 0)
        rc = sd_intern(&l->s->files, l->json.text, l->json.n, &file);
    if (rc < 0)
        return rc;
    grown = sd_grow_array(l->s->file_of, &l->s->cap, l->s->tensors.n, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    l->s->file_of = grown;
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
            l->s->total_bytes = l->json.whole;
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
    if (rc == 0 && (!has_map || l->s->files.n == 0))
        rc = bad_list(l, "it has no weight_map");
    if (rc == 0 && l->s->files.n > SHARDS_MAX)
        rc = bad_list(l, "it names too many files");
    return rc;
}

int sd_shards_read(const void *p, size_t n, struct sd_shards *s)
{
    struct listing l = { .s = s };
    int rc;

    *s = (struct sd_shards){ .total_bytes = -1 };
    s->files.arena = s->tensors.arena = &s->arena;
    sd_json_in_init(&l.json, p, n);
    rc = read_list(&l);
    sd_json_in_release(&l.json);
    return rc;
}

void sd_shards_release(struct sd_shards *s)
{
    sd_intern_release(&s->files);
    sd_intern_release(&s->tensors);
    sd_free(s->file_of);
    sd_arena_release(&s->arena);
    *s = (struct sd_shards){ 0 };
}

/* --- The files that it names */

/* The files add what they hold; each that the list promised must then be there. */
static int add_files(struct sd_shards *s, const char *path, struct sd_weights *to)
{
    const char *slash = strrchr(path, '/');
    size_t n_folder = slash ? (size_t)(slash + 1 - path) : 0;
    int rc = 0;

    for (size_t i = 0; i < s->files.n && rc == 0; i++) {
        char *file = sd_arena_printf(&s->arena, "%.*s%s", (int)n_folder, path,
                                     s->files.items[i].p);

        rc = file ? sd_weight_file_add(file, to) : sd_no_memory();
    }
    for (size_t i = 0; i < s->tensors.n && rc == 0; i++) {
        const struct sd_intern_string *t = &s->tensors.items[i];

        if (sd_weights_place(to, t->p, t->n) == SIZE_MAX)
            rc =
                sd_fail(SD_EFORMAT, "%s: the tensor %.200s should be in %s, but is not",
                        path, t->p, s->files.items[s->file_of[i]].p);
    }
    return rc;
}

static int tell_list(const struct sd_shards *s, const struct sd_weights *w)
{
    char text[64];
    int rc;

    snprintf(text, sizeof text, "safetensors, %zu files", s->files.n);
    rc = sd_model_fact(w->into, "source", text);
    if (rc == 0 && s->total_bytes >= 0 && s->total_bytes != w->bytes)
        rc = sd_model_note(w->into,
                           "the list claims %lld bytes of weights; the files have %lld",
                           (long long)s->total_bytes, (long long)w->bytes);
    return rc;
}

int sd_shards_add(const char *path, struct sd_model *m, struct sd_shards *s)
{
    struct sd_weights to = { .into = m };
    struct sd_map map = { 0 };
    int rc = sd_map_file(&map, path);

    *s = (struct sd_shards){ 0 };
    if (rc == 0) {
        rc = sd_shards_read(map.p, map.n, s);
        if (rc < 0)
            rc = sd_fail_in(rc, "%s", path);
    }
    sd_map_release(&map);
    if (rc == 0)
        rc = add_files(s, path, &to);
    if (rc == 0)
        rc = sd_packed_count(&to);
    if (rc == 0)
        rc = tell_list(s, &to);
    sd_weights_release(&to);
    return rc;
}

int sd_shards_file(const char *path, const struct sd_model_request *request,
                   struct sd_model *m)
{
    struct sd_shards s;
    int rc = sd_shards_add(path, m, &s);

    (void)request;
    sd_shards_release(&s);
    return rc;
}
