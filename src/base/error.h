/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ERROR_H
#define SD_BASE_ERROR_H
/* error: one way to fail.
 *
 * A function that can fail returns 0 or a negative SD_E code and leaves one
 * sentence for the user in this thread's slot.  Callers pass the code up
 * unchanged; only a caller that knows something more adds to the sentence.
 *
 * What happens on every run (a torn read, a full half) is an outcome, not a
 * failure: a bare code without a sentence, so that hot paths format no text. */

enum sd_err {
#define ERR(name, value, meaning) SD_##name = value,
#include "base/errors.def"
#undef ERR
};

/* Leaves the sentence and returns `code`, so that failing is one line:
 *     return sd_fail(SD_EACCESS, "cannot read process %d", pid);            */
int sd_fail(enum sd_err code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a failed system call: the code is chosen by errno (ENOSPC, EDQUOT and
 * EFBIG are SD_EFULL, EACCES, EPERM and EROFS SD_EACCESS, ENOENT and ENOTDIR
 * SD_EABSENT, EEXIST SD_EEXISTS, ESRCH SD_EGONE, ENOMEM SD_ENOMEM, else SD_EIO) and ":
 * <the system's words>" is added.  None of these functions changes errno. */
int sd_fail_errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "<context>: " before the sentence already there; returns `rc` as is. */
int sd_fail_in(int rc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Borrowed; valid until this thread fails again.  Never NULL. */
const char *sd_fail_text(void);

const char *sd_err_meaning(int code);
#endif
