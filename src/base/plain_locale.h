/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_PLAIN_LOCALE_H
#define SD_BASE_PLAIN_LOCALE_H
/* plain_locale: switches the calling thread to the C locale for a while.  printf and
 * strtod take the decimal point from the locale, which may be that of the program we
 * are a guest of.  This thread, and it alone, steps out of it from one call to the
 * other. */
#include <locale.h>

struct sd_plain_locale {
    locale_t plain, before;
};

/* Takes no memory. */
void sd_plain_locale_enter(struct sd_plain_locale *l);
void sd_plain_locale_leave(struct sd_plain_locale *l);
#endif
