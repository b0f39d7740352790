/* SPDX-License-Identifier: MIT */
#include "cli/load.h"

#include "base/error.h"
#include "cli/progress.h"
#include "cli/say.h"

int sd_load_one(const struct sd_command *c, const char *file,
                const struct sd_filter *filter, struct sd_profile **out)
{
    struct sd_reader *reader = NULL;
    struct sd_progress progress;
    int rc = sd_reader_open(file, &reader);

    *out = NULL;
    if (rc < 0)
        return rc;
    sd_progress_begin(&progress, c, reader, file);
    rc = sd_profile_load_reader(reader, filter, out);
    sd_progress_end(&progress);
    sd_reader_free(reader);
    return rc;
}

static int load_and_say(const struct sd_command *c, const char *file,
                        const struct sd_filter *filter, struct sd_profile **out)
{
    int rc = sd_load_one(c, file, filter, out);

    if (rc == 0 && (*out)->complaint)
        sd_say("%s: %s", file, (*out)->complaint);
    return rc;
}

int sd_load(const struct sd_command *c, size_t n, char *const *files,
            const struct sd_filter *filter, struct sd_profile **out)
{
    struct sd_profile *more = NULL;
    int rc;

    *out = NULL;
    if (n == 0)
        return sd_fail(SD_EUSAGE, "%s wants a capture: sonde %s train.sonde",
                       c->verb->name, c->verb->name);
    rc = load_and_say(c, files[0], filter, out);
    for (size_t i = 1; i < n && rc == 0; i++) {
        rc = load_and_say(c, files[i], filter, &more);
        if (rc == 0)
            rc = sd_profile_merge(*out, more);
        sd_profile_free(more);
        more = NULL;
    }
    if (rc < 0) {
        sd_profile_free(*out);
        *out = NULL;
    }
    return rc;
}
