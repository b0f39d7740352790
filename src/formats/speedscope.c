/* SPDX-License-Identifier: MIT */
/* speedscope: writes samples in order of time for speedscope.app, one profile per
 * thread.
 *
 * The shape is py-spy's, key for key, because programs read it: every frame has
 * exactly file, name, line and col (numbers, 0 where there is none: null is against the
 * schema), and each sample is an entry of its own with its seconds as weight. */
#include <string.h>

#include "base/encoding/json.h"
#include "base/mem.h"
#include "formats/format_frames.h"
#include "formats/output.h"
#include "formats/thread_samples.h"

struct writer {
    const struct sd_profile *p;
    const struct sd_stack_style *style;
    struct sd_json j;
    struct sd_frames frames;
    struct sd_thread_samples sampled;
    uint32_t *path; /* owned; frames from the newest out */
    size_t cap_path;
    bool has_wall;
};

static void put_frames(struct writer *w)
{
    struct sd_json *j = &w->j;

    sd_json_key_object(j, "shared");
    sd_json_key_array(j, "frames");
    for (size_t i = 0; i < w->frames.n; i++) {
        const struct sd_format_frame *f = &w->frames.items[i];

        sd_json_object(j);
        sd_json_key_string(j, "name", f->name);
        sd_json_key_string(j, "file", f->file ? f->file : "");
        sd_json_key_uint(j, "line", f->line);
        sd_json_key_uint(j, "col", 0);
        sd_json_end(j);
    }
    sd_json_end(j);
    sd_json_end(j);
}

static int put_stack(struct writer *w, uint32_t stack)
{
    size_t depth = 0;

    for (; stack != UINT32_MAX; stack = w->p->stacks[stack].parent.at) {
        uint32_t *path = sd_grow_array(w->path, &w->cap_path, depth + 1, sizeof *path);

        if (!path)
            return sd_no_memory();
        w->path = path;
        path[depth++] = w->frames.of_stack[stack];
    }
    sd_json_array(&w->j);
    while (depth-- > 0)
        sd_json_uint(&w->j, w->path[depth]);
    sd_json_end(&w->j);
    return 0;
}

static double weight(const struct writer *w, const struct sd_timed_sample *t)
{
    if (w->sampled.has_bytes)
        return (double)t->wall_ns;
    return w->has_wall ? (double)t->wall_ns / 1e9 / (double)t->n : 1;
}

static int put_samples(struct writer *w, const struct sd_samples_of_thread *t)
{
    int rc = 0;

    sd_json_key(&w->j, "samples");
    sd_json_array(&w->j);
    for (size_t i = 0; i < t->n && rc == 0; i++)
        for (uint32_t k = 0; k < t->taken[i].n && rc == 0 && w->j.out->err == 0; k++)
            rc = put_stack(w, t->taken[i].stack);
    sd_json_end(&w->j);
    return rc;
}

static void put_weights(struct writer *w, const struct sd_samples_of_thread *t)
{
    sd_json_key(&w->j, "weights");
    sd_json_array(&w->j);
    for (size_t i = 0; i < t->n; i++)
        for (uint32_t k = 0; k < t->taken[i].n && w->j.out->err == 0; k++)
            sd_json_real(&w->j, weight(w, &t->taken[i]));
    sd_json_end(&w->j);
}

static double sum_of(const struct writer *w, const struct sd_samples_of_thread *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->n; i++)
        sum += weight(w, &t->taken[i]) * (double)t->taken[i].n;
    return sum;
}

static int put_thread(struct writer *w, const struct sd_samples_of_thread *t)
{
    struct sd_buf name = { 0 };
    int rc;

    sd_format_frames_thread_name(&name, w->p, t->track, w->style->has_processes);
    sd_json_object(&w->j);
    sd_json_key_string(&w->j, "type", "sampled");
    sd_json_key_string(&w->j, "name", sd_buf_string(&name));
    sd_json_key_string(&w->j, "unit",
                       w->sampled.has_bytes ? "bytes"
                       : w->has_wall        ? "seconds"
                                            : "none");
    sd_json_key(&w->j, "startValue");
    sd_json_uint(&w->j, 0);
    sd_json_key(&w->j, "endValue");
    sd_json_real(&w->j, sum_of(w, t));
    rc = put_samples(w, t);
    put_weights(w, t);
    sd_json_end(&w->j);
    if (rc == 0 && name.bad)
        rc = sd_no_memory();
    sd_buf_release(&name);
    return rc;
}

static int put_all(struct writer *w)
{
    struct sd_json *j = &w->j;
    int rc = 0;

    sd_json_object(j);
    sd_json_key_string(j, "$schema",
                       "https://www.speedscope.app/file-format-schema.json");
    sd_json_key_array(j, "profiles");
    for (size_t i = 0; i < w->sampled.n && rc == 0; i++)
        rc = put_thread(w, &w->sampled.threads[i]);
    sd_json_end(j);
    put_frames(w);
    sd_json_key_string(j, "exporter", "sonde");
    sd_json_key_string(j, "name", "sonde profile");
    sd_json_end(j);
    sd_out_text(j->out, "\n");
    return rc;
}

static int write(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_profile *p = job->profile;
    const struct sd_stack_style style = sd_output_style(job);
    struct sd_stack_style in_full = style;
    struct writer w = { .p = p, .style = &style, .sampled.takes_bytes = true };
    int rc;

    in_full.has_full_files = true; /* as py-spy does here */
    rc = sd_format_frames_make(p, &in_full, &w.frames);
    if (rc == 0)
        rc = sd_thread_samples_collect(p, job->from, job->filter, &style, &w.sampled);
    w.has_wall = w.sampled.has_wall;
    if (rc == 0) {
        sd_json_init(&w.j, out, false);
        rc = put_all(&w);
    }
    sd_format_frames_release(&w.frames);
    sd_thread_samples_release(&w.sampled);
    sd_free(w.path);
    return rc;
}

const struct sd_output sd_output_speedscope = {
    .name = "speedscope",
    .suffixes = { ".speedscope.json" },
    .pyspy_suffix = ".json",
    .summary = "stacks over time, one profile per thread, for speedscope.app",
    .loses =
        "every metric but wall time, when nothing was sampled, sections, readings, "
        "idle samples unless asked for",
    .needs = SD_HOLDS_STACKS,
    .reads_events = true,
    .folds_paths = true,
    .write = write,
};
