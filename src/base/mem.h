/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_MEM_H
#define SD_BASE_MEM_H
/* mem: all allocation of Sonde goes through here, so that a test can make the
 * Nth one fail.  It is malloc and nothing else; NULL means out of memory, and
 * the caller says so (SD_ENOMEM). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *sd_alloc(size_t n);           /* not cleared */
void *sd_zalloc(size_t n);          /* cleared */
void *sd_regrow(void *p, size_t n); /* realloc; on NULL `p` is still owned */
void sd_free(void *p);              /* NULL is fine */
char *sd_strdup(const char *s);
char *sd_strndup(const char *s, size_t n);

/* Grows the array `p` of `size`-byte things to hold at least `need` of them,
 * doubling *cap.  Returns the array, or NULL with the old one still owned. */
void *sd_grow_array(void *p, size_t *cap, size_t need, size_t size);

/* For memory that does not come from malloc (pages): has a test asked that this
 * allocation fails? */
bool sd_mem_is_refused(void);

/* Returns SD_ENOMEM with its sentence: what every caller says of a NULL. */
int sd_no_memory(void);

/* For tests: the nth allocation from now (1 = the next) fails; with `and_after`
 * all later ones too.  0 switches it off.  Returns how many were asked for since
 * the last call; they are counted only while it is on (SIZE_MAX counts and fails
 * none), so that otherwise an allocation costs nothing more. */
size_t sd_mem_fail_at(size_t nth, bool and_after);
#endif
