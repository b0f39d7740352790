/* SPDX-License-Identifier: MIT */
#include "machine/machine_processor.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

/* What stands behind the colon, without the blanks around it. */
static bool take(const char *line, size_t n, char name[SD_MACHINE_TEXT])
{
    const char *at = memchr(line, ':', n), *end = line + n;

    if (!at)
        return false;
    for (at++; at < end && strchr(" \t", *at); at++)
        ;
    while (end > at && strchr(" \t", end[-1]))
        end--;
    n = (size_t)(end - at);
    if (n >= SD_MACHINE_TEXT)
        n = sd_text_whole(at, SD_MACHINE_TEXT - 1);
    memcpy(name, at, n);
    name[n] = 0;
    return n > 0;
}

bool sd_machine_processor_in(const char *text, char name[SD_MACHINE_TEXT])
{
    static const char word[] = "model name";

    name[0] = 0;
    while (*text) {
        size_t n = strcspn(text, "\n");

        if (n >= sizeof word - 1 && memcmp(text, word, sizeof word - 1) == 0)
            return take(text, n, name);
        text += n + (text[n] != 0);
    }
    return false;
}

bool sd_machine_processor(char name[SD_MACHINE_TEXT])
{
    enum { MOST = 16 << 20 };
    bool is_known;
    char *text;
    size_t n;

    name[0] = 0;
    if (sd_read_file("/proc/cpuinfo", MOST, &text, &n) < 0)
        return false;
    is_known = sd_machine_processor_in(text, name);
    sd_free(text);
    return is_known;
}
