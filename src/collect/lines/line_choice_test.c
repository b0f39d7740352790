/* SPDX-License-Identifier: MIT */
#include "collect/lines/line_choice.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"

static bool has(const char *typed, const char *file, const char *module,
                const char *name, uint32_t first)
{
    const struct sd_line_subject f = { file, module, name, first };
    struct sd_line_choice c;
    bool is;

    CHECK(sd_line_choice_read(typed, "/home/me", &c) == 0);
    is = sd_line_choice_has(&c, &f);
    sd_line_choice_release(&c);
    return is;
}

TEST(functions_are_named_by_their_end_their_class_or_their_module)
{
    CHECK(has("fit", "/x/a.py", "pkg.a", "fit", 1));
    CHECK(has("fit", "/x/a.py", "pkg.a", "Model.fit", 1));
    CHECK(has("Model", "/x/a.py", "pkg.a", "Model.fit", 1));
    CHECK(has("Model.fit", "/x/a.py", "pkg.a", "Model.fit", 1));
    CHECK(has("pkg.a", "/x/a.py", "pkg.a", "Model.fit", 1));
    CHECK(has("pkg.a.Model", "/x/a.py", "pkg.a", "Model.fit", 1));
    CHECK(has("pkg.a:fit", "/x/a.py", "pkg.a", "fit", 1));
    CHECK(has("nothing,f*t", "/x/a.py", "pkg.a", "fit", 1));
    CHECK(!has("nothing+fit", "/x/a.py", "pkg.a", "fit", 1));
    CHECK(!has("fit", "/x/a.py", "pkg.a", "refit", 1));
    CHECK(!has("pkg.b:fit", "/x/a.py", "pkg.a", "fit", 1));
    CHECK(!has("fit", "/x/a.py", "pkg.a", "fit.<locals>.inner", 1));
    CHECK(!has("pkg.a:fit", "/x/a.py", NULL, "fit", 1));
}

TEST(files_are_named_from_the_current_folder_or_the_root)
{
    CHECK(has("src/*.py", "/home/me/src/a.py", NULL, "f", 1));
    CHECK(has("./src/a.py", "/home/me/src/a.py", NULL, "f", 1));
    CHECK(has("../me/src/a.py", "/home/me/src/a.py", NULL, "f", 1));
    CHECK(has("../../x/./a.py", "/x/a.py", NULL, "f", 1));
    CHECK(has("d/../src/e/f/../..//a.py:f", "/home/me/src/a.py", NULL, "f", 1));
    CHECK(has("../../x/a.py", "/x/a.py", NULL, "f", 1));
    CHECK(!has("../a.py", "/home/me/a.py", NULL, "f", 1));
    CHECK(has("b.py, src/a.py ", "/home/me/src/a.py", NULL, "f", 1));
    CHECK(has("/home/me/src/a.py", "/home/me/src/a.py", NULL, "f", 1));
    CHECK(has("a.py", "/elsewhere/a.py", NULL, "f", 1));
    CHECK(has("*.py", "/home/me/a.py", NULL, "f", 1));
    CHECK(has("src/a.py:12", "/home/me/src/a.py", NULL, "f", 12));
    CHECK(has("src/a.py:f", "/home/me/src/a.py", NULL, "f", 12));
    CHECK(!has("src/a.py:13", "/home/me/src/a.py", NULL, "f", 12));
    CHECK(!has("*.py", "/usr/lib/python3/abc.py", NULL, "f", 1));
    CHECK(!has("src/*.py", "/home/me/src/deep/a.py", NULL, "f", 1));
}

TEST(files_whose_names_have_marks_are_named_too)
{
    CHECK(has("c++/s.py", "/home/me/c++/s.py", NULL, "f", 1));
    CHECK(has("nothing,/x/c++/s.py:3", "/x/c++/s.py", NULL, "f", 3));
    CHECK(has("a\\,b.py", "/elsewhere/a,b.py", NULL, "f", 1));
    CHECK(has("/x/a\\,b.py:3,nothing", "/x/a,b.py", NULL, "f", 3));
    CHECK(has("/x/\\[a\\]\\*.py:3", "/x/[a]*.py", NULL, "f", 3));
    CHECK(has("/x/a\\\\,nothing", "/x/a\\", NULL, "f", 3));
    CHECK(!has("/x/\\[a\\].py", "/x/a.py", NULL, "f", 3));
    CHECK(!has("a,b.py", "/elsewhere/a,b.py", NULL, "f", 1));
}

TEST(a_choice_of_nothing_is_refused)
{
    struct sd_line_choice c;

    CHECK(sd_line_choice_read("", "/", &c) == SD_EUSAGE);
    CHECK(sd_line_choice_read(",,", "/", &c) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "--only"));
}
