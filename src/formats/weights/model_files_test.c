/* SPDX-License-Identifier: MIT */
#include "formats/weights/model_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/test.h"
#include "formats/weights/weight_files.h"

/* --- A folder of files, taken away at the end */

struct folder {
    char path[64];
    char file[128]; /* the path that was asked for last */
};

static void make_folder(struct folder *f)
{
    snprintf(f->path, sizeof f->path, "/tmp/sonde-models-XXXXXX");
    CHECK(mkdtemp(f->path));
}

static const char *in(struct folder *f, const char *name)
{
    snprintf(f->file, sizeof f->file, "%s/%s", f->path, name);
    return f->file;
}

static void write_bytes(struct folder *f, const char *name, const void *p, size_t n)
{
    int fd;

    CHECK(sd_file_create(in(f, name), SD_CREATE_OVER, &fd) == 0);
    CHECK(sd_write_all(fd, p, n) == 0);
    close(fd);
}

static void write_text(struct folder *f, const char *name, const char *text)
{
    write_bytes(f, name, text, strlen(text));
}

/* A safetensors file of one tensor of n bytes. */
static void write_tensor(struct folder *f, const char *name, const char *tensor, int n)
{
    struct sd_buf head = { 0 }, all = { 0 };

    sd_buf_printf(&head,
                  "{\"%s\":{\"dtype\":\"U8\",\"shape\":[%d],\"data_offsets\":[0,%d]}}",
                  tensor, n, n);
    sd_buf_u64(&all, head.n);
    sd_buf_add(&all, head.p, head.n);
    for (int i = 0; i < n; i++)
        sd_buf_u8(&all, 0);
    write_bytes(f, name, all.p, all.n);
    sd_buf_release(&head);
    sd_buf_release(&all);
}

static void drop_folder(struct folder *f, const char *const *names)
{
    for (; *names; names++)
        CHECK(unlink(in(f, *names)) == 0);
    CHECK(rmdir(f->path) == 0);
}

static int64_t count(const char *path)
{
    struct sd_model m;
    int64_t sum = 0;

    CHECK(sd_model_file_read(path, NULL, &m) == 0);
    for (size_t i = 0; i < m.n_tensors; i++)
        sum += sd_dims_elements(m.tensors[i].dims);
    sd_model_release(&m);
    return sum;
}

static void check_fails(const char *path, const char *why)
{
    struct sd_model m;

    CHECK(sd_model_file_read(path, NULL, &m) < 0);
    CHECK(strstr(sd_fail_text(), why));
}

/* --- Tests */

static const char list[] = "{\"metadata\":{\"total_size\":12},\"weight_map\":{"
                           "\"a.w\":\"x-00001-of-00002.safetensors\","
                           "\"b.w\":\"x-00002-of-00002.safetensors\"}}";

TEST(model_files_of_many_parts_are_added_up)
{
    static const char *const names[] = { "x.safetensors.index.json",
                                         "x-00001-of-00002.safetensors",
                                         "x-00002-of-00002.safetensors", NULL };
    struct folder f;

    make_folder(&f);
    write_tensor(&f, names[1], "a.w", 5);
    write_tensor(&f, names[2], "b.w", 7);
    CHECK(count(f.path) == 12); /* by their names */
    write_text(&f, names[0], list);
    CHECK(count(f.path) == 12); /* by the list */
    CHECK(count(in(&f, names[0])) == 12);
    CHECK(count(in(&f, names[1])) == 5);
    drop_folder(&f, names);
}

TEST(model_files_that_stand_beside_a_set_are_not_of_it)
{
    static const char *const names[] = { "x-00001-of-00002.safetensors",
                                         "x-00002-of-00002.safetensors",
                                         "x-00002-of-00002.safetensors.part",
                                         "x-00001-of-00002.md5", NULL };
    struct folder f;

    make_folder(&f);
    write_tensor(&f, names[0], "a.w", 5);
    write_tensor(&f, names[1], "b.w", 7);
    write_text(&f, names[2], "cut");
    write_text(&f, names[3], "0123");
    CHECK(count(f.path) == 12);
    drop_folder(&f, names);
}

static void check_note(const char *path, const char *only, const char *note)
{
    const char *told;
    struct sd_model m;

    CHECK(sd_model_file_read(path, NULL, &m) == 0);
    told = sd_model_fact_of(&m, "only");
    CHECK(only ? told && strcmp(told, only) == 0 : !told);
    CHECK(note ? m.n_notes == 1 && strstr(sd_model_text(&m, m.notes[0]), note)
               : m.n_notes == 0);
    sd_model_release(&m);
}

TEST(model_files_that_are_not_counted_are_named)
{
    static const char *const names[] = { "a.safetensors",
                                         "b.safetensors",
                                         "c-00001-of-00001.safetensors",
                                         "d.safetensors",
                                         "e.safetensors",
                                         "f.safetensors",
                                         "g.safetensors",
                                         NULL };
    struct folder f;

    make_folder(&f);
    write_tensor(&f, names[0], "a.w", 5);
    CHECK(count(f.path) == 5);
    check_note(f.path, NULL, NULL);
    write_tensor(&f, names[1], "b.w", 7);
    CHECK(count(f.path) == 5);
    check_note(f.path, names[0], "counted only a.safetensors, not b.safetensors;");
    for (size_t i = 2; names[i]; i++)
        write_tensor(&f, names[i], "c.w", 1);
    check_note(f.path, names[0],
               "d.safetensors, e.safetensors, f.safetensors and 1 more;");
    drop_folder(&f, names);
}

/* A set of numbered files, and the same weights in one piece. */
TEST(model_files_that_stand_beside_a_set_are_named)
{
    static const char *const names[] = { "x-00001-of-00002.safetensors",
                                         "x-00002-of-00002.safetensors",
                                         "y.safetensors", NULL };
    struct folder f;

    make_folder(&f);
    write_tensor(&f, names[0], "a.w", 5);
    write_tensor(&f, names[1], "b.w", 7);
    check_note(f.path, NULL, NULL);
    write_tensor(&f, names[2], "a.w", 5);
    CHECK(count(f.path) == 12);
    check_note(f.path, "x-*.safetensors",
               "counted only x-*.safetensors, not y.safetensors;");
    drop_folder(&f, names);
}

/* Of every kind that is read, and also beside a list. */
TEST(model_files_of_other_kinds_are_named)
{
    static const char *const names[] = {
        "model.safetensors", "adapter.safetensors", "m.onnx", "q.gguf", "x.bin",
        "model.onnx.data",   "config.json",         NULL
    };
    static const char *const listed[] = { "model.safetensors.index.json",
                                          "p.safetensors", "q.safetensors", "m.onnx",
                                          NULL };
    struct folder f;

    make_folder(&f);
    for (size_t i = 1; names[i]; i++)
        write_text(&f, names[i], "");
    write_tensor(&f, names[0], "a.w", 5);
    check_note(f.path, names[0], "not adapter.safetensors, m.onnx, q.gguf;");
    drop_folder(&f, names);
    make_folder(&f);
    write_text(&f, listed[0], "{\"weight_map\":{\"a.w\":\"p.safetensors\"}}");
    write_tensor(&f, listed[1], "a.w", 5);
    write_text(&f, listed[2], "");
    write_text(&f, listed[3], "");
    check_note(f.path, listed[0], ", not m.onnx, q.safetensors;");
    drop_folder(&f, listed);
}

TEST(model_files_with_a_part_missing_are_refused)
{
    static const char *const names[] = { "x.safetensors.index.json",
                                         "x-00001-of-00002.safetensors", NULL };
    struct folder f;

    make_folder(&f);
    write_tensor(&f, names[1], "a.w", 5);
    check_fails(f.path, "not complete: 1 of the 2 files");
    write_text(&f, names[0], list);
    check_fails(f.path, "x-00002-of-00002.safetensors");
    write_text(&f, names[0],
               "{\"weight_map\":{\"a.w\":\"x-00001-of-00002.safetensors\","
               "\"c\":\"x-00001-of-00002.safetensors\"}}");
    check_fails(f.path, "the tensor c should be in");
    drop_folder(&f, names);
}

TEST(model_files_lists_name_only_what_is_beside_them)
{
    static const char *const names[] = { "x.index.json", NULL };
    struct folder f;

    make_folder(&f);
    write_text(&f, names[0], "{\"weight_map\":{\"a\":\"../y.safetensors\"}}");
    check_fails(in(&f, names[0]), "not beside it");
    write_text(&f, names[0], "{\"weight_map\":{\"a\":\"y.bin\"}}");
    check_fails(in(&f, names[0]), "only safetensors files");
    write_text(&f, names[0], "{\"weight_map\":{}}");
    check_fails(in(&f, names[0]), "no weight_map");
    write_text(&f, names[0], "{");
    check_fails(in(&f, names[0]), "not valid JSON");
    drop_folder(&f, names);
}

TEST(model_files_are_known_by_what_is_in_them)
{
    static const char *const names[] = { "plain", "other", "cut.gguf", NULL };
    struct folder f;

    make_folder(&f);
    check_fails(f.path, "holds no model");
    write_tensor(&f, names[0], "a", 3);
    write_text(&f, names[1], "import this");
    CHECK(count(in(&f, names[0])) == 3);
    check_fails(in(&f, names[1]), "not a model that can be read");
    check_fails(in(&f, "absent"), "absent: No such file");
    check_fails(in(&f, "gone.onnx"), "gone.onnx");
    write_text(&f, "cut.gguf", "GGML");
    check_fails(in(&f, "cut.gguf"), "gguf file");
    drop_folder(&f, names);
}

TEST(model_files_numbers_are_read_off_their_names)
{
    unsigned which, of;
    size_t at;

    CHECK(sd_weight_file_shard_name("a-b-00002-of-00030.gguf", &at, &which, &of) &&
          at == 4 && which == 2 && of == 30);
    CHECK(!sd_weight_file_shard_name("a-00003-of-00002.gguf", &at, &which, &of));
    CHECK(!sd_weight_file_shard_name("a-00000-of-00002.gguf", &at, &which, &of));
    CHECK(!sd_weight_file_shard_name("a-2-of-3.gguf", &at, &which, &of));
    CHECK(!sd_weight_file_shard_name("a-00001-of-0000", &at, &which, &of));
}

TEST(model_files_without_memory_say_so)
{
    static const char *const names[] = { "x.safetensors.index.json",
                                         "x-00001-of-00002.safetensors",
                                         "x-00002-of-00002.safetensors", NULL };
    struct folder f;

    make_folder(&f);
    write_tensor(&f, names[1], "a.w", 5);
    write_tensor(&f, names[2], "b.w", 7);
    write_text(&f, names[0], list);
    EACH_FAILURE(nth)
    {
        struct sd_model m;
        int rc = sd_model_file_read(f.path, NULL, &m);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0)
            sd_model_release(&m);
    }
    drop_folder(&f, names);
}
