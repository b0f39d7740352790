/* SPDX-License-Identifier: MIT */
#include "collect/sample/native.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

enum {
    RED_ZONE = 128,      /* bytes below sp that a function may use */
    N_FIRST = 256 << 10, /* bytes of a stack that are copied at first, at most */
    N_MOST = 16 << 20,   /* and ever */
    PAGE = 4096,
};

void sd_native_stack_release(struct sd_native_stack *s)
{
    sd_free(s->frames);
    *s = (struct sd_native_stack){ 0 };
}

void sd_native_release(struct sd_native *n)
{
    sd_unwinder_free(n->unwinder);
    sd_free(n->copy);
    *n = (struct sd_native){ 0 };
}

/* --- Copying */

static size_t limit_of(const struct sd_native_stack *s)
{
    return s->limit_bytes ? s->limit_bytes : N_FIRST;
}

/* How much there is from `from` on: to the end of the stack, where that is known. */
static size_t wanted(const struct sd_native_stack *s, uint64_t from)
{
    size_t limit = limit_of(s);

    return s->top > from && s->top - from < limit ? (size_t)(s->top - from) : limit;
}

static bool copy_stack(struct sd_native *n, const struct sd_native_stack *s,
                       const struct sd_remote *r)
{
    uint64_t from = n->of.registers[SD_UNWIND_SP] - RED_ZONE;
    size_t n_wanted = wanted(s, from);
    struct iovec to, there;
    ssize_t got;

    if (n_wanted > n->cap) {
        uint8_t *copy = sd_regrow(n->copy, n_wanted);

        if (!copy)
            return false;
        n->copy = copy;
        n->cap = n_wanted;
    }
    to = (struct iovec){ n->copy, n_wanted };
    there = (struct iovec){ (void *)(uintptr_t)from, n_wanted };
    got = sd_remote_readv_some(r, &to, 1, &there, 1);
    if (got <= 0)
        return false;
    n->of.from = from;
    n->of.p = n->copy;
    n->of.n = (size_t)got;
    n->of.is_cut = (size_t)got == n_wanted;
    return true;
}

/* In DWARF's order, which is not that of the kernel. */
static bool copy_registers(struct sd_stack_copy *c, pid_t tid)
{
    struct user_regs_struct u;

    if (ptrace(PTRACE_GETREGS, tid, NULL, &u) < 0)
        return false;
    c->has_only_sp = false;
    memcpy(c->registers,
           (const uint64_t[SD_UNWIND_REGISTERS]){
               u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp, u.rsp, u.r8, u.r9,
               u.r10, u.r11, u.r12, u.r13, u.r14, u.r15, u.rip },
           sizeof c->registers);
    return true;
}

bool sd_native_copy(struct sd_native *n, struct sd_native_stack *s,
                    const struct sd_remote *r, pid_t tid)
{
    return copy_registers(&n->of, tid) && copy_stack(n, s, r);
}

/* --- A thread that waits */

static bool read_text(pid_t pid, pid_t tid, const char *name, char *to, size_t n)
{
    char path[80];
    ssize_t got;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    got = read(fd, to, n - 1);
    close(fd);
    to[got > 0 ? got : 0] = 0;
    return got > 0;
}

bool sd_native_wait_look(struct sd_native_wait *w, pid_t pid, pid_t tid)
{
    return read_text(pid, tid, "schedstat", w->schedstat, sizeof w->schedstat) &&
           read_text(pid, tid, "syscall", w->syscall, sizeof w->syscall) &&
           strncmp(w->syscall, "running", 7) != 0;
}

bool sd_native_wait_is_same(const struct sd_native_wait *w, pid_t pid, pid_t tid)
{
    struct sd_native_wait now;

    return sd_native_wait_look(&now, pid, tid) &&
           strcmp(now.schedstat, w->schedstat) == 0 &&
           strcmp(now.syscall, w->syscall) == 0;
}

/* "232 0x5 0x7ffd... ... 0x7ffd1c1b2c10 0x7f3a5c0f8e13": the last two are sp and pc. */
static bool parse_syscall(const char *text, uint64_t *sp, uint64_t *pc)
{
    const char *last = strrchr(text, ' '), *before = last;

    while (before && before > text && before[-1] != ' ')
        before--;
    if (!last || before == text)
        return false;
    *sp = strtoull(before, NULL, 16);
    *pc = strtoull(last + 1, NULL, 16);
    return *sp > RED_ZONE && *pc;
}

bool sd_native_copy_waiting(struct sd_native *n, struct sd_native_stack *s,
                            const struct sd_remote *r, const struct sd_native_wait *w)
{
    struct sd_stack_copy *c = &n->of;

    memset(c->registers, 0, sizeof c->registers);
    c->has_only_sp = true;
    return parse_syscall(w->syscall, &c->registers[SD_UNWIND_SP],
                         &c->registers[SD_UNWIND_PC]) &&
           copy_stack(n, s, r);
}

/* --- Unwinding */

static bool has_unwinder(struct sd_native *n, const struct sd_remote *r)
{
    if (!n->unwinder && !n->cannot)
        n->cannot = sd_unwinder_new(&n->unwinder, r, n->files) < 0;
    return !n->cannot;
}

/* The stack goes on beyond what was copied: more of it the next time. */
static bool can_grow(struct sd_native_stack *s)
{
    s->top = 0; /* what was taken for its end is not */
    if (limit_of(s) >= N_MOST)
        return false;
    s->limit_bytes = 2 * limit_of(s);
    return true;
}

bool sd_native_finish(struct sd_native *n, struct sd_native_stack *s,
                      const struct sd_remote *r, const struct sd_shot *shot,
                      bool is_inner, uint64_t now_ns, bool is_last)
{
    const struct sd_unwound *frames;
    enum sd_unwind_end end;
    uint64_t top;
    size_t n_frames;

    if (!has_unwinder(n, r)) {
        sd_native_give_up(s, shot);
        return true;
    }
    end = sd_unwinder_run(n->unwinder, &n->of, now_ns, &frames, &n_frames, &top);
    if (end == SD_UNWIND_DONE)
        s->top = (top + 2 * PAGE) & ~(uint64_t)(PAGE - 1);
    if (end == SD_UNWIND_SHORT && can_grow(s) && !is_last)
        return false;
    if (end == SD_UNWIND_STOPPED && n->of.has_only_sp && !is_last)
        return false;
    if (sd_native_merge(s, frames, n_frames, end, shot->frames, shot->n_frames,
                        shot->is_cut, is_inner) < 0)
        sd_native_give_up(s, shot);
    return true;
}

void sd_native_give_up(struct sd_native_stack *s, const struct sd_shot *shot)
{
    if (sd_native_merge(s, NULL, 0, SD_UNWIND_STOPPED, shot->frames, shot->n_frames,
                        shot->is_cut, false) < 0)
        s->n = 0;
}
