/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_SAMPLES_H
#define SD_PROFILE_SAMPLES_H
/* samples: adds samples and their stacks to a profile. */
#include "profile/profile.h"
#include "profile/triples.h"

/* Each puts the id into *id: the one there is, or a new one.  0 or SD_ENOMEM.  A stack
 * for which there is no room becomes "[too many names]". */
int sd_define_stack(struct sd_profile *p, const struct sd_stack *key, uint32_t *id);
int sd_define_lost_stack(struct sd_profile *p, uint32_t *id);
/* "[partial]" on top of `below`: what a sample is shown as whose newest frames could
 * not be read, so that its time is not booked on the function that was read last. */
int sd_define_partial_stack(struct sd_profile *p, sd_stack_id below, uint32_t *id);
/* The same without changing the profile; UINT32_MAX: not there. */
uint32_t sd_find_stack(const struct sd_profile *p, const struct sd_stack *key);
uint32_t sd_find_lost_stack(const struct sd_profile *p);
uint32_t sd_find_partial_stack(const struct sd_profile *p, sd_stack_id below);

/* Adds values to this total of an evidence with stacks, made when new.  Values
 * below 0 and what there is no room for are left out, the latter counted. */
int sd_totals_add(struct sd_profile *p, enum sd_evidence e,
                  const struct sd_sample_total *which, const sd_metric_id *metrics,
                  const int64_t *values, uint32_t n);
#endif
