/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_CAPTURE_TESTING_H
#define SD_CAPTURE_CAPTURE_TESTING_H
/* capture_testing: what the tests of this room share: a capture in a folder of its own,
 * events that carry a number under a name made of it, and a reader that adds both up.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/folder.h"
#include "capture/reader.h"
#include "capture/writer.h"

struct sd_scratch {
    char dir[64], path[96], live[112];
    struct sd_capture *capture;
    struct sd_writer *writer;
    struct sd_capture_counts counts;
};

struct sd_test_counts {
    uint64_t events, sum;  /* of the numbers */
    uint64_t names_wrong;  /* events whose site's name does not fit their number */
    uint64_t out_of_order; /* numbers smaller than the one before in their stream */
    uint64_t metas, notes, chunks;
    struct sd_health health;
    char complaint[512];
};

static inline void sd_scratch_make(struct sd_scratch *s)
{
    *s = (struct sd_scratch){ .dir = "/tmp/sonde-test-XXXXXX" };
    if (!mkdtemp(s->dir))
        abort();
    snprintf(s->path, sizeof s->path, "%s/x.sonde", s->dir);
    snprintf(s->live, sizeof s->live, "%s.live", s->path);
}

static inline int sd_scratch_create(struct sd_scratch *s,
                                    const struct sd_capture_options *options)
{
    return sd_capture_create(s->path, options, &s->capture);
}

static inline int sd_scratch_join(struct sd_scratch *s)
{
    return sd_writer_join(s->live, &s->writer);
}

static inline void sd_scratch_remove(struct sd_scratch *s)
{
    sd_folder_remove(s->live);
    unlink(s->path);
    rmdir(s->dir);
}

enum { SD_TEST_NAMES = 10 };

/* The number's last digit is its name, defined in every chunk that needs it. */
static inline bool sd_scratch_event(struct sd_log *l, uint64_t number)
{
    char name[32];
    uint64_t digit = number % SD_TEST_NAMES;
    struct sd_rec_open *e;
    uint32_t site, string;
    size_t n;

    if (!l || !sd_log_room(l, SD_ROOM_STRING(sizeof name) + SD_ROOM_SITE + sizeof *e))
        return false;
    site = sd_log_known(l, 1000 + digit);
    if (!site) {
        n = (size_t)snprintf(name, sizeof name, "digit %lu", digit);
        string = sd_log_define_string(l, 2000 + digit, name, n);
        site = sd_log_define_site(l, 1000 + digit, SD_SITE_SECTION, string, 0, 0, 0);
    }
    e = sd_log_put(l, SD_REC_OPEN, sizeof *e);
    e->site = site;
    e->track = e->pad = 0;
    e->span = number;
    e->time = number;
    sd_log_commit(l, 1, number);
    return true;
}

/* Ids of one chunk to digits, through the strings and sites defined in it. */
struct sd_digits {
    int of_string[4096], of_site[4096];
};

static inline void sd_seen_record(struct sd_test_counts *seen, struct sd_digits *digits,
                                  const struct sd_record *r, uint64_t *last)
{
    const void *p = r;

    if (r->type == SD_REC_STRING) {
        const struct sd_rec_string *x = p;
        if (x->id < 4096 && x->n == 7)
            digits->of_string[x->id] = x->text[6];
    } else if (r->type == SD_REC_SITE) {
        const struct sd_rec_site *x = p;
        if (x->id < 4096 && x->name < 4096)
            digits->of_site[x->id] = digits->of_string[x->name];
    } else if (r->type == SD_REC_OPEN) {
        const struct sd_rec_open *x = p;
        int want = '0' + (int)(x->span % SD_TEST_NAMES);
        seen->events++;
        seen->sum += x->span;
        seen->names_wrong += x->site >= 4096 || digits->of_site[x->site] != want;
        seen->out_of_order += x->span <= *last;
        *last = x->span;
    }
    seen->metas += r->type == SD_REC_META;
    seen->notes += r->type == SD_REC_NOTE;
}

static inline void sd_seen_fill(struct sd_test_counts *seen, struct sd_reader *r)
{
    static _Thread_local struct sd_digits digits;
    struct sd_chunk_view view;
    const struct sd_record *record;
    uint64_t last = 0;

    *seen = (struct sd_test_counts){ 0 };
    while (sd_reader_next(r, &view) == 1) {
        uint32_t at = 0;

        memset(&digits, 0, sizeof digits);
        seen->chunks++;
        if (view.is_first_of_stream)
            last = 0;
        while ((record = sd_chunk_view_next(&view, &at)))
            sd_seen_record(seen, &digits, record, &last);
    }
    seen->health = *sd_reader_health(r);
    if (sd_reader_complaint(r))
        snprintf(seen->complaint, sizeof seen->complaint, "%s", sd_reader_complaint(r));
}

/* 0, or what opening said. */
static inline int sd_scratch_read(struct sd_scratch *s, struct sd_test_counts *seen)
{
    struct sd_reader *r;
    int rc = sd_reader_open(s->path, &r);

    *seen = (struct sd_test_counts){ 0 };
    if (rc < 0)
        return rc;
    sd_seen_fill(seen, r);
    sd_reader_free(r);
    return 0;
}
#endif
