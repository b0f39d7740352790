/* SPDX-License-Identifier: MIT */
#include "base/plain_locale.h"

void sd_plain_locale_enter(struct sd_plain_locale *l)
{
    l->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    l->before = uselocale(l->plain);
}

void sd_plain_locale_leave(struct sd_plain_locale *l)
{
    uselocale(l->before);
    if (l->plain)
        freelocale(l->plain);
}
