/* SPDX-License-Identifier: MIT */
#include "cli/live/tally.h"

#include <string.h>

#include "analyse/stacks/import_rows.h"
#include "base/test.h"
#include "capture/record.h"

/* Stacks of made-up code objects, whose line tables were decoded already and are
 * empty. */
static struct sd_line_run no_runs[1];
static struct sd_code codes[4] = {
    { .id = 0,
      .name = "main",
      .qualname = "",
      .filename = "a.py",
      .path = "a.py",
      .first_line = 1,
      .runs = no_runs },
    { .id = 1,
      .name = "work",
      .qualname = "C.work",
      .filename = "a.py",
      .path = "a.py",
      .first_line = 5,
      .runs = no_runs },
    { .id = 2,
      .name = "leaf",
      .qualname = "leaf",
      .filename = "b.py",
      .path = "b.py",
      .first_line = 9,
      .runs = no_runs },
    { .id = 3,
      .name = "leaf",
      .qualname = "leaf",
      .filename = "b.py",
      .path = "b.py",
      .first_line = 9,
      .runs = no_runs },
};
static struct sd_runtime rt;

static void add(struct sd_tally *t, const char *stack, unsigned flags, void **word)
{
    struct sd_code *all[] = { &codes[0], &codes[1], &codes[2], &codes[3] };
    struct sd_codes known = { .all = all, .n = 4 };
    struct sd_shot_frame frames[8];
    struct sd_thread_sample told = { .pid = 7,
                                     .tid = 8,
                                     .name = "it",
                                     .flags = flags,
                                     .frames = frames,
                                     .codes = &known,
                                     .serial = 1,
                                     .rt = &rt,
                                     .of_thread = word };

    for (; stack[told.n_frames]; told.n_frames++)
        frames[told.n_frames] =
            (struct sd_shot_frame){ .code = &codes[stack[told.n_frames] - '0'] };
    sd_tally_add(t, &told);
}

static const struct sd_tally_row *row(const struct sd_tally *t, const char *name)
{
    for (size_t i = 0; i < t->functions.n; i++)
        if (strcmp(t->functions.items[i].name, name) == 0)
            return &t->functions.items[i];
    return NULL;
}

TEST(tally_counts_own_and_total_once_per_stack)
{
    struct sd_tally t = { .wants = SD_TALLY_ACTIVE };
    void *word = NULL;

    add(&t, "2110", 0, &word); /* work calls itself */
    sd_tally_round(&t);
    add(&t, "10", 0, &word);
    sd_tally_round(&t);
    sd_tally_turn(&t, 2000);
    CHECK(row(&t, "leaf")->own_ns == 1000 && row(&t, "leaf")->total_ns == 1000);
    CHECK(row(&t, "work")->own_ns == 1000 && row(&t, "work")->total_ns == 2000);
    CHECK(row(&t, "main")->own_ns == 0 && row(&t, "main")->total_percent == 100);
    CHECK(strcmp(row(&t, "work")->qualname, "C.work") == 0);
    CHECK(t.n_threads == 1 && t.threads[0]->active_percent == 100);
    sd_tally_release(&t);
}

TEST(tally_takes_one_function_in_two_code_objects_for_one)
{
    struct sd_tally t = { .wants = SD_TALLY_ACTIVE };
    void *word = NULL;

    add(&t, "2", 0, &word);
    add(&t, "3", 0, &word);
    CHECK(t.functions.n == 1 && row(&t, "leaf")->n_own == 2);
    sd_tally_release(&t);
}

TEST(tally_gives_a_cut_stack_to_partial_and_not_to_a_function)
{
    struct sd_tally t = { .wants = SD_TALLY_ACTIVE };
    void *word = NULL;

    add(&t, "10", SD_SAMPLE_PARTIAL, &word);
    CHECK(row(&t, "work")->n_own == 0 && row(&t, "work")->n_total == 1);
    CHECK(row(&t, "[partial]")->n_own == 1);
    sd_tally_release(&t);
}

TEST(tally_counts_what_is_wanted_and_every_thread)
{
    struct sd_tally active = { .wants = SD_TALLY_ACTIVE },
                    all = { .wants = SD_TALLY_ALL }, gil = { .wants = SD_TALLY_GIL };
    struct sd_tally *tallies[] = { &active, &all, &gil };

    for (int i = 0; i < 3; i++) {
        void *words[3] = { NULL };

        add(tallies[i], "0", SD_SAMPLE_IDLE, &words[0]);
        add(tallies[i], "10", 0, &words[1]);
        add(tallies[i], "210", SD_SAMPLE_GIL, &words[2]);
        sd_tally_round(tallies[i]);
        CHECK(tallies[i]->n_threads == 3);
    }
    CHECK(row(&active, "main")->n_total == 2);
    CHECK(row(&all, "main")->n_total == 3);
    CHECK(row(&gil, "main")->n_total == 1);
    for (int i = 0; i < 3; i++)
        sd_tally_release(tallies[i]);
}

TEST(tally_begins_again_from_zero_and_forgets_ended_threads)
{
    struct sd_tally t = { .wants = SD_TALLY_ALL };
    void *word = NULL;

    add(&t, "10", 0, &word);
    sd_tally_round(&t);
    sd_tally_turn(&t, 1000);
    sd_tally_reset(&t);
    CHECK(row(&t, "work")->own_ns == 0 && t.elapsed_ns == 0);
    sd_tally_thread_ends(&t, word);
    sd_tally_turn(&t, 1000);
    CHECK(t.n_threads == 0);
    sd_tally_release(&t);
}

TEST(tally_forgets_the_code_of_a_process_with_its_last_thread)
{
    struct sd_tally t = { .wants = SD_TALLY_ALL };
    void *one = NULL, *two = NULL;

    add(&t, "10", 0, &one);
    add(&t, "10", 0, &two);
    sd_tally_thread_ends(&t, one);
    CHECK(t.codes[1].rows != NULL);
    sd_tally_thread_ends(&t, two);
    CHECK(t.codes[1].rows == NULL && t.codes[1].n == 0);
    one = NULL;
    add(&t, "10", 0, &one); /* as if it had never been known */
    CHECK(t.functions.n == 2 && row(&t, "work")->n_own == 3);
    sd_tally_release(&t);
}

TEST(tally_without_memory_says_so_and_leaks_nothing)
{
    EACH_FAILURE(nth)
    {
        struct sd_tally t = { .wants = SD_TALLY_ALL };
        void *word = NULL;

        add(&t, "2110", SD_SAMPLE_PARTIAL, &word);
        sd_tally_round(&t);
        sd_tally_turn(&t, 1000);
        CHECK(t.has_no_room || row(&t, "main")->total_ns == 1000);
        sd_tally_release(&t);
    }
}

/* --- Imports */

/* Functions by their rows, innermost first, with one line each. */
static void fill(struct sd_tally *t, const uint32_t *rows, const int32_t *lines,
                 size_t n)
{
    t->frames.rows = (uint32_t *)(uintptr_t)rows;
    t->frames.lines = (int32_t *)(uintptr_t)lines;
    t->frames.n = n;
}

TEST(tally_folds_an_import_into_the_module_that_the_program_asked_for)
{
    struct sd_tally t = { .folds_imports = true };
    uint32_t script = sd_tally_function(&t, "<module>", "<module>", "/me/app.py", 1);
    uint32_t load = sd_tally_function(&t, "_find_and_load", "_find_and_load",
                                      "<frozen importlib._bootstrap>", 9);
    uint32_t body = sd_tally_function(&t, "<module>", "<module>", "/me/mine/net.py", 1);
    uint32_t leaf = sd_tally_function(&t, "leaf", "leaf", "/me/mine/net.py", 5);
    uint32_t start = sd_tally_function(&t, "<module>", "<module>",
                                       "/x/sonde/_bootstrap/sitecustomize.py", 1);
    uint32_t found = 0, other = 0;

    fill(&t, (uint32_t[]){ leaf, script }, (int32_t[]){ 6, 3 }, 2);
    CHECK(sd_tally_fold(&t, &found) == 0);
    fill(&t, (uint32_t[]){ load, script }, (int32_t[]){ 10, 3 }, 2);
    CHECK(sd_tally_fold(&t, &found) == 1);
    CHECK(strcmp(t.functions.items[found].name, "import at line 3") == 0);
    fill(&t, (uint32_t[]){ leaf, body, load, script }, (int32_t[]){ 6, 2, 10, 3 }, 4);
    CHECK(sd_tally_fold(&t, &found) == 3);
    CHECK(strcmp(t.functions.items[found].name, "import mine.net") == 0);
    CHECK(t.functions.items[found].line == 3);
    fill(&t, (uint32_t[]){ load, script }, (int32_t[]){ 10, 3 }, 2);
    CHECK(sd_tally_fold(&t, &other) == 1 && other == found); /* it is known now */
    fill(&t, (uint32_t[]){ body, load }, (int32_t[]){ 6, 2 }, 2);
    CHECK(sd_tally_fold(&t, &found) == 2);
    CHECK(strcmp(t.functions.items[found].name, SD_IMPORT_START) == 0);
    t.folds_imports = false;
    CHECK(sd_tally_fold(&t, &found) == 0 && found == UINT32_MAX);
    fill(&t, (uint32_t[]){ load, start, load }, (int32_t[]){ 6, 2, 10 }, 3);
    CHECK(sd_tally_fold(&t, &found) == 3 && found == UINT32_MAX);
    fill(&t, NULL, NULL, 0);
    sd_tally_release(&t);
}
