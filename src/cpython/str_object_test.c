/* SPDX-License-Identifier: MIT */
#include "cpython/str_object.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"

/* A str as a version keeps it: its header, then the characters. */
static int utf8_of(uint32_t version, unsigned width, bool is_ascii,
                   const void *characters, uint64_t n, char *to)
{
    const struct sd_layout *l = sd_layout_of_version(version);
    uint32_t state = (width | 8u | (is_ascii ? 16u : 0)) << l->str_kind_bit | 1;
    uint8_t object[SD_STR_HEADER] = { 0 };
    struct sd_buf b = { 0 };
    struct sd_str s;
    int rc;

    memcpy(object + l->str_length, &n, sizeof n);
    memcpy(object + l->str_state, &state, sizeof state);
    rc = sd_str_parse(l, object, &s);
    if (rc == 0) {
        CHECK(s.length == n && s.width == width && s.is_ascii == is_ascii);
        CHECK(s.data == (is_ascii ? l->str_ascii : l->str_compact));
        sd_str_utf8(&b, &s, characters, n);
        strcpy(to, sd_buf_string(&b));
    }
    sd_buf_release(&b);
    return rc;
}

static const uint32_t versions[] = { 0x03080000, 0x030b0000, 0x030c0000, 0x030d0000 };
#define EACH_VERSION(v)                                                                \
    for (const uint32_t *v = versions; v < versions + sizeof versions / sizeof *v; v++)

TEST(text_of_each_width_becomes_utf8)
{
    static const uint8_t latin[] = { 'n', 'a', 0xef, 'v' };
    static const uint16_t two[] = { 0x540d, 0x524d, 'x' };
    static const uint32_t four[] = { 0x1f40d, 'y', 0xe9 };
    char to[64];

    EACH_VERSION(v)
    {
        CHECK(utf8_of(*v, 1, true, "spam", 4, to) == 0 && strcmp(to, "spam") == 0);
        CHECK(utf8_of(*v, 1, false, latin, 4, to) == 0 && strcmp(to, "naïv") == 0);
        CHECK(utf8_of(*v, 2, false, two, 3, to) == 0 && strcmp(to, "名前x") == 0);
        CHECK(utf8_of(*v, 4, false, four, 3, to) == 0 && strcmp(to, "🐍yé") == 0);
        CHECK(utf8_of(*v, 1, true, "", 0, to) == 0 && strcmp(to, "") == 0);
    }
}

TEST(text_that_no_str_can_be_is_refused)
{
    char to[64];

    EACH_VERSION(v)
    {
        CHECK(utf8_of(*v, 0, false, "", 0, to) == SD_EFORMAT);
        CHECK(utf8_of(*v, 3, false, "", 0, to) == SD_EFORMAT);
        CHECK(utf8_of(*v, 2, true, "", 0, to) == SD_EFORMAT);
    }
}

TEST(text_of_undecodable_file_names_is_their_bytes)
{
    static const uint16_t name[] = { 'a', 0xdcff, 'b' };
    static const uint16_t half[] = { 0xd83d, 'b' };
    char to[64];

    CHECK(utf8_of(0x030b0000, 2, false, name, 3, to) == 0);
    CHECK(strcmp(to, "a\xff"
                     "b") == 0);
    CHECK(utf8_of(0x030b0000, 2, false, half, 2, to) == 0);
    CHECK(strcmp(to, "\xef\xbf\xbd"
                     "b") == 0);
}

TEST(text_teaches_where_its_kind_is)
{
    static const unsigned bits[] = { 2, 8, 16 };
    size_t i;

    for (i = 0; i < 3; i++) {
        struct sd_layout l = *sd_layout_of_version(0x030d0000);
        uint8_t header[SD_STR_HEADER] = { 0 };
        uint32_t word = 0x39u << bits[i] | 2; /* compact ASCII, static, interned */

        memcpy(header + l.str_state, &word, sizeof word);
        CHECK(sd_str_learn(&l, header));
        CHECK(l.str_kind_bit == bits[i]);
        memset(header, 0, sizeof header);
        CHECK(!sd_str_learn(&l, header));
    }
}
