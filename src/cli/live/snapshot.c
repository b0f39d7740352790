/* SPDX-License-Identifier: MIT */
#include "cli/live/snapshot.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "process/python/value.h"

#define BEGINS_WITHIN_NS 300000000u

enum {
    ROUNDS_MAX = 8,
    NAP_NS = 1000000, /* between two, so that the program gets elsewhere */
};

struct taking { /* one round */
    struct sd_snapshot *to;
    const struct sd_snapshot_request *request;
};

static const char *keep(struct taking *t, const char *text)
{
    char *copy = sd_arena_string(&t->to->arena, text, strlen(text));

    t->to->has_no_room |= copy == NULL;
    return copy ? copy : "";
}

/* --- Local variables */

/* Whether the frame is where the stack was read: the same code at the same
 * instruction. */
static bool is_unmoved(const struct sd_thread_sample *told,
                       const struct sd_shot_frame *f)
{
    const struct sd_layout *l = &told->rt->layout;
    bool is_half = l->instr_style == SD_INSTR_BYTES || l->instr_style == SD_INSTR_UNITS;
    uint64_t code = 0, instr = 0;

    if (sd_remote_u64(told->remote, f->address + l->frame_code, &code) < 0 ||
        sd_remote_read(told->remote, f->address + l->frame_instr, &instr,
                       is_half ? 4 : 8) < 0)
        return false;
    return (code & l->code_mask) == f->code->address && instr == f->instr;
}

static void put_local(struct taking *t, const struct sd_thread_sample *told,
                      const struct sd_local *from, struct sd_snapshot_local *to)
{
    struct sd_buf text = { 0 };

    *to = (struct sd_snapshot_local){ .name = keep(t, from->name),
                                      .text = "<unreadable>",
                                      .address = from->value,
                                      .is_argument = from->is_argument };
    if (sd_value_text(&text, told->remote, &told->rt->layout, from->value,
                      t->request->local_bytes) == 0)
        to->text = keep(t, sd_buf_string(&text));
    sd_buf_release(&text);
}

static void read_locals(struct taking *t, const struct sd_thread_sample *told, size_t i,
                        struct sd_snapshot_frame *to)
{
    const struct sd_shot_frame *f = &told->frames[i];
    const struct sd_frame frame = { .address = f->address, .code = f->code->address };
    struct sd_locals locals = { 0 };

    to->has_moved = true;
    if (sd_locals_read(&locals, told->remote, told->rt, &frame, f->code) == 0) {
        to->locals = sd_arena_alloc(&t->to->arena, (locals.n + 1) * sizeof *to->locals);
        t->to->has_no_room |= to->locals == NULL;
        for (size_t k = 0; to->locals && k < locals.n; k++)
            put_local(t, told, &locals.items[k], &to->locals[to->n_locals++]);
        to->has_moved = !is_unmoved(told, f);
    }
    sd_locals_release(&locals);
}

/* --- A thread */

/* Recursion: the frames of one stack mostly share their texts. */
static void put_frame(struct taking *t, const struct sd_thread_sample *told, size_t i,
                      struct sd_snapshot_frame *to)
{
    const struct sd_shot_frame *before = i ? &told->frames[i - 1] : NULL;
    struct sd_sample_frame frame;

    sd_sample_frame(told, i, &frame);
    to->line = frame.line;
    to->is_entry = told->frames[i].is_entry;
    to->module = frame.module ? keep(t, frame.module) : NULL;
    if (before && before->code && before->code == told->frames[i].code) {
        to->name = to[-1].name;
        to->qualname = to[-1].qualname;
        to->file = to[-1].file;
    } else {
        to->name = keep(t, frame.name);
        to->qualname = keep(t, frame.qualname);
        to->file = keep(t, frame.file);
    }
    if (t->request->has_locals && told->frames[i].code)
        read_locals(t, told, i, to);
}

static bool is_torn(const struct sd_snapshot_thread *x)
{
    if (x->flags & SD_SAMPLE_PARTIAL)
        return true;
    for (size_t i = 0; i < x->n_frames; i++)
        if (x->frames[i].has_moved)
            return true;
    return false;
}

static struct sd_snapshot_thread *add_thread(struct sd_snapshot *p)
{
    struct sd_snapshot_thread *threads =
        sd_grow_array(p->threads, &p->cap_threads, p->n_threads + 1, sizeof *threads);

    p->has_no_room |= threads == NULL;
    if (!threads)
        return NULL;
    p->threads = threads;
    return &threads[p->n_threads++];
}

static void take_thread(void *of, const struct sd_thread_sample *told)
{
    struct taking *t = of;
    struct sd_snapshot_thread *x = add_thread(t->to);

    if (!x)
        return;
    *x = (struct sd_snapshot_thread){ .member = told->member,
                                      .pid = told->pid,
                                      .tid = told->tid,
                                      .ident = told->ident,
                                      .name = keep(t, told->name),
                                      .flags = told->flags,
                                      .is_cut = told->is_cut };
    x->frames = sd_arena_alloc(&t->to->arena, told->n_frames * sizeof *x->frames);
    t->to->has_no_room |= x->frames == NULL;
    for (size_t i = 0; x->frames && i < told->n_frames; i++)
        put_frame(t, told, i, &x->frames[x->n_frames++]);
    t->to->n_torn += is_torn(x);
}

/* --- Rounds */

static int take_round(struct sd_snapshot *p, struct sd_sampler *s,
                      const struct sd_snapshot_request *request)
{
    struct taking t = { p, request };
    const struct sd_listener ear = { .sample = take_thread, .of = &t };
    uint64_t n_lost = sd_sampler_counts(s)->lost;
    int rc = sd_sampler_round(s, &ear);

    if (rc == SD_EGONE)
        return sd_fail(SD_EGONE, "the process ended while its stacks were being read");
    p->n_lost = sd_sampler_counts(s)->lost - n_lost;
    return p->has_no_room ? sd_no_memory() : rc;
}

static uint64_t n_faults(const struct sd_snapshot *p) { return p->n_lost + p->n_torn; }

/* A round may also come just when the process execs or begins: then it has no thread.
 */
static bool is_better(const struct sd_snapshot *a, const struct sd_snapshot *b)
{
    if (!a->n_threads || !b->n_threads)
        return a->n_threads > b->n_threads;
    return n_faults(a) < n_faults(b);
}

/* A program that has just been started has threads before it runs a function. */
static bool may_go_on(const struct sd_snapshot *p, int n_rounds, uint64_t until_ns)
{
    return n_rounds < ROUNDS_MAX || (!p->n_threads && sd_clock_ns() < until_ns);
}

int sd_snapshot_take(struct sd_snapshot *p, struct sd_sampler *s,
                     const struct sd_snapshot_request *request)
{
    const struct timespec nap = { 0, NAP_NS };
    uint64_t until = sd_clock_ns() + BEGINS_WITHIN_NS;
    enum sd_consistency how = request->consistency;
    int rc = 0;

    /* Reading variables takes longer than a thread that runs would stand by itself. */
    if (how == SD_CONSISTENCY_AUTO && request->has_locals)
        how = SD_CONSISTENCY_FOLLOW;
    for (int i = 0; rc == 0 && may_go_on(p, i, until); i++) {
        struct sd_snapshot next = { 0 }, worse;

        sd_sampler_set_consistency(s, how);
        rc = take_round(&next, s, request);
        worse = next;
        if (rc == 0 && (i == 0 || is_better(&next, p))) {
            worse = *p;
            *p = next;
        }
        sd_snapshot_release(&worse);
        if (rc < 0 || (p->n_threads && n_faults(p) == 0))
            break;
        nanosleep(&nap, NULL);
        if (how == SD_CONSISTENCY_AUTO)
            how = SD_CONSISTENCY_FOLLOW;
    }
    return rc == SD_EGONE && p->n_threads ? 0 : rc; /* it was seen before it ended */
}

void sd_snapshot_release(struct sd_snapshot *p)
{
    sd_free(p->threads);
    sd_arena_release(&p->arena);
    *p = (struct sd_snapshot){ 0 };
}
