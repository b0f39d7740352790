/* SPDX-License-Identifier: MIT */
#include "process/diagnose.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/remote.h"
#include "process/stat.h"

enum {
    STATUS_MAX = 16 << 10, /* of /proc/PID/status; it is about 1.5 kB */
    CAP_SYS_PTRACE_BIT = 19,
    ANCESTORS_MAX = 4096, /* steps from a process up to us */
};

static const struct {
    const char *sentence, *remedy;
} texts[] = {
#define HINDRANCE(name, sentence, remedy) { sentence, remedy },
#include "process/hindrances.def"
#undef HINDRANCE
};

/* --- What /proc tells ------------------------------------------------------------ */

struct status {
    char *text; /* owned; NULL when it could not be read */
};

static void status_read(struct status *s, const char *who)
{
    char path[64];
    size_t n;

    snprintf(path, sizeof path, "/proc/%s/status", who);
    if (sd_read_file(path, STATUS_MAX, &s->text, &n) < 0)
        s->text = NULL;
}

/* What stands behind "\nKey:", without blanks; NULL when there is no such line. */
static const char *status_find(const struct status *s, const char *key)
{
    const char *at = s->text ? strstr(s->text, key) : NULL;

    return at ? at + strlen(key) + strspn(at + strlen(key), " \t") : NULL;
}

static uint64_t status_number(const struct status *s, const char *key, int base)
{
    const char *at = status_find(s, key);

    return at ? strtoull(at, NULL, base) : 0;
}

static int ptrace_scope(void)
{
    char *text;
    size_t n;
    int scope = -1;

    if (sd_read_file("/proc/sys/kernel/yama/ptrace_scope", 64, &text, &n) == 0) {
        scope = (int)strtol(text, NULL, 10);
        sd_free(text);
    }
    return scope;
}

/* 0 when it cannot be told: to ask takes the same rights as to read. */
static uint64_t namespace_of(const char *who, const char *kind)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%s/ns/%s", who, kind);
    return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static bool is_descendant(pid_t pid)
{
    struct sd_process_stat st;
    int i;

    for (i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        if (pid == getpid())
            return true;
        if (sd_process_stat(pid, &st) < 0)
            return false;
        pid = st.parent;
    }
    return false;
}

/* The kernel gives the files of a process that may not be dumped to root. */
static bool is_not_dumpable(pid_t pid, uint32_t its_uid)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return its_uid != 0 && stat(path, &st) == 0 && st.st_uid != its_uid;
}

/* --- Which it is ----------------------------------------------------------------- */

static bool can_open_memory(pid_t pid)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC); /* the rights are checked here */
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Why the kernel says EPERM to someone who may not read everybody. */
static enum sd_hindrance refused_to_user(const struct sd_diagnosis *d)
{
    if (d->ptrace_scope == 3)
        return SD_HINDRANCE_SCOPE_NOBODY;
    if (d->our_uid == 0)
        return SD_HINDRANCE_LACKS_CAPABILITY;
    if (d->its_uid != d->our_uid)
        return SD_HINDRANCE_OTHER_USER;
    if (d->ptrace_scope == 2)
        return SD_HINDRANCE_SCOPE_ROOT;
    if (d->ptrace_scope == 1 && !is_descendant(d->pid))
        return SD_HINDRANCE_SCOPE_CHILDREN;
    if (is_not_dumpable(d->pid, d->its_uid))
        return SD_HINDRANCE_NOT_DUMPABLE;
    if (d->is_other_user_ns)
        return SD_HINDRANCE_USER_NAMESPACE;
    return SD_HINDRANCE_UNKNOWN;
}

static enum sd_hindrance refused(const struct sd_diagnosis *d)
{
    if (sd_remote_is_forbidden())
        return can_open_memory(d->pid) ? SD_HINDRANCE_NONE : SD_HINDRANCE_SECCOMP;
    if (!d->is_root)
        return refused_to_user(d);
    if (d->ptrace_scope == 3)
        return SD_HINDRANCE_SCOPE_NOBODY;
    return d->is_other_user_ns ? SD_HINDRANCE_USER_NAMESPACE
                               : SD_HINDRANCE_REFUSES_ROOT;
}

/* What a process is that has no memory to read. */
static enum sd_hindrance kind_of(const struct sd_diagnosis *d, const struct status *s,
                                 bool is_of_kernel)
{
    uint64_t leader = status_number(s, "\nTgid:", 10);

    if (d->pid == getpid())
        return SD_HINDRANCE_OURSELVES;
    if (d->state == 'Z' || d->state == 'X')
        return SD_HINDRANCE_ZOMBIE;
    if (leader && (pid_t)leader != d->pid)
        return SD_HINDRANCE_THREAD;
    if (is_of_kernel)
        return SD_HINDRANCE_KERNEL_THREAD;
    if (s->text && !status_find(s, "\nVmSize:"))
        return SD_HINDRANCE_ZOMBIE; /* soon: it gave back its memory and is ending */
    return SD_HINDRANCE_NONE;
}

static void look(struct sd_diagnosis *d, const struct status *s, const char *who)
{
    struct status own = { NULL };
    uint64_t its_user_ns = namespace_of(who, "user");

    status_read(&own, "self");
    d->our_uid = (uint32_t)geteuid();
    d->its_uid = (uint32_t)status_number(s, "\nUid:", 10);
    d->ptrace_scope = ptrace_scope();
    d->is_root = status_number(&own, "\nCapEff:", 16) >> CAP_SYS_PTRACE_BIT & 1;
    d->is_container = sd_remote_inner_pid(d->pid) != d->pid;
    d->is_other_user_ns = its_user_ns && its_user_ns != namespace_of("self", "user");
    sd_free(own.text);
}

static enum sd_hindrance find_out(struct sd_diagnosis *d)
{
    struct sd_process_stat st;
    struct status s = { NULL };
    enum sd_hindrance what;
    char who[16];

    snprintf(who, sizeof who, "%d", (int)d->pid);
    if (d->pid <= 0 || sd_process_stat(d->pid, &st) < 0) {
        /* /proc may be mounted so that it hides the processes of others. */
        if (d->pid > 0 && kill(d->pid, 0) < 0 && errno == EPERM)
            return SD_HINDRANCE_HIDDEN;
        return SD_HINDRANCE_NO_SUCH;
    }
    d->state = st.state;
    snprintf(d->name, sizeof d->name, "%s", st.name);
    status_read(&s, who);
    look(d, &s, who);
    what = kind_of(d, &s, st.is_of_kernel);
    sd_free(s.text);
    if (what != SD_HINDRANCE_NONE)
        return what;
    switch (sd_remote_may(d->pid)) {
    case 0:
        return SD_HINDRANCE_NONE;
    case ESRCH:
        return SD_HINDRANCE_NO_SUCH;
    }
    return refused(d);
}

/* --- In words -------------------------------------------------------------------- */

static void put_user(char *to, size_t n, uint32_t uid)
{
    struct passwd entry, *found = NULL;
    char room[1024];

    if (getpwuid_r(uid, &entry, room, sizeof room, &found) == 0 && found)
        snprintf(to, n, "%s", found->pw_name);
    else
        snprintf(to, n, "user %u", uid);
}

static void fill(char *to, size_t n, const char *pattern, const struct sd_diagnosis *d)
{
    size_t at = 0;

    to[0] = 0;
    for (; *pattern && at + 1 < n; pattern++) {
        char part[64] = { *pattern, 0 };

        if (*pattern == '%') {
            pattern++;
            if (*pattern == 'P')
                snprintf(part, sizeof part, "%d", (int)d->pid);
            else if (*pattern == 'N')
                snprintf(part, sizeof part, "%s", d->name);
            else
                put_user(part, sizeof part, d->its_uid);
        }
        at += (size_t)snprintf(to + at, n - at, "%s", part);
    }
}

void sd_diagnose(struct sd_diagnosis *d, pid_t pid)
{
    *d = (struct sd_diagnosis){ .pid = pid, .ptrace_scope = -1, .state = '?' };
    d->what = find_out(d);
    fill(d->sentence, sizeof d->sentence, texts[d->what].sentence, d);
    fill(d->remedy, sizeof d->remedy, texts[d->what].remedy, d);
}

int sd_diagnosis_fail(const struct sd_diagnosis *d)
{
    enum sd_err code = SD_EACCESS;

    switch (d->what) {
    case SD_HINDRANCE_NONE:
        return 0;
    case SD_HINDRANCE_NO_SUCH:
    case SD_HINDRANCE_ZOMBIE:
        code = SD_EGONE;
        break;
    case SD_HINDRANCE_THREAD:
    case SD_HINDRANCE_OURSELVES:
        code = SD_EUSAGE;
        break;
    case SD_HINDRANCE_KERNEL_THREAD:
    case SD_HINDRANCE_HIDDEN:
    case SD_HINDRANCE_OTHER_USER:
    case SD_HINDRANCE_SCOPE_CHILDREN:
    case SD_HINDRANCE_SCOPE_ROOT:
    case SD_HINDRANCE_SCOPE_NOBODY:
    case SD_HINDRANCE_NOT_DUMPABLE:
    case SD_HINDRANCE_USER_NAMESPACE:
    case SD_HINDRANCE_LACKS_CAPABILITY:
    case SD_HINDRANCE_SECCOMP:
    case SD_HINDRANCE_REFUSES_ROOT:
    case SD_HINDRANCE_UNKNOWN:
        break;
    }
    if (d->remedy[0])
        return sd_fail(code, "%s; try: %s", d->sentence, d->remedy);
    return sd_fail(code, "%s", d->sentence);
}
