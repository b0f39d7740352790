/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analyse/alloc/alloc_request.h"
#include "analyse/alloc/alloc_words.h"
#include "analyse/findings/findings.h"
#include "analyse/views.h"
#include "base/error.h"
#include "profile/profile_testing.h"

enum { MIB = 1 << 20, SECOND = 1000000000, NONE = UINT32_MAX };
enum {
    BY_OBJECT = 3,
    BY_MALLOC = 4,
    BY_FILE = 16
}; /* as captures have them, for ever */

/* A process with two threads: work (/x/a.py:5) called by main (/x/a.py:9), load
 * (/usr/lib/python3.11/ssl.py:7) called by main, too, and an import. */
struct made {
    struct sd_maker m;
    struct sd_profile *p;
    uint32_t process, main, worker;
    uint32_t in_main, in_work, in_load, in_json;
};

static uint32_t function(struct made *x, uint32_t below, const char *name,
                         const char *file, uint32_t first, uint32_t line)
{
    return sd_maker_stack(&x->m, below, sd_maker_function(&x->m, name, file, first),
                          line);
}

/* Numbers of the profile, by the names that they have. */
static uint32_t track_of(const struct sd_profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->n_tracks; i++)
        if (p->tracks[i].name && strcmp(p->tracks[i].name, name) == 0)
            return i;
    return NONE;
}

static uint32_t stack_of(const struct sd_profile *p, const char *function)
{
    for (uint32_t i = 0; i < p->n_stacks; i++)
        if (strcmp(p->sites[p->stacks[i].site.at].name, function) == 0)
            return i;
    return NONE;
}

static void begin(struct made *x)
{
    uint32_t process, thread, main, shape, import;

    memset(x, 0, sizeof *x);
    sd_maker_begin(&x->m);
    sd_maker_chunk(&x->m, 1, 1);
    process = sd_maker_track(&x->m, SD_TRACK_PROCESS, 0, 7, "python");
    thread = sd_maker_track(&x->m, SD_TRACK_THREAD, process, 7, "MainThread");
    sd_maker_track(&x->m, SD_TRACK_THREAD, process, 8, "worker");
    shape = sd_maker_sample_shape(&x->m);
    main = function(x, 0, "main", "/x/a.py", 8, 9);
    import = function(x, main, "_find_and_load", "<frozen importlib._bootstrap>", 1, 2);
    sd_maker_sample(&x->m, thread, function(x, main, "work", "/x/a.py", 4, 5), 0,
                    2 * (uint64_t)SECOND, shape, 1);
    sd_maker_sample(&x->m, thread,
                    function(x, main, "load", "/usr/lib/python3.11/ssl.py", 6, 7), 0, 2,
                    shape, 1);
    sd_maker_sample(
        &x->m, thread,
        function(x, import, "<module>", "/usr/lib/python3.11/json/__init__.py", 1, 3),
        0, 3, shape, 1);
    sd_maker_end(&x->m, 0);
    x->p = sd_maker_load(&x->m, NULL);
    x->process = track_of(x->p, "python");
    x->main = track_of(x->p, "MainThread");
    x->worker = track_of(x->p, "worker");
    x->in_main = stack_of(x->p, "main");
    x->in_work = stack_of(x->p, "work");
    x->in_load = stack_of(x->p, "load");
    x->in_json = stack_of(x->p, "<module>");
    x->p->allocs.is_recorded = true;
    x->p->allocs.choice.has_growth = true;
}

static void end(struct made *x)
{
    sd_profile_free(x->p);
    sd_maker_release(&x->m);
}

static void add_process(struct made *x, uint64_t peak, uint64_t rss, uint64_t live)
{
    const struct sd_alloc_process one = { .track = x->process,
                                          .frees = 3,
                                          .peak_bytes = peak,
                                          .peak_ns = SECOND,
                                          .peak_rss = rss,
                                          .rss_live_bytes = live };

    CHECK(sd_alloc_totals_add_process(&x->p->allocs, &one) == 0);
}

/* `bytes` in `blocks`, all of them live at the peak, half of them for ever; live bytes
 * rise by `step` from each moment to the next. */
static void add(struct made *x, uint32_t stack, uint32_t track, uint32_t flags,
                int64_t bytes, int64_t blocks, int64_t step)
{
    struct sd_alloc_total one = { .stack = stack, .track = track, .flags = flags };
    int64_t moments[SD_ALLOC_MOMENTS];

    for (int i = 0; i < SD_ALLOC_MOMENTS; i++)
        moments[i] = i * step;
    one.values[SD_ALLOCS_PEAK_BYTES] = one.values[SD_ALLOCS_BYTES] = bytes;
    one.values[SD_ALLOCS_PEAK_BLOCKS] = one.values[SD_ALLOCS_BLOCKS] = blocks;
    one.values[SD_ALLOCS_LEAKED_BYTES] = bytes / 2;
    one.values[SD_ALLOCS_LEAKED_BLOCKS] = blocks / 2;
    CHECK(sd_alloc_totals_add(&x->p->allocs, &one, moments) == 0);
}

static void fill(struct made *x)
{
    begin(x);
    add_process(x, 100 * MIB, 150 * MIB, 90 * MIB);
    add(x, x->in_work, x->main, BY_OBJECT, 40 * MIB, 400, MIB);
    add(x, x->in_work, x->worker, BY_MALLOC, 20 * MIB, 20, 0);
    add(x, x->in_load, x->main, BY_OBJECT, 30 * MIB, 30, 0);
    add(x, x->in_json, x->main, BY_OBJECT, 8 * MIB, 80, 0);
    add(x, NONE, x->worker, BY_MALLOC, 2 * MIB, 2, 0);
    add(x, x->in_main, x->main, BY_FILE | SD_ALLOCS_APART, 7 * MIB, 7, 0);
}

static struct sd_view_table *table(struct made *x, const struct sd_view_request *r,
                                   struct sd_view *v)
{
    *v = (struct sd_view){ 0 };
    CHECK(sd_alloc_view_allocations(x->p, r, v) == 0 && v->n_tables == 1);
    return &v->tables[0];
}

static const struct sd_cell *cell(const struct sd_view_table *t, size_t row,
                                  const char *column)
{
    static const struct sd_cell none;

    for (size_t k = 0; k < t->n_columns; k++)
        if (strcmp(t->columns[k].name, column) == 0)
            return sd_view_cell(t, row, k);
    return &none;
}

static bool is_row(const struct sd_view_table *t, size_t row, const char *function,
                   int64_t line, int64_t count, int64_t bytes)
{
    const char *name = cell(t, row, "function")->text;

    return (function ? name && strcmp(name, function) == 0 : !name) &&
           cell(t, row, "line")->number == line &&
           cell(t, row, "count")->number == count &&
           cell(t, row, "bytes")->number == bytes;
}

TEST(alloc_lines_are_those_of_the_innermost_frames)
{
    const struct sd_view_request r = { .alloc.by = SD_ROWS_BY_LINE };
    const struct sd_view_table *t;
    struct sd_view v;
    struct made x;

    fill(&x);
    t = table(&x, &r, &v);
    CHECK(t->n_rows == 4 && is_row(t, 0, "work", 5, 420, 60 * MIB));
    CHECK(is_row(t, 1, "load", 7, 30, 30 * MIB));
    CHECK(is_row(t, 2, "<module>", 3, 80, 8 * MIB) &&
          is_row(t, 3, NULL, 0, 2, 2 * MIB));
    CHECK(strcmp(cell(t, 0, "file")->text, "/x/a.py") == 0);
    CHECK(cell(t, 3, "file")->kind == SD_CELL_NONE || !cell(t, 3, "file")->text);
    sd_view_release(&v);
    end(&x);
}

TEST(alloc_lines_for_eyes_are_imports_and_say_when_there_is_no_frame)
{
    const struct sd_view_request r = { .is_for_eyes = true, .folds_imports = true };
    const struct sd_view_table *t;
    struct sd_view v;
    struct made x;

    fill(&x);
    t = table(&x, &r, &v);
    CHECK(strcmp(t->title, "Live at the peak") == 0 && t->n_rows == 4);
    CHECK(strcmp(cell(t, 2, "function")->text, "import json") == 0);
    CHECK(strcmp(cell(t, 2, "where")->text, "a.py:9") == 0);
    CHECK(strcmp(cell(t, 3, "function")->text, "[no Python frame]") == 0);
    CHECK(strstr(t->note, "an import is one row"));
    sd_view_release(&v);
    end(&x);
}

TEST(alloc_lines_of_only_my_code_are_those_that_called_libraries)
{
    const struct sd_view_request r = { .stacks.choice.is_mine = true };
    const struct sd_view_table *t;
    struct sd_view v;
    struct made x;

    fill(&x);
    t = table(&x, &r, &v);
    CHECK(t->n_rows == 3 && is_row(t, 0, "work", 5, 420, 60 * MIB));
    CHECK(is_row(t, 1, "main", 9, 110, 38 * MIB));
    sd_view_release(&v);
    end(&x);
}

TEST(alloc_rows_are_functions_files_threads_processes_or_allocators)
{
    static const struct {
        enum sd_alloc_by by;
        size_t n_rows;
        const char *column, *text;
        int64_t bytes; /* of the first */
    } cases[] = {
        { SD_ROWS_BY_FUNCTION, 4, "function", "work", 60 * MIB },
        { SD_ROWS_BY_FILE, 4, "file", "/x/a.py", 60 * MIB },
        { SD_ROWS_BY_THREAD, 2, "thread", "MainThread", 78 * MIB },
        { SD_ROWS_BY_PROCESS, 1, "process", "python", 100 * MIB },
        { SD_ROWS_BY_ALLOCATOR, 3, "allocator", "object", 78 * MIB },
    };
    struct made x;

    fill(&x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sd_view_request r = { .alloc.by = cases[i].by };
        struct sd_view v;
        const struct sd_view_table *t = table(&x, &r, &v);

        CHECK(t->n_rows == cases[i].n_rows);
        CHECK(strcmp(cell(t, 0, cases[i].column)->text, cases[i].text) == 0);
        CHECK(cell(t, 0, "bytes")->number == cases[i].bytes);
        sd_view_release(&v);
    }
    end(&x);
}

TEST(alloc_rows_that_grow_are_those_with_more_in_every_quarter)
{
    const struct sd_view_request r = { .alloc.which = SD_WHICH_GROWING };
    const struct sd_view_table *t;
    struct sd_view v;
    struct made x;

    fill(&x);
    t = table(&x, &r, &v);
    CHECK(t->n_rows == 1 && strcmp(cell(t, 0, "function")->text, "work") == 0);
    CHECK(cell(t, 0, "growth")->number == 12 * MIB);
    CHECK(cell(t, 0, "bytes")->number == 30 * MIB); /* live at the end, of both */
    sd_view_release(&v);
    end(&x);
}

TEST(alloc_peak_is_that_of_the_process_with_the_largest)
{
    const struct sd_view_request peak = { .alloc.which = SD_WHICH_PEAK };
    const struct sd_view_request total = { .alloc.which = SD_WHICH_TOTAL };
    struct sd_alloc_summary s;
    struct sd_view v;
    struct made x;

    fill(&x);
    add_process(&x, 3 * MIB, 0, 0);
    add(&x, x.in_main, x.main, BY_OBJECT, 3 * MIB, 3, 0);
    x.p->allocs.items[x.p->allocs.n - 1].process = 1;
    CHECK(table(&x, &peak, &v)->n_rows == 4);
    sd_view_release(&v);
    CHECK(table(&x, &total, &v)->n_rows == 5);
    sd_view_release(&v);
    sd_alloc_summarize(x.p, &s);
    CHECK(s.peak_bytes == 100 * MIB && s.bytes == 103 * MIB && s.frees == 6);
    CHECK(s.untracked_bytes == 60 * MIB && s.has_untracked);
    end(&x);
}

TEST(alloc_words_give_peak_total_leaks_and_what_is_untracked)
{
    struct sd_buf words = { 0 };
    struct made x;

    fill(&x);
    sd_alloc_words(&words, x.p);
    CHECK(strcmp(sd_buf_string(&words),
                 "peak       100.0 MiB at 1.0 s\n"
                 "total      100.0 MiB in 532 allocations, 0 of them temporary\n"
                 "leaks      50.0 MiB in 266 blocks\n"
                 "untracked  60.0 MiB of 150.0 MiB RSS, its highest\n") == 0);
    sd_buf_clear(&words);
    x.p->allocs.processes[0].is_part = true;
    sd_alloc_words(&words, x.p);
    CHECK(strstr(sd_buf_string(&words), "untracked  not known\n"));
    sd_buf_release(&words);
    end(&x);
}

static bool refuses(const struct sd_profile *p, const struct sd_alloc_request *r,
                    const struct sd_filter *f, int code, const char *text)
{
    return sd_alloc_request_check(p, "x.sonde", r, f) == code &&
           strstr(sd_fail_text(), text);
}

TEST(alloc_sums_refuse_what_only_every_allocation_can_tell)
{
    const struct sd_alloc_request peak = { .which = SD_WHICH_PEAK },
                                  temporary = { .which = SD_WHICH_TEMPORARY },
                                  growing = { .which = SD_WHICH_GROWING },
                                  at = { .which = SD_WHICH_LIVE };
    const struct sd_filter whole = { 0 }, from = { .from_ns = 1 },
                           late = { .alloc.at_ns = 9 * (uint64_t)SECOND };
    struct made x;

    fill(&x);
    CHECK(sd_alloc_request_check(x.p, "x.sonde", &temporary, &whole) == 0);
    CHECK(refuses(x.p, &at, &late, SD_EUSAGE, "--at 9.0 s is past the end"));
    x.p->allocs.mode = SD_ALLOCS_AGGREGATE;
    CHECK(sd_alloc_request_check(x.p, "x.sonde", &peak, &whole) == 0);
    CHECK(refuses(x.p, &temporary, &whole, SD_EUSAGE, "--temporary needs every"));
    CHECK(refuses(x.p, &growing, &whole, SD_EUSAGE, "--growing needs every"));
    CHECK(refuses(x.p, &at, &late, SD_EUSAGE, "--at needs every"));
    CHECK(refuses(x.p, &peak, &from, SD_EUSAGE, "--from needs every"));
    CHECK(sd_alloc_request_check_which(x.p, SD_WHICH_GROWING) == SD_EABSENT);
    x.p->allocs.mode = SD_ALLOCS_SAMPLE;
    CHECK(refuses(x.p, &temporary, &whole, SD_EUSAGE, "x.sonde has only samples"));
    x.p->allocs.is_recorded = false;
    CHECK(refuses(x.p, &peak, &whole, SD_EABSENT, "record them with: sonde alloc"));
    end(&x);
}

TEST(alloc_notes_say_who_did_not_record)
{
    struct sd_note notes[] = {
        { .kind = SD_NOTE_REFUSAL, .text = "the collector calls does not run: no" },
        { .kind = SD_NOTE_REFUSAL, .text = "the collector alloc does not run in 8: a" },
        { .kind = SD_NOTE_LOSS, .text = "the recording stopped here" },
        { .kind = SD_NOTE_REFUSAL, .text = "the collector alloc does not run in 9: b" },
    };
    const struct sd_alloc_request peak = { .which = SD_WHICH_PEAK };
    const struct sd_filter whole = { 0 };
    struct sd_buf words = { 0 };
    struct sd_profile saved;
    struct made x;

    fill(&x);
    saved = *x.p;
    x.p->notes = notes;
    x.p->n_notes = sizeof notes / sizeof *notes;
    sd_alloc_words(&words, x.p);
    CHECK(strstr(sd_buf_string(&words), "\nthe recording stopped here\n"
                                        "the collector alloc does not run in 8: a\n"
                                        "1 more such note, which sonde info lists\n"));
    CHECK(!strstr(sd_buf_string(&words), "calls"));
    CHECK(sd_alloc_request_check(x.p, "x.sonde", &peak, &whole) == 0);
    x.p->allocs.n_processes = 0;
    CHECK(
        refuses(x.p, &peak, &whole, SD_EABSENT, "no allocations: the collector alloc"));
    CHECK(sd_alloc_request_check_which(x.p, SD_WHICH_LEAKS) == SD_EABSENT);
    x.p->n_notes = 1; /* of another collector */
    CHECK(sd_alloc_request_check(x.p, "x.sonde", &peak, &whole) == 0);
    x.p->notes = saved.notes;
    x.p->n_notes = saved.n_notes;
    x.p->allocs.n_processes = saved.allocs.n_processes;
    sd_buf_release(&words);
    end(&x);
}

static bool finds(const struct sd_profile_findings *f, const char *rule,
                  const char *view, const char *text)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->items[i].rule, rule) == 0)
            return strcmp(f->items[i].view, view) == 0 &&
                   strcmp(f->items[i].text, text) == 0;
    return false;
}

TEST(alloc_findings_name_the_line_that_holds_most_growth_leaks_and_the_untracked)
{
    const struct sd_view_request r = { .is_tree = false };
    struct sd_profile_findings f;
    struct sd_arena a = { 0 };
    struct made x;

    fill(&x);
    x.p->allocs.processes[0].peak_rss = 250 * MIB;
    x.p->run_end_ns = 2 * (uint64_t)SECOND;
    CHECK(sd_findings_make(x.p, &r, &a, &f) == 0);
    CHECK(finds(&f, "peak_line", "allocations",
                "work (a.py:5) holds 60.0 MiB of the 100.0 MiB that are live at the "
                "peak"));
    CHECK(finds(&f, "growing_line", "growing",
                "Memory that work (a.py:5) allocates only grows: by 12.0 MiB, to 30.0 "
                "MiB"));
    CHECK(finds(&f, "leaks", "leaks",
                "50.0 MiB is never freed; 30.0 MiB of it is from work (a.py:5)"));
    CHECK(finds(&f, "untracked_memory", "plot",
                "160.0 MiB of 250.0 MiB resident memory is untracked: no recorded "
                "allocation holds it"));
    sd_arena_release(&a);
    end(&x);
}
