/* SPDX-License-Identifier: MIT */
#include "outputs/inputs.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "outputs/needs.h"
#include "outputs/outputs.h"

enum { HEAD_BYTES = 128 };

#define INPUT(name) extern const struct sd_input sd_input_##name;
#include "outputs/inputs.def"
#undef INPUT

const struct sd_input *const sd_inputs[] = {
#define INPUT(name) &sd_input_##name,
#include "outputs/inputs.def"
#undef INPUT
    NULL,
};

void sd_contents_init(struct sd_contents *c)
{
    *c = (struct sd_contents){ 0 };
    sd_call_stats_init(&c->calls);
    sd_line_stats_init(&c->lines);
}

void sd_contents_release(struct sd_contents *c)
{
    sd_profile_free(c->profile);
    sd_call_stats_release(&c->calls);
    sd_line_stats_release(&c->lines);
    sd_contents_init(c);
}

const char *sd_input_path(const char *file)
{
    return strcmp(file, "-") == 0 ? SD_STDIN : file;
}

const struct sd_input *sd_input_of(const char *path, unsigned holds,
                                   const struct sd_input *otherwise)
{
    uint8_t head[HEAD_BYTES];
    int fd = open(sd_input_path(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? 0 : pread(fd, head, sizeof head, 0); /* no pipe, no folder */

    if (fd >= 0)
        close(fd);
    for (const struct sd_input *const *i = sd_inputs; *i; i++)
        if ((*i)->gives & holds &&
            (*i)->recognises(path, head, got > 0 ? (size_t)got : 0))
            return *i;
    return otherwise;
}

bool sd_input_gives_profile(const struct sd_input *i)
{
    return i->gives & SD_HOLDS_PROFILE;
}

/* --- What becomes of it */

static const struct sd_output *choose(const struct sd_output_choice *c, unsigned holds)
{
    return c->word ? sd_output_named(c->word) : sd_output_for(c->to, holds);
}

int sd_output_choice_check(const struct sd_output_choice *c)
{
    const struct sd_output *output = choose(c, c->input->gives);
    struct sd_buf others = { 0 };
    int rc;

    if (output && sd_output_can_be_of(output, c->input->gives))
        return 0;
    if (c->input == &sd_input_capture)
        return c->word ? sd_output_check_word(c->word) : sd_output_check(c->to, "");
    sd_outputs_put_suffixes(&others, c->input->gives, " or ");
    rc = sd_fail(SD_EUSAGE, "%s is %s and cannot be written as %s; choose %s", c->from,
                 c->input->title, c->word ? c->word : c->to, sd_buf_string(&others));
    sd_buf_release(&others);
    return rc;
}

static int refuse(const struct sd_output_choice *c, const struct sd_output *o)
{
    const char *to = c->word ? c->word : c->to;
    struct sd_buf start = { 0 };
    int rc;

    sd_buf_printf(&start, "%s cannot be written as %s: it has", c->from, to);
    rc = sd_needs_fail(SD_EABSENT, sd_buf_string(&start),
                       c->word ? o->needs : sd_output_needs(c->to));
    sd_buf_release(&start);
    return rc;
}

int sd_output_choice_find(const struct sd_output_choice *c,
                          const struct sd_contents *loaded,
                          const struct sd_output **out)
{
    const struct sd_profile *p = loaded->profile;
    unsigned holds = p ? sd_holds_of_profile(p) : c->input->gives;
    const struct sd_output *o = choose(c, holds);

    sd_assert(o && o->write); /* it was checked before the file was loaded */
    *out = !c->word && p && p->n_timeline_calls && o->of_timeline ? o->of_timeline : o;
    return o->needs & holds || c->may_be_empty ? 0 : refuse(c, o);
}
