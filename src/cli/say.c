/* SPDX-License-Identifier: MIT */
#include "cli/say.h"

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

void sd_say(const char *fmt, ...)
{
    struct sd_buf line = { 0 };
    char sentence[4096];
    ssize_t written;
    va_list args;

    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    sd_buf_text(&line, "sonde: ");
    sd_text_escape(&line, sentence, strlen(sentence)); /* it may hold foreign names */
    sd_buf_text(&line, "\n");
    written = write(STDERR_FILENO, line.p, line.bad ? 0 : line.n);
    (void)written;
    sd_buf_release(&line);
}

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
