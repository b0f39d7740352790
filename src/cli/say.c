/* SPDX-License-Identifier: MIT */
#include "cli/say.h"

#include <ctype.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

/* One write, so that lines of two processes do not mix. */
static void put_line(const char *p, size_t n)
{
    ssize_t written = write(STDERR_FILENO, p, n);

    (void)written;
}

void sd_say(const char *fmt, ...)
{
    char sentence[4096] = "sonde: ";
    size_t start = strlen(sentence);
    struct sd_buf line = { 0 };
    va_list args;

    va_start(args, fmt);
    vsnprintf(sentence + start, sizeof sentence - start - 1, fmt, args);
    va_end(args);
    sd_text_escape(&line, sentence, strlen(sentence)); /* it may hold foreign names */
    sd_buf_text(&line, "\n");
    if (!line.bad)
        put_line((const char *)line.p, line.n);
    else { /* out of memory, which is what there is to say */
        for (char *c = sentence; *c; c++)
            if (iscntrl((unsigned char)*c))
                *c = '?';
        strcat(sentence, "\n");
        put_line(sentence, strlen(sentence));
    }
    sd_buf_release(&line);
}

static void take(void *of, const char *sentence)
{
    (void)of;
    sd_say("%s", sentence);
}

const struct sd_remarks sd_said_remarks = { take, NULL };

int sd_say_failure(int rc)
{
    sd_say("%s", sd_fail_text());
    return rc == SD_EUSAGE ? 2 : 1;
}

enum sd_loudness sd_loudness_of(const struct sd_command *c)
{
    if (c->common[SD_COMMON_QUIET].number)
        return SD_QUIET;
    return c->common[SD_COMMON_VERBOSE].number ? SD_VERBOSE : SD_NORMAL;
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

static bool wants_colour(const struct sd_command *c, int fd)
{
    const char *word = c->common[SD_COMMON_COLOR].text;
    const char *term = getenv("TERM");

    if (strcmp(word, "auto") != 0)
        return strcmp(word, "always") == 0;
    if (is_set("NO_COLOR"))
        return false;
    if (is_set("FORCE_COLOR"))
        return true;
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

struct sd_text_style sd_style_for(const struct sd_command *c, int fd)
{
    struct sd_text_style style = { .colour = wants_colour(c, fd), .width = 0 };
    struct winsize size;

    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        style.width = size.ws_col;
    return style;
}

bool sd_speaks_utf8(void) { return strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

const char *sd_made(struct sd_out *out, struct sd_buf *b)
{
    if (b->bad && !out->err)
        out->err = ENOMEM;
    return sd_buf_string(b);
}

int sd_finish_stdout(struct sd_out *out, int status)
{
    int rc = sd_out_flush(out);

    sd_out_release(out);
    if (rc < 0) {
        sd_fail_in(rc, "stdout");
        return sd_say_failure(rc);
    }
    return status;
}
