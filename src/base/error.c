/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text.h"

/* A sentence holds a path or two.  What is longer is cut and marked, never lost
 * silently. */
enum { SENTENCE_MAX = 2048 };

/* The slot itself is allocated at a thread's first failure and only two pointers lie
 * in thread-local storage: the extension's comes out of a reserve that all
 * libraries loaded into a process share (static TLS; with glibc 2.36 a library of 1.8
 * kB finds no room even alone), and one that finds no room cannot be loaded.  Where
 * there is no memory for the slot the meaning of the code stands in for the sentence.
 */
static _Thread_local char *slot;
static _Thread_local const char *stand_in;

static pthread_once_t slot_key_once = PTHREAD_ONCE_INIT;
static pthread_key_t slot_key;
static bool has_slot_key;

#define ERR(name, value, meaning) _Static_assert((value) < 0, "0 is success");
#include "base/errors.def"
#undef ERR

static void free_slot(void *p)
{
    slot = NULL;
    sd_free(p);
}

static void make_slot_key(void)
{
    has_slot_key = pthread_key_create(&slot_key, free_slot) == 0;
}

/* This thread's slot, or NULL.  The key exists only to free it when the thread ends. */
static char *own_slot(void)
{
    if (slot)
        return slot;
    pthread_once(&slot_key_once, make_slot_key);
    slot = has_slot_key ? sd_zalloc(SENTENCE_MAX) : NULL;
    if (slot && pthread_setspecific(slot_key, slot) != 0)
        free_slot(slot);
    return slot;
}

/* Writes into a copy first: arguments may point into the slot itself. */
static void say(int code, const char *fmt, va_list args, const char *joint,
                const char *after)
{
    static const char mark[] = "...";
    char text[SENTENCE_MAX];
    int wanted = vsnprintf(text, sizeof text, fmt, args);
    size_t n = wanted < 0 ? 0 : (size_t)wanted;

    if (n < sizeof text)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", joint, after);
    if (n >= sizeof text) {
        n = sd_text_whole(text, sizeof text - sizeof mark);
        memcpy(text + n, mark, sizeof mark);
        n += sizeof mark - 1;
    }
    sd_assert(n < sizeof text && text[n] == 0);
    stand_in = sd_err_meaning(code);
    if (own_slot())
        memcpy(slot, text, n + 1);
}

int sd_fail(enum sd_err code, const char *fmt, ...)
{
    int kept = errno;
    va_list args;

    sd_assert(code < 0); /* else the caller takes it for success */
    va_start(args, fmt);
    say(code, fmt, args, "", "");
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
    enum sd_err code = code_of_errno(err);
    char words[128];
    va_list args;

    va_start(args, fmt);
    say(code, fmt, args, ": ", strerror_r(err, words, sizeof words));
    va_end(args);
    errno = kept;
    return code;
}

int sd_fail_in(int rc, const char *fmt, ...)
{
    int kept = errno;
    va_list args;

    sd_assert(rc < 0);
    va_start(args, fmt);
    say(rc, fmt, args, ": ", sd_fail_text());
    va_end(args);
    errno = kept;
    return rc;
}

const char *sd_fail_text(void) { return slot ? slot : stand_in ? stand_in : ""; }

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
