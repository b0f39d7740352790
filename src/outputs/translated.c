/* SPDX-License-Identifier: MIT */
#include "outputs/translated.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

enum { NAME_BYTES = 40 };

/* Gives the open file, or a negative code. */
static int keep(const char *file, const struct sd_buf *capture)
{
    int fd = memfd_create("capture", MFD_CLOEXEC);

    if (fd < 0)
        return sd_fail_errno(errno, "cannot keep %s in memory", file);
    if (sd_write_all(fd, capture->p, capture->n) < 0) {
        int why = errno;

        close(fd);
        return sd_fail_errno(why, "cannot keep %s in memory", file);
    }
    return fd;
}

/* Of several files the process of each is called after it: they may be of one command.
 */
static int translate(struct sd_translated *t, const struct sd_input *input,
                     const struct sd_remarks *remarks, const char *file,
                     bool is_one_of_several)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    struct sd_buf capture = { 0 };
    int rc = input->translate(file, is_one_of_several ? base : NULL, remarks, &capture);
    int fd = rc < 0 ? rc : keep(file, &capture);

    sd_buf_release(&capture);
    if (fd < 0)
        return fd;
    t->fds[t->n] = fd;
    t->names[t->n] = sd_alloc(NAME_BYTES);
    if (!t->names[t->n++])
        return sd_no_memory();
    snprintf(t->names[t->n - 1], NAME_BYTES, "/proc/self/fd/%d", fd);
    return 0;
}

int sd_translated_open(struct sd_translated *t, const struct sd_input *input,
                       const struct sd_remarks *remarks, char *const *files, size_t n)
{
    int rc = 0;

    *t = (struct sd_translated){ .paths = files };
    if (!input->translate) {
        t->n = n;
        return 0;
    }
    t->names = sd_zalloc((n + 1) * sizeof *t->names);
    t->fds = sd_zalloc((n + 1) * sizeof *t->fds);
    t->paths = t->names;
    if (!t->names || !t->fds)
        rc = sd_no_memory();
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = translate(t, input, remarks, files[i], n > 1);
    if (rc < 0)
        sd_translated_close(t);
    return rc;
}

void sd_translated_close(struct sd_translated *t)
{
    for (size_t i = 0; t->names && i < t->n; i++) {
        close(t->fds[i]);
        sd_free(t->names[i]);
    }
    sd_free(t->names);
    sd_free(t->fds);
    *t = (struct sd_translated){ 0 };
}
