/* SPDX-License-Identifier: MIT */
#ifndef SD_SAMPLE_SHOT_TESTING_H
#define SD_SAMPLE_SHOT_TESTING_H
/* shot_testing: a thread made by hand, for tests that read its stack.
 *
 * Its frames lie in a chunk as CPython 3.12 has them, or are objects as 3.9 has, in
 * memory that is shared with a child; the child is the process that is read.  What the
 * thread does while it is read is done by the test between two ranges: `look` copies
 * the ranges one by one, as the system call does. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/test.h"
#include "collect/sample/shot.h"
#include "collect/sample/shot_parts.h"

/* The two ways in which CPython keeps frames, by a version that has it. */
enum { WITH_OBJECTS = 0x03090000, WITH_CHUNKS = 0x030c0000 };
static const uint32_t versions[] = { WITH_OBJECTS, WITH_CHUNKS };
#define EACH_VERSION(v) for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)

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

static inline void put_word(void *object, uint32_t offset, uint64_t v)
{
    memcpy((uint8_t *)object + offset, &v, sizeof v);
}

static inline void put_half(void *object, uint32_t offset, uint32_t v)
{
    memcpy((uint8_t *)object + offset, &v, sizeof v);
}

static inline uint64_t at(const void *p) { return (uintptr_t)p; }

static inline void put_str(const struct sd_layout *l, uint8_t *object, const char *text)
{
    put_word(object, l->str_length, strlen(text));
    put_half(object, l->str_state, (1u | 8u | 16u) << l->str_kind_bit);
    memcpy(object + l->str_ascii, text, strlen(text));
}

static inline void make_code(const struct sd_layout *l, struct fake_code *f,
                             unsigned number)
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

static inline void set_up(struct setting *s, uint32_t version)
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

static inline void tear_down(struct setting *s)
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

static inline uint64_t instr(const struct setting *s, unsigned code, unsigned unit)
{
    const struct sd_layout *l = &s->runtime.layout;

    return l->instr_style == SD_INSTR_BYTES
               ? 2 * unit
               : at(s->m->codes[code].code) + l->code_bytecode + 2 * unit;
}

static inline void set_innermost(struct setting *s)
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

static inline void go_to(struct setting *s, size_t frame, unsigned code, unsigned unit)
{
    put_word((void *)(uintptr_t)s->frames[frame], s->runtime.layout.frame_instr,
             instr(s, code, unit));
}

static inline void fill(struct setting *s, uint64_t frame, unsigned code, uint8_t owner)
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

static inline void call(struct setting *s, unsigned code)
{
    const struct sd_layout *l = &s->runtime.layout;
    uint64_t frame = at(s->m->spots[s->n_frames]);

    if (l->frames_style != SD_FRAMES_OBJECTS)
        frame =
            at(s->m->chunks[0]) + l->chunk_data + 8 + 8 * FRAME_WORDS * s->n_pushed++;
    fill(s, frame, code, 0);
    set_innermost(s);
}

static inline void give_back(struct setting *s)
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
static inline void call_outside(struct setting *s, unsigned code, uint8_t owner)
{
    fill(s, at(s->m->spots[s->n_frames]), code, owner);
    set_innermost(s);
}

static inline void call_f6(struct setting *s) { call(s, 6); }

static inline void return_and_call_another(struct setting *s)
{
    give_back(s);
    go_to(s, s->n_frames - 1, 2, 9);
    call(s, 7);
}

/* --- How it is looked at */

/* Whether a range is of the words that say which frame is the innermost. */
static inline bool is_word(const struct setting *s, const struct iovec *from)
{
    uint64_t p = at(from->iov_base);

    return (p >= at(s->m->thread) && p < at(s->m->thread) + sizeof s->m->thread) ||
           (p >= at(s->m->cframe) && p < at(s->m->cframe) + sizeof s->m->cframe);
}

/* What was planned has been copied, as quickly as is said. */
static inline void came(struct setting *s, uint64_t took_ns)
{
    uint64_t now_ns = sd_clock_ns();

    sd_shot_came(&s->shot, now_ns - took_ns, now_ns, s->shot.n_from, s->shot.n_copy);
}

/* What is known of the codes need not be compared any more. */
static inline void believe_codes(struct setting *s)
{
    size_t i;

    for (i = 0; i < s->codes.n; i++)
        s->codes.all[i]->checked_ns = UINT64_MAX / 2;
}

/* Does what the system call does, and `meanwhile` before those words are copied, or
 * after. */
static inline enum sd_shot_result look_on(struct setting *s, bool is_before,
                                          void (*meanwhile)(struct setting *),
                                          bool is_last)
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

static inline enum sd_shot_result look(struct setting *s, bool is_before,
                                       void (*meanwhile)(struct setting *),
                                       bool is_last)
{
    s->shot.n_stale = 0;
    return look_on(s, is_before, meanwhile, is_last);
}

/* The same with four looks by one system call, and `meanwhile` in the nth of them. */
static inline enum sd_shot_result look_often(struct setting *s, int nth, bool is_before,
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
static inline enum sd_shot_result take(struct setting *s)
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
static inline const char *names(const struct sd_shot *s)
{
    static char text[1024];
    size_t i, n = 0;

    text[0] = 0;
    for (i = 0; i < s->n_frames && n < sizeof text - 40; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? " " : "",
                              s->frames[i].code->name);
    return text;
}

/* It runs f1, which has called f2, and so on up to f`n`. */
static inline void set_up_stack(struct setting *s, uint32_t version, unsigned n)
{
    set_up(s, version);
    for (unsigned i = 1; i <= n; i++)
        call(s, i);
}

/* The same, and the shot knows all of them. */
static inline void look_at(struct setting *s, uint32_t version, unsigned n)
{
    set_up_stack(s, version, n);
    CHECK(take(s) == SD_SHOT_GOOD);
}

#define CHECK_STACK(s, text) CHECK(strcmp(names(&(s)->shot), text) == 0)
#endif
