/* SPDX-License-Identifier: MIT */
#include "process/python/code.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

/* Code objects made by hand, as CPython 3.12 keeps them, in memory that is shared with
 * a child; the child is the process that they are read from.  Whole programs are read
 * by tests/truth/test_reading.py. */
enum { N_FAKES = 40, CODE_TYPE = 0x4000, N_UNITS = 6 };

struct fake {
    _Alignas(16) uint8_t code[256];
    _Alignas(16) uint8_t name[128], qualname[128], filename[128];
    _Alignas(16) uint8_t table[64];
};

struct setting {
    struct fake *fakes; /* shared with the child */
    struct sd_remote remote;
    struct sd_runtime runtime;
    struct sd_codes codes;
};

static void put_word(uint8_t *object, uint32_t offset, uint64_t v)
{
    memcpy(object + offset, &v, sizeof v);
}

static void put_half(uint8_t *object, uint32_t offset, uint32_t v)
{
    memcpy(object + offset, &v, sizeof v);
}

static void put_str(const struct sd_layout *l, uint8_t *object, const char *text)
{
    put_word(object, l->str_length, strlen(text));
    put_half(object, l->str_state, (1u | 8u | 16u) << l->str_kind_bit);
    memcpy(object + l->str_ascii, text, strlen(text));
}

static void make(const struct sd_layout *l, struct fake *f, unsigned number)
{
    static const uint8_t locations[] = { 0x80 | 10 << 3 | 2, 0, 0,
                                         0x80 | 12 << 3 | 2, 0, 0 };
    char name[32];

    memset(f, 0, sizeof *f);
    put_word(f->code, l->object_type, CODE_TYPE);
    put_word(f->code, l->code_n_units, N_UNITS);
    put_word(f->code, l->code_name, (uintptr_t)f->name);
    put_word(f->code, l->code_qualname, (uintptr_t)f->qualname);
    put_word(f->code, l->code_filename, (uintptr_t)f->filename);
    put_word(f->code, l->code_lines, (uintptr_t)f->table);
    put_half(f->code, l->code_first_line, 10 * number);
    put_half(f->code, l->code_frame_words, 7);
    snprintf(name, sizeof name, "function_%u", number);
    put_str(l, f->name, name);
    put_str(l, f->qualname, "Class.function");
    put_str(l, f->filename, "file.py");
    put_word(f->table, l->bytes_n, sizeof locations);
    memcpy(f->table + l->bytes_data, locations, sizeof locations);
}

static void set_up(struct setting *s)
{
    size_t n = N_FAKES * sizeof *s->fakes, i;
    pid_t pid;

    *s = (struct setting){ .remote = SD_REMOTE_NONE };
    s->runtime.layout = *sd_layout_of_version(0x030c0000);
    s->runtime.code_type = CODE_TYPE;
    s->fakes = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(s->fakes != MAP_FAILED);
    for (i = 0; i < N_FAKES; i++)
        make(&s->runtime.layout, &s->fakes[i], (unsigned)i);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    CHECK(sd_remote_open(&s->remote, pid) == 0);
}

static void tear_down(struct setting *s)
{
    pid_t pid = s->remote.pid;

    sd_codes_release(&s->codes);
    sd_remote_close(&s->remote);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    munmap(s->fakes, N_FAKES * sizeof *s->fakes);
}

static uint64_t address_of(const struct setting *s, size_t i)
{
    return (uintptr_t)s->fakes[i].code;
}

static int get(struct setting *s, size_t i, const struct sd_code **code)
{
    return sd_codes_get(&s->codes, &s->remote, &s->runtime, address_of(s, i), code);
}

/* Compares every live one. */
static int check(struct setting *s, size_t *n_retired)
{
    const struct sd_code *live[2 * N_FAKES];
    size_t n = 0, i;

    for (i = 0; i < s->codes.n; i++)
        if (!s->codes.all[i]->is_retired)
            live[n++] = s->codes.all[i];
    return sd_codes_verify(&s->codes, &s->remote, &s->runtime, live, n, n_retired);
}

TEST(code_is_read_once_and_found_again)
{
    struct setting s;
    const struct sd_code *code, *again;
    char name[32];
    size_t i;

    set_up(&s);
    for (i = 0; i < N_FAKES; i++) {
        CHECK(!sd_codes_find(&s.codes, address_of(&s, i)));
        CHECK(get(&s, i, &code) == 0);
        snprintf(name, sizeof name, "function_%zu", i);
        CHECK(strcmp(code->name, name) == 0);
        CHECK(strcmp(code->qualname, "Class.function") == 0);
        CHECK(strcmp(code->filename, "file.py") == 0);
        CHECK(code->id == i && code->first_line == (int32_t)(10 * i));
        CHECK(code->n_code == 2 * N_UNITS && code->frame_bytes == 56);
    }
    for (i = 0; i < N_FAKES; i++) {
        again = sd_codes_find(&s.codes, address_of(&s, i));
        CHECK(again && again->id == i);
        CHECK(again->filename == code->filename); /* equal texts are kept once */
    }
    tear_down(&s);
}

TEST(code_tells_the_line_of_an_instruction)
{
    struct setting s;
    const struct sd_code *code;
    const struct sd_layout *l;

    set_up(&s);
    l = &s.runtime.layout;
    CHECK(get(&s, 5, &code) == 0);
    CHECK(sd_codes_line(&s.codes, code, l, code->bytecode - 2) == 50);
    CHECK(sd_codes_line(&s.codes, code, l, code->bytecode) == 50);
    CHECK(sd_codes_line(&s.codes, code, l, code->bytecode + 4) == 50);
    CHECK(sd_codes_line(&s.codes, code, l, code->bytecode + 6) == 52);
    CHECK(sd_codes_line(&s.codes, code, l, code->bytecode + 12) == SD_NO_LINE);
    CHECK(sd_code_has_instr(code, l, code->bytecode - 2));
    CHECK(sd_code_has_instr(code, l, code->bytecode + 10));
    CHECK(!sd_code_has_instr(code, l, code->bytecode - 4));
    CHECK(!sd_code_has_instr(code, l, code->bytecode + 12));
    tear_down(&s);
}

TEST(code_that_is_another_one_now_is_retired)
{
    struct setting s;
    const struct sd_code *code, *old;
    size_t n_retired, i;

    set_up(&s);
    for (i = 0; i < N_FAKES; i++)
        CHECK(get(&s, i, &code) == 0);
    CHECK(check(&s, &n_retired) == 0);
    CHECK(n_retired == 0);
    CHECK(get(&s, 7, &old) == 0);
    make(&s.runtime.layout, &s.fakes[7], 123);
    CHECK(check(&s, &n_retired) == 0);
    CHECK(n_retired == 1 && old->is_retired);
    CHECK(!sd_codes_find(&s.codes, address_of(&s, 7)));
    CHECK(get(&s, 7, &code) == 0 && code->id == N_FAKES);
    CHECK(strcmp(code->name, "function_123") == 0);
    CHECK(strcmp(old->name, "function_7") == 0); /* what was given out stays good */
    tear_down(&s);
}

/* The next one was allocated as the last one was: every pointer is the same. */
TEST(code_whose_parts_lie_where_the_last_ones_lay_is_told_from_it)
{
    struct setting s;
    const struct sd_code *code;
    const struct sd_layout *l;
    size_t n_retired;

    set_up(&s);
    l = &s.runtime.layout;
    CHECK(get(&s, 0, &code) == 0 && get(&s, 1, &code) == 0 && get(&s, 2, &code) == 0);
    CHECK(get(&s, 3, &code) == 0 && get(&s, 4, &code) == 0);
    put_str(l, s.fakes[0].name, "function_9");
    put_str(l, s.fakes[1].qualname, "Klasse.function");
    put_str(l, s.fakes[2].filename, "file.pyc");
    s.fakes[3].table[l->bytes_data + 1] = 2;
    CHECK(check(&s, &n_retired) == 0);
    CHECK(n_retired == 4 && !code->is_retired);
    CHECK(get(&s, 0, &code) == 0 && strcmp(code->name, "function_9") == 0);
    tear_down(&s);
}

TEST(code_with_a_number_is_told_from_others_by_it)
{
    struct setting s;
    const struct sd_code *code;
    uint32_t version;
    size_t n_retired;

    set_up(&s);
    version = s.runtime.layout.code_version;
    put_half(s.fakes[0].code, version, 77);
    CHECK(get(&s, 0, &code) == 0);
    CHECK(check(&s, &n_retired) == 0);
    CHECK(n_retired == 0);
    put_half(s.fakes[0].code, version, 78);
    CHECK(check(&s, &n_retired) == 0);
    CHECK(n_retired == 1 && code->is_retired);
    tear_down(&s);
}

/* The code object of `number` lies at the i-th place now, and is not the one before:
 * its version is new. */
static void compile_at(struct setting *s, size_t i, unsigned number, uint32_t version)
{
    make(&s->runtime.layout, &s->fakes[i], number);
    put_half(s->fakes[i].code, s->runtime.layout.code_version, version);
    s->codes.now_ns++;
}

/* A program that evaluates one text again and again. */
TEST(code_of_the_same_contents_takes_the_entry_of_one_that_is_gone)
{
    const struct sd_code *code;
    struct setting s;
    size_t n_retired;

    set_up(&s);
    for (uint32_t i = 1; i <= 1000; i++) {
        size_t at = i % 3 == 0; /* now here, now there */

        compile_at(&s, at, 7, 1000 + i);
        CHECK(check(&s, &n_retired) == 0);
        s.codes.now_ns++;
        CHECK(get(&s, at, &code) == 0);
        CHECK(strcmp(code->name, "function_7") == 0 && code->first_line == 70);
        CHECK(code->address == address_of(&s, at) && !code->is_retired);
        CHECK(code->read_ns == s.codes.now_ns && code->id < 2);
        CHECK(sd_codes_find(&s.codes, address_of(&s, at)) == code);
        CHECK(sd_codes_line(&s.codes, code, &s.runtime.layout,
                            s.runtime.layout.bytecode_style == SD_BYTECODE_INLINE
                                ? code->bytecode
                                : 0) == 70);
    }
    CHECK(s.codes.n == 2 && s.codes.n_retired > 900);
    tear_down(&s);
}

/* Whatever differs, in a name, a number or the lines alone, is another function. */
TEST(code_of_other_contents_never_takes_an_entry)
{
    const struct sd_layout *l;
    const struct sd_code *code;
    struct setting s;
    size_t n_retired;
    uint32_t first;

    set_up(&s);
    l = &s.runtime.layout;
    compile_at(&s, 0, 7, 1);
    CHECK(get(&s, 0, &code) == 0);
    first = code->id;
    for (int change = 0; change < 4; change++) {
        compile_at(&s, 0, 7, 2 + (uint32_t)change);
        if (change == 0)
            put_str(l, s.fakes[0].name, "function_8");
        else if (change == 1)
            put_half(s.fakes[0].code, l->code_first_line, 71);
        else if (change == 2)
            s.fakes[0].table[l->bytes_data + 2] = 4;
        CHECK(check(&s, &n_retired) == 0);
        s.codes.now_ns++;
        CHECK(get(&s, 0, &code) == 0);
        CHECK((code->id == first) == (change == 3)); /* nothing: it is back */
    }
    tear_down(&s);
}

/* Who had it verified just now still holds the pointer. */
TEST(code_that_is_retired_this_moment_is_not_taken_again)
{
    const struct sd_code *code, *again;
    struct setting s;
    size_t n_retired;

    set_up(&s);
    compile_at(&s, 0, 7, 1);
    CHECK(get(&s, 0, &code) == 0);
    compile_at(&s, 0, 7, 2);
    CHECK(check(&s, &n_retired) == 0);
    CHECK(get(&s, 0, &again) == 0 && again != code && code->is_retired);
    tear_down(&s);
}

#ifdef SD_TINY
/* What is known by then stays, and what comes back is still found. */
TEST(code_beyond_the_most_is_refused_and_the_others_stay)
{
    const struct sd_code *code;
    struct setting s;
    size_t n_retired;
    uint32_t i;

    set_up(&s);
    for (i = 1; i <= SD_CODES_MAX; i++) {
        compile_at(&s, 0, i, i);
        CHECK(check(&s, &n_retired) == 0);
        CHECK(get(&s, 0, &code) == 0 && code->id == i - 1);
    }
    compile_at(&s, 0, i, i);
    CHECK(check(&s, &n_retired) == 0 && n_retired == 1);
    CHECK(get(&s, 0, &code) == SD_EFULL && !code);
    compile_at(&s, 0, 3, i + 1);
    CHECK(get(&s, 0, &code) == 0 && code->id == 2 && code->first_line == 30);
    CHECK(s.codes.n == SD_CODES_MAX);
    tear_down(&s);
}
#endif

TEST(code_that_cannot_be_read_leaves_nothing)
{
    const struct sd_code *code;
    struct setting s;

    set_up(&s);
    CHECK(get(&s, 1, &code) == 0);
    put_word(s.fakes[0].code, s.runtime.layout.code_filename, 0x10000);
    for (int i = 0; i < 1000; i++)
        CHECK(get(&s, 0, &code) == SD_ETORN);
    CHECK(s.codes.n == 1);
    tear_down(&s);
}

TEST(code_that_cannot_be_read_any_more_is_retired_alone)
{
    struct setting s;
    const struct sd_code *code;
    size_t n_retired, i;

    set_up(&s);
    for (i = 0; i < N_FAKES; i++)
        CHECK(get(&s, i, &code) == 0);
    s.codes.all[5]->parts[1].address = 0x10000; /* where its file name was is nothing */
    CHECK(check(&s, &n_retired) == 0);
    CHECK(n_retired == 1 && s.codes.all[5]->is_retired);
    CHECK(check(&s, &n_retired) == 0 && n_retired == 0);
    tear_down(&s);
}

/* The pieces of one fake lie together; those of the next but one are too far away. */
TEST(code_proof_reads_what_lies_together_as_one_range)
{
    struct setting s;
    struct sd_code_proof proof = { 0 };
    const struct sd_code *codes[3];
    const struct iovec *first;

    set_up(&s);
    CHECK(get(&s, 9, &codes[0]) == 0 && get(&s, 0, &codes[1]) == 0);
    CHECK(get(&s, 1, &codes[2]) == 0);
    CHECK(sd_code_proof_plan(&proof, &s.codes, &s.runtime.layout, codes, 3) == 0);
    CHECK(proof.n_pieces == 15 && proof.n_from == 2);
    CHECK((uintptr_t)proof.from[0].iov_base == address_of(&s, 0));
    CHECK((uintptr_t)proof.from[1].iov_base == address_of(&s, 9));
    CHECK(proof.n_bytes == proof.from[0].iov_len + proof.from[1].iov_len);
    first = proof.from;
    CHECK(sd_code_proof_plan(&proof, &s.codes, &s.runtime.layout, codes, 3) == 0);
    CHECK(proof.from == first && proof.n_from == 2); /* the same again */
    CHECK(sd_code_proof_plan(&proof, &s.codes, &s.runtime.layout, codes + 1, 1) == 0);
    CHECK(proof.n_pieces == 5 && proof.n_from == 1);
    sd_code_proof_release(&proof);
    tear_down(&s);
}

/* Functions of one file have one file name. */
TEST(code_proof_reads_what_is_shared_once)
{
    struct setting s;
    struct sd_code_proof proof = { 0 };
    const struct sd_code *codes[2];
    size_t n_retired;

    set_up(&s);
    put_word(s.fakes[20].code, s.runtime.layout.code_filename,
             (uintptr_t)s.fakes[0].filename);
    CHECK(get(&s, 0, &codes[0]) == 0 && get(&s, 20, &codes[1]) == 0);
    CHECK(sd_code_proof_plan(&proof, &s.codes, &s.runtime.layout, codes, 2) == 0);
    CHECK(proof.n_pieces == 10 && proof.n_from == 2);
    put_str(&s.runtime.layout, s.fakes[0].filename, "elif.py");
    CHECK(check(&s, &n_retired) == 0 && n_retired == 2);
    sd_code_proof_release(&proof);
    tear_down(&s);
}

TEST(code_that_is_none_is_refused)
{
    struct setting s;
    const struct sd_code *code;
    const struct sd_layout *l;

    set_up(&s);
    l = &s.runtime.layout;
    put_word(s.fakes[0].code, l->object_type, CODE_TYPE + 16);
    CHECK(get(&s, 0, &code) == SD_EFORMAT && code == NULL);
    put_word(s.fakes[1].code, l->code_name, 1);
    CHECK(get(&s, 1, &code) == SD_EFORMAT);
    put_word(s.fakes[2].code, l->code_filename, 0x10000);
    CHECK(get(&s, 2, &code) == SD_ETORN);
    put_word(s.fakes[3].code, l->code_n_units, UINT64_MAX / 2);
    CHECK(get(&s, 3, &code) == SD_EFORMAT);
    put_word(s.fakes[4].code, l->code_n_units, 0);
    CHECK(get(&s, 4, &code) == SD_EFORMAT);
    put_half(s.fakes[5].name, l->str_state, 0);
    CHECK(get(&s, 5, &code) == SD_EFORMAT);
    put_word(s.fakes[6].name, l->str_length, UINT64_MAX); /* cut, then not mapped */
    put_word(s.fakes[7].table, l->bytes_n, UINT64_MAX);   /* no lines */
    CHECK(get(&s, 7, &code) == 0 && code->n_table == 0);
    CHECK(sd_codes_line(&s.codes, code, l, code->bytecode) == SD_NO_LINE);
    CHECK(sd_codes_get(&s.codes, &s.remote, &s.runtime, 0, &code) == SD_EFORMAT);
    CHECK(sd_codes_get(&s.codes, &s.remote, &s.runtime, 8, &code) == SD_EFORMAT);
    CHECK(sd_codes_get(&s.codes, &s.remote, &s.runtime, 0x10000, &code) == SD_ETORN);
    CHECK(s.codes.n == 1);
    tear_down(&s);
}

TEST(code_survives_every_failing_allocation)
{
    struct setting s;

    set_up(&s);
    EACH_FAILURE(nth)
    {
        const struct sd_code *code;
        size_t n_retired, i;
        int rc = 0;

        for (i = 0; rc == 0 && i < N_FAKES; i++)
            rc = get(&s, i, &code);
        if (rc == 0)
            rc = check(&s, &n_retired);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_codes_release(&s.codes);
    }
    tear_down(&s);
}
