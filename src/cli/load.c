/* SPDX-License-Identifier: MIT */
#include "cli/load.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/progress.h"
#include "cli/say.h"

enum { STDIN_STEP = 1 << 20 };

/* All of stdin, so that a capture can come through a pipe. */
static int read_stdin(struct sd_buf *b)
{
    uint8_t *room;
    ssize_t got;

    for (;;) {
        room = sd_buf_room(b, STDIN_STEP);
        if (!room)
            return sd_no_memory();
        got = read(STDIN_FILENO, room, STDIN_STEP);
        if (got == 0)
            return 0;
        if (got > 0)
            b->n += (size_t)got;
        else if (errno != EINTR)
            return sd_fail_errno(errno, "cannot read stdin");
    }
}

static int open_reader(const char *file, struct sd_buf *bytes, struct sd_reader **out)
{
    int rc;

    if (strcmp(file, "-") != 0)
        return sd_reader_open(file, out);
    rc = read_stdin(bytes);
    if (rc == 0)
        rc = sd_reader_open_bytes(bytes->p, bytes->n, out);
    return rc < 0 ? sd_fail_in(rc, "stdin") : 0;
}

int sd_load_one(const struct sd_command *c, const char *file,
                const struct sd_filter *filter, struct sd_profile **out)
{
    struct sd_reader *reader = NULL;
    struct sd_progress progress;
    struct sd_buf bytes = { 0 };
    int rc = open_reader(file, &bytes, &reader);

    *out = NULL;
    if (rc == 0) {
        sd_progress_begin(&progress, c, reader, file);
        rc = sd_profile_load_reader(reader, filter, out);
        sd_progress_end(&progress);
    }
    sd_reader_free(reader);
    sd_buf_release(&bytes);
    return rc;
}

static int load_and_say(const struct sd_command *c, const char *file,
                        const struct sd_filter *filter, struct sd_profile **out)
{
    int rc = sd_load_one(c, file, filter, out);

    if (rc == 0 && (*out)->complaint)
        sd_say("%s: %s", file, (*out)->complaint);
    return rc;
}

/* When a recording began, by two clocks to the nanosecond: no two are the same. */
struct beginning {
    uint64_t real_ns, mono_ns;
};

static struct beginning beginning_of(const struct sd_profile *p)
{
    return (struct beginning){ p->health.created_real_ns, p->health.created_mono_ns };
}

/* Which of the first `n` is the same recording; `n`: none. */
static size_t find_same(const struct beginning *known, size_t n, struct beginning b)
{
    size_t i = 0;

    while (i < n && (b.real_ns == 0 || known[i].real_ns != b.real_ns ||
                     known[i].mono_ns != b.mono_ns))
        i++;
    return i;
}

/* Adds the captures behind the first.  One that is given again would count double. */
static int load_more(const struct sd_command *c, size_t n, char *const *files,
                     const struct sd_filter *filter, struct sd_profile *into,
                     struct beginning *known)
{
    int rc = 0;

    known[0] = beginning_of(into);
    for (size_t i = 1; i < n && rc == 0; i++) {
        struct sd_profile *more = NULL;
        size_t same;

        rc = load_and_say(c, files[i], filter, &more);
        if (rc < 0)
            return rc;
        known[i] = beginning_of(more);
        same = find_same(known, i, known[i]);
        if (same < i)
            sd_say("%s: the same recording as %s, counted once", files[i], files[same]);
        else
            rc = sd_profile_merge(into, more);
        sd_profile_free(more);
    }
    return rc;
}

int sd_load(const struct sd_command *c, size_t n, char *const *files,
            const struct sd_filter *filter, struct sd_profile **out)
{
    struct beginning *known;
    int rc;

    *out = NULL;
    if (n == 0)
        return sd_fail(SD_EUSAGE, "%s wants a capture: sonde %s train.sonde",
                       c->verb->name, c->verb->name);
    rc = load_and_say(c, files[0], filter, out);
    if (rc == 0 && n > 1) {
        known = sd_alloc(n * sizeof *known);
        rc = known ? load_more(c, n, files, filter, *out, known) : sd_no_memory();
        sd_free(known);
    }
    if (rc < 0) {
        sd_profile_free(*out);
        *out = NULL;
    }
    return rc;
}
