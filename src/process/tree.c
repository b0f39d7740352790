/* SPDX-License-Identifier: MIT */
#include "process/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/redact.h"

enum {
    THREADS_MAX = 65536, /* of one process, looked through for children */
    CHILDREN_READ = 4096,
    COMMAND_READ = 4096, /* of the words a process was started with */
    WORDS_MAX = 64,
    NEWCOMERS_MAX = 4, /* asked for their parents; and two more for each member */
};

/* The last pid that was given out, or -1: "0.20 0.18 0.12 1/80 11206". */
static int64_t last_pid(struct sd_tree *t)
{
    char line[128];
    ssize_t n;
    char *at;

    if (t->loadavg < 0)
        return -1;
    n = pread(t->loadavg, line, sizeof line - 1, 0);
    if (n <= 0)
        return -1;
    line[n] = 0;
    at = strrchr(line, ' ');
    return at ? strtoll(at, NULL, 10) : -1;
}

static bool is_member(const struct sd_tree *t, pid_t pid, uint64_t start_ticks)
{
    size_t i;

    for (i = 0; i < t->n; i++)
        if (t->members[i].pid == pid && t->members[i].start_ticks == start_ticks)
            return true;
    return false;
}

static int add(struct sd_tree *t, pid_t pid, size_t parent,
               const struct sd_process_stat *st)
{
    struct sd_tree_member *grown;

    if (t->n == SD_TREE_MAX)
        return 0;
    grown = sd_grow_array(t->members, &t->cap, t->n + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    t->members = grown;
    t->members[t->n] = (struct sd_tree_member){ .pid = pid,
                                                .start_ticks = st->start_ticks,
                                                .parent = parent };
    memcpy(t->members[t->n].name, st->name, sizeof st->name);
    t->n++;
    return 0;
}

/* A pid read from a list may have ended, and even be another's, by now: its own stat
 * says whose child it is.  Who looks at its own parent is no part of what it sees. */
static int add_child(struct sd_tree *t, size_t parent, pid_t pid)
{
    struct sd_process_stat st;

    if (pid == getpid() || sd_process_stat(pid, &st) < 0 ||
        st.parent != t->members[parent].pid || is_member(t, pid, st.start_ticks))
        return 0;
    return add(t, pid, parent, &st);
}

/* Pids in a buffer, separated by blanks; a number cut at the end of the buffer is left
 * for the next read.  Returns the bytes used, or < 0. */
static ssize_t add_listed(struct sd_tree *t, size_t parent, const char *p, size_t n)
{
    size_t used = 0;
    size_t at = 0;
    pid_t pid = 0;
    int rc;

    for (; at < n; at++) {
        if (p[at] >= '0' && p[at] <= '9') {
            pid = pid * 10 + (p[at] - '0');
            continue;
        }
        rc = pid ? add_child(t, parent, pid) : 0;
        if (rc < 0)
            return rc;
        pid = 0;
        used = at + 1;
    }
    return (ssize_t)used;
}

/* Children belong to the thread that made them. */
static int add_children_of_thread(struct sd_tree *t, size_t parent, int task_dir,
                                  const char *tid)
{
    char path[64];
    char buf[CHILDREN_READ];
    off_t offset = 0;
    ssize_t n, used = 0;
    int fd;

    snprintf(path, sizeof path, "%.20s/children", tid);
    fd = openat(task_dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while ((n = pread(fd, buf, sizeof buf, offset)) > 0) {
        used = add_listed(t, parent, buf, (size_t)n);
        if (used <= 0)
            break;
        offset += used;
    }
    close(fd);
    return used < 0 ? (int)used : 0;
}

/* The listing goes by pid: the start time, asked after opening, tells whether it is
 * still the member's. */
static DIR *open_threads(const struct sd_tree_member *m)
{
    char path[64];
    DIR *d;

    snprintf(path, sizeof path, "/proc/%d/task", (int)m->pid);
    d = opendir(path);
    if (d && sd_process_start_time(m->pid) != m->start_ticks) {
        closedir(d);
        return NULL;
    }
    return d;
}

static int add_children(struct sd_tree *t, size_t parent)
{
    DIR *d = open_threads(&t->members[parent]);
    const struct dirent *e;
    int n = 0;
    int rc = 0;

    if (!d)
        return 0; /* it has ended, or memory is short: seen again next time */
    while (rc == 0 && n++ < THREADS_MAX && (e = readdir(d)))
        if (e->d_name[0] != '.')
            rc = add_children_of_thread(t, parent, dirfd(d), e->d_name);
    closedir(d);
    return rc;
}

int sd_tree_init(struct sd_tree *t, pid_t root)
{
    struct sd_process_stat st;

    memset(t, 0, sizeof *t);
    t->loadavg = -1;
    if (sd_process_stat(root, &st) < 0)
        return sd_fail(SD_EGONE, "there is no process %d", (int)root);
    t->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    t->last_pid = -1;
    return add(t, root, SIZE_MAX, &st);
}

/* The member that has this pid now, or SIZE_MAX. */
static size_t living(const struct sd_tree *t, pid_t pid)
{
    for (size_t i = t->n; i-- > 0;)
        if (t->members[i].pid == pid && !t->members[i].is_gone)
            return sd_process_start_time(pid) == t->members[i].start_ticks ? i
                                                                           : SIZE_MAX;
    return SIZE_MAX;
}

/* Those that were given the numbers after `since`: in order, so that a child is a
 * member before its own children are asked. */
static int add_newcomers(struct sd_tree *t, int64_t since, int64_t last)
{
    struct sd_process_stat st;
    size_t parent;
    int rc = 0;

    for (int64_t pid = since + 1; rc == 0 && pid <= last; pid++) {
        if (sd_process_stat((pid_t)pid, &st) < 0 || st.is_thread)
            continue;
        parent = living(t, st.parent);
        if (parent != SIZE_MAX && !is_member(t, (pid_t)pid, st.start_ticks))
            rc = add(t, (pid_t)pid, parent, &st);
    }
    return rc;
}

static int look_at_all(struct sd_tree *t)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < t->n; i++) /* n grows: grandchildren, too */
        if (!t->members[i].is_gone)
            rc = add_children(t, i);
    return rc;
}

/* Numbers begin again at the highest one: then all of the tree is looked at. */
static bool may_be_short(const struct sd_tree *t, int64_t last)
{
    size_t most = NEWCOMERS_MAX + 2 * (t->n - t->n_gone);

    return last >= 0 && t->last_pid >= 0 && last >= t->last_pid &&
           (size_t)(last - t->last_pid) <= most && t->n_short < SD_TREE_SHORT;
}

int sd_tree_look(struct sd_tree *t)
{
    /* Before the look: what is born during it is seen by this one or the next. */
    int64_t last = last_pid(t);
    int saved = errno;
    bool is_short = may_be_short(t, last);
    int rc = is_short ? add_newcomers(t, t->last_pid, last) : look_at_all(t);

    t->n_short = is_short ? t->n_short + 1 : 0;
    t->last_pid = rc == 0 ? last : -1;
    errno = saved;
    return rc;
}

/* --- Names */

/* The words of /proc/PID/cmdline, or 0 of a kernel thread and a zombie.  One that does
 * not fit is left out: half a word may be half a secret. */
static size_t read_words(pid_t pid, char *bytes, char *words[WORDS_MAX + 1])
{
    char path[64];
    size_t n = 0, at, from = 0;
    ssize_t got;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    got = pread(fd, bytes, COMMAND_READ, 0);
    close(fd);
    for (at = 0; got > 0 && at < (size_t)got && n < WORDS_MAX; at++) {
        if (bytes[at])
            continue;
        words[n++] = bytes + from;
        from = at + 1;
    }
    words[n] = NULL;
    return n;
}

/* The caller frees it; NULL: there is none. */
static char *read_command(pid_t pid)
{
    char bytes[COMMAND_READ], *words[WORDS_MAX + 1], *command = NULL;
    struct sd_buf text = { 0 };

    if (read_words(pid, bytes, words) == 0)
        return NULL;
    sd_redact_command(&text, words);
    if (!text.bad) {
        size_t n = text.n < SD_TREE_COMMAND ? text.n : SD_TREE_COMMAND - 1;

        while (n < text.n && n > 0 && (text.p[n] & 0xc0) == 0x80)
            n--; /* not within a character */
        command = sd_strndup(sd_buf_string(&text), n);
    }
    sd_buf_release(&text);
    return command;
}

void sd_tree_name_again(struct sd_tree *t, size_t member)
{
    struct sd_tree_member *m = &t->members[member];
    struct sd_process_stat st;
    char *command = read_command(m->pid);

    /* Asked after the command: then that was its own, too. */
    if (sd_process_stat(m->pid, &st) < 0 || st.start_ticks != m->start_ticks) {
        sd_free(command);
        return;
    }
    memcpy(m->name, st.name, sizeof m->name);
    if (!command)
        return;
    sd_free(m->command);
    m->command = command;
}

void sd_tree_set_gone(struct sd_tree *t, size_t member)
{
    sd_assert(member < t->n);
    t->n_gone += !t->members[member].is_gone;
    t->members[member].is_gone = true;
}

void sd_tree_release(struct sd_tree *t)
{
    if (t->loadavg >= 0)
        close(t->loadavg);
    for (size_t i = 0; i < t->n; i++)
        sd_free(t->members[i].command);
    sd_free(t->members);
    memset(t, 0, sizeof *t);
    t->loadavg = -1;
}
