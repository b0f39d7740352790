/* SPDX-License-Identifier: MIT */
#include "outputs/captures.h"

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
#include "outputs/inputs.h"
#include "profile/call_window.h"
#include "profile/slices.h"

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
int sd_stdin_keep(void)
{
    struct stat st;
    int fd, rc;

    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
        return 0;
    fd = memfd_create("stdin", MFD_CLOEXEC);
    if (fd < 0)
        return sd_fail_errno(errno, "cannot copy stdin into memory");
    rc = copy_stdin(fd);
    if (rc == 0 && dup2(fd, STDIN_FILENO) < 0)
        rc = sd_fail_errno(errno, "cannot copy stdin into memory");
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
    int rc = is_stdin ? sd_stdin_keep() : 0;

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
    const struct sd_loader *how;
    uint64_t n_unfit; /* definitions that are said not to have fitted */
    struct sd_profile *into;
    struct recording *known; /* owned */
    size_t n, cap;
    bool has_unmatched; /* the filter names nothing of some of them: that was said */
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

    sd_remark_losses(l->how->remarks, file, take_p, l->how->losses);
    l->n_unfit += sd_loss_amount(take_p, SD_LOSS_MEMORY);
    if (same) {
        sd_remark(l->how->remarks, "%s: the same recording as %s, counted once", file,
                  same->file);
        sd_profile_free(take_p);
        return 0;
    }
    rc = remember(l, take_p, file);
    if (rc == 0 && !l->into) {
        l->into = take_p;
        return 0;
    }
    if (rc == 0 && l->how->load & SD_LOAD_OVERLAY)
        take_p->real_zero_ns = l->into->real_zero_ns;
    if (rc == 0)
        rc = sd_profile_merge(l->into, take_p);
    sd_profile_free(take_p);
    return rc;
}

static int load_one(struct loading *l, const char *file, struct sd_reader *reader)
{
    const struct sd_load_watch *watch = l->how->watch;
    struct sd_profile *p = NULL;
    bool is_unmatched;
    int rc;

    if (watch)
        watch->begin(watch->of, reader, file);
    rc =
        sd_profile_load_one_of(reader, l->how->filter, l->how->load, &p, &is_unmatched);
    if (watch)
        watch->end(watch->of);
    l->has_unmatched |= is_unmatched;
    return is_unmatched ? 0 : rc < 0 ? rc : take(l, p, file);
}

static int load_file(struct loading *l, const char *file, const char *name)
{
    struct origin from = { .file = file };
    bool goes_on = true;
    int rc = 0;

    while (rc == 0 && goes_on) {
        struct sd_reader *reader = NULL;

        rc = open_reader(&from, &reader);
        if (rc == 0)
            rc = load_one(l, name, reader);
        if (rc == 0)
            goes_on = go_on(&from, reader);
        sd_reader_free(reader);
    }
    return rc;
}

/* Each may fit by itself and all of them together not. */
static void remark_unfit(const struct loading *l)
{
    uint64_t n = l->into ? sd_loss_amount(l->into, SD_LOSS_MEMORY) : 0;
    char text[SD_TEXT_MAX];

    if (n > l->n_unfit)
        sd_remark(l->how->remarks,
                  "all captures together: %s more names (of functions, threads or "
                  "sections) did not fit into memory; their events are under \"[too "
                  "many names]\" or left out",
                  sd_text_count(text, (int64_t)(n - l->n_unfit)));
}

/* A section or thread of one of several captures need not be in the others; what is in
 * none was said of the last. */
static int finish(struct loading *l, int rc, struct sd_profile **out)
{
    if (rc == 0 && !l->into && l->has_unmatched)
        rc = SD_EUSAGE;
    remark_unfit(l);
    if (rc < 0) {
        sd_profile_free(l->into);
        l->into = NULL;
    }
    sd_free(l->known);
    *out = l->into;
    return rc;
}

/* By names that can be opened again. */
static const char **open_names(char *const *files, size_t n)
{
    const char **paths = sd_alloc((n + 1) * sizeof *paths);

    for (size_t i = 0; paths && i < n; i++)
        paths[i] = strcmp(files[i], "-") == 0 ? SD_STDIN : files[i];
    return paths;
}

/* Traced calls are known to be in a window only when everything is loaded. */
static int cut_calls(struct loading *l, char *const *files, size_t n)
{
    const char **paths = open_names(files, n);
    int rc = paths ? sd_call_window_apply(l->into, paths, n, l->how->filter)
                   : sd_no_memory();

    sd_free(paths);
    return rc;
}

int sd_captures_load(const struct sd_loader *how, char *const *files, size_t n,
                     struct sd_profile **out)
{
    struct loading l = { .how = how };
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = load_file(&l, files[i], how->names ? how->names[i] : files[i]);
    if (rc == 0 && l.into && how->filter)
        rc = cut_calls(&l, files, n);
    return finish(&l, rc, out);
}

int sd_captures_slices(const struct sd_profile *p, char *const *files, size_t n,
                       const struct sd_filter *filter, struct sd_slices *out)
{
    const char **paths = open_names(files, n);
    int rc;

    *out = (struct sd_slices){ 0 };
    rc = paths ? sd_slices_load(out, p, paths, n, filter) : sd_no_memory();
    sd_free(paths);
    return rc;
}

int sd_captures_slices_of(const struct sd_profile *p, enum sd_evidence e,
                          char *const *files, size_t n, const struct sd_filter *filter,
                          struct sd_slices *out)
{
    const char **paths;
    int rc;

    *out = (struct sd_slices){ 0 };
    if (e == SD_SAMPLES) {
        rc = sd_captures_slices(p, files, n, filter, out);
        return rc < 0 ? rc : 1;
    }
    if (e != SD_CALLS || !p->has_timeline || !sd_profile_has(p, SD_CALLS))
        return 0;
    paths = open_names(files, n);
    rc = paths ? sd_call_slices_load(out, p, paths, n, filter) : sd_no_memory();
    sd_free(paths);
    return rc < 0 ? rc : 1;
}

static int load(const struct sd_loader *how, char *const *files, size_t n,
                struct sd_contents *into)
{
    return sd_captures_load(how, files, n, &into->profile);
}

static bool recognises(const char *path, const void *head, size_t n)
{
    (void)head;
    (void)n;
    return sd_text_ends(path, ".sonde");
}

const struct sd_input sd_input_capture = {
    .name = "capture",
    .title = "a capture",
    .has = "all that was recorded",
    .gives = SD_HOLDS_EVENTS | SD_HOLDS_STACKS | SD_HOLDS_CALLS | SD_HOLDS_LINES |
             SD_HOLDS_READINGS | SD_HOLDS_SECTIONS | SD_HOLDS_TIMELINE |
             SD_HOLDS_TIMES | SD_HOLDS_MODEL,
    .recognises = recognises,
    .load = load,
};

/* The capture itself: it is recorded, not made of another file. */
const struct sd_output sd_output_sonde = {
    .name = "sonde",
    .suffixes = { ".sonde" },
    .summary = "the capture itself",
    .loses = "nothing",
    .needs = SD_HOLDS_EVENTS,
};

/* --- Every capture of every file, into one file */

/* What is missing of calls is known only when all of it is read. */
static int remark_losses(const struct sd_loader *how, const char *file,
                         struct sd_reader *reader)
{
    struct sd_profile *p = NULL;
    int rc = sd_profile_load_reader(reader, NULL, &p);

    if (rc == 0)
        sd_remark_losses(how->remarks, file, p, how->losses & ~SD_LOSS_BIT(MEMORY));
    sd_profile_free(p);
    return rc;
}

static int copy_file(const struct sd_loader *how, struct sd_capture_merge *to,
                     const char *file)
{
    struct origin from = { .file = file };
    bool goes_on = true, is_new;
    int rc = 0;

    while (rc == 0 && goes_on) {
        struct sd_reader *reader = NULL;

        rc = open_reader(&from, &reader);
        if (rc == 0)
            rc = sd_capture_merge_add(to, reader, &is_new);
        if (rc == 0)
            rc = remark_losses(how, file, reader);
        if (rc == 0 && !is_new)
            sd_remark(how->remarks,
                      "%s: this recording is already included, so it is kept once",
                      file);
        if (rc == 0)
            goes_on = go_on(&from, reader);
        sd_reader_free(reader);
    }
    return rc;
}

int sd_captures_copy(const struct sd_loader *how, char *const *files, size_t n,
                     struct sd_capture_merge *to)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = copy_file(how, to, files[i]);
    return rc;
}
