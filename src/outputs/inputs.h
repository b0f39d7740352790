/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_INPUTS_H
#define SD_OUTPUTS_INPUTS_H
/* inputs: the kinds of files that are read.  Each is one .c and a line in inputs.def;
 * it says how a file is recognised, how it is loaded, and what it gives. */
#include "formats/output.h"
#include "formats/weights/model_files.h"
#include "outputs/captures.h"

/* What was loaded.  An input fills what it gives; the rest stays empty. */
struct sd_contents {
    struct sd_profile *profile; /* owned; of captures */
    struct sd_call_stats calls; /* of files with only functions and their callers */
    struct sd_line_stats lines; /* of files with only functions and their lines */
    struct sd_model *model;     /* the caller's, set before an input of models loads */
};
void sd_contents_init(struct sd_contents *c);
void sd_contents_release(struct sd_contents *c);

struct sd_input {
    const char *name;
    const char *title; /* "a pstats file" */
    const char *has;   /* what such a file has: "only functions and their callers" */
    unsigned gives;    /* enum sd_holds */
    /* By its name or its first bytes, of which there are none where it cannot be read.
     */
    bool (*recognises)(const char *path, const void *head, size_t n);
    /* All these files, added up.  Fails with a sentence. */
    int (*load)(const struct sd_loader *how, char *const *files, size_t n,
                struct sd_contents *into);
    /* Of files that are read as captures (translated.h): adds the bytes of the one that
     * says what the file says.  Its process is called `process`; NULL: as in its
     * command.  NULL: they are not. */
    int (*translate)(const char *file, const char *process,
                     const struct sd_remarks *remarks, struct sd_buf *to);
};
extern const struct sd_input *const sd_inputs[]; /* ended by NULL */
extern const struct sd_input sd_input_capture, sd_input_model, sd_input_mprof;

/* Which of those that give something of `holds` recognises the file ("-" is stdin, when
 * that is a file); `otherwise` where none does. */
const struct sd_input *sd_input_of(const char *path, unsigned holds,
                                   const struct sd_input *otherwise);
/* Does it fill a profile, or calls or lines of functions alone? */
enum { SD_HOLDS_PROFILE = SD_HOLDS_EVENTS | SD_HOLDS_STACKS | SD_HOLDS_READINGS };
bool sd_input_gives_profile(const struct sd_input *i);
/* The name that opens it: that of stdin for "-". */
const char *sd_input_path(const char *file);

/* What is to be written of an input: found by `word` (a name of an output or py-spy's
 * word for it) or, where that is NULL, by the suffix of `to`. */
struct sd_output_choice {
    const struct sd_input *input;
    const char *from, *to, *word;
    bool may_be_empty; /* is a file without stacks an answer?  It is for py-spy */
};
/* SD_EUSAGE with a sentence when there is no such output, or when it needs what the
 * input never gives. */
int sd_output_choice_check(const struct sd_output_choice *c);
/* Which output it is, of a choice that was checked and what was loaded.  SD_EABSENT
 * with a sentence where nothing of what it needs was recorded. */
int sd_output_choice_find(const struct sd_output_choice *c,
                          const struct sd_contents *loaded,
                          const struct sd_output **out);
#endif
