/* SPDX-License-Identifier: MIT */
#include "base/encoding/base64.h"

#include <string.h>

#include "base/mem.h"
#include "base/test.h"

static void check(const char *bytes, size_t n, const char *letters)
{
    struct sd_out out;

    sd_out_to_memory(&out);
    sd_base64_write(&out, bytes, n);
    CHECK(out.pending.n == strlen(letters) && out.pending.n == sd_base64_size(n));
    CHECK(memcmp(out.pending.n ? (const char *)out.pending.p : "", letters,
                 out.pending.n) == 0);
    sd_out_release(&out);
}

TEST(base64_writes_the_examples_of_its_standard)
{
    check("", 0, "");
    check("f", 1, "Zg==");
    check("fo", 2, "Zm8=");
    check("foo", 3, "Zm9v");
    check("foob", 4, "Zm9vYg==");
    check("fooba", 5, "Zm9vYmE=");
    check("foobar", 6, "Zm9vYmFy");
    check("\xff\xfe\x00\x3e", 4, "//4APg==");
}

TEST(base64_of_much_has_no_seams)
{
    enum { N = 9999 };
    char *bytes = sd_zalloc(N);
    struct sd_out out;

    sd_out_to_memory(&out);
    sd_base64_write(&out, bytes, N);
    CHECK(out.pending.n == sd_base64_size(N));
    for (size_t i = 0; i < out.pending.n; i++)
        CHECK(out.pending.p[i] == 'A');
    sd_out_release(&out);
    sd_free(bytes);
}
