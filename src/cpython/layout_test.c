/* SPDX-License-Identifier: MIT */
#include "cpython/layout.h"

#include <string.h>

#include "base/test.h"
#include "cpython/layouts.h"

static uint32_t parse(const char *s) { return sd_version_parse(s, strlen(s)); }

TEST(version_is_read_as_cpython_writes_it)
{
    CHECK(parse("3.11.7") == 0x030b07f0);
    CHECK(parse("3.13.0rc2") == 0x030d00c2);
    CHECK(parse("3.14.0a6+") == 0x030e00a6);
    CHECK(parse("3.8") == 0x030800f0);
    CHECK(parse("") == 0 && parse("3") == 0 && parse("3.") == 0 && parse("3.9.") == 0);
    CHECK(parse("3.9x") == 0 && parse("python3.9") == 0 && parse("3.9999") == 0);
    CHECK(parse("3.11.7 (main)") == 0);
}

TEST(version_is_written_as_people_know_it)
{
    char text[SD_VERSION_TEXT];

    CHECK(strcmp(sd_version_text(text, 0x030b07f0, false), "3.11.7") == 0);
    CHECK(strcmp(sd_version_text(text, 0x030d00c2, false), "3.13.0rc2") == 0);
    CHECK(strcmp(sd_version_text(text, 0x030d01f0, true), "3.13.1t") == 0);
    sd_version_text(text, UINT32_MAX, true);
}

TEST(version_is_found_in_the_suffix_of_an_extension)
{
    bool is_free_threaded;

    CHECK(sd_version_of_suffix(".cpython-38-x86_64-linux-gnu.so", &is_free_threaded) ==
          0x030800f0);
    CHECK(!is_free_threaded);
    CHECK(sd_version_of_suffix(".cpython-316t-x86_64-linux-gnu.so",
                               &is_free_threaded) == 0x031000f0);
    CHECK(is_free_threaded);
    CHECK(!sd_version_of_suffix(".abi3.so", &is_free_threaded));
    CHECK(!sd_version_of_suffix(".cpython-3", &is_free_threaded));
    CHECK(!sd_version_of_suffix("", &is_free_threaded));
}

TEST(layout_is_found_by_minor_version_alone)
{
    CHECK(sd_layout_of_version(0x030800f0) == &sd_layout_cp38);
    CHECK(sd_layout_of_version(0x030b02f0) == &sd_layout_cp311);
    CHECK(!sd_layout_of_version(0x030700f0));
    CHECK(!sd_layout_of_version(0x031000f0));
    CHECK(!sd_layout_of_version(0x020712f0));
}

/* Every offset lies inside its structure, and where a style needs a field it is there.
 */
static void check_layout(const struct sd_layout *l)
{
#define OFFSET(name, within, meaning)                                                  \
    CHECK(l->name == SD_NO_OFFSET || l->name <= l->within##_size);
#include "cpython/offsets.def"
#undef OFFSET
    CHECK((l->frames_style == SD_FRAMES_CFRAME) == (l->cframe_frame != SD_NO_OFFSET));
    CHECK((l->frames_style == SD_FRAMES_OBJECTS) == (l->thread_chunk == SD_NO_OFFSET));
    CHECK((l->gil_style == SD_GIL_RUNTIME) == (l->runtime_holder != SD_NO_OFFSET));
    CHECK((l->gil_style == SD_GIL_INTERPRETER) == (l->interp_gil != SD_NO_OFFSET));
    CHECK((l->bytecode_style == SD_BYTECODE_OBJECT) == (l->code_bytes != SD_NO_OFFSET));
    CHECK((l->bytecode_style == SD_BYTECODE_INLINE) ==
          (l->code_bytecode != SD_NO_OFFSET));
    CHECK(l->thread_chunk == SD_NO_OFFSET || l->thread_top == l->thread_chunk + 8);
}

TEST(layout_of_every_version_is_whole)
{
#define LAYOUT(minor) check_layout(&sd_layout_cp3##minor);
#include "cpython/layouts.def"
#undef LAYOUT
}

TEST(layouts_to_try_are_those_that_tell_nothing)
{
    const struct sd_layout *l = sd_layout_next(NULL);
    size_t n = 0;

    for (; l; l = sd_layout_next(l), n++)
        CHECK(!sd_layout_is_told(l->version));
    CHECK(n == 5);
}

TEST(instruction_of_each_style_is_an_offset_in_bytes)
{
    struct sd_layout l = { .instr_style = SD_INSTR_BYTES };

    CHECK(sd_layout_instr(&l, 0xffffffff0000000c, 99) == 12);
    CHECK(sd_layout_instr(&l, 0xffffffff, 99) == -1);
    l.instr_style = SD_INSTR_UNITS;
    CHECK(sd_layout_instr(&l, 6, 99) == 12);
    CHECK(sd_layout_instr(&l, 0xffffffff, 99) == -2);
    l.instr_style = SD_INSTR_PREVIOUS;
    CHECK(sd_layout_instr(&l, 0x1000 - 2, 0x1000) == -2);
    l.instr_style = SD_INSTR_CURRENT;
    CHECK(sd_layout_instr(&l, 0x100c, 0x1000) == 12);
}
