/* SPDX-License-Identifier: MIT */
#include "collect/sample/shot.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "collect/sample/shot_parts.h"

/* A thread made by hand, with frames in a chunk as CPython 3.12 has them, or as objects
 * as 3.9 has, in memory that is shared with a child; the child is the process that is
 * read.  What the thread does while it is read is done by the test between two ranges:
 * ranges are copied here one by one, by the hand of copy_ranges. */
enum {
    N_CODES = 16,
    N_OBJECTS = 64,
    CODE_TYPE = 0x4000,
    N_UNITS = 20,
    FRAME_WORDS = 16,
    CHUNK_BYTES = 16384,
};

struct fake_code {
    _Alignas(16) uint8_t code[512];
    _Alignas(16) uint8_t name[128], filename[128];
    _Alignas(16) uint8_t table[64], bytes[128];
};

struct memory { /* shared */
    _Alignas(4096) uint8_t chunks[3][CHUNK_BYTES];
    struct fake_code codes[N_CODES];
    _Alignas(16) uint8_t thread[8192];
    _Alignas(16) uint8_t cframe[64];
    _Alignas(16) uint8_t spots[N_OBJECTS][512]; /* frames outside chunks */
};

struct setting {
    struct memory *m;
    struct sd_remote remote;
    struct sd_runtime runtime;
    struct sd_codes codes;
    struct sd_shot shot;
    struct sd_shot_of of;
    size_t n_pushed;            /* frames in the chunk */
    uint64_t frames[N_OBJECTS]; /* addresses, outermost first */
    size_t n_frames;
};

static void put_word(void *object, uint32_t offset, uint64_t v)
{
    memcpy((uint8_t *)object + offset, &v, sizeof v);
}

static void put_half(void *object, uint32_t offset, uint32_t v)
{
    memcpy((uint8_t *)object + offset, &v, sizeof v);
}

static uint64_t at(const void *p) { return (uintptr_t)p; }

static void put_str(const struct sd_layout *l, uint8_t *object, const char *text)
{
    put_word(object, l->str_length, strlen(text));
    put_half(object, l->str_state, (1u | 8u | 16u) << l->str_kind_bit);
    memcpy(object + l->str_ascii, text, strlen(text));
}

static void make_code(const struct sd_layout *l, struct fake_code *f, unsigned number)
{
    char name[32];

    put_word(f->code, l->object_type, CODE_TYPE);
    put_word(f->code, l->code_name, at(f->name));
    put_word(f->code, l->code_filename, at(f->filename));
    put_word(f->code, l->code_lines, at(f->table));
    put_half(f->code, l->code_first_line, 10 * number + 1);
    if (l->code_qualname != SD_NO_OFFSET)
        put_word(f->code, l->code_qualname, at(f->name));
    if (l->code_frame_words != SD_NO_OFFSET)
        put_half(f->code, l->code_frame_words, FRAME_WORDS);
    if (l->bytecode_style == SD_BYTECODE_OBJECT) {
        put_word(f->code, l->code_bytes, at(f->bytes));
        put_word(f->bytes, l->bytes_n, 2 * N_UNITS);
    } else {
        put_word(f->code, l->code_n_units, N_UNITS);
    }
    snprintf(name, sizeof name, "f%u", number);
    put_str(l, f->name, name);
    put_str(l, f->filename, "file.py");
}

static void set_up(struct setting *s, uint32_t version)
{
    const struct sd_layout *l;
    unsigned i;
    pid_t pid;

    *s = (struct setting){ .remote = SD_REMOTE_NONE };
    s->runtime.layout = *sd_layout_of_version(version);
    s->runtime.code_type = CODE_TYPE;
    l = &s->runtime.layout;
    s->m = mmap(NULL, sizeof *s->m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    CHECK(s->m != MAP_FAILED && l->thread_size <= sizeof s->m->thread);
    for (i = 0; i < N_CODES; i++)
        make_code(l, &s->m->codes[i], i);
    if (l->frames_style == SD_FRAMES_CFRAME) {
        put_word(s->m->chunks[0], l->chunk_n_bytes, CHUNK_BYTES);
        put_word(s->m->thread, l->thread_frame, at(s->m->cframe));
        put_word(s->m->thread, l->thread_chunk, at(s->m->chunks[0]));
        put_word(s->m->thread, l->thread_top, at(s->m->chunks[0]) + l->chunk_data + 8);
    }
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    CHECK(sd_remote_open(&s->remote, pid) == 0);
    s->of = (struct sd_shot_of){ .remote = &s->remote,
                                 .rt = &s->runtime,
                                 .codes = &s->codes };
    sd_shot_init(&s->shot, &(struct sd_python_thread){ .state = at(s->m->thread) });
}

static void tear_down(struct setting *s)
{
    pid_t pid = s->remote.pid;

    sd_shot_release(&s->shot);
    sd_codes_release(&s->codes);
    sd_remote_close(&s->remote);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    munmap(s->m, sizeof *s->m);
}

/* --- What the thread does */

static uint64_t instr(const struct setting *s, unsigned code, unsigned unit)
{
    const struct sd_layout *l = &s->runtime.layout;

    return l->instr_style == SD_INSTR_BYTES
               ? 2 * unit
               : at(s->m->codes[code].code) + l->code_bytecode + 2 * unit;
}

static void set_innermost(struct setting *s)
{
    const struct sd_layout *l = &s->runtime.layout;
    uint64_t frame = s->n_frames ? s->frames[s->n_frames - 1] : 0;

    if (l->frames_style == SD_FRAMES_OBJECTS) {
        put_word(s->m->thread, l->thread_frame, frame);
        return;
    }
    put_word(s->m->cframe, l->cframe_frame, frame);
    put_word(s->m->thread, l->thread_top,
             at(s->m->chunks[0]) + l->chunk_data + 8 + 8 * FRAME_WORDS * s->n_pushed);
}

static void go_to(struct setting *s, size_t frame, unsigned code, unsigned unit)
{
    put_word((void *)(uintptr_t)s->frames[frame], s->runtime.layout.frame_instr,
             instr(s, code, unit));
}

static void fill(struct setting *s, uint64_t frame, unsigned code, uint8_t owner)
{
    const struct sd_layout *l = &s->runtime.layout;
    uint8_t *p = (void *)(uintptr_t)frame;

    put_word(p, l->frame_code, at(s->m->codes[code].code));
    put_word(p, l->frame_previous, s->n_frames ? s->frames[s->n_frames - 1] : 0);
    put_word(p, l->frame_instr, instr(s, code, 1));
    if (l->frame_owner != SD_NO_OFFSET)
        p[l->frame_owner] = owner;
    if (l->frame_state != SD_NO_OFFSET)
        p[l->frame_state] = l->frame_executing;
    s->frames[s->n_frames++] = frame;
}

static void call(struct setting *s, unsigned code)
{
    const struct sd_layout *l = &s->runtime.layout;
    uint64_t frame = at(s->m->spots[s->n_frames]);

    if (l->frames_style != SD_FRAMES_OBJECTS)
        frame =
            at(s->m->chunks[0]) + l->chunk_data + 8 + 8 * FRAME_WORDS * s->n_pushed++;
    fill(s, frame, code, 0);
    set_innermost(s);
}

static void give_back(struct setting *s)
{
    uint64_t chunk = at(s->m->chunks[0]), frame = s->frames[--s->n_frames];
    uint32_t state = s->runtime.layout.frame_state;

    if (state != SD_NO_OFFSET) /* all else of it stays as it is */
        ((uint8_t *)(uintptr_t)frame)[state] = s->runtime.layout.frame_executing ^ 1;
    if (frame >= chunk && frame < chunk + CHUNK_BYTES)
        s->n_pushed--;
    set_innermost(s);
}

/* A generator or, with owner_shim, a mark: a frame outside the chunk. */
static void call_outside(struct setting *s, unsigned code, uint8_t owner)
{
    fill(s, at(s->m->spots[s->n_frames]), code, owner);
    set_innermost(s);
}

/* --- How it is looked at */

/* Whether a range is of the words that say which frame is the innermost. */
static bool is_word(const struct setting *s, const struct iovec *from)
{
    uint64_t p = at(from->iov_base);

    return (p >= at(s->m->thread) && p < at(s->m->thread) + sizeof s->m->thread) ||
           (p >= at(s->m->cframe) && p < at(s->m->cframe) + sizeof s->m->cframe);
}

/* What was planned has been copied, as quickly as is said. */
static void came(struct setting *s, uint64_t took_ns)
{
    uint64_t now_ns = sd_clock_ns();

    sd_shot_came(&s->shot, now_ns - took_ns, now_ns, s->shot.n_from, s->shot.n_copy);
}

/* What is known of the codes need not be compared any more. */
static void believe_codes(struct setting *s)
{
    size_t i;

    for (i = 0; i < s->codes.n; i++)
        s->codes.all[i]->checked_ns = UINT64_MAX / 2;
}

/* Does what the system call does, and `meanwhile` before those words are copied, or
 * after. */
static enum sd_shot_result look_on(struct setting *s, bool is_before,
                                   void (*meanwhile)(struct setting *), bool is_last)
{
    const struct iovec *from;
    size_t i, to = 0;
    bool was_word = false;

    CHECK(sd_shot_plan(&s->shot, &s->of) == 0);
    for (i = 0; i < s->shot.n_from; i++) {
        from = &s->shot.from[i];
        if (meanwhile && is_word(s, from) != was_word && was_word != is_before)
            meanwhile(s);
        was_word = is_word(s, from);
        memcpy(s->shot.copy + to, from->iov_base, from->iov_len);
        to += from->iov_len;
    }
    CHECK(to == s->shot.n_copy);
    came(s, 1000);
    return sd_shot_judge(&s->shot, &s->of, is_last);
}

static enum sd_shot_result look(struct setting *s, bool is_before,
                                void (*meanwhile)(struct setting *), bool is_last)
{
    s->shot.n_stale = 0;
    return look_on(s, is_before, meanwhile, is_last);
}

/* The same with four looks by one system call, and `meanwhile` in the nth of them. */
static enum sd_shot_result look_often(struct setting *s, int nth, bool is_before,
                                      void (*meanwhile)(struct setting *))
{
    size_t i, to = 0;
    bool was_word = false;
    int n = -1;

    s->of.n_looks = 4;
    s->shot.n_stale = 0;
    CHECK(sd_shot_plan(&s->shot, &s->of) == 0 && s->shot.n_looks == 4);
    for (i = 0; i < s->shot.n_from; i++) {
        const struct iovec *from = &s->shot.from[i];
        bool is_now = is_word(s, from);

        n += is_now && !was_word;
        if (n == nth && is_now != was_word && is_now == is_before)
            meanwhile(s);
        was_word = is_now;
        memcpy(s->shot.copy + to, from->iov_base, from->iov_len);
        to += from->iov_len;
    }
    CHECK(to == s->shot.n_copy);
    came(s, 1000);
    return sd_shot_judge(&s->shot, &s->of, false);
}

/* By the real system call.  On a busy machine it may be interrupted, which is no news
 * of the thread: then again. */
static enum sd_shot_result take(struct setting *s)
{
    enum sd_shot_result result = SD_SHOT_TORN;
    int i;

    for (i = 0; i < 200 && result == SD_SHOT_TORN; i++) {
        result = sd_shot_take(&s->shot, &s->of, 0);
        if (s->shot.was_quick)
            break;
    }
    return result;
}

/* "f3 f2 f1": innermost first. */
static const char *names(const struct sd_shot *s)
{
    static char text[1024];
    size_t i, n = 0;

    text[0] = 0;
    for (i = 0; i < s->n_frames && n < sizeof text - 40; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? " " : "",
                              s->frames[i].code->name);
    return text;
}

/* f1 to f5, known. */
static void look_at_five(struct setting *s)
{
    unsigned i;

    set_up(s, 0x030c0000);
    for (i = 1; i <= 5; i++)
        call(s, i);
    CHECK(take(s) == SD_SHOT_GOOD);
}

#define CHECK_STACK(s, text) CHECK(strcmp(names(&(s)->shot), text) == 0)

static const uint32_t versions[] = { 0x03090000, 0x030c0000 };
#define EACH_VERSION(v) for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)

TEST(shot_of_a_thread_that_runs_nothing_is_empty)
{
    EACH_VERSION(v)
    {
        struct setting s;

        set_up(&s, versions[v]);
        CHECK(take(&s) == SD_SHOT_EMPTY);
        tear_down(&s);
    }
}

TEST(shot_tells_the_frames_and_takes_one_call_when_nothing_changed)
{
    EACH_VERSION(v)
    {
        struct setting s;
        unsigned i;

        set_up(&s, versions[v]);
        for (i = 1; i <= 5; i++)
            call(&s, i);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f5 f4 f3 f2 f1");
        believe_codes(&s);
        CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_calls == 1);
        give_back(&s);
        give_back(&s);
        CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_calls == 1);
        CHECK_STACK(&s, "f3 f2 f1");
        CHECK(s.shot.frames[0].address == s.frames[2]);
        tear_down(&s);
    }
}

TEST(shot_of_a_stack_that_stands_says_how_much_of_it_is_known)
{
    struct setting s;
    unsigned i;

    set_up(&s, 0x030c0000);
    for (i = 1; i <= 5; i++)
        call(&s, i);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 0);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 5);
    go_to(&s, 4, 5, 3);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 4);
    CHECK(s.shot.frames[0].instr == instr(&s, 5, 3));
    go_to(&s, 2, 3, 4); /* f3 calls f4 from elsewhere */
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 0);
    CHECK(s.shot.frames[2].instr == instr(&s, 3, 4));
    give_back(&s);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 0);
    CHECK_STACK(&s, "f4 f3 f2 f1");
    tear_down(&s);
}

TEST(shot_of_a_stack_that_stands_sees_another_code_object_at_its_address)
{
    struct setting s;
    unsigned i;

    set_up(&s, 0x030c0000);
    for (i = 1; i <= 3; i++)
        call(&s, i);
    CHECK(take(&s) == SD_SHOT_GOOD && take(&s) == SD_SHOT_GOOD);
    CHECK(s.shot.n_same == 3);
    make_code(&s.runtime.layout, &s.m->codes[2], 9);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 0);
    CHECK_STACK(&s, "f3 f9 f1");
    tear_down(&s);
}

TEST(shot_sees_another_code_object_whose_parts_lie_where_the_last_ones_lay)
{
    EACH_VERSION(v)
    {
        struct setting s;
        unsigned i;

        set_up(&s, versions[v]);
        for (i = 1; i <= 3; i++)
            call(&s, i);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f3 f2 f1");
        put_str(&s.runtime.layout, s.m->codes[2].name, "g2");
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f3 g2 f1");
        tear_down(&s);
    }
}

static void replace_f2(struct setting *s)
{
    make_code(&s->runtime.layout, &s->m->codes[2], 9);
}

TEST(shot_believes_no_code_object_that_was_read_after_the_frames)
{
    EACH_VERSION(v)
    {
        struct setting s;

        set_up(&s, versions[v]);
        call(&s, 1);
        CHECK(take(&s) == SD_SHOT_GOOD);
        give_back(&s);
        call(&s, 2); /* not known yet, and another one when it is asked for */
        CHECK(look(&s, false, replace_f2, true) == SD_SHOT_STALE);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f9");
        tear_down(&s);
    }
}

static void replace_again(struct setting *s)
{
    make_code(&s->runtime.layout, &s->m->codes[2], 20 + (unsigned)s->codes.n_retired);
}

TEST(shot_of_codes_that_change_at_every_look_keeps_the_frames_around_them)
{
    struct setting s;
    unsigned i;

    set_up(&s, 0x030c0000);
    for (i = 1; i <= 3; i++)
        call(&s, i);
    CHECK(take(&s) == SD_SHOT_GOOD);
    CHECK(look(&s, false, replace_again, true) == SD_SHOT_STALE);
    s.shot.n_stale = SD_SHOT_STALE_MAX;
    CHECK(look_on(&s, false, replace_again, false) == SD_SHOT_TORN);
    CHECK(look_on(&s, false, replace_again, true) == SD_SHOT_PARTIAL);
    CHECK_STACK(&s, "f1");
    tear_down(&s);
}

TEST(shot_believes_a_code_object_for_a_thousandth_of_its_age)
{
    struct setting s;
    uint64_t came_ns;

    set_up(&s, 0x030c0000);
    call(&s, 1);
    CHECK(take(&s) == SD_SHOT_GOOD);
    came_ns = s.shot.came_ns;
    s.codes.all[0]->read_ns = came_ns - 5000000000u;
    s.shot.n_calls = 0;
    sd_shot_came(&s.shot, came_ns + 3999000, came_ns + 4000000, 1, 0);
    CHECK(sd_shot_judge(&s.shot, &s.of, false) == SD_SHOT_GOOD && s.shot.n_calls == 0);
    sd_shot_came(&s.shot, came_ns + 5999000, came_ns + 6000000, 1, 0);
    CHECK(sd_shot_judge(&s.shot, &s.of, false) == SD_SHOT_GOOD && s.shot.n_calls == 1);
    tear_down(&s);
}

static void call_f6(struct setting *s) { call(s, 6); }

/* f1 to f5, and f6 is known, too. */
static void look_at_five_of_six(struct setting *s)
{
    look_at_five(s);
    call_f6(s);
    CHECK(take(s) == SD_SHOT_GOOD);
    give_back(s);
    CHECK(take(s) == SD_SHOT_GOOD);
}

TEST(shot_of_many_looks_tells_each_as_it_was)
{
    struct setting s;

    look_at_five_of_six(&s);
    CHECK(look_often(&s, 1, false, call_f6) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f5 f4 f3 f2 f1");
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f5 f4 f3 f2 f1"); /* so the words say */
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f6 f5 f4 f3 f2 f1");
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f6 f5 f4 f3 f2 f1");
    tear_down(&s);

    look_at_five(&s);
    CHECK(look_often(&s, 2, false, give_back) == SD_SHOT_GOOD);
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f5 f4 f3 f2 f1");
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f4 f3 f2 f1");
    tear_down(&s);
}

TEST(shot_of_many_looks_believes_none_in_which_it_changed)
{
    struct setting s;

    look_at_five(&s);
    CHECK(look_often(&s, 2, true, call_f6) == SD_SHOT_GOOD);
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_TORN);
    CHECK(sd_shot_plan(&s.shot, &s.of) == 0 && s.shot.n_looks == 1);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 0);
    CHECK_STACK(&s, "f6 f5 f4 f3 f2 f1");
    tear_down(&s);
}

TEST(shot_of_generators_and_marks_tells_functions_alone)
{
    struct setting s;
    uint8_t shim;

    set_up(&s, 0x030c0000);
    shim = s.runtime.layout.owner_shim;
    call_outside(&s, 0, shim); /* C called f1 */
    call(&s, 1);
    call_outside(&s, 2, 1); /* a generator */
    call_outside(&s, 0, shim);
    call(&s, 3);
    CHECK(take(&s) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f3 f2 f1");
    believe_codes(&s);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_calls == 1);
    CHECK_STACK(&s, "f3 f2 f1");
    tear_down(&s);
}

TEST(shot_of_two_marks_in_a_row_tells_the_inner_one)
{
    struct setting s;
    uint8_t shim;
    int i;

    set_up(&s, 0x030c0000);
    shim = s.runtime.layout.owner_shim;
    call_outside(&s, 0, shim); /* as the one in the thread state */
    call_outside(&s, 0, shim); /* the evaluator's own */
    call(&s, 1);
    call(&s, 2);
    for (i = 0; i < 3; i++) {
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f2 f1");
        CHECK(s.shot.frames[1].is_entry && s.shot.frames[1].mark == s.frames[1]);
        CHECK(!s.shot.frames[0].is_entry && !s.shot.frames[0].mark);
    }
    tear_down(&s);
}

static void return_and_call_another(struct setting *s)
{
    give_back(s);
    go_to(s, s->n_frames - 1, 2, 9);
    call(s, 7);
}

static void move_on(struct setting *s) { go_to(s, s->n_frames - 1, 3, 11); }

TEST(shot_of_a_thread_that_called_another_meanwhile_is_torn)
{
    EACH_VERSION(v)
    {
        struct setting s;
        unsigned i;
        bool is_before;

        for (is_before = false;; is_before = true) {
            set_up(&s, versions[v]);
            for (i = 1; i <= 3; i++)
                call(&s, i);
            CHECK(take(&s) == SD_SHOT_GOOD);
            CHECK(look(&s, is_before, return_and_call_another, false) == SD_SHOT_TORN);
            CHECK(take(&s) == SD_SHOT_GOOD);
            CHECK_STACK(&s, "f7 f2 f1");
            tear_down(&s);
            if (is_before)
                break;
        }
    }
}

TEST(shot_that_is_torn_keeps_the_frames_that_stood)
{
    EACH_VERSION(v)
    {
        struct setting s;
        unsigned i;

        set_up(&s, versions[v]);
        for (i = 1; i <= 3; i++)
            call(&s, i);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK(look(&s, false, return_and_call_another, true) == SD_SHOT_PARTIAL);
        CHECK_STACK(&s, "f2 f1");
        tear_down(&s);
    }
}

/* A frame object is kept for the next call, and says still who called it. */
TEST(shot_that_is_watched_loses_a_frame_object_that_has_returned)
{
    EACH_VERSION(v)
    {
        struct setting s;
        unsigned i;

        set_up(&s, versions[v]);
        for (i = 1; i <= 3; i++)
            call(&s, i);
        CHECK(take(&s) == SD_SHOT_GOOD);
        give_back(&s);
        if (s.runtime.layout.frames_style == SD_FRAMES_OBJECTS) {
            CHECK(sd_shot_watch(&s.shot, &s.of, SD_SHOT_GOOD) == SD_SHOT_PARTIAL);
            CHECK_STACK(&s, "f2 f1");
        }
        tear_down(&s);
    }
}

TEST(shot_that_is_watched_stays_whole_while_nobody_leaves)
{
    EACH_VERSION(v)
    {
        struct setting s;
        unsigned i;

        enum sd_shot_result result = SD_SHOT_PARTIAL;

        set_up(&s, versions[v]);
        for (i = 1; i <= 3; i++)
            call(&s, i);
        /* Whoever is kept from looking for too long cuts the stack; not each time. */
        for (i = 0; i < 50 && result != SD_SHOT_GOOD; i++) {
            CHECK(take(&s) == SD_SHOT_GOOD);
            go_to(&s, 2, 3, 5); /* the innermost runs on */
            result = sd_shot_watch(&s.shot, &s.of, SD_SHOT_GOOD);
        }
        CHECK(result == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f3 f2 f1");
        tear_down(&s);
    }
}

TEST(shot_that_is_watched_is_cut_where_a_caller_has_moved_on)
{
    EACH_VERSION(v)
    {
        struct setting s;
        unsigned i;

        set_up(&s, versions[v]);
        for (i = 1; i <= 4; i++)
            call(&s, i);
        CHECK(take(&s) == SD_SHOT_GOOD);
        go_to(&s, 1, 2, 5); /* f2 calls from another line now */
        CHECK(sd_shot_watch(&s.shot, &s.of, SD_SHOT_GOOD) == SD_SHOT_PARTIAL);
        CHECK_STACK(&s, "f2 f1");
        tear_down(&s);
    }
}

TEST(shot_that_is_watched_is_cut_where_another_function_stands)
{
    EACH_VERSION(v)
    {
        struct setting s;
        unsigned i;

        set_up(&s, versions[v]);
        for (i = 1; i <= 3; i++)
            call(&s, i);
        CHECK(take(&s) == SD_SHOT_GOOD);
        return_and_call_another(&s);
        CHECK(sd_shot_watch(&s.shot, &s.of, SD_SHOT_GOOD) == SD_SHOT_PARTIAL);
        CHECK_STACK(&s, "f2 f1");
        kill(s.remote.pid, SIGKILL);
        waitpid(s.remote.pid, NULL, 0);
        CHECK(sd_shot_watch(&s.shot, &s.of, SD_SHOT_PARTIAL) == SD_SHOT_GONE);
        tear_down(&s);
    }
}

TEST(shot_of_an_innermost_frame_that_moves_on_is_good)
{
    EACH_VERSION(v)
    {
        struct setting s;
        unsigned i;

        set_up(&s, versions[v]);
        for (i = 1; i <= 3; i++)
            call(&s, i);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK(look(&s, false, move_on, false) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f3 f2 f1");
        tear_down(&s);
    }
}

/* The same functions from the same lines, and another value of a variable. */
static void come_round(struct setting *s)
{
    put_word((void *)(uintptr_t)s->frames[1], 8 * (FRAME_WORDS - 1), 77);
}

TEST(shot_of_a_loop_that_has_come_round_is_torn)
{
    struct setting s;
    unsigned i;

    set_up(&s, 0x030c0000);
    for (i = 1; i <= 3; i++)
        call(&s, i);
    CHECK(take(&s) == SD_SHOT_GOOD);
    CHECK(look(&s, false, come_round, false) == SD_SHOT_TORN);
    put_word((void *)(uintptr_t)s.frames[1], 8 * (FRAME_WORDS - 1), 78);
    CHECK(look(&s, false, come_round, true) == SD_SHOT_PARTIAL);
    CHECK_STACK(&s, "f2 f1");
    tear_down(&s);
}

static void change_variable(struct setting *s)
{
    put_word((void *)(uintptr_t)s->frames[2], 8 * (FRAME_WORDS - 1), 77);
}

TEST(shot_of_an_innermost_frame_whose_variables_change_is_good)
{
    struct setting s;
    unsigned i;

    set_up(&s, 0x030c0000);
    for (i = 1; i <= 3; i++)
        call(&s, i);
    CHECK(take(&s) == SD_SHOT_GOOD);
    CHECK(look(&s, false, change_variable, false) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f3 f2 f1");
    tear_down(&s);
}

/* As `look`, and before the last range another function is called. */
static enum sd_shot_result look_a_third_time(struct setting *s)
{
    size_t i, to = 0;

    s->shot.n_stale = 0;
    CHECK(sd_shot_plan(&s->shot, &s->of) == 0 && s->shot.has_third);
    for (i = 0; i < s->shot.n_from; i++) {
        if (i + 1 == s->shot.n_from) {
            give_back(s);
            call(s, 3);
        }
        memcpy(s->shot.copy + to, s->shot.from[i].iov_base, s->shot.from[i].iov_len);
        to += s->shot.from[i].iov_len;
    }
    came(s, 1000);
    return sd_shot_judge(&s->shot, &s->of, false);
}

TEST(shot_of_a_thread_that_was_torn_is_looked_at_three_times)
{
    struct setting s;
    unsigned i;

    set_up(&s, 0x030c0000);
    for (i = 1; i <= 3; i++)
        call(&s, i);
    CHECK(take(&s) == SD_SHOT_GOOD);
    CHECK(!s.shot.has_third);
    CHECK(look(&s, false, return_and_call_another, false) == SD_SHOT_TORN);
    CHECK(look_a_third_time(&s) == SD_SHOT_TORN);
    for (i = 0; i < SD_SHOT_RESTLESS; i++)
        CHECK(look(&s, false, NULL, false) == SD_SHOT_GOOD && s.shot.has_third);
    CHECK(look(&s, false, NULL, false) == SD_SHOT_GOOD && !s.shot.has_third);
    tear_down(&s);
}

static void call_one_more(struct setting *s) { call(s, 6); }

TEST(shot_of_a_deeper_stack_than_guessed_is_never_a_stack_that_was_not)
{
    EACH_VERSION(v)
    {
        struct setting s;
        enum sd_shot_result result;
        unsigned i;

        set_up(&s, versions[v]);
        for (i = 1; i <= 3; i++)
            call(&s, i);
        CHECK(take(&s) == SD_SHOT_GOOD);
        result = look(&s, true, call_one_more, false);
        CHECK(result == SD_SHOT_TORN || result == SD_SHOT_STALE ||
              strcmp(names(&s.shot), "f6 f3 f2 f1") == 0);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f6 f3 f2 f1");
        tear_down(&s);
    }
}

/* Between two yields a generator has no caller. */
static void resume(struct setting *s)
{
    const struct sd_layout *l = &s->runtime.layout;

    put_word((void *)(uintptr_t)s->frames[2], l->frame_previous, s->frames[1]);
    set_innermost(s);
}

static void yield(struct setting *s)
{
    const struct sd_layout *l = &s->runtime.layout;

    put_word((void *)(uintptr_t)s->frames[2], l->frame_previous, 0);
    s->n_frames = 2;
    set_innermost(s);
    s->n_frames = 3;
}

TEST(shot_of_a_generator_between_two_yields_is_no_stack)
{
    EACH_VERSION(v)
    {
        struct setting s;
        const struct sd_layout *l;
        uint64_t generator;

        set_up(&s, versions[v]);
        l = &s.runtime.layout;
        call(&s, 1);
        call(&s, 2);
        call_outside(&s, 3, 1);
        generator = s.frames[2];
        if (l->frame_generator != SD_NO_OFFSET)
            put_word((void *)(uintptr_t)generator, l->frame_generator, generator);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f3 f2 f1");
        /* Suspended at both copies; the words in between say that it runs. */
        put_word((void *)(uintptr_t)generator, l->frame_previous, 0);
        CHECK(look(&s, false, yield, false) == SD_SHOT_TORN);
        resume(&s);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f3 f2 f1");
        tear_down(&s);
    }
}

TEST(shot_that_was_interrupted_proves_nothing)
{
    struct setting s;

    set_up(&s, 0x030c0000);
    call(&s, 1);
    CHECK(take(&s) == SD_SHOT_GOOD && look(&s, false, NULL, false) == SD_SHOT_GOOD);
    came(&s, 5000000);
    CHECK(sd_shot_judge(&s.shot, &s.of, false) == SD_SHOT_TORN);
    tear_down(&s);
}

TEST(shot_of_a_stack_over_several_chunks_is_whole)
{
    struct setting s;
    const struct sd_layout *l;
    size_t per_chunk, i, k, n = 0;
    uint64_t previous = 0;

    set_up(&s, 0x030c0000);
    l = &s.runtime.layout;
    per_chunk = (CHUNK_BYTES - l->chunk_data - 8) / (8 * FRAME_WORDS);
    for (k = 0; k < 3; k++) {
        uint8_t *chunk = s.m->chunks[k];
        uint64_t top = at(chunk) + l->chunk_data + (k == 0 ? 8 : 0);
        size_t n_here = k == 2 ? 10 : per_chunk;

        put_word(chunk, l->chunk_n_bytes, CHUNK_BYTES);
        put_word(chunk, l->chunk_previous, k ? at(s.m->chunks[k - 1]) : 0);
        for (i = 0; i < n_here; i++, n++, top += 8 * FRAME_WORDS) {
            uint8_t *p = (void *)(uintptr_t)top;

            put_word(p, l->frame_code, at(s.m->codes[n % N_CODES].code));
            put_word(p, l->frame_previous, previous);
            put_word(p, l->frame_instr, instr(&s, (unsigned)(n % N_CODES), 1));
            previous = top;
        }
        put_word(chunk, l->chunk_top, (top - at(chunk) - l->chunk_data) / 8);
        put_word(s.m->thread, l->thread_top, top);
    }
    put_word(s.m->thread, l->thread_chunk, at(s.m->chunks[2]));
    put_word(s.m->cframe, l->cframe_frame, previous);
    CHECK(take(&s) == SD_SHOT_GOOD);
    CHECK(s.shot.n_frames == n && n > 200);
    for (i = 0; i < n; i++)
        CHECK(s.shot.frames[i].code->first_line ==
              10 * (int32_t)((n - 1 - i) % N_CODES) + 1);
    believe_codes(&s);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_calls == 1);
    tear_down(&s);
}

TEST(shot_of_a_chain_that_goes_round_ends)
{
    EACH_VERSION(v)
    {
        struct setting s;
        unsigned i;

        set_up(&s, versions[v]);
        for (i = 1; i <= 4; i++)
            call(&s, i);
        put_word((void *)(uintptr_t)s.frames[0], s.runtime.layout.frame_previous,
                 s.frames[3]);
        CHECK(take(&s) != SD_SHOT_GOOD || s.shot.is_cut);
        tear_down(&s);
    }
}

TEST(shot_of_garbage_is_never_good)
{
    EACH_VERSION(v)
    {
        struct setting s;
        uint64_t random = 88172645463325252u;
        int i, k;

        set_up(&s, versions[v]);
        for (i = 0; i < 300; i++) {
            uint8_t *p;
            size_t n;

            for (s.n_frames = s.n_pushed = 0, k = 1; k <= 4; k++)
                call(&s, (unsigned)k);
            /* One word of the second frame, or of the thread state, is anything. */
            p = i % 2 ? (void *)(uintptr_t)s.frames[1] : s.m->thread;
            n = i % 2 ? s.runtime.layout.frame_size : s.runtime.layout.thread_size;
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            put_word(p, (uint32_t)(random % (n / 8)) * 8, random >> (i % 40));
            if (take(&s) == SD_SHOT_GOOD)
                CHECK(strcmp(names(&s.shot), "f4 f3 f2 f1") == 0);
            tear_down(&s);
            set_up(&s, versions[v]);
        }
        tear_down(&s);
    }
}

/* A word of the thread state is another's from now on: is the stack still told? */
static void check_owner_word(uint32_t version, uint32_t offset, size_t at_byte)
{
    struct setting s;

    set_up(&s, version);
    put_word(s.m->thread, offset, 7);
    CHECK(take(&s) == SD_SHOT_GONE);
    put_word(&s.shot, (uint32_t)at_byte, 7);
    CHECK(take(&s) == SD_SHOT_EMPTY);
    put_word(s.m->thread, offset, 8);
    CHECK(take(&s) == SD_SHOT_GONE);
    tear_down(&s);
}

TEST(shot_of_a_thread_state_that_another_thread_has_is_gone)
{
    EACH_VERSION(v)
    {
        const struct sd_layout *l = sd_layout_of_version(versions[v]);

        check_owner_word(versions[v], l->thread_ident, offsetof(struct sd_shot, ident));
        if (l->thread_native != SD_NO_OFFSET)
            check_owner_word(versions[v], l->thread_native,
                             offsetof(struct sd_shot, native));
        else
            check_owner_word(versions[v], l->thread_serial,
                             offsetof(struct sd_shot, serial));
    }
}

TEST(shot_of_a_process_that_ended_is_gone)
{
    struct setting s;

    set_up(&s, 0x030c0000);
    call(&s, 1);
    CHECK(take(&s) == SD_SHOT_GOOD);
    kill(s.remote.pid, SIGKILL);
    while (sd_remote_is_alive(&s.remote))
        usleep(1000);
    CHECK(take(&s) == SD_SHOT_GONE);
    tear_down(&s);
}

TEST(shot_survives_every_failing_allocation)
{
    EACH_VERSION(v)
    {
        EACH_FAILURE(nth)
        {
            struct setting s;
            unsigned i;

            set_up(&s, versions[v]);
            for (i = 1; i <= 5; i++)
                call(&s, i);
            if (take(&s) == SD_SHOT_GOOD)
                CHECK_STACK(&s, "f5 f4 f3 f2 f1");
            tear_down(&s);
        }
    }
}
