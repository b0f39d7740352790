/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_LOSSES_H
#define SD_PROFILE_LOSSES_H
/* losses: lists everything that a loaded profile lacks of what the program did.
 *
 * Something may be lost on the way into the capture (no room on the disk, no slot for a
 * thread, tracing that others interrupted), in the file (damage, a cut), and while it
 * is read (more than fits into memory).  Whoever shows a profile says all of it, and
 * asks here and nowhere else; losses.def has a line for each kind.
 *
 * Samples are not listed: they have an account of their own (analyse/analyse.h). */
#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"

enum sd_loss_kind {
#define LOSS(kind, word, count, put) SD_LOSS_##kind,
#include "profile/losses.def"
#undef LOSS
    SD_LOSS_KINDS
};

/* A set of kinds. */
#define SD_LOSS_BIT(kind) (1u << SD_LOSS_##kind)
/* The capture itself, or what could be read of it, is not whole. */
#define SD_LOSSES_OF_FILE                                                              \
    (SD_LOSS_BIT(DAMAGE) | SD_LOSS_BIT(EVENTS) | SD_LOSS_BIT(THREADS) |                \
     SD_LOSS_BIT(MEMORY) | SD_LOSS_BIT(OPENS) | SD_LOSS_BIT(MODELS) |                  \
     SD_LOSS_BIT(CUT_NOTES))
#define SD_LOSSES_OF_CALLS                                                             \
    (SD_LOSS_BIT(THREADS) | SD_LOSS_BIT(PAIRS) | SD_LOSS_BIT(PATHS) |                  \
     SD_LOSS_BIT(TIMELINE) | SD_LOSS_BIT(UNTRACED) | SD_LOSS_BIT(CELLS))
enum { SD_LOSSES_ALL = (1u << SD_LOSS_KINDS) - 1 };

/* How much of a kind is lost, in what its sentence counts; 0: nothing. */
uint64_t sd_loss_amount(const struct sd_profile *p, enum sd_loss_kind kind);
/* Appends its sentence; only where the amount is not 0. */
void sd_loss_put(struct sd_buf *to, const struct sd_profile *p, enum sd_loss_kind kind);
/* "events": the kind, for programs. */
const char *sd_loss_word(enum sd_loss_kind kind);

/* The sentences of all kinds in the set of which something is lost, with "; " between
 * them; nothing when nothing is. */
void sd_losses_put(struct sd_buf *to, const struct sd_profile *p, unsigned kinds);
#endif
