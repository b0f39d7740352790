/* SPDX-License-Identifier: MIT */
#include "cli/losses.h"

#include "base/mem.h"
#include "cli/say.h"

void sd_losses_say(const char *file, const struct sd_profile *p, unsigned kinds)
{
    struct sd_buf words = { 0 };

    sd_losses_put(&words, p, kinds);
    if (words.bad)
        sd_say("out of memory to say what is missing");
    else if (words.n > 0)
        sd_say("%s%s%s", file ? file : "", file ? ": " : "", sd_buf_string(&words));
    sd_buf_release(&words);
}
