/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_OUTPUTS_H
#define SD_OUTPUTS_OUTPUTS_H
/* outputs: the list of what can be written (outputs.def), by name and by suffix, with
 * the sentences that refuse anything else. */
#include "base/buf.h"
#include "formats/output.h"

#define SD_HOLDS_ANYTHING (~0u)
#define SD_HOLDS_DATA (~(unsigned)SD_HOLDS_MODEL) /* what a program did */

extern const struct sd_output *const sd_outputs[]; /* ended by NULL */

/* By its name or py-spy's word for it, or NULL. */
const struct sd_output *sd_output_named(const char *word);
/* By the longest suffix, in any case, or NULL.  Of several with that suffix the first
 * that needs something of `holds` (enum sd_holds), else the last. */
const struct sd_output *sd_output_for(const char *path, unsigned holds);
/* What a file of that name can be made of, any of it: what all outputs with its suffix
 * need. */
unsigned sd_output_needs(const char *path);
/* Can it be made of what holds that, and of nothing else? */
bool sd_output_can_be_of(const struct sd_output *o, unsigned holds);
/* Which of its suffixes the path has, a place in o->suffixes, or NULL. */
const char *const *sd_output_suffix_of(const struct sd_output *o, const char *path);
/* Is it the name of a capture, which is recorded and not made of another file? */
bool sd_output_is_capture(const char *path);
/* How a file should end that was asked for by this word. */
const char *sd_output_suffix(const struct sd_output *o, const char *word,
                             bool is_pyspy);

/* Adds the suffixes of what can be made of `holds`: ".csv, .json", then `last` (" and "
 * or " or ") and ".pdf". */
void sd_outputs_put_suffixes(struct sd_buf *to, unsigned holds, const char *last);

/* Can such a file be written?  SD_EUSAGE with a sentence that lists the suffixes, after
 * those that the caller takes `also` (".sonde, " or ""). */
int sd_output_check(const char *path, const char *also);
/* Is there such a word?  SD_EUSAGE with a sentence that lists the names. */
int sd_output_check_word(const char *word);

/* Writes it.  Where paths of traced calls would make the file large, they are folded,
 * which is remarked. */
int sd_output_write(const struct sd_output *o, const struct sd_output_job *job,
                    struct sd_out *out);
#endif
