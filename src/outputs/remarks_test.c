/* SPDX-License-Identifier: MIT */
#include "outputs/remarks.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/test.h"
#include "profile/profile_testing.h"

static void take(void *of, const char *sentence) { sd_buf_printf(of, "%s|", sentence); }

TEST(remarks_go_to_who_takes_them_and_nowhere_else)
{
    struct sd_buf taken = { 0 };
    const struct sd_remarks r = { take, &taken };

    sd_remark(&r, "%s has %d", "x", 2);
    sd_remark(NULL, "nobody hears this");
    CHECK(strcmp(sd_buf_string(&taken), "x has 2|") == 0);
    sd_buf_release(&taken);
}

TEST(remarks_name_the_file_that_lacks_something)
{
    struct sd_buf taken = { 0 };
    const struct sd_remarks r = { take, &taken };
    struct sd_profile *p;
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    sd_remark_losses(&r, "x.sonde", p, SD_LOSSES_ALL);
    CHECK(taken.n == 0);
    p->n_timeline_lost = 3;
    sd_remark_losses(&r, "x.sonde", p, SD_LOSSES_ALL);
    CHECK(strncmp(sd_buf_string(&taken), "x.sonde: ", 9) == 0);
    CHECK(strstr(sd_buf_string(&taken), "3"));
    sd_profile_free(p);
    sd_maker_release(&m);
    sd_buf_release(&taken);
}
