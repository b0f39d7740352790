/* SPDX-License-Identifier: MIT */
#include "cli/serve/served_page.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/encoding/json.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/reader.h"
#include "capture/skim.h"
#include "cli/serve/first_look.h"
#include "cli/serve/serve_query.h"
#include "outputs/inputs.h"
#include "outputs/outputs.h"
#include "outputs/tables.h"
#include "profile/slice_sums.h"

#define PAUSE_LEAST_NS UINT64_C(500000000) /* between two readings of what grows */
#define LOOK_NS 50000000                   /* between two looks whether to go on */

/* All that one reading gave. */
struct reading {
    unsigned n_users; /* who frees it is the last */
    struct sd_contents contents;
    struct sd_reader *reader; /* owned; of a file with one capture, for windows of it */
    struct sd_page_maker maker;
    struct sd_out data; /* packed */
};

struct sd_served_page {
    struct sd_served_request request;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    struct reading *last; /* owned; NULL: none yet */
    struct sd_out preview;
    uint64_t number; /* of readings */
    bool is_reading, is_growing, is_over;
    bool is_asked;     /* a query is being answered */
    char failure[256]; /* of the last reading; "" */
};

/* --- One reading */

static void free_reading(struct reading *r)
{
    if (!r)
        return;
    sd_page_maker_release(&r->maker);
    sd_contents_release(&r->contents);
    sd_reader_free(r->reader);
    sd_out_release(&r->data);
    sd_free(r);
}

/* Under the lock. */
static void drop(struct reading *r)
{
    if (r && --r->n_users == 0)
        free_reading(r);
}

/* By a reader that stays open, if there is no more than this capture. */
static int load_one(struct reading *r, const char *file)
{
    bool is_unmatched;
    int rc = sd_reader_open(sd_input_path(file), &r->reader);

    if (rc == 0 && sd_reader_next_at(r->reader) == 0)
        return sd_profile_load_one_of(r->reader, NULL, SD_LOAD_SLICES | SD_LOAD_CHUNKS,
                                      &r->contents.profile, &is_unmatched);
    sd_reader_free(r->reader);
    r->reader = NULL;
    return rc;
}

static int load_all(struct sd_served_page *s, struct reading *r)
{
    const struct sd_loader how = { .load = SD_LOAD_SLICES };
    int rc = s->request.n_files == 1 ? load_one(r, s->request.files[0]) : 0;

    return rc < 0 || r->contents.profile
               ? rc
               : sd_input_capture.load(&how, s->request.files, s->request.n_files,
                                       &r->contents);
}

static int load(struct sd_served_page *s, struct reading *r)
{
    int rc = load_all(s, r);

    return rc < 0 ? rc
                  : sd_page_of_profile(&r->maker, r->contents.profile, s->request.files,
                                       s->request.n_files);
}

static int read_files(struct sd_served_page *s, struct reading **out)
{
    struct reading *r = sd_zalloc(sizeof *r);
    int rc = r ? 0 : sd_no_memory();

    *out = NULL;
    if (rc < 0)
        return rc;
    r->n_users = 1;
    sd_contents_init(&r->contents);
    sd_page_maker_init(&r->maker, &s->request.page);
    sd_out_to_memory(&r->data);
    rc = load(s, r);
    if (rc == 0 && s->request.page.privacy & SD_PAGE_SHARED)
        rc = sd_page_hide(&r->maker);
    if (rc == 0)
        rc = sd_page_pack(sd_page_made(&r->maker), SD_PAGE_BYTES, &r->data);
    if (rc < 0) {
        free_reading(r);
        return rc;
    }
    *out = r;
    return 0;
}

/* --- The thread */

static bool is_over(struct sd_served_page *s)
{
    bool over;

    pthread_mutex_lock(&s->lock);
    over = s->is_over;
    pthread_mutex_unlock(&s->lock);
    return over;
}

/* What a file is known by; it changes as the file grows. */
static uint64_t fingerprint(const struct sd_served_page *s)
{
    uint64_t sum = 0;
    struct stat st;

    for (size_t i = 0; i < s->request.n_files; i++)
        if (stat(s->request.files[i], &st) == 0)
            sum = sum * 31 + (uint64_t)st.st_size +
                  (uint64_t)st.st_mtim.tv_nsec * 7919 + (uint64_t)st.st_mtim.tv_sec;
    return sum;
}

/* Events come into the live folder before they come into the file. */
static bool still_runs(const struct reading *r)
{
    return r->contents.profile->health.is_running;
}

static void keep(struct sd_served_page *s, struct reading *r)
{
    pthread_mutex_lock(&s->lock);
    drop(s->last);
    s->last = r;
    s->number++;
    s->is_growing = still_runs(r);
    s->is_reading = false;
    s->failure[0] = '\0';
    pthread_mutex_unlock(&s->lock);
}

static void fail_reading(struct sd_served_page *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_reading = false;
    snprintf(s->failure, sizeof s->failure, "%s", sd_fail_text());
    pthread_mutex_unlock(&s->lock);
}

/* False: it is time to end. */
static bool wait_ns(struct sd_served_page *s, uint64_t ns)
{
    const struct timespec look = { .tv_nsec = LOOK_NS };
    uint64_t until = sd_clock_ns() + ns;

    while (!is_over(s) && sd_clock_ns() < until)
        nanosleep(&look, NULL);
    return !is_over(s);
}

/* Until the capture has ended, or a file was written anew. */
static bool wait_for_more(struct sd_served_page *s, uint64_t seen, uint64_t took_ns)
{
    uint64_t pause = took_ns > PAUSE_LEAST_NS ? took_ns : PAUSE_LEAST_NS;
    bool grows = s->is_growing; /* only this thread writes it */

    do {
        if (!wait_ns(s, pause))
            return false;
    } while (!grows && fingerprint(s) == seen);
    return true;
}

static void *read_again_and_again(void *page)
{
    struct sd_served_page *s = page;
    uint64_t seen, began;

    do {
        struct reading *r;

        pthread_mutex_lock(&s->lock);
        s->is_reading = true;
        pthread_mutex_unlock(&s->lock);
        began = sd_clock_ns();
        seen = fingerprint(s);
        if (read_files(s, &r) == 0)
            keep(s, r);
        else
            fail_reading(s);
    } while (wait_for_more(s, seen, sd_clock_ns() - began));
    return NULL;
}

/* --- From outside */

/* A capture shows itself in its first bytes, but for one whose head is damaged. */
static int check_capture(const char *path)
{
    struct sd_reader *reader;
    int rc = sd_skim_check(path);

    if (rc != SD_EFORMAT)
        return rc;
    rc = sd_reader_open(path, &reader);
    if (rc == 0)
        sd_reader_free(reader);
    return rc;
}

static int check_files(const struct sd_served_request *r)
{
    for (size_t i = 0; i < r->n_files; i++) {
        int rc;

        if (sd_input_of(r->files[i], SD_HOLDS_ANYTHING, &sd_input_capture) !=
            &sd_input_capture)
            return sd_fail(SD_EUSAGE, "--serve shows captures; open %s without it",
                           r->files[i]);
        rc = check_capture(sd_input_path(r->files[i]));
        if (rc < 0)
            return rc;
    }
    return 0;
}

int sd_served_page_open(const struct sd_served_request *r, struct sd_served_page **out)
{
    struct sd_served_page *s;
    int rc = check_files(r);

    *out = NULL;
    if (rc < 0)
        return rc;
    s = sd_zalloc(sizeof *s);
    if (!s)
        return sd_no_memory();
    sd_assert(r->n_files > 0);
    s->request = *r;
    s->is_reading = true;
    pthread_mutex_init(&s->lock, NULL);
    sd_out_to_memory(&s->preview);
    rc = sd_first_look(&r->page, sd_input_path(r->files[0]), &s->preview);
    if (rc == 0 && pthread_create(&s->thread, NULL, read_again_and_again, s) != 0)
        rc = sd_fail(SD_ENOMEM, "cannot start a thread that reads %s", r->files[0]);
    if (rc < 0) {
        sd_out_release(&s->preview);
        sd_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void sd_served_page_put_data(struct sd_served_page *s, struct sd_buf *to)
{
    const struct sd_buf *data;

    pthread_mutex_lock(&s->lock);
    data = s->last ? &s->last->data.pending : &s->preview.pending;
    sd_buf_add(to, data->p, data->n);
    pthread_mutex_unlock(&s->lock);
}

void sd_served_page_put_state(struct sd_served_page *s, struct sd_buf *to)
{
    struct sd_out out;
    struct sd_json j;

    sd_out_to_memory(&out);
    sd_json_init(&j, &out, false);
    sd_json_object(&j);
    pthread_mutex_lock(&s->lock);
    sd_json_key_uint(&j, "number", s->number);
    sd_json_key_bool(&j, "reading", s->is_reading);
    sd_json_key_bool(&j, "growing", s->is_growing);
    sd_json_key_string(&j, "failure", s->failure[0] ? s->failure : NULL);
    pthread_mutex_unlock(&s->lock);
    sd_json_end(&j);
    sd_buf_add(to, out.pending.p, out.pending.n);
    to->bad |= out.pending.bad;
    sd_out_release(&out);
}

/* --- Queries */

/* Writes what is asked of a profile. */
typedef int write_answer(const struct sd_served_page *s, const struct sd_profile *p,
                         const struct sd_view_request *r, struct sd_out *out);

static int write_tables(const struct sd_served_page *s, const struct sd_profile *p,
                        const struct sd_view_request *r, struct sd_out *out)
{
    struct sd_view view = { 0 };
    int rc = sd_tables_of(p, r, &view);

    if (rc == 0)
        sd_tables_put_json(out, p, &view, s->request.files, s->request.n_files);
    sd_view_release(&view);
    return rc;
}

static int write_view(const struct sd_served_page *s, const struct sd_profile *p,
                      const struct sd_view_request *r, struct sd_out *out)
{
    struct sd_page_maker m;
    int rc;

    sd_page_maker_init(&m, &s->request.page);
    rc = sd_page_view_of(&m, p, r);
    if (rc == 0)
        rc = sd_page_pack(sd_page_made(&m), SD_PAGE_BYTES, out);
    sd_page_maker_release(&m);
    return rc;
}

static int answer_of(const struct sd_served_page *s, const struct sd_profile *p,
                     const struct sd_view_request *r, write_answer *write,
                     struct sd_buf *to)
{
    struct sd_out out;
    int rc;

    sd_out_to_memory(&out);
    rc = write(s, p, r, &out);
    sd_buf_add(to, out.pending.p, out.pending.n);
    to->bad |= out.pending.bad;
    sd_out_release(&out);
    return rc;
}

/* Of a file that was read before, only what the selected time needs. */
static int load_part(const struct sd_served_page *s, const struct reading *last,
                     const struct sd_filter *selection, struct sd_profile **out)
{
    const struct sd_loader how = { .filter = selection };

    if (last && last->reader &&
        sd_profile_has_window(last->contents.profile, selection))
        return sd_profile_load_window(last->reader, last->contents.profile, selection,
                                      out);
    return sd_captures_load(&how, s->request.files, s->request.n_files, out);
}

/* What slices do not tell is read again. */
static int answer_by_reading(const struct sd_served_page *s, const struct reading *last,
                             const struct sd_view_request *r, write_answer *write,
                             struct sd_buf *to)
{
    struct sd_profile *p;
    int rc = load_part(s, last, &r->selection, &p);

    if (rc == 0)
        rc = answer_of(s, p, r, write, to);
    sd_profile_free(p);
    return rc;
}

static bool selects_a_part(const struct sd_filter *f)
{
    return f->from_ns || f->to_ns || f->section || f->track;
}

/* Are all views that are asked for made of samples, in a part that slices tell? */
static bool is_of_slices(const struct reading *last, const struct sd_view_request *r)
{
    const char *at = r->views;

    if (!at || !sd_slices_tell(&last->maker.slices[SD_SAMPLES], &r->selection) ||
        sd_sample_choice_evidence(last->contents.profile, &r->stacks.choice) !=
            SD_SAMPLES)
        return false;
    while (*at) {
        size_t n = strcspn(at, ",");
        const struct sd_view_about *a = sd_view_named(SD_OF_PROFILE, at, n);

        if (!a || !a->recipe)
            return false;
        at += n + (at[n] == ',');
    }
    return true;
}

/* Nobody else uses a reading meanwhile: one thread answers all queries. */
static int answer(struct sd_served_page *s, struct reading *last,
                  const struct sd_view_request *r, write_answer *write,
                  struct sd_buf *to)
{
    struct sd_slice_sums sums;
    int rc;

    if (!last)
        return answer_by_reading(s, NULL, r, write, to);
    if (!selects_a_part(&r->selection))
        return answer_of(s, last->contents.profile, r, write, to);
    if (!is_of_slices(last, r))
        return answer_by_reading(s, last, r, write, to);
    rc = sd_slice_sums_init(&sums, last->contents.profile,
                            &last->maker.slices[SD_SAMPLES], &r->selection);
    if (rc == 0)
        rc = answer_of(s, last->contents.profile, r, write, to);
    sd_slice_sums_release(&sums);
    return rc;
}

/* The last reading, kept while a query is answered from it; NULL: none yet. */
static struct reading *hold(struct sd_served_page *s)
{
    struct reading *r;

    pthread_mutex_lock(&s->lock);
    r = s->last;
    if (r)
        r->n_users++;
    s->is_asked = true;
    pthread_mutex_unlock(&s->lock);
    return r;
}

static void let_go(struct sd_served_page *s, struct reading *r)
{
    pthread_mutex_lock(&s->lock);
    drop(r);
    s->is_asked = false;
    pthread_mutex_unlock(&s->lock);
}

static int ask(struct sd_served_page *s, const char *query, size_t n,
               write_answer *write, struct sd_buf *to)
{
    struct sd_serve_query q;
    struct reading *last;
    int rc;

    if (s->request.page.privacy & SD_PAGE_SHARED)
        return sd_fail(SD_EUSAGE,
                       "--share cannot be combined with --serve, whose answers to the "
                       "page contain names of files; drop one of the two");
    rc = sd_serve_query_read(&q, query, n);
    if (rc < 0)
        return rc;
    last = hold(s);
    rc = answer(s, last, &q.request, write, to);
    let_go(s, last);
    sd_serve_query_release(&q);
    return rc;
}

int sd_served_page_query(struct sd_served_page *s, const char *query, size_t n,
                         struct sd_buf *to)
{
    return ask(s, query, n, write_tables, to);
}

int sd_served_page_view(struct sd_served_page *s, const char *query, size_t n,
                        struct sd_buf *to)
{
    return ask(s, query, n, write_view, to);
}

bool sd_served_page_is_busy(struct sd_served_page *s)
{
    bool is_busy;

    if (!s)
        return false;
    pthread_mutex_lock(&s->lock);
    is_busy = s->is_reading || s->is_asked;
    pthread_mutex_unlock(&s->lock);
    return is_busy;
}

void sd_served_page_close(struct sd_served_page *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_over = true;
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    free_reading(s->last);
    sd_out_release(&s->preview);
    pthread_mutex_destroy(&s->lock);
    sd_free(s);
}
