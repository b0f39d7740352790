/* SPDX-License-Identifier: MIT */
#include "formats/weights/weight_files.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/weights/gguf.h"
#include "formats/weights/model_files.h"
#include "formats/weights/packed.h"
#include "formats/weights/safetensors.h"

int sd_weight_file_add(const char *path, struct sd_weights *to)
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

bool sd_weight_file_shard_name(const char *name, size_t *at, unsigned *which,
                               unsigned *of)
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

    if (!sd_weight_file_shard_name(path, &at, &which, &of) || of < 2)
        return 0;
    return sd_model_note(
        m, "this is file %u of %u of a model; name its folder to count all of them",
        which, of);
}

static int read_alone(const char *path, const char *source, struct sd_model *m)
{
    struct sd_weights w = { .into = m };
    int rc = sd_weight_file_add(path, &w);

    if (rc == 0)
        rc = sd_packed_count(&w);
    sd_weights_release(&w);
    if (rc == 0)
        rc = note_shard(path, m);
    return rc == 0 ? sd_model_fact(m, "source", source) : rc;
}

int sd_weight_file_safetensors(const char *path, const struct sd_model_request *request,
                               struct sd_model *m)
{
    (void)request;
    return read_alone(path, "safetensors", m);
}

int sd_weight_file_gguf(const char *path, const struct sd_model_request *request,
                        struct sd_model *m)
{
    (void)request;
    return read_alone(path, "gguf", m);
}
