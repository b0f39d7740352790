/* SPDX-License-Identifier: MIT */
#include "collect/sample/target.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "process/stat.h"

enum {
    N_KEPT = 300, /* threads whose /proc files stay open; 3 each */
};
#define LIST_NS 1000000000u /* between two readings of the list of threads */
#define HEAD_NS 10000000u   /* between two looks at its head */
#define UNBEGUN_FIRST_NS                                                               \
    500000u /* a thread that has not begun: asked again after this */
#define UNBEGUN_LAST_NS 100000000u /* at the latest: some never do */
#define NAMES_FIRST_NS 5000000u    /* a thread without a name: asked again after this */
#define NAMES_LAST_NS 2000000000u  /* at the latest */
#define TRY_FIRST_NS 1000000u      /* a process without Python, the same */
#define TRY_LAST_NS 250000000u

/* --- Threads */

static struct sd_target_thread *
thread_new(struct sd_target *t, const struct sd_python_thread *who, uint64_t now_ns)
{
    struct sd_target_thread *x = sd_zalloc(sizeof *x);
    struct sd_process_stat st;

    if (!x)
        return NULL;
    x->who = *who;
    x->is_scattered = t->rt.layout.frames_style == SD_FRAMES_OBJECTS;
    sd_shot_init(&x->shot, who);
    sd_pulse_init(&x->pulse, t->pid, who->tid, t->n_threads < N_KEPT);
    sd_follow_place_init(&x->followed);
    x->told_ns = t->last_round_ns ? t->last_round_ns : now_ns;
    if (who->tid && sd_process_stat_of_thread(t->pid, who->tid, &st) == 0) {
        x->start_ticks = st.start_ticks;
        memcpy(x->name, st.name, sizeof x->name - 1);
        x->name[sizeof x->name - 1] = 0;
    }
    return x;
}

static void thread_free(struct sd_target_thread *x, const struct sd_listener *listener)
{
    if (x->of_listener && listener && listener->thread_ends)
        listener->thread_ends(listener->of, x->of_listener);
    sd_pause_end(&x->pause, x->who.tid);
    sd_shot_release(&x->shot);
    sd_native_stack_release(&x->native);
    sd_pulse_close(&x->pulse);
    sd_follow_place_close(&x->followed);
    sd_free(x);
}

static bool is_same(const struct sd_python_thread *a, const struct sd_python_thread *b)
{
    return a->state == b->state && a->tid == b->tid && a->ident == b->ident &&
           a->native == b->native && a->serial == b->serial;
}

static struct sd_target_thread *
find_thread(struct sd_target *t, const struct sd_python_thread *who, size_t hint)
{
    size_t i;

    if (hint < t->n_threads && is_same(&t->threads[hint]->who, who))
        return t->threads[hint];
    for (i = 0; i < t->n_threads; i++)
        if (is_same(&t->threads[i]->who, who))
            return t->threads[i];
    return NULL;
}

static int add_thread(struct sd_target *t, const struct sd_python_thread *who,
                      uint64_t now_ns)
{
    struct sd_target_thread **threads, *x;

    threads =
        sd_grow_array(t->threads, &t->cap_threads, t->n_threads + 1, sizeof *threads);
    if (!threads)
        return sd_no_memory();
    t->threads = threads;
    x = thread_new(t, who, now_ns);
    if (!x)
        return sd_no_memory();
    x->is_listed = true;
    threads[t->n_threads++] = x;
    return 0;
}

static void drop_unlisted(struct sd_target *t, const struct sd_listener *listener)
{
    size_t i, n = 0;

    for (i = 0; i < t->n_threads; i++) {
        if (t->threads[i]->is_listed)
            t->threads[n++] = t->threads[i];
        else
            thread_free(t->threads[i], listener);
    }
    t->n_threads = n;
}

/* --- Interpreters and their GIL */

struct sd_target_interpreter *sd_target_interpreter(struct sd_target *t,
                                                    uint64_t address)
{
    size_t i;

    for (i = 0; i < t->n_interpreters; i++)
        if (t->interpreters[i].address == address)
            return &t->interpreters[i];
    return NULL;
}

static int add_interpreter(struct sd_target *t, uint64_t address)
{
    const struct sd_layout *l = &t->rt.layout;
    struct sd_target_interpreter *items, *x;
    uint64_t gil = 0;

    items = sd_grow_array(t->interpreters, &t->cap_interpreters, t->n_interpreters + 1,
                          sizeof *items);
    if (!items)
        return sd_no_memory();
    t->interpreters = items;
    x = &items[t->n_interpreters++];
    *x = (struct sd_target_interpreter){ .address = address };
    sd_gil_find(&x->gil, &t->remote, &t->rt, address);
    if (l->gil_style == SD_GIL_INTERPRETER) {
        sd_remote_u64(&t->remote, address + l->interp_gil, &gil);
        x->gil_from = gil;
        x->gil_to = gil + l->gil_size;
    } else if (l->gil_style == SD_GIL_RUNTIME) {
        x->gil_from = t->rt.address;
        x->gil_to = t->rt.address + l->runtime_size;
    }
    return 0;
}

/* --- The list */

static bool is_listed(const struct sd_python_threads *list, uint64_t interpreter)
{
    size_t i;

    for (i = 0; i < list->n_interpreters; i++)
        if (list->interpreters[i] == interpreter)
            return true;
    return false;
}

/* What lies where an interpreter was is nothing to go by, and may not be readable. */
static void drop_ended_interpreters(struct sd_target *t)
{
    size_t i, n = 0;

    for (i = 0; i < t->n_interpreters; i++)
        if (is_listed(&t->list, t->interpreters[i].address))
            t->interpreters[n++] = t->interpreters[i];
    t->n_interpreters = n;
}

/* Notes which interpreters there are and where their lists begin.  Those without
 * threads count: 3.13 takes the thread away when it has made one, and gives it another
 * when something is to run there. */
static int note_interpreters(struct sd_target *t)
{
    size_t i;
    int rc = 0;

    drop_ended_interpreters(t);
    for (i = 0; rc == 0 && i < t->list.n_interpreters; i++)
        if (!sd_target_interpreter(t, t->list.interpreters[i]))
            rc = add_interpreter(t, t->list.interpreters[i]);
    if (rc < 0)
        return rc;
    for (i = 0; i < t->n_interpreters; i++)
        t->interpreters[i].first_thread = 0;
    for (i = t->list.n; i-- > 0;) /* the first of each comes last */
        sd_target_interpreter(t, t->list.items[i].interpreter)->first_thread =
            t->list.items[i].state;
    return 0;
}

/* An ident is the thread's in every interpreter.  A sub-interpreter calls whoever has
 * imported threading in it MainThread; the name that the main one knows is better. */
static void name_threads(struct sd_target *t, uint64_t interpreter)
{
    size_t i;

    if (sd_thread_names_read(&t->names, &t->remote, &t->rt, interpreter) < 0)
        return;
    for (i = 0; i < t->n_threads; i++) {
        struct sd_target_thread *x = t->threads[i];
        const char *name = sd_thread_names_find(&t->names, x->who.ident);

        if (!name || (x->who.interpreter != interpreter &&
                      interpreter != t->list.main_interpreter))
            continue;
        memcpy(x->name, name, sizeof x->name);
        x->has_python_name = true;
    }
}

static void read_names(struct sd_target *t, uint64_t now_ns)
{
    bool lacks_some = false;
    size_t i;

    for (i = 0; i < t->n_interpreters; i++)
        if (t->interpreters[i].address != t->list.main_interpreter)
            name_threads(t, t->interpreters[i].address);
    if (t->list.main_interpreter)
        name_threads(t, t->list.main_interpreter);
    for (i = 0; i < t->n_threads; i++)
        lacks_some |= !t->threads[i]->has_python_name;
    if (!lacks_some)
        t->names_wait_ns = NAMES_LAST_NS; /* they may still be changed */
    t->next_names_ns = now_ns + t->names_wait_ns;
    if (t->names_wait_ns < NAMES_LAST_NS)
        t->names_wait_ns *= 2;
}

/* Which threads have several thread states. */
static void note_shared(struct sd_target *t)
{
    size_t i, k;

    for (i = 0; i < t->n_threads; i++)
        t->threads[i]->shares_tid = false;
    if (t->n_interpreters < 2)
        return;
    for (i = 0; i < t->n_threads; i++)
        for (k = i + 1; k < t->n_threads; k++)
            if (t->threads[i]->who.tid &&
                t->threads[i]->who.tid == t->threads[k]->who.tid)
                t->threads[i]->shares_tid = t->threads[k]->shares_tid = true;
}

/* When the list must be read again because not every thread in it has begun. */
static void await_unbegun(struct sd_target *t, uint64_t now_ns)
{
    if (!t->n_unbegun) {
        t->unbegun_wait_ns = UNBEGUN_FIRST_NS;
        return;
    }
    t->next_list_ns = now_ns + t->unbegun_wait_ns;
    if (t->unbegun_wait_ns < UNBEGUN_LAST_NS)
        t->unbegun_wait_ns *= 2;
}

static int read_list(struct sd_target *t, struct sd_round *round)
{
    size_t i;
    int rc = sd_python_threads_read(&t->list, &t->remote, &t->rt);

    t->next_list_ns = round->now_ns + LIST_NS;
    if (rc == SD_ETORN) { /* it changes fast: soon again, with the threads we know */
        t->next_list_ns = round->now_ns + HEAD_NS;
        return 0;
    }
    if (rc == 0)
        rc = note_interpreters(t);
    for (i = 0; i < t->n_threads; i++)
        t->threads[i]->is_listed = false;
    t->n_unbegun = 0;
    for (i = 0; rc == 0 && i < t->list.n; i++) {
        struct sd_target_thread *x = find_thread(t, &t->list.items[i], i);

        if (!t->list.items[i].has_begun) {
            t->n_unbegun++;
            continue;
        }
        if (x) {
            x->is_listed = true;
            continue;
        }
        rc = add_thread(t, &t->list.items[i], round->now_ns);
        round->counts->threads++;
        t->names_wait_ns = NAMES_FIRST_NS;
        t->next_names_ns = 0;
    }
    if (rc == 0) {
        drop_unlisted(t, round->listener);
        note_shared(t);
    }
    await_unbegun(t, round->now_ns);
    return rc;
}

/* New threads are put at the head of the list, and so are new interpreters. */
static bool has_new_head(struct sd_target *t, const struct sd_runtime_heads *heads)
{
    size_t i;

    if (!sd_target_interpreter(t, heads->newest) || heads->n_read < heads->n)
        return true;
    for (i = 0; i < t->n_interpreters; i++) {
        struct sd_target_interpreter *x = &t->interpreters[i];
        uint64_t head = i < heads->n ? heads->threads[i] : 0;

        if (i >= heads->n &&
            sd_remote_u64(&t->remote, x->address + t->rt.layout.interp_threads, &head) <
                0)
            return true;
        if (head != x->first_thread)
            return true;
    }
    return t->n_interpreters == 0;
}

/* Is the Python still there, and are its threads those that are listed? */
static int check_heads(struct sd_target *t)
{
    struct sd_runtime_heads heads = { .n = 0 };
    int rc;

    for (; heads.n < t->n_interpreters && heads.n < SD_RUNTIME_HEADS; heads.n++)
        heads.interpreters[heads.n] = t->interpreters[heads.n].address;
    rc = sd_runtime_check(&t->rt, &t->remote, &heads);
    if (rc == 0 && has_new_head(t, &heads)) {
        t->next_list_ns = 0;
        t->unbegun_wait_ns = UNBEGUN_FIRST_NS;
    }
    return rc;
}

/* --- Attaching */

struct sd_target *sd_target_new(pid_t pid, size_t member)
{
    struct sd_target *t = sd_zalloc(sizeof *t);

    if (!t)
        return NULL;
    t->pid = pid;
    t->member = member;
    t->remote = SD_REMOTE_NONE;
    t->wait_ns = TRY_FIRST_NS;
    t->unbegun_wait_ns = UNBEGUN_FIRST_NS;
    return t;
}

/* Everything that was known of its Python. */
void sd_target_forget(struct sd_target *t, const struct sd_listener *listener)
{
    size_t i;

    for (i = 0; i < t->n_threads; i++)
        thread_free(t->threads[i], listener);
    t->n_threads = t->n_unbegun = 0;
    t->n_interpreters = 0;
    sd_codes_release(&t->codes);
    sd_native_release(&t->native);
    sd_python_threads_release(&t->list);
    sd_thread_names_release(&t->names);
    t->wait_ns = TRY_FIRST_NS;
    t->next_try_ns = 0;
    t->state = SD_TARGET_WAITS;
}

void sd_target_end(struct sd_target *t, const struct sd_listener *listener)
{
    sd_target_forget(t, listener);
    sd_remote_close(&t->remote);
    t->state = SD_TARGET_GONE;
}

void sd_target_free(struct sd_target *t, const struct sd_listener *listener)
{
    if (!t)
        return;
    sd_target_end(t, listener);
    sd_free(t->threads);
    sd_free(t->interpreters);
    sd_free(t->refusal);
    sd_free(t);
}

int sd_target_attach(struct sd_target *t, const struct sd_runtime_hints *hints,
                     struct sd_round *round)
{
    int rc = 0;

    if (t->remote.pid == 0)
        rc = sd_remote_open(&t->remote, t->pid);
    if (rc == 0)
        rc = sd_runtime_find(&t->rt, &t->remote, hints);
    if (rc == 0 && sd_runtime_check(&t->rt, &t->remote, NULL) < 0)
        rc = sd_fail(
            SD_EABSENT,
            "the Python of process %d is ending, so it can no longer be sampled",
            (int)t->pid);
    if (rc == 0)
        rc = read_list(t, round);
    if (rc < 0)
        return rc;
    t->state = SD_TARGET_RUNS;
    t->next_head_ns = round->now_ns + HEAD_NS;
    t->serial = (uint32_t)++round->counts->processes;
    return 0;
}

/* A reason is said once; a process without Python is no reason for words.  What cannot
 * be understood may be a library that is being loaded, so it must be found twice. */
static void note_refusal(struct sd_target *t, int rc)
{
    const char *why = sd_fail_text();

    if (rc == SD_EABSENT || rc == SD_EGONE || rc == SD_ETORN)
        return;
    if (t->refusal && strcmp(t->refusal, why) == 0) {
        t->has_new_refusal |= t->is_refused_once;
        t->is_refused_once = false;
        return;
    }
    sd_free(t->refusal);
    t->refusal = sd_strdup(why);
    t->is_refused_once = t->refusal && rc == SD_EFORMAT;
    t->has_new_refusal = t->refusal && rc != SD_EFORMAT;
}

/* One that has ended and is not waited for yet has no other threads.  (Its first thread
 * alone may have ended, and is a zombie beside the others.) */
static bool has_ended(pid_t pid)
{
    struct sd_process_stat st;

    return sd_process_stat(pid, &st) < 0 || (st.state == 'Z' && st.n_threads <= 1) ||
           st.state == 'X';
}

void sd_target_try(struct sd_target *t, struct sd_round *round)
{
    int rc;

    if (round->now_ns < t->next_try_ns)
        return;
    if (t->remote.pid && !sd_remote_is_alive(&t->remote)) {
        sd_target_end(t, round->listener);
        return;
    }
    rc = sd_runtime_is_likely(t->pid)
             ? sd_target_attach(t, t->member == 0 ? round->options->hints : NULL, round)
             : SD_EABSENT;
    if (rc == 0)
        return;
    if (rc == SD_EGONE || (rc == SD_EABSENT && has_ended(t->pid))) {
        sd_target_end(t, round->listener);
        return;
    }
    note_refusal(t, rc);
    t->next_try_ns = round->now_ns + t->wait_ns;
    if (t->wait_ns < TRY_LAST_NS)
        t->wait_ns += t->wait_ns / 2;
}

/* --- Keeping up */

/* A stop stops every thread; so one that could run says without a question that there
 * is none. */
void sd_target_note_stop(struct sd_target *t, uint64_t now_ns)
{
    struct sd_process_stat st;
    size_t i;

    for (i = 0; i < t->n_threads; i++)
        if (t->threads[i]->state == SD_PULSE_RUNS) {
            t->is_stopped = false;
            return;
        }
    if (now_ns < t->next_stop_ns)
        return;
    t->next_stop_ns = now_ns + HEAD_NS;
    t->is_stopped =
        sd_process_stat(t->pid, &st) == 0 && (st.state == 'T' || st.state == 't');
}

/* What is due now and then. */
int sd_target_keep_up(struct sd_target *t, struct sd_round *round)
{
    int rc = 0;

    if (round->now_ns >= t->next_head_ns) {
        t->next_head_ns = round->now_ns + HEAD_NS;
        rc = check_heads(t);
    }
    if (rc == 0 && round->now_ns >= t->next_list_ns)
        rc = read_list(t, round);
    if (rc == 0 && round->now_ns >= t->next_names_ns)
        read_names(t, round->now_ns);
    return rc == SD_ETORN || rc == SD_ENOMEM ? 0 : rc;
}
