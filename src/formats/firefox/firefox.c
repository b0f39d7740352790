/* SPDX-License-Identifier: MIT */
/* firefox: writes samples, sections and memory for profiler.firefox.com, in its
 * processed format.
 *
 * The form is frozen at version 60, the first in which all threads share one table of
 * stacks: ours can then be written as it is.  The viewer brings older forms up to its
 * own when it opens them.
 *
 * Everything is a table of columns, each with a `length`.  Times are milliseconds from
 * meta.startTime.  Sections are markers of their thread; they are collected, because a
 * thread's markers stand together while a capture has them mixed (40 bytes each). */
#include "formats/firefox/firefox_parts.h"

#include "base/mem.h"
#include "formats/output.h"

static int put_all(struct sd_firefox *w)
{
    sd_json_init(&w->j, w->j.out, false);
    sd_json_object(&w->j);
    sd_firefox_put_meta(w);
    sd_firefox_array(w, "libs");
    sd_json_end(&w->j);
    sd_firefox_array(w, "pages");
    sd_json_end(&w->j);
    sd_firefox_array(w, "threads");
    for (size_t i = 0; i < w->n_threads; i++)
        sd_firefox_put_thread(w, &w->threads[i]);
    sd_json_end(&w->j);
    sd_firefox_put_memories(w);
    sd_firefox_put_shared(w);
    sd_json_end(&w->j);
    sd_out_text(w->j.out, "\n");
    return w->is_bad ? sd_no_memory() : 0;
}

static void release(struct sd_firefox *w)
{
    sd_format_frames_release(&w->frames);
    sd_thread_samples_release(&w->sampled);
    sd_intern_release(&w->strings);
    sd_intern_release(&w->files);
    sd_intern_release(&w->libraries);
    sd_arena_release(&w->arena);
    sd_free(w->marks);
    sd_free(w->threads);
    sd_free(w->is_shown);
    sd_free(w->func_of);
    sd_free(w->funcs);
}

static int write(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_profile *p = job->profile;
    const struct sd_stack_style style = sd_output_style(job);
    struct sd_stack_style in_full = style;
    struct sd_firefox w = { .p = p, .j = { .out = out } };
    int rc;

    in_full.has_full_files = true; /* the viewer shortens them itself */
    w.strings.arena = w.files.arena = w.libraries.arena = &w.arena;
    rc = sd_format_frames_make(p, &in_full, &w.frames);
    if (rc == 0)
        rc = sd_thread_samples_collect(p, job->from, job->filter, &style, &w.sampled);
    w.has_wall = w.sampled.has_wall;
    w.has_cpu = w.sampled.has_cpu;
    if (rc == 0)
        rc = sd_firefox_collect_marks(&w, job->from, job->filter);
    if (rc == 0)
        rc = sd_firefox_find_threads(&w);
    if (rc == 0)
        rc = sd_firefox_find_funcs(&w);
    if (rc == 0)
        rc = put_all(&w);
    release(&w);
    return rc;
}

const struct sd_output sd_output_firefox = {
    .name = "firefox",
    .suffixes = { ".firefox.json" },
    .pyspy_word = "gecko",
    .pyspy_suffix = ".json",
    .summary = "samples, sections and memory over time, for profiler.firefox.com",
    .loses = "what sections measured beside their time, readings other than rss, idle "
             "samples unless asked for",
    .needs = SD_HOLDS_STACKS | SD_HOLDS_SECTIONS | SD_HOLDS_READINGS,
    .reads_events = true,
    .folds_paths = true,
    .write = write,
};
