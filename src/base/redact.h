/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_REDACT_H
#define SD_BASE_REDACT_H
/* redact: a command line without its secrets.
 *
 * A capture is sent to colleagues and pasted into issues, and the command that made
 * it is the one place where a password can slip in.  So values of options and
 * assignments whose names speak of secrets, passwords inside URLs, and words with the
 * known beginnings of access keys are written as ***.  It errs towards hiding. */
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Adds the command as one would type it, quoted for a shell where needed. */
void sd_redact_command(struct sd_buf *to, char *const *argv);
/* Adds one text with what looks like a secret in it replaced. */
void sd_redact_text(struct sd_buf *to, const char *s, size_t n);
/* Does an option or variable of this name hold a secret? ("hf-token", "API_KEY") */
bool sd_redact_name(const char *name, size_t n);
/* Adds a word so that a shell reads it as one. */
void sd_quote_word(struct sd_buf *to, const char *s, size_t n);
#endif
