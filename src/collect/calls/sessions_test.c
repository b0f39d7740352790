/* SPDX-License-Identifier: MIT */
#include "collect/calls/sessions.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "collect/calls/pairs.h"
#include "collect/calls/call_tree_testing.h"

/* Functions are numbers here, frames too; no interpreter is near. */
static struct sd_calls_session *session(unsigned events)
{
    struct sd_calls_request request = { .events = events,
                                        .names = { .define = define } };
    struct sd_calls_session *s;

    CHECK(sd_calls_session_new(&request, &s) == 0);
    return s;
}

/* f calls g, `n` times. */
static void work(unsigned n)
{
    sd_calls_enter(16, NULL, 0x100, 0);
    for (unsigned i = 0; i < n; i++) {
        sd_calls_enter(32, NULL, 0x200, 0x100);
        sd_calls_enter_c((void *)64, NULL, 0x200);
        sd_calls_leave_c(0x200);
        sd_calls_leave(0x200);
    }
    sd_calls_leave(0x100);
}

static uint64_t calls_of(const struct sd_calls_session *s, uint64_t key)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->n_trees; i++)
        for (uint32_t k = 1; k < sd_cells_n(s->trees[i]->table); k++) {
            const struct sd_call_cell *c = sd_cells_at(s->trees[i]->table, k);

            sum += c->key == key ? c->calls : 0;
        }
    return sum;
}

TEST(a_session_counts_while_it_is_active)
{
    struct sd_calls_session *s = session(SD_CALLS_PYTHON);

    work(3);
    CHECK(sd_calls_session_start(s) == 0 &&
          sd_calls_sessions_want() == SD_CALLS_PYTHON);
    CHECK(sd_calls_follows());
    work(5);
    sd_calls_session_stop(s);
    CHECK(!sd_calls_follows() && sd_calls_sessions_want() == 0);
    work(7);
    CHECK(calls_of(s, 16) == 1 && calls_of(s, 32) == 5 && calls_of(s, 65) == 0);
    CHECK(sd_calls_session_start(s) == 0);
    work(2);
    sd_calls_session_stop(s);
    CHECK(calls_of(s, 32) == 7 && s->n_trees == 1);
    CHECK(sd_calls_session_clear(s) == 0 && calls_of(s, 32) == 0);
    sd_calls_session_free(s);
}

TEST(sessions_that_overlap_each_see_all)
{
    struct sd_calls_session *a = session(SD_CALLS_PYTHON),
                            *b = session(SD_CALLS_PYTHON | SD_CALLS_C);

    CHECK(sd_calls_session_start(a) == 0);
    work(1);
    CHECK(sd_calls_session_start(b) == 0);
    CHECK(sd_calls_sessions_want() == (SD_CALLS_PYTHON | SD_CALLS_C));
    work(10);
    sd_calls_session_stop(a);
    work(100);
    sd_calls_session_stop(b);
    CHECK(calls_of(a, 32) == 11 && calls_of(a, 65) == 0);
    CHECK(calls_of(b, 32) == 110 && calls_of(b, 65) == 110);
    sd_calls_session_free(a);
    sd_calls_session_free(b);
}

static void *work_elsewhere(void *of)
{
    work(*(unsigned *)of);
    return NULL;
}

static void work_in_thread(unsigned n)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, work_elsewhere, &n) == 0);
    pthread_join(thread, NULL);
}

TEST(a_session_follows_its_thread_or_all)
{
    struct sd_calls_session *one = session(SD_CALLS_PYTHON),
                            *all = session(SD_CALLS_PYTHON | SD_CALLS_ALL);

    CHECK(sd_calls_session_start(one) == 0 && sd_calls_session_start(all) == 0);
    work(1);
    work_in_thread(10);
    work_in_thread(100);
    sd_calls_session_stop(one);
    sd_calls_session_stop(all);
    CHECK(calls_of(one, 32) == 1 && one->n_trees == 1);
    CHECK(calls_of(all, 32) == 111 && all->n_trees == 3);
    for (size_t i = 0; i < 3; i++) /* of threads that have ended, too */
        CHECK(sd_call_tree_root(all->trees[i])->traced > 0);
    sd_calls_session_free(one);
    sd_calls_session_free(all);
}

TEST(a_child_of_fork_goes_on_with_its_copy)
{
    struct sd_calls_session *s = session(SD_CALLS_PYTHON);
    int status;
    pid_t pid;

    CHECK(sd_calls_session_start(s) == 0);
    work(1);
    pid = fork();
    if (pid == 0) {
        sd_calls_enter(48, NULL, 0x300, 0); /* one that needs a new cell */
        sd_calls_leave(0x300);
        work(10);
        sd_calls_session_stop(s);
        _exit(calls_of(s, 32) == 11 && calls_of(s, 48) == 1 ? 0 : 1);
    }
    work(100);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    sd_calls_session_stop(s);
    CHECK(calls_of(s, 32) == 101);
    sd_calls_session_free(s);
}

/* --- Beyond a full tree, which is the root and one function here ----------------- */

static struct sd_calls_session *small_session(unsigned events, bool has_cpu)
{
    struct sd_calls_request request = {
        .events = events, .has_cpu = has_cpu, .n_max = 2, .names = { .define = define }
    };
    struct sd_calls_session *s;

    CHECK(sd_calls_session_new(&request, &s) == 0);
    return s;
}

/* What the function of the first key called of that of the second, in the only tree;
 * NULL: nothing. */
static const struct sd_pair_cell *pair(const struct sd_calls_session *s,
                                       uint64_t caller, uint64_t callee)
{
    const struct sd_call_tree *t = s->trees[0];

    for (uint32_t i = 0; i < sd_call_pairs_n(t); i++) {
        uint64_t from, to;

        sd_call_pairs_keys(t, i, &from, &to);
        if (from == caller && to == callee)
            return sd_call_pairs_at(t, i);
    }
    return NULL;
}

static uint64_t pair_calls(const struct sd_calls_session *s, uint64_t caller,
                           uint64_t callee)
{
    const struct sd_pair_cell *p = pair(s, caller, callee);

    return p ? p->callee.calls : 0;
}

/* f calls g, which calls two C functions; nobody hears the first of them end. */
static void work_with_unheard_ends(void)
{
    sd_calls_enter(16, NULL, 0x100, 0);
    sd_calls_enter(32, NULL, 0x200, 0x100);
    for (unsigned i = 0; i < 3; i++) {
        sd_calls_enter_c((void *)64, NULL, 0x200);
        sd_calls_enter_c((void *)80, NULL, 0x200);
        sd_calls_leave_c(0x200);
    }
    sd_calls_leave(0x200);
    sd_calls_enter_c((void *)64, NULL, 0x100); /* beyond the tree by itself ... */
    sd_calls_enter_c((void *)80, NULL, 0x100); /* ... and not below that */
    sd_calls_leave_c(0x100);
    sd_calls_leave(0x100);
}

static bool has_heard_all(const struct sd_calls_session *s)
{
    return pair_calls(s, 16, 32) == 1 && pair_calls(s, 32, 65) == 3 &&
           pair_calls(s, 32, 81) == 3 && pair_calls(s, 16, 65) == 1 &&
           pair_calls(s, 16, 81) == 1 && !pair(s, 65, 81) &&
           sd_call_pairs_calls(s->trees[0]) == 9;
}

TEST(ends_of_c_functions_that_nobody_heard_are_found_out_beyond_the_tree)
{
    struct sd_calls_session *a = small_session(SD_CALLS_PYTHON | SD_CALLS_C, false),
                            *b = small_session(SD_CALLS_PYTHON | SD_CALLS_C, false);

    CHECK(sd_calls_session_start(a) == 0);
    work_with_unheard_ends();
    sd_calls_session_stop(a);
    CHECK(has_heard_all(a));
    CHECK(sd_calls_session_clear(a) == 0);
    CHECK(sd_calls_session_start(a) == 0 && sd_calls_session_start(b) == 0);
    work_with_unheard_ends();
    sd_calls_session_stop(a);
    sd_calls_session_stop(b);
    CHECK(has_heard_all(a) && has_heard_all(b));
    sd_calls_session_free(a);
    sd_calls_session_free(b);
}

TEST(a_c_function_beyond_the_tree_may_have_another_name)
{
    struct sd_calls_session *s = small_session(SD_CALLS_PYTHON | SD_CALLS_C, false);

    CHECK(sd_calls_session_start(s) == 0);
    sd_calls_enter(16, NULL, 0x100, 0);
    sd_calls_enter(32, NULL, 0x200, 0x100);
    sd_calls_enter_c((void *)64, NULL, 0x200);
    sd_calls_rename_c((void *)64, (void *)80, NULL);
    sd_calls_rename_c((void *)64, (void *)96, NULL); /* which is not on top */
    sd_calls_enter(48, NULL, 0x300, 0x200);          /* it calls back */
    sd_calls_leave(0x300);
    sd_calls_leave_c(0x200);
    sd_calls_leave(0x200);
    sd_calls_leave(0x100);
    sd_calls_session_stop(s);
    CHECK(pair_calls(s, 32, 65) == 0 && pair_calls(s, 32, 81) == 1);
    CHECK(!pair(s, 32, 97) && pair_calls(s, 81, 48) == 1);
    CHECK(pair(s, 32, 81)->primitive == 1 && pair(s, 32, 81)->own_calls.python == 1);
    CHECK(pair(s, 16, 32)->own_calls.c == 1 && pair(s, 16, 32)->inside_calls.c == 1);
    sd_calls_session_free(s);
}

enum { LONG_NS = 1000000000 }; /* far more than any of these takes */

static bool has_times(const struct sd_pair_cell *p)
{
    return p && p->own_cpu_ns <= p->callee.cpu_ns && p->callee.cpu_ns < LONG_NS &&
           p->own_ticks <= p->callee.ticks;
}

/* The clock of the child's CPU begins at 0, below what was open at the fork. */
TEST(a_child_of_fork_goes_on_beyond_the_tree_with_cpu_time_and_c_functions)
{
    struct sd_calls_session *s = small_session(SD_CALLS_PYTHON | SD_CALLS_C, true);
    volatile unsigned spent = 0;
    int status;
    pid_t pid;

    CHECK(sd_calls_session_start(s) == 0);
    sd_calls_enter(16, NULL, 0x100, 0);
    sd_calls_enter(32, NULL, 0x200, 0x100);
    while (spent < 10000000)
        spent++;
    sd_calls_enter_c((void *)64, NULL, 0x200); /* os.fork itself */
    pid = fork();
    sd_calls_leave_c(0x200);
    for (unsigned i = 0; i < 5; i++) {
        sd_calls_enter_c((void *)80, NULL, 0x200);
        sd_calls_leave_c(0x200);
    }
    sd_calls_leave(0x200);
    sd_calls_leave(0x100);
    sd_calls_session_stop(s);
    CHECK(pair_calls(s, 32, 65) == 1 && pair_calls(s, 32, 81) == 5);
    CHECK(pair_calls(s, 16, 32) == 1 && pair(s, 16, 32)->own_calls.c == 6);
    CHECK(has_times(pair(s, 16, 32)) && has_times(pair(s, 32, 81)));
    if (pid == 0)
        _exit(0);
    CHECK(pair(s, 16, 32)->own_cpu_ns > 0);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    sd_calls_session_free(s);
}

static bool is_seven(const void *what) { return what == (const void *)7; }

TEST(a_session_may_wait_for_the_program_to_begin)
{
    struct sd_calls_request request = { .events = SD_CALLS_PYTHON | SD_CALLS_ALL,
                                        .names = { .define = define },
                                        .begins = is_seven };
    struct sd_calls_session *s;

    CHECK(sd_calls_session_new(&request, &s) == 0);
    CHECK(sd_calls_session_start(s) == 0);
    work(3);                                    /* from no frame, but not it */
    sd_calls_enter(16, (void *)7, 0x100, 0x90); /* it, but from a frame */
    sd_calls_leave(0x100);
    sd_calls_enter(48, (void *)7, 0x100, 0);
    work(5);
    sd_calls_leave(0x100);
    sd_calls_session_stop(s);
    CHECK(calls_of(s, 48) == 1 && calls_of(s, 32) == 5 && calls_of(s, 16) == 1);
    sd_calls_session_free(s);
}

struct held { /* a thread with a call open, until it is told to end */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_in, may_end;
};

static void *hold(void *of)
{
    struct held *h = of;

    sd_calls_enter(16, NULL, 0x100, 0);
    pthread_mutex_lock(&h->lock);
    h->is_in = true;
    pthread_cond_broadcast(&h->changed);
    while (!h->may_end)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
    sd_calls_leave(0x100);
    return NULL;
}

/* The child has none of the parent's other threads, nor their clocks. */
TEST(a_child_of_fork_ends_what_other_threads_left_open)
{
    struct held h = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
                      false };
    struct sd_calls_request request = { .events = SD_CALLS_PYTHON | SD_CALLS_ALL,
                                        .has_cpu = true,
                                        .names = { .define = define } };
    struct sd_calls_session *s;
    pthread_t thread;
    int status;
    pid_t pid;

    CHECK(sd_calls_session_new(&request, &s) == 0);
    CHECK(sd_calls_session_start(s) == 0);
    CHECK(pthread_create(&thread, NULL, hold, &h) == 0);
    pthread_mutex_lock(&h.lock);
    while (!h.is_in)
        pthread_cond_wait(&h.changed, &h.lock);
    pthread_mutex_unlock(&h.lock);
    pid = fork();
    if (pid == 0) {
        sd_calls_session_stop(s);
        _exit(calls_of(s, 16) == 1 ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    pthread_mutex_lock(&h.lock);
    h.may_end = true;
    pthread_cond_broadcast(&h.changed);
    pthread_mutex_unlock(&h.lock);
    pthread_join(thread, NULL);
    sd_calls_session_stop(s);
    CHECK(calls_of(s, 16) == 1);
    sd_calls_session_free(s);
}

static void *start_and_leave_open(void *of)
{
    CHECK(sd_calls_session_start(of) == 0);
    sd_calls_enter(16, NULL, 0x100, 0);
    return NULL;
}

static uint64_t count_up(void *of);

TEST(a_timed_session_outlives_the_thread_that_it_follows)
{
    uint64_t clock = 0;
    struct sd_calls_request request = { .events = SD_CALLS_PYTHON,
                                        .has_cpu = true,
                                        .timer = count_up,
                                        .of = &clock,
                                        .names = { .define = define } };
    struct sd_calls_session *s;
    pthread_t thread;

    CHECK(sd_calls_session_new(&request, &s) == 0);
    CHECK(pthread_create(&thread, NULL, start_and_leave_open, s) == 0);
    pthread_join(thread, NULL);
    sd_calls_session_stop(s); /* the thread's CPU clock is gone */
    CHECK(calls_of(s, 16) == 1);
    sd_calls_session_free(s);
}

static uint64_t count_up(void *of) { return ++*(uint64_t *)of; }

TEST(a_timer_is_asked_twice_for_each_call)
{
    uint64_t clock = 0;
    struct sd_calls_request request = { .events = SD_CALLS_PYTHON,
                                        .timer = count_up,
                                        .of = &clock,
                                        .names = { .define = define } };
    struct sd_calls_session *s;

    CHECK(sd_calls_session_new(&request, &s) == 0);
    CHECK(sd_calls_session_start(s) == 0);
    work(10);
    CHECK(clock == 1 + 22);
    sd_calls_session_stop(s);
    CHECK(((struct sd_call_cell *)sd_cells_at(s->trees[0]->table, 1))->ticks == 21);
    CHECK(((struct sd_call_cell *)sd_cells_at(s->trees[0]->table, 2))->ticks == 10);
    sd_calls_session_free(s);
}

struct clearing { /* a timer's that clears another session */
    struct sd_calls_session *other;
    bool is_armed;
    uint64_t n;
};

static uint64_t clear_other(void *of)
{
    struct clearing *c = of;

    if (c->is_armed)
        CHECK(sd_calls_session_clear(c->other) == 0);
    return ++c->n;
}

static void *ask_is_unheard(void *unused)
{
    CHECK(!sd_calls_is_unheard(0x200, 0x100));
    return unused;
}

static void *ask_is_in_c(void *unused)
{
    CHECK(!sd_calls_is_in_c(0x100));
    return unused;
}

static void *say_it_never_ran(void *unused)
{
    sd_calls_never_ran(0x100);
    return unused;
}

static void *rename_it(void *unused)
{
    sd_calls_rename_c((void *)64, (void *)128, NULL);
    return unused;
}

/* Each is the first event of a thread: the trees that are found then are begun, and the
 * clock of one is read. */
TEST(a_timer_may_clear_another_session_at_the_first_event_of_a_thread)
{
    void *(*const first[])(void *) = { ask_is_unheard, ask_is_in_c, say_it_never_ran,
                                       rename_it };
    struct clearing clearing = { .n = 0 };
    struct sd_calls_request request = { .events = SD_CALLS_PYTHON | SD_CALLS_ALL,
                                        .timer = clear_other,
                                        .of = &clearing,
                                        .names = { .define = define } };
    struct sd_calls_session *timed;

    clearing.other = session(SD_CALLS_PYTHON | SD_CALLS_ALL);
    CHECK(sd_calls_session_new(&request, &timed) == 0);
    CHECK(sd_calls_session_start(clearing.other) == 0);
    CHECK(sd_calls_session_start(timed) == 0);
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        pthread_t thread;

        clearing.is_armed = true;
        CHECK(pthread_create(&thread, NULL, first[i], NULL) == 0);
        pthread_join(thread, NULL);
    }
    CHECK(timed->n_trees == 5); /* and the one of this thread */
    clearing.is_armed = false;
    work(3);
    sd_calls_session_stop(timed);
    sd_calls_session_stop(clearing.other);
    CHECK(calls_of(timed, 32) == 3 && calls_of(clearing.other, 32) == 3);
    sd_calls_session_free(timed);
    sd_calls_session_free(clearing.other);
}

TEST(ticks_and_nanoseconds_go_together)
{
    enum sd_clock_kind kind = sd_ticks_kind();
    struct sd_ticks_pair a = sd_ticks_pair(kind), b;
    double ns;

    do
        b = sd_ticks_pair(kind);
    while (b.mono_ns < a.mono_ns + 1000000);
    ns = sd_ticks_ns(kind, &a, &b);
    CHECK(ns > 0.05 && ns < 20);
    CHECK(sd_ticks_ns(kind, &a, &a) == (kind == SD_CLOCK_TSC ? 0 : 1));
}

/* A thread that works twice, when it is told to. */
struct worker {
    pthread_t thread;
    pthread_barrier_t turn;
};

static void *work_twice(void *of)
{
    struct worker *w = of;

    for (int i = 0; i < 2; i++) {
        pthread_barrier_wait(&w->turn);
        work(3);
        pthread_barrier_wait(&w->turn);
    }
    return NULL;
}

static void let_work(struct worker *w)
{
    pthread_barrier_wait(&w->turn);
    pthread_barrier_wait(&w->turn);
}

TEST(what_is_wanted_anew_is_heard_in_threads_that_were_followed_before)
{
    struct sd_calls_session *s = session(SD_CALLS_PYTHON | SD_CALLS_ALL);
    struct worker w;

    CHECK(pthread_barrier_init(&w.turn, NULL, 2) == 0);
    CHECK(pthread_create(&w.thread, NULL, work_twice, &w) == 0);
    CHECK(sd_calls_session_start(s) == 0);
    let_work(&w);
    sd_calls_session_stop(s);
    CHECK(calls_of(s, 32) == 3 && calls_of(s, 65) == 0);
    s->request.events |= SD_CALLS_C;
    CHECK(sd_calls_session_start(s) == 0);
    let_work(&w);
    sd_calls_session_stop(s);
    CHECK(calls_of(s, 32) == 6 && calls_of(s, 65) == 3);
    CHECK(pthread_join(w.thread, NULL) == 0);
    pthread_barrier_destroy(&w.turn);
    sd_calls_session_free(s);
}

/* Scopes without an interpreter: a context is a number that the test sets, and a scope
 * is in those that are its multiples. */
static _Thread_local uint64_t context;
static _Thread_local unsigned n_asked; /* how often the contexts were asked */

static bool is_in_context(const struct sd_scope *s)
{
    n_asked++;
    return context % s->id == 0;
}

static uint64_t context_number(const struct sd_scope *s)
{
    (void)s;
    return context;
}

static struct sd_calls_session *scoped_session(uint64_t id, unsigned events)
{
    struct sd_scope scope = { .id = id,
                              .state = context_number,
                              .is_here = is_in_context },
                    before = sd_calls_limit(scope);
    struct sd_calls_session *s = session(events);

    CHECK(before.id == 0 && sd_calls_limit(before).id == id);
    return s;
}

TEST(a_session_with_a_scope_follows_its_contexts_alone)
{
    struct sd_calls_session *two = scoped_session(2, SD_CALLS_PYTHON),
                            *three = scoped_session(3, SD_CALLS_PYTHON | SD_CALLS_C);

    context = 1;
    CHECK(sd_calls_session_start(two) == 0 && sd_calls_session_start(three) == 0);
    CHECK(sd_calls_sessions_want() == (SD_CALLS_PYTHON | SD_CALLS_C | SD_CALLS_ALL));
    CHECK(!sd_calls_follows() && two->n_trees == 0);
    work(1);
    context = 2;
    work(10);
    context = 3;
    work(100);
    context = 6;
    work(1000);
    context = 5;
    work(10000);
    sd_calls_session_stop(two);
    context = 6;
    work(4);
    sd_calls_session_stop(three);
    work(5);
    CHECK(calls_of(two, 32) == 1010 && calls_of(two, 65) == 0 && two->n_trees == 1);
    CHECK(calls_of(three, 32) == 1104 && calls_of(three, 65) == 1104);
    CHECK(sd_calls_sessions_want() == 0 && !sd_calls_follows());
    sd_calls_session_free(two);
    sd_calls_session_free(three);
}

TEST(a_scope_is_asked_when_the_context_has_changed)
{
    struct sd_calls_session *s = scoped_session(2, SD_CALLS_PYTHON);
    unsigned asked;

    context = 2;
    CHECK(sd_calls_session_start(s) == 0);
    work(1);
    asked = n_asked;
    work(1000);
    CHECK(n_asked == asked);
    sd_calls_scope_changed();
    work(1);
    CHECK(n_asked == asked + 1);
    context = 4;
    work(1000);
    CHECK(n_asked == asked + 2);
    sd_calls_session_stop(s);
    CHECK(calls_of(s, 32) == 2002);
    sd_calls_session_free(s);
}

static void *work_in_context(void *of)
{
    context = *(uint64_t *)of;
    work(7);
    return NULL;
}

static uint64_t count_asking(const struct sd_scope *s)
{
    ++*(unsigned *)s->variable;
    return context;
}

static struct sd_calls_session *asking_session(uint64_t id, unsigned *n)
{
    struct sd_scope before = sd_calls_limit((struct sd_scope){
        .id = id, .variable = n, .state = count_asking, .is_here = is_in_context });
    struct sd_calls_session *s = session(SD_CALLS_PYTHON);

    sd_calls_limit(before);
    return s;
}

/* As where two interpreters have scopes, and one of them ends. */
TEST(the_variable_of_a_scope_that_has_ended_is_not_asked)
{
    unsigned n_first = 0, n_second = 0, asked;
    struct sd_calls_session *first = asking_session(2, &n_first),
                            *second = asking_session(4, &n_second);

    context = 4;
    CHECK(sd_calls_session_start(first) == 0 && sd_calls_session_start(second) == 0);
    work(1);
    CHECK(n_second > 0);
    sd_calls_session_stop(second);
    asked = n_second;
    work(1);
    CHECK(n_second == asked && n_first > 0);
    sd_calls_session_stop(first);
    CHECK(calls_of(first, 32) == 2 && calls_of(second, 32) == 1);
    sd_calls_session_free(first);
    sd_calls_session_free(second);
}

TEST(sessions_with_a_scope_end_and_others_go_on)
{
    struct sd_calls_session *two = scoped_session(2, SD_CALLS_PYTHON),
                            *plain = session(SD_CALLS_PYTHON),
                            *four = scoped_session(4, SD_CALLS_PYTHON | SD_CALLS_C);

    context = 4;
    CHECK(sd_calls_session_start(two) == 0 && sd_calls_session_start(plain) == 0 &&
          sd_calls_session_start(four) == 0);
    work(1);
    sd_calls_sessions_end_scoped();
    CHECK(!two->is_active && !four->is_active && plain->is_active);
    CHECK(sd_calls_sessions_want() == SD_CALLS_PYTHON);
    work(1);
    sd_calls_session_stop(two); /* once more is nothing */
    sd_calls_session_stop(plain);
    CHECK(calls_of(two, 32) == 1 && calls_of(four, 32) == 1 &&
          calls_of(plain, 32) == 2);
    sd_calls_session_free(two);
    sd_calls_session_free(plain);
    sd_calls_session_free(four);
}

TEST(a_scope_is_entered_in_any_thread)
{
    struct sd_calls_session *s = scoped_session(2, SD_CALLS_PYTHON);
    uint64_t contexts[] = { 3, 4, 5, 6 };

    context = 1;
    CHECK(sd_calls_session_start(s) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, work_in_context, &contexts[i]) == 0);
        pthread_join(thread, NULL);
    }
    sd_calls_session_stop(s);
    CHECK(s->n_trees == 2 && calls_of(s, 32) == 14);
    sd_calls_session_free(s);
}

TEST(calls_are_put_on_the_right_stack_across_contexts)
{
    struct sd_calls_session *s = scoped_session(2, SD_CALLS_PYTHON),
                            *plain = session(SD_CALLS_PYTHON);

    context = 2;
    CHECK(sd_calls_session_start(s) == 0 && sd_calls_session_start(plain) == 0);
    sd_calls_enter(16, NULL, 0x100, 0);
    context = 1;
    sd_calls_enter(32, NULL, 0x200, 0x100);
    context = 4; /* from outside of the scope into it again */
    CHECK(sd_calls_stands_apart(0x200) && sd_calls_is_unheard(0x200, 0x100));
    sd_calls_enter(48, NULL, 0x300, 0x100); /* as the fronts do then */
    sd_calls_leave(0x300);
    context = 1;
    sd_calls_leave(0x200);
    context = 2;
    CHECK(!sd_calls_stands_apart(0x100));
    sd_calls_enter(64, NULL, 0x200, 0x100);
    sd_calls_leave(0x200);
    sd_calls_leave(0x100);
    sd_calls_session_stop(s);
    sd_calls_session_stop(plain);
    CHECK(calls_of(s, 16) == 1 && calls_of(s, 32) == 0 && calls_of(s, 48) == 1);
    CHECK(calls_of(s, 64) == 1 && calls_of(plain, 32) == 1);
    for (uint32_t k = 2; k < sd_cells_n(s->trees[0]->table); k++) {
        const struct sd_call_cell *c = sd_cells_at(s->trees[0]->table, k);

        CHECK(c->parent == 1); /* all others are called by the first */
    }
    sd_calls_session_free(s);
    sd_calls_session_free(plain);
}
