/* SPDX-License-Identifier: MIT */
#include "collect/alloc/traces.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/alloc/alloc_cell.h"
#include "capture/cells.h"
#include "capture/record.h"
#include "collect/alloc/alloc_link.h"
#include "collect/alloc/blocks.h"
#include "collect/alloc/foreign_traces.h"
#include "collect/alloc/pymem.h"
#include "collect/alloc/recorder.h"
#include "collect/alloc/stacks.h"

enum { NAMES_BYTES = 1 << 20 }; /* of definitions that are read at a time */

struct text {
    const char *p; /* in the table, whose memory never moves */
    size_t n;
};

/* Of the one recording of this process. */
static struct {
    bool is_on;
    bool watches_forks;
    uint64_t mark;      /* definitions of the table that were read */
    struct text *texts; /* owned; by number */
    size_t n_texts;
    uint32_t *files; /* owned; by site: the number of its text */
    size_t n_files;
} traces;

/* --- Forks: what another thread is at is finished before */

static void before_fork(void)
{
    sd_foreign_traces_before_fork();
    if (traces.is_on) {
        sd_blocks_lock();
        sd_alloc_stacks_lock();
    }
}

static void after_fork(bool is_child)
{
    if (traces.is_on) {
        sd_alloc_stacks_unlock();
        sd_blocks_unlock();
    }
    sd_foreign_traces_after_fork(is_child);
}

static void after_fork_in_parent(void) { after_fork(false); }

static void after_fork_in_child(void)
{
    after_fork(true);
    if (traces.is_on)
        sd_alloc_recorder_after_fork();
}

static void watch_forks(void)
{
    if (!traces.watches_forks)
        traces.watches_forks =
            pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

/* --- Beginning and end */

bool sd_traces_are_on(void) { return traces.is_on; }

int sd_traces_start(void)
{
    int rc;

    if (traces.is_on)
        return 0;
    if (sd_alloc_recorder.is_on || sd_alloc_link_preloaded() != 0)
        return sd_fail(
            SD_EEXISTS,
            "allocations of this process are already being recorded by `sonde alloc` "
            "or track(), so tracemalloc cannot be started at the same time");
    watch_forks();
    sd_alloc_link_own();
    rc = sd_alloc_recorder_begin(NULL, SD_ALLOC_AGGREGATE, SD_LAYER_PY, 0, 0);
    if (rc < 0)
        return rc;
    sd_alloc_recorder_go();
    traces.is_on = true;
    atomic_store(&sd_alloc_recorder.language, &sd_alloc_python);
    sd_alloc_pymem_start(true);
    sd_foreign_traces_start();
    return 0;
}

static void forget_names(void)
{
    sd_free(traces.texts);
    sd_free(traces.files);
    traces.texts = NULL;
    traces.files = NULL;
    traces.n_texts = traces.n_files = 0;
    traces.mark = 0;
}

void sd_traces_stop(void)
{
    if (!traces.is_on)
        return;
    sd_foreign_traces_stop();
    sd_alloc_recorder_end();
    sd_alloc_pymem_stop();
    traces.is_on = false;
    forget_names();
}

struct sd_traces_figures sd_traces_figures(void)
{
    struct sd_traces_figures f = { 0 };

    if (!traces.is_on)
        return f;
    sd_foreign_traces_update();
    sd_blocks_figures(&f.live_bytes, &f.peak_bytes, &f.own_bytes);
    f.own_bytes += sd_alloc_stacks_bytes();
    return f;
}

void sd_traces_reset_peak(void)
{
    if (traces.is_on)
        sd_blocks_reset_peak();
}

void sd_traces_clear(void)
{
    if (traces.is_on)
        sd_blocks_clear();
}

/* --- Blocks */

int sd_traces_copy(struct sd_trace **out, size_t *n)
{
    size_t room = 0;

    *out = NULL;
    *n = 0;
    if (traces.is_on)
        sd_foreign_traces_update();
    while (traces.is_on && (*n = sd_blocks_copy(*out, room)) > room) {
        room = *n + *n / 8 + 64; /* other threads may add some meanwhile */
        sd_free(*out);
        *out = sd_alloc(room * sizeof **out);
        if (!*out)
            return sd_no_memory();
    }
    return 0;
}

bool sd_traces_find(uint64_t address, struct sd_trace *out)
{
    return traces.is_on && sd_blocks_find(address, out);
}

/* --- Stacks */

size_t sd_traces_stack(uint32_t stack, struct sd_trace_frame *to, size_t most)
{
    size_t n = 0;

    sd_alloc_stacks_lock();
    if (!traces.is_on || stack >= sd_cells_n(sd_alloc_stacks_cells()))
        stack = 0;
    while (stack) {
        const struct sd_alloc_stack_cell *c =
            sd_cells_at(sd_alloc_stacks_cells(), stack);

        if (n < most)
            to[n] = (struct sd_trace_frame){ c->site, c->line };
        n++;
        sd_assert(c->parent < stack);
        stack = c->parent;
    }
    sd_alloc_stacks_unlock();
    return n;
}

unsigned sd_traces_domain(uint32_t stack)
{
    uint32_t by = 0;

    sd_alloc_stacks_lock();
    if (traces.is_on && stack && stack < sd_cells_n(sd_alloc_stacks_cells()))
        by = ((const struct sd_alloc_stack_cell *)sd_cells_at(sd_alloc_stacks_cells(),
                                                              stack))
                 ->flags &
             SD_ALLOC_ALLOCATOR;
    sd_alloc_stacks_unlock();
    return sd_foreign_traces_domain(by);
}

/* --- Names */

/* Room for a number in an array, zeroed where it is new; false: there is none. */
static bool has_room(void *array, size_t *n, size_t each, uint32_t number)
{
    size_t want = *n ? *n : 256;
    char **items = array, *larger;

    if (number < *n)
        return true;
    while (want <= number)
        want *= 2;
    larger = sd_regrow(*items, want * each);
    if (!larger)
        return false;
    memset(larger + *n * each, 0, (want - *n) * each);
    *items = larger;
    *n = want;
    return true;
}

static void read_record(const struct sd_record *head)
{
    const struct sd_rec_string *s = (const void *)head;
    const struct sd_rec_site *site = (const void *)head;

    if (head->type == SD_REC_STRING &&
        has_room(&traces.texts, &traces.n_texts, sizeof *traces.texts, s->id))
        traces.texts[s->id] = (struct text){ s->text, s->n };
    else if (head->type == SD_REC_SITE &&
             has_room(&traces.files, &traces.n_files, sizeof *traces.files, site->id))
        traces.files[site->id] = site->file;
}

static void read_names(void)
{
    const uint8_t *records;
    size_t n;

    sd_alloc_stacks_lock();
    while ((records = sd_cells_definitions(sd_alloc_stacks_cells(), &traces.mark,
                                           NAMES_BYTES, &n)))
        for (size_t at = 0; at < n;) {
            const struct sd_record *head = (const void *)(records + at);

            read_record(head);
            at += head->len;
        }
    sd_alloc_stacks_unlock();
}

const char *sd_traces_file(uint32_t site, size_t *n)
{
    uint32_t text;

    if (traces.is_on && (site >= traces.n_files || !traces.files[site]))
        read_names();
    text = site < traces.n_files ? traces.files[site] : 0;
    if (!text || text >= traces.n_texts)
        return NULL;
    *n = traces.texts[text].n;
    return traces.texts[text].p;
}
