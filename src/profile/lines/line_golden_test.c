/* SPDX-License-Identifier: MIT */
/* Every file that a release ever wrote stays readable: one with counted lines. */
#include <string.h>

#include "profile/golden_testing.h"

enum { VERSION_1_0_BYTES = 976 };
static const struct sd_golden_row version_1_0[] = {
    { 0x000, "89534F4E 44450D0A 01000000 40000000" },
    { 0x010, "01000000 00000000 F4F1181D 7F8FE818" },
    { 0x020, "DB709559 BD390000 00000000 00000000" },
    { 0x030, "00000000 00000000 00000000 556A4554" },
    { 0x040, "4453434B 02000000 01000000 00000000" },
    { 0x050, "00000000 00000000 01000000 18000000" },
    { 0x060, "18000000 00000000 00000000 00000000" },
    { 0x070, "00000000 00000000 00000000 EEE76134" },
    { 0x080, "18000701 07000700 636F6D6D 616E6477" },
    { 0x090, "6F726B2E 70790000 4453434B 03000000" },
    { 0x0A0, "01000000 00000000 01000000 00000000" },
    { 0x0B0, "01000000 A8000000 A8000000 00000000" },
    { 0x0D0, "00000000 56FD9C9C 18000601 02000000" },
    { 0x0E0, "40420F00 00000000 00F2052A 01000000" },
    { 0x0F0, "28000301 01000000 01000000 00000000" },
    { 0x100, "4D000000 00000000 00000000 00000000" },
    { 0x110, "00000000 00000000 18000601 02000000" },
    { 0x120, "C0C62D00 00000000 4034152A 01000000" },
    { 0x130, "18000101 02000000 04000000 00000000" },
    { 0x140, "776F726B 00000000 18000101 03000000" },
    { 0x150, "07000000 00000000 776F726B 2E707900" },
    { 0x160, "20000201 04000000 02000000 02000000" },
    { 0x170, "03000000 03000000 00000000 00000000" },
    { 0x180, "4453434B 04000000 01000000 00000000" },
    { 0x190, "01000000 00000000 02000000 A0010000" },
    { 0x1A0, "A0010000 00000000 00000000 00000000" },
    { 0x1B0, "00000000 00000000 00000000 89DA322C" },
    { 0x1C0, "53454753 04000200 80000000 80010000" },
    { 0x1E0, "01000000 07000000 00500000 00000000" },
    { 0x1F0, "00C80000 00000000 00900100 00000000" },
    { 0x260, "04000000 04000000 0B000000 00000000" },
    { 0x270, "AC080000 00000000 00000000 00000000" },
    { 0x280, "78000000 00000000 A4010000 00000000" },
    { 0x290, "E8030000 00000000 0B000000 00000000" },
    { 0x2A0, "00200000 00000000 00001000 00000000" },
    { 0x2B0, "00002000 00000000 00000000 00000000" },
    { 0x2E0, "04000000 05000000 0A000000 00000000" },
    { 0x2F0, "18C40000 00000000 409C0000 00000000" },
    { 0x300, "88130000 00000000 70170000 00000000" },
    { 0x310, "30750000 00000000 0A000000 00000000" },
    { 0x320, "00F0FFFF FFFFFFFF 00001000 00000000" },
    { 0x330, "00000000 00000000 14000000 00000000" },
    { 0x340, "0A000000 00000000 00000000 00000000" },
    { 0x360, "4453434B 06000000 01000000 00000000" },
    { 0x370, "00000000 00000000 02000000 30000000" },
    { 0x380, "30000000 00000000 00000000 00000000" },
    { 0x390, "00000000 00000000 00000000 E8F338D8" },
    { 0x3A0, "00000000 00000000 03000000 00000000" },
    { 0x3C0, "297E9559 BD390000 07FF181D 7F8FE818" },
};

static const struct sd_line_total *line_of(const struct sd_profile *p, uint32_t line)
{
    const struct sd_line_totals *lines = &p->evidence[SD_LINES].lines;

    for (size_t i = 0; i < lines->n; i++)
        if (lines->items[i].line == line)
            return &lines->items[i];
    return NULL;
}

TEST(golden_capture_of_lines_is_read_with_the_cost_of_telling_taken_off)
{
    struct sd_profile *p = sd_golden_load(
        version_1_0, sizeof version_1_0 / sizeof *version_1_0, VERSION_1_0_BYTES);
    const struct sd_line_total *plain, *waits;

    CHECK(p->evidence[SD_LINES].lines.n == 2);
    plain = line_of(p, 4);
    waits = line_of(p, 5);
    CHECK(plain && waits && strcmp(p->sites[plain->site].name, "work") == 0);
    CHECK(p->sites[plain->site].line == 3);
    CHECK(plain->values[SD_LINE_HITS] == 11 && plain->values[SD_LINE_TIME] == 1000);
    CHECK(plain->values[SD_LINE_TRACING] == 110);
    CHECK(plain->values[SD_LINE_MIN] == 50 && plain->values[SD_LINE_MAX] == 200);
    CHECK(plain->values[SD_LINE_CPU_TIME] == 890);
    CHECK(plain->values[SD_LINE_INCREMENT] == 8192);
    CHECK(plain->values[SD_LINE_PEAK] == 2 << 20);
    CHECK(waits->values[SD_LINE_TIME] == 24000);
    CHECK(waits->values[SD_LINE_CHILD_TIME] == 19000);
    CHECK(waits->values[SD_LINE_TRACING] == 1100);
    CHECK(waits->values[SD_LINE_PEAK] == SD_LINE_NONE);
    CHECK(waits->values[SD_LINE_HITS] * waits->values[SD_LINE_MIN] <= 24000);
    CHECK(waits->values[SD_LINE_HITS] * waits->values[SD_LINE_MAX] >= 24000);
    CHECK(waits->values[SD_LINE_TOLD_TIME] == 25100);
    CHECK(waits->values[SD_LINE_TOLD_CHILD_TIME] == 20000);
    CHECK(waits->values[SD_LINE_TOLD_MIN] == 2500);
    sd_profile_free(p);
}
