/* SPDX-License-Identifier: MIT */
#include "report/picture/jpeg.h"

#include "base/error.h"

#ifndef HAVE_JPEG
int sd_jpeg_write(struct sd_out *out, const struct sd_pixels *pixels)
{
    (void)out;
    (void)pixels;
    return sd_fail(SD_ELACKS, "this sonde was built without JPEG; .png, .svg and .pdf "
                              "work");
}
#else
#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include "base/mem.h"

enum { QUALITY = 92, PIECE = 16384 };

#define FUNCTIONS(F)                                                                   \
    F(jpeg_std_error)                                                                  \
    F(jpeg_CreateCompress)                                                             \
    F(jpeg_set_defaults)                                                               \
    F(jpeg_set_quality)                                                                \
    F(jpeg_start_compress)                                                             \
    F(jpeg_write_scanlines)                                                            \
    F(jpeg_finish_compress)                                                            \
    F(jpeg_destroy_compress)

struct library {
    void *handle;
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

/* What libjpeg is told about us; it calls back with pointers to the first members. */
struct job {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr to;
    jmp_buf failed;
    char why[JMSG_LENGTH_MAX];
    struct sd_out *out;
    JOCTET piece[PIECE];
};

static int open_library(struct library *l)
{
    bool is_whole = true;

    l->handle = dlopen("libjpeg.so.62", RTLD_NOW | RTLD_LOCAL);
    if (!l->handle)
        return sd_fail(SD_ELACKS,
                       "JPEG pictures need libjpeg with ABI 62 (libjpeg.so.62): apt "
                       "install libjpeg62-turbo; .png, .svg and .pdf work without");
#define FIND(name)                                                                     \
    {                                                                                  \
        void *found = dlsym(l->handle, #name);                                         \
                                                                                       \
        is_whole &= found != NULL;                                                     \
        memcpy(&l->name, &found, sizeof found);                                        \
    }
    FUNCTIONS(FIND)
#undef FIND
    if (is_whole)
        return 0;
    dlclose(l->handle);
    return sd_fail(
        SD_ELACKS,
        "the installed libjpeg.so.62 lacks functions that JPEG pictures need: apt "
        "install libjpeg62-turbo; .png, .svg and .pdf work without");
}

static struct job *job_of(j_common_ptr c) { return c->client_data; }

/* libjpeg's way to fail must not return. */
static void fail(j_common_ptr c)
{
    c->err->format_message(c, job_of(c)->why);
    longjmp(job_of(c)->failed, 1);
}

static void say_nothing(j_common_ptr c) { (void)c; }

static void begin_piece(j_compress_ptr c)
{
    struct job *job = c->client_data;

    job->to.next_output_byte = job->piece;
    job->to.free_in_buffer = PIECE;
}

static boolean next_piece(j_compress_ptr c)
{
    struct job *job = c->client_data;

    sd_out_write(job->out, job->piece, PIECE);
    begin_piece(c);
    return TRUE;
}

static void last_piece(j_compress_ptr c)
{
    struct job *job = c->client_data;

    sd_out_write(job->out, job->piece, PIECE - job->to.free_in_buffer);
}

static void put_rows(const struct library *l, struct job *job,
                     const struct sd_pixels *pixels, JSAMPLE *row)
{
    for (unsigned y = 0; y < pixels->height; y++) {
        const uint8_t *from = pixels->p + (size_t)y * (size_t)pixels->stride;

        for (unsigned x = 0; x < pixels->width; x++) {
            row[3 * x + 0] = from[4 * x + 2];
            row[3 * x + 1] = from[4 * x + 1];
            row[3 * x + 2] = from[4 * x + 0];
        }
        l->jpeg_write_scanlines(&job->jpeg, &row, 1);
    }
}

static void prepare(const struct library *l, struct job *job)
{
    job->jpeg.err = l->jpeg_std_error(&job->errors);
    job->errors.error_exit = fail;
    job->errors.output_message = say_nothing;
    job->jpeg.client_data = job;
    job->to.init_destination = begin_piece;
    job->to.empty_output_buffer = next_piece;
    job->to.term_destination = last_piece;
}

static int compress(const struct library *l, struct job *job,
                    const struct sd_pixels *pixels, JSAMPLE *row)
{
    prepare(l, job);
    if (setjmp(job->failed)) {
        l->jpeg_destroy_compress(&job->jpeg);
        return sd_fail(SD_EIO, "libjpeg could not write the picture: %s", job->why);
    }
    l->jpeg_CreateCompress(&job->jpeg, JPEG_LIB_VERSION, sizeof job->jpeg);
    job->jpeg.client_data = job; /* creating clears it */
    job->jpeg.dest = &job->to;
    job->jpeg.image_width = pixels->width;
    job->jpeg.image_height = pixels->height;
    job->jpeg.input_components = 3;
    job->jpeg.in_color_space = JCS_RGB;
    l->jpeg_set_defaults(&job->jpeg);
    l->jpeg_set_quality(&job->jpeg, QUALITY, TRUE);
    /* Thin coloured lines would smear at half the colour resolution. */
    job->jpeg.comp_info[0].h_samp_factor = job->jpeg.comp_info[0].v_samp_factor = 1;
    job->jpeg.density_unit = 1;
    job->jpeg.X_density = job->jpeg.Y_density = 96;
    l->jpeg_start_compress(&job->jpeg, TRUE);
    put_rows(l, job, pixels, row);
    l->jpeg_finish_compress(&job->jpeg);
    l->jpeg_destroy_compress(&job->jpeg);
    return 0;
}

int sd_jpeg_write(struct sd_out *out, const struct sd_pixels *pixels)
{
    struct library l;
    struct job *job = NULL;
    JSAMPLE *row = NULL;
    int rc = open_library(&l);

    if (rc < 0)
        return rc;
    job = sd_zalloc(sizeof *job);
    row = sd_alloc(3 * (size_t)pixels->width + 1);
    if (job && row) {
        job->out = out;
        rc = compress(&l, job, pixels, row);
    } else {
        rc = sd_no_memory();
    }
    sd_free(job);
    sd_free(row);
    dlclose(l.handle);
    return rc;
}
#endif
