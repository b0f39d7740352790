/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "formats/format.h"

#define FORMAT(name) extern const struct sd_format sd_format_##name;
#include "formats/formats.def"
#undef FORMAT

const struct sd_format *const sd_formats[] = {
#define FORMAT(name) &sd_format_##name,
#include "formats/formats.def"
#undef FORMAT
    NULL,
};

const struct sd_format *sd_format_for(const char *path)
{
    const struct sd_format *best = NULL;
    size_t n = strlen(path);

    for (size_t i = 0; sd_formats[i]; i++) {
        size_t k = strlen(sd_formats[i]->suffix);

        if (n >= k && strcasecmp(path + n - k, sd_formats[i]->suffix) == 0 &&
            (!best || k > strlen(best->suffix)))
            best = sd_formats[i];
    }
    return best;
}

const struct sd_format *sd_format_named(const char *name)
{
    for (size_t i = 0; sd_formats[i]; i++)
        if (strcmp(sd_formats[i]->name, name) == 0)
            return sd_formats[i];
    return NULL;
}

int sd_format_write(const struct sd_format *f, const struct sd_profile *p,
                    const char *path, const struct sd_filter *filter,
                    const struct sd_stack_style *style, struct sd_out *out)
{
    static const struct sd_stack_style plain;

    if (!f->write_stacks)
        return f->write(p, path, filter, out);
    return f->write_stacks(p, path, filter, style ? style : &plain, out);
}
