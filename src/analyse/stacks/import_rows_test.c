/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/import_rows.h"

#include <string.h>

#include "analyse/analyse.h"
#include "profile/profile_testing.h"

#define BOOTSTRAP "<frozen importlib._bootstrap>"

struct ids {
    uint32_t thread, shape, script, load, body, site, start;
};

static struct ids define(struct sd_maker *m)
{
    struct ids i;

    i.thread = sd_maker_track(m, SD_TRACK_THREAD,
                              sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python"), 7,
                              "MainThread");
    i.shape = sd_maker_sample_shape(m);
    i.script = sd_maker_function(m, "<module>", "/home/me/app.py", 1);
    i.load = sd_maker_function(m, "_find_and_load", BOOTSTRAP, 900);
    i.body = sd_maker_function(m, "_call_with_frames_removed", BOOTSTRAP, 200);
    i.site = sd_maker_function(m, "<module>", "/usr/lib/python3.8/site.py", 1);
    i.start =
        sd_maker_function(m, "<module>", "/opt/sonde/_bootstrap/sitecustomize.py", 1);
    return i;
}

/* importlib, then the body of the module in this file. */
static uint32_t import(struct sd_maker *m, const struct ids *i, uint32_t importer,
                       const char *file)
{
    uint32_t load = sd_maker_stack(m, importer, i->load, 901);
    uint32_t run = sd_maker_stack(m, load, i->body, 201);

    return sd_maker_stack(m, run, sd_maker_function(m, "<module>", file, 1), 5);
}

static void sample(struct sd_maker *m, const struct ids *i, uint32_t stack, int64_t n)
{
    sd_maker_sample(m, i->thread, stack, 0, 10, i->shape, n);
}

static const struct sd_cell *cell(const struct sd_view_table *t, const char *function,
                                  const char *column)
{
    size_t name = 0, at = 0;

    for (size_t k = 0; k < t->n_columns; k++) {
        name = strcmp(t->columns[k].name, "function") == 0 ? k : name;
        at = strcmp(t->columns[k].name, column) == 0 ? k : at;
    }
    for (size_t r = 0; r < t->n_rows; r++)
        if (strcmp(sd_view_cell(t, r, name)->text, function) == 0)
            return sd_view_cell(t, r, at);
    return NULL;
}

static int64_t samples(const struct sd_view_table *t, const char *function)
{
    const struct sd_cell *c = cell(t, function, "self_samples");

    return c ? c->number : -1;
}

static struct sd_profile *analysed(struct sd_maker *m, bool folds, struct sd_view *v)
{
    const struct sd_sample_choice choice = { .folds_imports = folds };
    struct sd_profile *p;

    sd_maker_end(m, 0);
    p = sd_maker_load(m, NULL);
    *v = (struct sd_view){ 0 };
    CHECK(sd_analyse_functions(p, &(struct sd_stacks_request){ .choice = choice }, v) ==
          0);
    return p;
}

static void release(struct sd_maker *m, struct sd_profile *p, struct sd_view *v)
{
    sd_view_release(v);
    sd_profile_free(p);
    sd_maker_release(m);
}

TEST(import_rows_are_one_for_each_import_of_the_program)
{
    struct sd_maker m;
    struct sd_view v;
    struct sd_profile *p;
    struct ids i;
    uint32_t json, line, decoder;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    i = define(&m);
    line = sd_maker_stack(&m, 0, i.script, 3);
    json = import(&m, &i, line, "/usr/lib/python3.8/json/__init__.py");
    decoder = import(&m, &i, json, "/usr/lib/python3.8/json/decoder.py");
    sample(&m, &i, line, 1);
    sample(&m, &i, json, 2);
    sample(&m, &i, decoder, 4);
    sample(&m, &i, sd_maker_stack(&m, line, i.load, 950), 8); /* json is searched */
    p = analysed(&m, true, &v);
    CHECK(v.tables[0].n_rows == 2);
    CHECK(samples(&v.tables[0], "import json") == 14);
    CHECK(samples(&v.tables[0], "<module>") == 1);
    CHECK(cell(&v.tables[0], "<module>", "cum_samples")->number == 15);
    CHECK(strcmp(cell(&v.tables[0], "import json", "where")->text, "app.py:3") == 0);
    CHECK(strstr(v.tables[0].note, "--all"));
    release(&m, p, &v);
}

TEST(import_rows_of_a_package_and_its_module_are_one)
{
    struct sd_maker m;
    struct sd_view v;
    struct sd_profile *p;
    struct ids i;
    uint32_t line;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    i = define(&m);
    line = sd_maker_stack(&m, 0, i.script, 3); /* import mine.net, beside the script */
    sample(&m, &i, import(&m, &i, line, "/home/me/mine/__init__.py"), 1);
    sample(&m, &i, import(&m, &i, line, "/home/me/mine/net.py"), 2);
    line = sd_maker_stack(&m, 0, i.script, 4); /* import enum, io */
    sample(&m, &i, import(&m, &i, line, "/usr/lib/python3.8/enum.py"), 4);
    sample(&m, &i, import(&m, &i, line, "<frozen io>"), 8);
    sample(&m, &i, sd_maker_stack(&m, line, i.load, 950), 16);
    line = sd_maker_stack(&m, 0, i.script, 5); /* a module in C */
    sample(&m, &i, sd_maker_stack(&m, line, i.load, 950), 32);
    p = analysed(&m, true, &v);
    CHECK(samples(&v.tables[0], "import mine.net") == 3);
    CHECK(samples(&v.tables[0], "import enum") == 4);
    CHECK(samples(&v.tables[0], "import io") == 8);
    CHECK(samples(&v.tables[0], "import at line 4") == 16);
    CHECK(samples(&v.tables[0], "import at line 5") == 32);
    CHECK(v.tables[0].n_rows == 6); /* and the script */
    release(&m, p, &v);
}

TEST(import_rows_leave_out_the_start_of_sonde_and_keep_the_users)
{
    struct sd_maker m;
    struct sd_view v;
    struct sd_profile *p;
    struct ids i;
    uint32_t site, start;

    for (int folds = 0; folds < 2; folds++) {
        sd_maker_begin(&m);
        sd_maker_chunk(&m, 1, 1);
        i = define(&m);
        site = sd_maker_stack(&m, sd_maker_stack(&m, 0, i.load, 901), i.site, 5);
        start = sd_maker_stack(&m, sd_maker_stack(&m, site, i.load, 901), i.start, 3);
        sample(&m, &i, site, 1);
        sample(&m, &i, start, 2);
        sample(&m, &i, sd_maker_stack(&m, start, i.load, 901), 4);
        sample(&m, &i, import(&m, &i, start, "/home/me/sitecustomize.py"), 8);
        p = analysed(&m, folds, &v);
        CHECK(strstr(v.tables[0].note, "Sonde's own start took 60"));
        if (folds)
            CHECK(samples(&v.tables[0], "start of Python") == 9);
        for (size_t r = 0; r < v.tables[0].n_rows; r++)
            for (size_t k = 0; k < v.tables[0].n_columns; k++) {
                const char *text = sd_view_cell(&v.tables[0], r, k)->text;

                CHECK(!text || !strstr(text, "_bootstrap/sitecustomize"));
            }
        release(&m, p, &v);
    }
}

TEST(import_rows_are_of_imports_alone)
{
    CHECK(sd_import_part_of("_find_and_load", BOOTSTRAP) == SD_IMPORT_ENTRY);
    CHECK(sd_import_part_of("SourceLoader.exec_module", BOOTSTRAP) == SD_IMPORT_ENTRY);
    CHECK(sd_import_part_of("_get_module_lock.<locals>.cb", BOOTSTRAP) ==
          SD_IMPORT_ENTRY);
    CHECK(sd_import_part_of("get_source", BOOTSTRAP) == SD_IMPORT_INSIDE);
    CHECK(sd_import_part_of("import_module",
                            "/usr/lib/python3.8/importlib/__init__.py") ==
          SD_IMPORT_ENTRY);
    CHECK(sd_import_part_of("_find_and_load", "/home/me/app.py") == SD_IMPORT_NO_PART);
    CHECK(sd_import_part_of("<module>", "<frozen os>") == SD_IMPORT_BODY);
    CHECK(sd_import_part_of("<module>", "<frozen getpath>") == SD_IMPORT_INSIDE);
    CHECK(sd_import_part_of("f", NULL) == SD_IMPORT_NO_PART);
}
