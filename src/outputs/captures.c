/* SPDX-License-Identifier: MIT */
#include "cli/load.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/losses.h"
#include "cli/progress.h"
#include "cli/say.h"

enum { STDIN_STEP = 1 << 20 };

static int copy_stdin(int to)
{
    struct sd_buf b = { 0 };
    uint8_t *room = sd_buf_room(&b, STDIN_STEP);
    ssize_t got = 1;
    int rc = room ? 0 : sd_no_memory();

    while (rc == 0 && got != 0) {
        got = read(STDIN_FILENO, room, STDIN_STEP);
        if (got > 0)
            rc = sd_write_all(to, room, (size_t)got);
        else if (got < 0 && errno != EINTR)
            rc = sd_fail_errno(errno, "cannot read stdin");
    }
    sd_buf_release(&b);
    return rc;
}

/* What comes through a pipe is kept in memory and takes the pipe's place: whoever asks
 * what it is, and then reads it, finds a file. */
int sd_load_stdin(void)
{
    struct stat st;
    int fd, rc;

    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
        return 0;
    fd = memfd_create("stdin", MFD_CLOEXEC);
    if (fd < 0)
        return sd_fail_errno(errno, "cannot keep stdin");
    rc = copy_stdin(fd);
    if (rc == 0 && dup2(fd, STDIN_FILENO) < 0)
        rc = sd_fail_errno(errno, "cannot keep stdin");
    close(fd);
    return rc;
}

/* Where a capture comes from; the next one of the same file begins at `at`. */
struct origin {
    const char *file;
    uint64_t at;
};

static int open_reader(const struct origin *o, struct sd_reader **out)
{
    bool is_stdin = strcmp(o->file, "-") == 0;
    int rc = is_stdin ? sd_load_stdin() : 0;

    *out = NULL;
    if (rc == 0)
        rc = sd_reader_open_at(is_stdin ? SD_STDIN : o->file, o->at, out);
    return rc;
}

/* False: it was the last. */
static bool go_on(struct origin *o, const struct sd_reader *r)
{
    o->at = sd_reader_next_at(r);
    return o->at != 0;
}

/* --- Every capture of every file, in one profile */

/* When a recording began, by two clocks to the nanosecond: no two are the same. */
struct recording {
    uint64_t real_ns, mono_ns;
    const char *file;
};

struct loading {
    const struct sd_command *c;
    const struct sd_filter *filter;
    bool is_quiet;    /* the caller says what is missing */
    uint64_t n_unfit; /* definitions that are said not to have fitted */
    struct sd_profile *into;
    struct recording *known; /* owned */
    size_t n, cap;
};

/* Which of those before is the same one, or NULL. */
static const struct recording *find_same(const struct loading *l,
                                         const struct sd_profile *p)
{
    for (size_t i = 0; i < l->n; i++)
        if (p->health.created_real_ns != 0 &&
            l->known[i].real_ns == p->health.created_real_ns &&
            l->known[i].mono_ns == p->health.created_mono_ns)
            return &l->known[i];
    return NULL;
}

static int remember(struct loading *l, const struct sd_profile *p, const char *file)
{
    struct recording *grown =
        sd_grow_array(l->known, &l->cap, l->n + 1, sizeof *l->known);

    if (!grown)
        return sd_no_memory();
    l->known = grown;
    l->known[l->n++] = (struct recording){ p->health.created_real_ns,
                                           p->health.created_mono_ns, file };
    return 0;
}

/* Adds it, unless it is there: a recording that is given again would count double. */
static int take(struct loading *l, struct sd_profile *take_p, const char *file)
{
    const struct recording *same = find_same(l, take_p);
    int rc = 0;

    if (!l->is_quiet)
        sd_losses_say(file, take_p, SD_LOSSES_ALL);
    l->n_unfit += sd_loss_amount(take_p, SD_LOSS_MEMORY);
    if (same) {
        sd_say("%s: the same recording as %s, counted once", file, same->file);
        sd_profile_free(take_p);
        return 0;
    }
    rc = remember(l, take_p, file);
    if (rc == 0 && !l->into) {
        l->into = take_p;
        return 0;
    }
    if (rc == 0)
        rc = sd_profile_merge(l->into, take_p);
    sd_profile_free(take_p);
    return rc;
}

static int load_one(struct loading *l, const char *file, struct sd_reader *reader)
{
    struct sd_profile *p = NULL;
    struct sd_progress progress;
    int rc;

    sd_progress_begin(&progress, l->c, reader, file);
    rc = sd_profile_load_reader(reader, l->filter, &p);
    sd_progress_end(&progress);
    return rc < 0 ? rc : take(l, p, file);
}

static int load_file(struct loading *l, const char *file)
{
    struct origin from = { .file = file };
    bool goes_on = true;
    int rc = 0;

    while (rc == 0 && goes_on) {
        struct sd_reader *reader = NULL;

        rc = open_reader(&from, &reader);
        if (rc == 0)
            rc = load_one(l, file, reader);
        if (rc == 0)
            goes_on = go_on(&from, reader);
        sd_reader_free(reader);
    }
    return rc;
}

/* Each may fit by itself and all of them together not. */
static void say_unfit(const struct loading *l)
{
    uint64_t n = l->into ? sd_loss_amount(l->into, SD_LOSS_MEMORY) : 0;
    char text[SD_TEXT_MAX];

    if (n > l->n_unfit)
        sd_say(
            "all captures together: %s more definitions did not fit into memory; their "
            "events are under \"[too many names]\" or left out",
            sd_text_count(text, (int64_t)(n - l->n_unfit)));
}

static int finish(struct loading *l, int rc, struct sd_profile **out)
{
    say_unfit(l);
    if (rc < 0) {
        sd_profile_free(l->into);
        l->into = NULL;
    }
    sd_free(l->known);
    *out = l->into;
    return rc;
}

int sd_load_one(const struct sd_command *c, const char *file, struct sd_profile **out)
{
    struct loading l = { .c = c };

    return finish(&l, load_file(&l, file), out);
}

int sd_load_back(const struct sd_command *c, const char *file, struct sd_profile **out)
{
    struct loading l = { .c = c, .is_quiet = true };

    return finish(&l, load_file(&l, file), out);
}

int sd_load(const struct sd_command *c, size_t n, char *const *files,
            const struct sd_filter *filter, struct sd_profile **out)
{
    struct loading l = { .c = c, .filter = filter };
    int rc = 0;

    *out = NULL;
    if (n == 0)
        return sd_fail(SD_EUSAGE, "%s wants a capture: sonde %s train.sonde",
                       c->verb->name, c->verb->name);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = load_file(&l, files[i]);
    return finish(&l, rc, out);
}

/* --- Every capture of every file, into one file */

/* What is missing of calls is known only when all of it is read. */
static int say_losses(const char *file, struct sd_reader *reader)
{
    struct sd_profile *p = NULL;
    int rc = sd_profile_load_reader(reader, NULL, &p);

    if (rc == 0)
        sd_losses_say(file, p, SD_LOSSES_ALL & ~SD_LOSS_BIT(MEMORY));
    sd_profile_free(p);
    return rc;
}

static int copy_file(struct sd_merged *to, const char *file)
{
    struct origin from = { .file = file };
    bool goes_on = true, is_new;
    int rc = 0;

    while (rc == 0 && goes_on) {
        struct sd_reader *reader = NULL;

        rc = open_reader(&from, &reader);
        if (rc == 0)
            rc = sd_merged_add(to, reader, &is_new);
        if (rc == 0)
            rc = say_losses(file, reader);
        if (rc == 0 && !is_new)
            sd_say("%s: a recording that is there already, kept once", file);
        if (rc == 0)
            goes_on = go_on(&from, reader);
        sd_reader_free(reader);
    }
    return rc;
}

int sd_load_into(struct sd_merged *to, size_t n, char *const *files)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = copy_file(to, files[i]);
    return rc;
}
