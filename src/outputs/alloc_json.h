/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_ALLOC_JSON_H
#define SD_OUTPUTS_ALLOC_JSON_H
/* alloc_json: writes the summary of allocations as JSON; null is what the mode of the
 * recording cannot know. */
#include "base/encoding/json.h"
#include "profile/profile.h"

/* The key "alloc" and its object; nothing where none were recorded. */
void sd_alloc_json(struct sd_json *j, const struct sd_profile *p);
#endif
