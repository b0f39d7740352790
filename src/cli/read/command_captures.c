/* SPDX-License-Identifier: MIT */
#include "cli/read/command_captures.h"

#include "base/error.h"
#include "cli/say.h"

static void begin(void *of, const struct sd_reader *reader, const char *file)
{
    struct sd_command_loader *l = of;

    sd_progress_begin(&l->progress, l->command, reader, file);
}

static void end(void *of)
{
    struct sd_command_loader *l = of;

    sd_progress_end(&l->progress);
}

void sd_command_loader_init(struct sd_command_loader *l, const struct sd_command *c,
                            unsigned losses)
{
    *l = (struct sd_command_loader){
        .how = { .remarks = &sd_said_remarks, .losses = losses, .watch = &l->watch },
        .watch = { begin, end, l },
        .command = c,
    };
}

static int load_one(const struct sd_command *c, const char *file, unsigned losses,
                    struct sd_profile **out)
{
    struct sd_command_loader l;

    sd_command_loader_init(&l, c, losses);
    return sd_captures_load(&l.how, (char *[]){ (char *)file }, 1, out);
}

int sd_load_one(const struct sd_command *c, const char *file, struct sd_profile **out)
{
    return load_one(c, file, SD_LOSSES_ALL, out);
}

int sd_load_back(const struct sd_command *c, const char *file, struct sd_profile **out)
{
    return load_one(c, file, 0, out);
}

int sd_load(const struct sd_command *c, size_t n, char *const *files,
            const struct sd_filter *filter, enum sd_load_flags load,
            struct sd_profile **out)
{
    return sd_load_named(c, n, files, NULL, filter, load, out);
}

int sd_load_named(const struct sd_command *c, size_t n, char *const *files,
                  char *const *names, const struct sd_filter *filter,
                  enum sd_load_flags load, struct sd_profile **out)
{
    const struct sd_input *input;
    struct sd_command_loader l;
    struct sd_contents from;
    int rc;

    *out = NULL;
    if (n == 0)
        return sd_fail(SD_EUSAGE, "%s needs a capture: sonde %s train.sonde",
                       c->verb->name, c->verb->name);
    sd_command_loader_init(&l, c, SD_LOSSES_ALL);
    l.how.names = names;
    l.how.filter = filter;
    l.how.load = load;
    sd_contents_init(&from);
    input = sd_input_of(files[0], SD_HOLDS_PROFILE, &sd_input_capture);
    rc = input->load(&l.how, files, n, &from);
    *out = from.profile;
    from.profile = NULL;
    sd_contents_release(&from);
    return rc;
}
