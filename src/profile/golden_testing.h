/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_GOLDEN_TESTING_H
#define SD_PROFILE_GOLDEN_TESTING_H
/* golden_testing: captures that a release wrote, kept as a hex dump of 16 bytes a row,
 * without rows that are all 0 (`xxd -g 4 -u`). */
#include <stdlib.h>

#include "base/mem.h"
#include "base/test.h"
#include "capture/reader.h"
#include "profile/profile.h"

enum { SD_GOLDEN_ROW = 16 };

struct sd_golden_row {
    uint32_t at;     /* offset in the file */
    const char *hex; /* "00112233 44556677 8899AABB CCDDEEFF" */
};

/* The profile of a capture of `n_bytes`, which are in at most `n_rows` rows. */
static inline struct sd_profile *sd_golden_load(const struct sd_golden_row *rows,
                                                size_t n_rows, size_t n_bytes)
{
    struct sd_profile *p = NULL;
    struct sd_reader *r;
    uint8_t *bytes = sd_zalloc(n_bytes + SD_GOLDEN_ROW);

    CHECK(bytes);
    for (size_t i = 0; i < n_rows; i++) {
        uint8_t *to = bytes + rows[i].at;

        CHECK(rows[i].at < n_bytes);
        for (const char *hex = rows[i].hex; *hex; hex += 2) {
            char byte[] = { hex[0], hex[1], 0 };

            *to++ = (uint8_t)strtoul(byte, NULL, 16);
            hex += hex[2] == ' ';
        }
    }
    CHECK(sd_reader_open_bytes(bytes, n_bytes, &r) == 0);
    CHECK(sd_profile_load_reader(r, NULL, &p) == 0 && !p->complaint);
    sd_reader_free(r);
    sd_free(bytes);
    return p;
}
#endif
