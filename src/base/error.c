/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A sentence holds a path or two.  What is longer is cut and marked, never lost
 * silently; a fixed slot means that failing needs no memory, so that even running
 * out of memory can be said. */
enum { SENTENCE_MAX = 2048 };

static _Thread_local char sentence[SENTENCE_MAX];

/* Steps back to the start of a character, so that a cut never leaves half of one. */
static size_t whole_chars(const char *s, size_t n)
{
    while (n > 0 && ((unsigned char)s[n] & 0xC0) == 0x80)
        n--;
    return n;
}

/* Writes into a copy first: arguments may point into the slot itself. */
static void say(const char *fmt, va_list args, const char *joint, const char *after)
{
    static const char mark[] = "...";
    char text[SENTENCE_MAX];
    int wanted = vsnprintf(text, sizeof text, fmt, args);
    size_t n = wanted < 0 ? 0 : (size_t)wanted;

    if (n < sizeof text)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", joint, after);
    if (n >= sizeof text) {
        n = whole_chars(text, sizeof text - sizeof mark);
        memcpy(text + n, mark, sizeof mark);
        n += sizeof mark - 1;
    }
    memcpy(sentence, text, n + 1);
}

int sd_fail(enum sd_err code, const char *fmt, ...)
{
    int kept = errno;
    va_list args;

    va_start(args, fmt);
    say(fmt, args, "", "");
    va_end(args);
    errno = kept;
    return code;
}

static enum sd_err code_of_errno(int err)
{
    switch (err) {
    case ENOMEM:
        return SD_ENOMEM;
    case EACCES:
    case EPERM:
    case EROFS:
        return SD_EACCESS;
    case ENOENT:
    case ENOTDIR:
        return SD_EABSENT;
    case EEXIST:
        return SD_EEXISTS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return SD_EFULL;
    case ESRCH:
        return SD_EGONE;
    default:
        return SD_EIO;
    }
}

int sd_fail_errno(int err, const char *fmt, ...)
{
    int kept = errno;
    char words[128];
    va_list args;

    va_start(args, fmt);
    say(fmt, args, ": ", strerror_r(err, words, sizeof words));
    va_end(args);
    errno = kept;
    return code_of_errno(err);
}

int sd_fail_in(int rc, const char *fmt, ...)
{
    int kept = errno;
    va_list args;

    va_start(args, fmt);
    say(fmt, args, ": ", sentence);
    va_end(args);
    errno = kept;
    return rc;
}

const char *sd_fail_text(void) { return sentence; }

const char *sd_err_meaning(int code)
{
    switch (code) {
#define ERR(name, value, meaning)                                                      \
    case value:                                                                        \
        return meaning;
#include "base/errors.def"
#undef ERR
    default: /* any int may come in: not only our own */
        return code < 0 ? "an unknown failure" : "no failure";
    }
}
