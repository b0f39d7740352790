/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_FIREFOX_FIREFOX_PARTS_H
#define SD_FORMATS_FIREFOX_FIREFOX_PARTS_H
/* firefox_parts: what the files of firefox share: tables (columns, keys, texts), shared
 * (functions, frames, stacks), threads (samples, sections), meta (and memory), and
 * firefox itself (the whole). */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/encoding/json.h"
#include "base/intern.h"
#include "formats/format_frames.h"
#include "formats/thread_samples.h"
#include "profile/profile.h"

#define SD_FIREFOX_NONE UINT32_MAX
enum sd_firefox_category { SD_FIREFOX_PYTHON, SD_FIREFOX_NATIVE, SD_FIREFOX_OTHER };

struct sd_firefox_mark { /* a section */
    uint64_t from_ns, to_ns;
    uint32_t thread, track, site, flags;
};

struct sd_firefox_thread {
    sd_track_id track;
    const struct sd_samples_of_thread *sampled; /* or NULL; borrowed */
    size_t first_mark, n_marks;
};

struct sd_firefox {
    const struct sd_profile *p;
    struct sd_json j;
    struct sd_frames frames;
    struct sd_thread_samples sampled;
    struct sd_firefox_mark *marks; /* owned; by thread, then time */
    size_t n_marks, cap_marks;
    struct sd_firefox_thread *threads; /* owned */
    size_t n_threads;
    bool *is_shown;    /* owned; by track: a process with a thread and no counter yet */
    uint32_t *func_of; /* owned; by site: its place in `funcs`, or SD_FIREFOX_NONE */
    uint32_t *funcs;   /* owned; sites that frames have */
    size_t n_funcs;
    struct sd_arena arena;
    struct sd_intern strings, files, libraries;
    bool is_bad; /* a text was lost */
    bool has_wall, has_cpu;
};

/* --- Tables */

void sd_firefox_text(struct sd_firefox *w, const char *key, const char *text);
void sd_firefox_int(struct sd_firefox *w, const char *key, int64_t n);
void sd_firefox_bool(struct sd_firefox *w, const char *key, bool is_true);
void sd_firefox_null(struct sd_firefox *w, const char *key);
void sd_firefox_ms(struct sd_firefox *w, const char *key, uint64_t ns);
void sd_firefox_object(struct sd_firefox *w, const char *key);
void sd_firefox_array(struct sd_firefox *w, const char *key);
/* Its length, and the end. */
void sd_firefox_end(struct sd_firefox *w, size_t n);
/* What a column holds at i; SD_FIREFOX_BLANK is null. */
#define SD_FIREFOX_BLANK INT64_MIN
typedef int64_t sd_firefox_cell(struct sd_firefox *w, size_t i);
void sd_firefox_column(struct sd_firefox *w, const char *key, size_t n,
                       sd_firefox_cell *at);
void sd_firefox_falses(struct sd_firefox *w, const char *key, size_t n);
/* The number of a text; where there is no memory for it the writer is bad. */
uint32_t sd_firefox_intern(struct sd_firefox *w, struct sd_intern *texts,
                           const char *text);
int64_t sd_firefox_string(struct sd_firefox *w, const char *text);

/* --- Parts, each collected before anything is written */

int sd_firefox_find_funcs(struct sd_firefox *w);
void sd_firefox_put_shared(struct sd_firefox *w);

int sd_firefox_collect_marks(struct sd_firefox *w, const char *path,
                             const struct sd_filter *filter);
int sd_firefox_find_threads(struct sd_firefox *w);
void sd_firefox_put_thread(struct sd_firefox *w, const struct sd_firefox_thread *t);
void sd_firefox_pid(struct sd_firefox *w, sd_track_id process);

const struct sd_series *sd_firefox_memory_of(const struct sd_firefox *w,
                                             sd_track_id process);
void sd_firefox_put_memories(struct sd_firefox *w);
void sd_firefox_put_meta(struct sd_firefox *w);
#endif
