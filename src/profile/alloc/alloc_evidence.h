/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_ALLOC_EVIDENCE_H
#define SD_PROFILE_ALLOC_EVIDENCE_H
/* alloc_evidence: makes the evidence `allocations` of what a profile holds of them
 * (alloc_totals.h), so that functions, trees and flame graphs show it.
 *
 * Peak rows are those of the process with the largest peak, so with every capture that
 * is merged the evidence is made anew. */
#include "profile/profile.h"

/* The flags of a total are its allocator, above the bits that samples use. */
enum { SD_ALLOCATOR_SHIFT = 8 };

/* 0 or SD_ENOMEM. */
int sd_alloc_evidence_make(struct sd_profile *p);
/* Which allocators were recorded ("all"); NULL: not known. */
const char *sd_alloc_evidence_layer(const struct sd_profile *p);
/* Allocations of one thread alone were recorded, and the frees of all. */
bool sd_alloc_evidence_is_of_one_thread(const struct sd_profile *p);
/* The name of the metric that an amount has there: "peak_bytes". */
const char *sd_alloc_value_name(enum sd_alloc_value v);
/* The name of such a metric in heap profiles of Go ("alloc_space"), or NULL. */
const char *sd_alloc_value_pprof(const char *metric);
#endif
