/* SPDX-License-Identifier: MIT */
/* Children of this program that stand in functions of it: what is told of them must be
 * the chain of calls below. */
#include "process/native/unwind.h"

#ifdef HAVE_DW

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "process/native/unwind_parts.h"

/* Extern, so that each is a function of its own with a symbol. */
void unwound_leaf(int ready);
void unwound_deep(int n, int ready);
void unwound_root(int n, int ready);

static volatile int n_left; /* keeps calls from becoming jumps */

void __attribute__((noinline)) unwound_leaf(int ready)
{
    if (write(ready, "", 1) == 1)
        for (;;)
            n_left++;
}

void __attribute__((noinline)) unwound_deep(int n, int ready)
{
    char room[512];

    memset(room, n, sizeof room);
    n_left = room[n % 512];
    if (n > 0)
        unwound_deep(n - 1, ready);
    else
        unwound_leaf(ready);
    n_left = room[0];
}

void __attribute__((noinline)) unwound_root(int n, int ready)
{
    unwound_deep(n, ready);
    n_left = 0;
}

static pid_t start(int n)
{
    int ready[2];
    char byte;
    pid_t pid;

    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        unwound_root(n, ready[1]);
    }
    CHECK(pid > 0 && read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

struct looked { /* at a child */
    struct sd_remote remote;
    struct sd_unwind_files *files;
    bool owns_files;
    struct sd_unwinder *unwinder;
    struct sd_stack_copy copy;
    uint8_t *bytes;
    const struct sd_unwound *frames;
    size_t n;
    enum sd_unwind_end end;
};

static void copy_registers(struct sd_stack_copy *c, pid_t pid)
{
    struct user_regs_struct u;
    int status;

    CHECK(ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0);
    CHECK(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0);
    CHECK(waitpid(pid, &status, __WALL) == pid);
    CHECK(ptrace(PTRACE_GETREGS, pid, NULL, &u) == 0);
    c->registers[3] = u.rbx;
    c->registers[6] = u.rbp;
    c->registers[SD_UNWIND_SP] = u.rsp;
    c->registers[12] = u.r12;
    c->registers[13] = u.r13;
    c->registers[14] = u.r14;
    c->registers[15] = u.r15;
    c->registers[SD_UNWIND_PC] = u.rip;
}

/* files: of another look, or NULL. */
static void look_with(struct looked *l, pid_t pid, size_t n_bytes,
                      struct sd_unwind_files *files)
{
    struct iovec to, from;
    uint64_t top;
    ssize_t got;

    *l = (struct looked){ .remote = SD_REMOTE_NONE };
    CHECK(sd_remote_open(&l->remote, pid) == 0);
    l->files = files;
    l->owns_files = !files;
    CHECK(files || sd_unwind_files_new(&l->files, NULL) == 0);
    CHECK(sd_unwinder_new(&l->unwinder, &l->remote, l->files) == 0);
    copy_registers(&l->copy, pid);
    l->bytes = sd_alloc(n_bytes);
    l->copy.from = l->copy.registers[SD_UNWIND_SP] - 128;
    to = (struct iovec){ l->bytes, n_bytes };
    from = (struct iovec){ (void *)(uintptr_t)l->copy.from, n_bytes };
    got = sd_remote_readv_some(&l->remote, &to, 1, &from, 1);
    CHECK(got > 0);
    CHECK(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0);
    l->copy.p = l->bytes;
    l->copy.n = (size_t)got;
    l->copy.is_cut = (size_t)got == n_bytes;
    l->end =
        sd_unwinder_run(l->unwinder, &l->copy, sd_clock_ns(), &l->frames, &l->n, &top);
}

static void look(struct looked *l, pid_t pid, size_t n_bytes)
{
    look_with(l, pid, n_bytes, NULL);
}

static void finish(struct looked *l, pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    sd_unwinder_free(l->unwinder);
    if (l->owns_files)
        sd_unwind_files_free(l->files);
    sd_remote_close(&l->remote);
    sd_free(l->bytes);
}

/* Counted from unwound_leaf on, which may still be in its write(). */
static const struct sd_symbol *frame(const struct looked *l, size_t i)
{
    size_t leaf = 0;

    while (leaf < l->n && strcmp(l->frames[leaf].symbol->name, "unwound_leaf") != 0)
        leaf++;
    CHECK(leaf + i < l->n);
    return l->frames[leaf + i].symbol;
}

static bool is(const struct looked *l, size_t i, const char *name)
{
    return strcmp(frame(l, i)->name, name) == 0;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

TEST(unwind_tells_the_calls_of_a_stopped_process)
{
    pid_t pid = start(3);
    struct looked l;
    size_t i;

    look(&l, pid, 256 << 10);
    CHECK(l.end == SD_UNWIND_DONE);
    for (i = 1; i <= 4; i++)
        CHECK(is(&l, i, "unwound_deep"));
    CHECK(is(&l, 5, "unwound_root"));
    CHECK(strcmp(l.frames[l.n - 1].symbol->name, "_start") == 0);
    CHECK(ends_with(frame(&l, 0)->module, "/unit") && frame(&l, 0)->offset);
    CHECK(frame(&l, 1)->function == frame(&l, 2)->function);
    for (i = 1; i < l.n && l.frames[0].sp; i++) /* outer calls lie above inner ones */
        CHECK(l.frames[i].sp > l.frames[i - 1].sp || l.frames[i].sp == 0);
    CHECK(frame(&l, 0)->function != frame(&l, 1)->function);
    if (frame(&l, 0)->line) /* only where the build has debug information */
        CHECK(ends_with(frame(&l, 0)->file, "unwind_test.c"));
    finish(&l, pid);
}

/* Symbols are told once: the second process has those of the first, and keeps them. */
TEST(unwind_reads_a_file_once_for_several_processes)
{
    pid_t pid = start(3), other = start(7);
    const struct sd_symbol *deep;
    struct looked a, b;

    look(&a, pid, 256 << 10);
    deep = frame(&a, 1);
    look_with(&b, other, 256 << 10, a.files);
    CHECK(b.end == SD_UNWIND_DONE && frame(&b, 1) == deep && is(&b, 9, "unwound_root"));
    finish(&b, other);
    CHECK(strcmp(deep->name, "unwound_deep") == 0 && frame(&a, 1) == deep);
    finish(&a, pid);
}

TEST(unwind_asks_for_more_of_a_deep_stack)
{
    pid_t pid = start(200);
    struct looked l;

    look(&l, pid, 8192);
    CHECK(l.end == SD_UNWIND_SHORT);
    CHECK(l.n > 5 && l.n < 200 && is(&l, 5, "unwound_deep"));
    finish(&l, pid);
    pid = start(200);
    look(&l, pid, 1 << 20);
    CHECK(l.end == SD_UNWIND_DONE && is(&l, 202, "unwound_root"));
    finish(&l, pid);
}

TEST(unwind_of_nonsense_ends)
{
    pid_t pid = start(3);
    struct looked l;
    uint64_t top;
    size_t i;

    look(&l, pid, 256 << 10);
    l.copy.registers[SD_UNWIND_PC] = 0x1234; /* no code there */
    l.end = sd_unwinder_run(l.unwinder, &l.copy, sd_clock_ns(), &l.frames, &l.n, &top);
    CHECK(l.end == SD_UNWIND_STOPPED && l.n == 1 && !l.frames[0].symbol->can_go_on);
    l.copy.registers[SD_UNWIND_PC] = (uint64_t)(uintptr_t)unwound_deep + 30;
    for (i = 0; i < l.copy.n; i++)
        l.bytes[i] = (uint8_t)(i * 2654435761u >> 7);
    l.end = sd_unwinder_run(l.unwinder, &l.copy, sd_clock_ns(), &l.frames, &l.n, &top);
    CHECK(l.end == SD_UNWIND_STOPPED && l.n >= 1);
    finish(&l, pid);
}

TEST(unwind_without_memory_ends_and_leaks_nothing)
{
    pid_t pid = start(3);
    struct looked l;
    size_t k, n_asked = SIZE_MAX;
    uint64_t top;

    look(&l, pid, 256 << 10);
    for (k = 1; k <= n_asked; k += 1 + k / 4) { /* each run reads our symbols anew */
        struct sd_unwind_files *files = NULL;
        struct sd_unwinder *u = NULL;

        sd_mem_fail_at(k, true);
        if (sd_unwind_files_new(&files, NULL) == 0 &&
            sd_unwinder_new(&u, &l.remote, files) == 0)
            sd_unwinder_run(u, &l.copy, sd_clock_ns(), &l.frames, &l.n, &top);
        n_asked = sd_mem_fail_at(0, false);
        sd_unwinder_free(u);
        sd_unwind_files_free(files);
    }
    finish(&l, pid);
}

/* --- Files that come and go */

enum { LIBRARY_BYTES = 64 << 10 };

/* A file that begins as this program does, mapped. */
static void *map_library(const char *path)
{
    int from = open("/proc/self/exe", O_RDONLY),
        to = open(path, O_RDWR | O_CREAT, 0600);
    char *bytes = sd_alloc(LIBRARY_BYTES);
    void *at;

    CHECK(from >= 0 && to >= 0 && bytes);
    CHECK(read(from, bytes, LIBRARY_BYTES) == LIBRARY_BYTES);
    CHECK(write(to, bytes, LIBRARY_BYTES) == LIBRARY_BYTES);
    at = mmap(NULL, LIBRARY_BYTES, PROT_READ, MAP_PRIVATE, to, 0);
    CHECK(at != MAP_FAILED);
    close(from);
    close(to);
    sd_free(bytes);
    return at;
}

struct opened { /* files of a process that has the same memory as this one */
    pid_t pid;
    void *stack; /* its own */
    struct sd_remote remote;
    struct sd_maps maps;
    struct sd_unwind_files *files;
};

/* It goes with the test, also with one that failed and so ends nothing: whoever waits
 * for the end of the test's output must not wait for this process. */
static int wait_for_death(void *parent)
{
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == (pid_t)(uintptr_t)parent)
        pause();
    return 0;
}

static void begin_files(struct opened *o)
{
    enum { STACK_BYTES = 64 << 10 };

    *o = (struct opened){ .remote = SD_REMOTE_NONE };
    o->stack = sd_alloc(STACK_BYTES);
    CHECK(o->stack);
    o->pid = clone(wait_for_death, (char *)o->stack + STACK_BYTES, CLONE_VM | SIGCHLD,
                   (void *)(uintptr_t)getpid());
    CHECK(o->pid > 0 && sd_remote_open(&o->remote, o->pid) == 0);
    CHECK(sd_unwind_files_new(&o->files, NULL) == 0);
}

static struct sd_unwind_file *open_library(struct opened *o, const void *at)
{
    const struct sd_mapping *m;

    CHECK(sd_maps_read(&o->maps, o->pid) == 0);
    m = sd_maps_find(&o->maps, (uintptr_t)at);
    CHECK(m);
    return sd_unwind_file_of(o->files, &o->remote, m, m->end);
}

static void end_files(struct opened *o)
{
    kill(o->pid, SIGKILL);
    waitpid(o->pid, NULL, 0);
    sd_free(o->stack);
    sd_unwind_files_free(o->files);
    sd_maps_release(&o->maps);
    sd_remote_close(&o->remote);
}

TEST(unwind_keeps_few_files_that_nobody_has)
{
    char path[] = "/tmp/sonde-test-XXXXXX", other[] = "/tmp/sonde-test-XXXXXX";
    struct sd_unwind_file *kept, *f;
    struct opened o;
    void *of_kept, *at;

    begin_files(&o);
    close(mkstemp(path));
    close(mkstemp(other));
    of_kept = map_library(path);
    kept = open_library(&o, of_kept);
    CHECK(kept);
    for (int i = 0; i < 300; i++) {
        at = map_library(other);
        f = open_library(&o, at);
        CHECK(f && f != kept && f->n_users == 1);
        sd_unwind_file_leave(f);
        CHECK(munmap(at, LIBRARY_BYTES) == 0 && unlink(other) == 0);
    }
    CHECK(o.files->n <= 257); /* with the one that is in use */
    CHECK(open_library(&o, of_kept) == kept && kept->n_users == 2);
    unlink(path);
    munmap(of_kept, LIBRARY_BYTES);
    end_files(&o);
}

TEST(unwind_sees_that_a_file_became_shorter)
{
    char path[] = "/tmp/sonde-test-XXXXXX";
    struct sd_unwind_file *whole, *half;
    struct opened o;
    void *at;

    begin_files(&o);
    close(mkstemp(path));
    at = map_library(path);
    whole = open_library(&o, at);
    CHECK(whole && open_library(&o, at) == whole);
    CHECK(truncate(path, LIBRARY_BYTES / 2) == 0);
    half = open_library(&o, at);
    CHECK(half && half != whole && half->elf.file.n == LIBRARY_BYTES / 2);
    unlink(path);
    munmap(at, LIBRARY_BYTES);
    end_files(&o);
}
#endif
