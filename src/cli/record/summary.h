/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_SUMMARY_H
#define SD_CLI_RECORD_SUMMARY_H
/* summary: prints the summary on stderr after a run: what it took, where the capture
 * is, and what to type next. */
#include "analyse/analyse.h"
#include "cli/record/recording.h"
#include "cli/say.h"
#include "profile/profile.h"

void sd_summary_print(const struct sd_recording *r, const struct sd_profile *p,
                      bool folds_imports);
/* "1,239 samples (0 missed, 0 lost, 2 partial, 310 idle)": what became of every look at
 * a thread. */
void sd_summary_say_account(const struct sd_sample_account *a);
/* Why rounds were missed, samples lost or cut, and what helps: a sentence each.
 * `option` is the verb's word for how stacks are kept from changing. */
void sd_summary_say_causes(const struct sd_recording *r,
                           const struct sd_sample_account *a, const char *option);
/* Of a recording that ended; `p` is what is in its file, NULL where that is not known.
 */
void sd_summary_account(const struct sd_recording *r, const struct sd_profile *p,
                        struct sd_sample_account *out);
/* Says which processes could not be measured as was asked, and why; returns how many
 * there are. */
size_t sd_summary_refusals(const struct sd_profile *p);
/* "wrote train.sonde — look at it: sonde view train.sonde", or what other verb has more
 * to show of it. */
void sd_summary_wrote(const char *capture, const char *verb);
/* The same of another format; of stdout there is nothing to say. */
void sd_summary_wrote_export(const char *file);
#endif
