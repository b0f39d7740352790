/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_history.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "capture/alloc/alloc_cell.h"
#include "capture/alloc/alloc_events.h"
#include "capture/cells.h"
#include "profile/alloc/alloc_counts.h"
#include "profile/alloc/alloc_lifetimes.h"
#include "profile/profile_testing.h"

enum { TABLE = 5, MS = 1000000, PAGE = 4096 };

/* --- A capture: two threads, and stacks main > work, by malloc, calloc and mmap */

enum { CELL_MALLOC = 2, CELL_CALLOC, CELL_MMAP, CELL_OBJECT, N_CELLS };

static void put_table(struct sd_maker *m)
{
    struct {
        struct sd_segment head;
        struct sd_alloc_stack_cell cells[N_CELLS];
    } chunk = { .head = { .magic = SD_SEGMENT_MAGIC,
                          .type = SD_CHUNK_CELLS,
                          .kind = SD_CELLS_ALLOC_STACKS,
                          .cell_bytes = sizeof chunk.cells[0],
                          .used = sizeof chunk.cells } };
    uint32_t outer, inner;

    sd_maker_chunk(m, TABLE, 1);
    m->head.type = SD_CHUNK_DEFS;
    outer = sd_maker_function(m, "main", "/app/a.py", 1);
    inner = sd_maker_function(m, "work", "/app/b.py", 1);
    chunk.cells[1] = (struct sd_alloc_stack_cell){ .site = outer, .line = 7 };
    chunk.cells[CELL_MALLOC] =
        (struct sd_alloc_stack_cell){ 1, inner, 10, SD_BY_MALLOC };
    chunk.cells[CELL_CALLOC] =
        (struct sd_alloc_stack_cell){ 1, inner, 11, SD_BY_CALLOC };
    chunk.cells[CELL_MMAP] = (struct sd_alloc_stack_cell){ 1, inner, 12, SD_BY_MMAP };
    chunk.cells[CELL_OBJECT] =
        (struct sd_alloc_stack_cell){ 0, outer, 8, SD_BY_OBJECT_REALLOC };
    sd_maker_end_chunk(m);
    m->head =
        (struct sd_chunk_head){ .type = SD_CHUNK_CELLS, .stream = TABLE, .seq = 2 };
    sd_maker_put_chunk(m, &chunk, sizeof chunk);
    m->head = (struct sd_chunk_head){ 0 };
}

struct events {
    uint8_t bytes[512], *at;
    uint64_t address;
    uint32_t stack;
};

static void put(struct events *e, unsigned tag, uint64_t a, const uint64_t *b)
{
    *e->at++ = (uint8_t)tag;
    e->at = sd_alloc_put(e->at, a);
    if (b)
        e->at = sd_alloc_put(e->at, *b);
}

static uint64_t move(struct events *e, uint64_t address)
{
    uint64_t by = sd_zigzag((int64_t)(address - e->address));

    e->address = address;
    return by;
}

static void began(struct events *e, uint64_t address, uint64_t size, uint32_t cell)
{
    put(e, SD_ALLOC_BEGAN | SD_ALLOC_FINE, move(e, address), &size);
    e->at = sd_alloc_put(e->at, sd_zigzag((int64_t)cell - e->stack));
    e->stack = cell;
}

static void ended(struct events *e, uint64_t address)
{
    put(e, SD_ALLOC_ENDS | SD_ALLOC_FINE, move(e, address), NULL);
}

static void other(struct events *e, enum sd_alloc_other what, uint64_t a,
                  const uint64_t *b)
{
    put(e, SD_ALLOC_OTHER | (unsigned)what << SD_ALLOC_TAG_BITS, a, b);
}

static void unmapped(struct events *e, uint64_t address, uint64_t size)
{
    other(e, SD_ALLOC_UNMAP, move(e, address), &size);
}

static void time_told(struct events *e, uint64_t ms)
{
    uint64_t pages = 10;

    other(e, SD_ALLOC_TIME, ms * MS, &pages);
}

static void put_thread(struct sd_maker *m, uint64_t stream, uint64_t pid, uint64_t tid,
                       uint64_t order, struct events *e)
{
    size_t n = (size_t)(e->at - e->bytes);
    struct sd_rec_alloc *r;
    uint32_t process, thread;

    sd_maker_chunk(m, stream, 1);
    m->head.type = SD_CHUNK_ALLOC;
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, pid, "python");
    thread = sd_maker_track(m, SD_TRACK_THREAD, process, tid, "worker");
    r = sd_maker_record(m, SD_REC_ALLOC, sizeof *r + n + 1);
    r->track = thread;
    r->table = TABLE;
    r->order = order;
    r->time_ns = SD_MAKER_MONO;
    memcpy(r->events, e->bytes, n);
    sd_maker_end_chunk(m);
}

static struct sd_alloc_history *open_history(struct sd_maker *m, uint64_t every_ms)
{
    struct sd_alloc_history *h;

    sd_maker_end(m, 0);
    CHECK(sd_alloc_history_open(sd_maker_save(m), 0, every_ms, &h) == 0);
    return h;
}

static struct sd_alloc_change next(struct sd_alloc_history *h)
{
    struct sd_alloc_change c;

    CHECK(sd_alloc_history_next(h, &c) == 1);
    return c;
}

static bool is_end(struct sd_alloc_history *h)
{
    struct sd_alloc_change c;

    return sd_alloc_history_next(h, &c) == 0;
}

/* --- Order, owners */

TEST(a_history_tells_events_of_all_threads_in_their_order)
{
    struct events a = { .at = a.bytes }, b = { .at = b.bytes };
    struct sd_alloc_history *h;
    struct sd_alloc_change c;
    struct sd_maker m;

    sd_maker_begin(&m);
    put_table(&m);
    began(&a, 0x1000, 100, CELL_MALLOC);
    other(&a, SD_ALLOC_RUN, 2, NULL); /* run 3 */
    ended(&a, 0x2000);
    began(&b, 0x2000, 50, CELL_OBJECT); /* run 2 */
    put_thread(&m, 11, 70, 71, 1, &a);
    put_thread(&m, 12, 70, 72, 2, &b);
    h = open_history(&m, 0);
    c = next(h);
    CHECK(c.kind == SD_ALLOC_CHANGE_BEGAN && c.address == 0x1000 && c.size == 100);
    CHECK(c.by == SD_BY_MALLOC &&
          sd_alloc_history_profile(h)->tracks[c.track].number == 71);
    c = next(h);
    CHECK(c.kind == SD_ALLOC_CHANGE_BEGAN && c.size == 50);
    CHECK(c.by == SD_BY_OBJECT_REALLOC); /* the function of a domain is known here */
    c = next(h);
    CHECK(c.kind == SD_ALLOC_CHANGE_FREED && c.size == 50 &&
          c.by == SD_BY_OBJECT_REALLOC);
    CHECK(sd_alloc_history_profile(h)->tracks[c.track].number == 71);
    CHECK(sd_alloc_history_profile(h)->tracks[c.begun_by].number == 72);
    CHECK(is_end(h));
    sd_alloc_history_free(h);
    sd_maker_release(&m);
}

TEST(a_history_tells_what_a_range_that_is_unmapped_ends)
{
    struct events a = { .at = a.bytes };
    struct sd_alloc_history *h;
    struct sd_alloc_change c;
    struct sd_maker m;

    sd_maker_begin(&m);
    put_table(&m);
    began(&a, 0x10000, 4 * PAGE, CELL_MMAP);
    unmapped(&a, 0x10000, PAGE);
    unmapped(&a, 0x10000, 8 * PAGE);
    ended(&a, 0x9000); /* from before the recording */
    put_thread(&m, 11, 70, 71, 1, &a);
    h = open_history(&m, 0);
    CHECK(next(h).by == SD_BY_MMAP);
    CHECK(next(h).kind == SD_ALLOC_CHANGE_UNMAPPED);
    c = next(h);
    CHECK(c.kind == SD_ALLOC_CHANGE_CUT && c.size == PAGE && !c.is_whole);
    c = next(h);
    CHECK(c.kind == SD_ALLOC_CHANGE_UNMAPPED && c.size == 8 * PAGE);
    c = next(h);
    CHECK(c.kind == SD_ALLOC_CHANGE_CUT && c.size == 3 * PAGE && c.is_whole);
    c = next(h);
    CHECK(c.kind == SD_ALLOC_CHANGE_FREED && c.by == SD_BY_NONE && c.size == 0);
    CHECK(is_end(h));
    sd_alloc_history_free(h);
    sd_maker_release(&m);
}

TEST(a_history_takes_back_a_free_that_failed)
{
    struct events a = { .at = a.bytes };
    struct sd_alloc_history *h;
    struct sd_maker m;

    sd_maker_begin(&m);
    put_table(&m);
    began(&a, 0x1000, 100, CELL_MALLOC);
    ended(&a, 0x1000);
    other(&a, SD_ALLOC_UNDO, move(&a, 0x1000), NULL);
    ended(&a, 0x1000);
    put_thread(&m, 11, 70, 71, 1, &a);
    h = open_history(&m, 0);
    CHECK(next(h).kind == SD_ALLOC_CHANGE_BEGAN);
    CHECK(next(h).size == 100);
    CHECK(is_end(h));
    sd_alloc_history_free(h);
    sd_maker_release(&m);
}

TEST(a_history_takes_back_a_free_within_which_another_was_freed)
{
    struct events a = { .at = a.bytes };
    struct sd_alloc_history *h;
    struct sd_alloc_change c;
    struct sd_maker m;

    sd_maker_begin(&m);
    put_table(&m);
    began(&a, 0x1000, 100, CELL_MALLOC);
    began(&a, 0x2000, 50, CELL_MALLOC);
    ended(&a, 0x1000);
    other(&a, SD_ALLOC_DROP, move(&a, 0x2000), NULL);
    other(&a, SD_ALLOC_UNDO, move(&a, 0x1000), NULL);
    ended(&a, 0x1000);
    put_thread(&m, 11, 70, 71, 1, &a);
    h = open_history(&m, 0);
    CHECK(next(h).size == 100);
    CHECK(next(h).kind == SD_ALLOC_CHANGE_BEGAN);
    c = next(h);
    CHECK(c.kind == SD_ALLOC_CHANGE_FREED && c.size == 50);
    c = next(h);
    CHECK(c.kind == SD_ALLOC_CHANGE_FREED && c.size == 100);
    CHECK(is_end(h));
    sd_alloc_history_free(h);
    sd_maker_release(&m);
}

/* --- Processes */

TEST(a_history_is_of_the_process_that_is_named)
{
    struct events a = { .at = a.bytes };
    struct sd_alloc_history *h = NULL;
    struct sd_maker m;

    sd_maker_begin(&m);
    put_table(&m);
    began(&a, 0x1000, 100, CELL_MALLOC);
    put_thread(&m, 11, 70, 71, 1, &a);
    sd_maker_end(&m, 0);
    sd_maker_save(&m);
    CHECK(sd_alloc_history_open(m.path, 4711, 0, &h) == SD_EUSAGE && !h);
    CHECK(strstr(sd_fail_text(), "process 4711"));
    CHECK(sd_alloc_history_open(m.path, 70, 0, &h) == 0);
    CHECK(sd_alloc_history_profile(h)->tracks[sd_alloc_history_process(h)].number ==
          70);
    sd_alloc_history_free(h);
    sd_maker_release(&m);
}

TEST(a_child_is_not_the_process_that_was_recorded_first)
{
    struct sd_track tracks[3] = { { .number = 71, .parent = { 1 } },
                                  { .number = 70, .parent = { UINT32_MAX } },
                                  { .number = 72, .parent = { 1 } } };
    const struct sd_profile p = { .tracks = tracks, .n_tracks = 3 };
    const uint32_t all[] = { 0, 1, 2 };

    CHECK(sd_alloc_history_choose(&p, all, 3, 0) == 1);
    CHECK(sd_alloc_history_choose(&p, all, 3, 72) == 2);
    CHECK(sd_alloc_history_choose(&p, all, 1, 0) == 0);
    CHECK(sd_alloc_history_choose(&p, all, 3, 73) == UINT32_MAX);
    CHECK(sd_alloc_history_choose(&p, all, 0, 0) == UINT32_MAX);
}

/* --- What is made of it */

/* Readings at 10, 20, 22 and 40 ms; 22 is too early for one each 10 ms. */
static struct sd_alloc_history *open_readings(struct sd_maker *m)
{
    struct events a = { .at = a.bytes };

    sd_maker_begin(m);
    put_table(m);
    began(&a, 0x1000, 1, CELL_MALLOC); /* between no readings */
    ended(&a, 0x1000);
    began(&a, 0x1000, 100, CELL_MALLOC);
    began(&a, 0x10000, 2 * PAGE, CELL_MMAP);
    time_told(&a, 10);
    began(&a, 0x2000, 7, CELL_CALLOC);
    time_told(&a, 10);
    time_told(&a, 2);
    ended(&a, 0x1000);
    unmapped(&a, 0x10000, PAGE);
    time_told(&a, 18);
    put_thread(m, 11, 70, 71, 1, &a);
    return open_history(m, 10);
}

TEST(readings_of_a_history_are_no_nearer_than_is_said)
{
    struct sd_maker m;
    struct sd_alloc_history *h = open_readings(&m);
    struct sd_alloc_change c;
    uint64_t live[4] = { 0 };
    size_t n = 0;

    while (sd_alloc_history_next(h, &c) == 1)
        if (c.kind == SD_ALLOC_CHANGE_TIME) {
            CHECK(n < 3 && c.n_times == n && c.rss == 10 * PAGE);
            live[n++] = c.live_bytes;
        }
    CHECK(n == 3);
    CHECK(live[0] == 100 + 2 * PAGE && live[1] == 107 + 2 * PAGE &&
          live[2] == 7 + PAGE);
    sd_alloc_history_free(h);
    sd_maker_release(&m);
}

static const struct sd_alloc_lifetime *lifetime(const struct sd_alloc_lifetimes *l,
                                                uint32_t by, uint32_t to)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].by == by && l->items[i].to == to)
            return &l->items[i];
    return NULL;
}

TEST(lifetimes_are_counted_in_readings)
{
    struct sd_maker m;
    struct sd_alloc_history *h = open_readings(&m);
    struct sd_alloc_lifetimes l = { 0 };
    const struct sd_alloc_lifetime *one;

    CHECK(sd_alloc_lifetimes_read(&l, h, true, 1) == 0);
    CHECK(l.n == 4);
    one = lifetime(&l, SD_BY_MALLOC, 2);
    CHECK(one && one->from == 0 && one->blocks == 1 && one->bytes == 100);
    CHECK(one->track == UINT32_MAX);
    one = lifetime(&l, SD_BY_CALLOC, UINT32_MAX);
    CHECK(one && one->from == 1 && one->bytes == 7);
    one = lifetime(&l, SD_BY_MMAP, 2); /* a part of it */
    CHECK(one && one->blocks == 0 && one->bytes == PAGE);
    one = lifetime(&l, SD_BY_MMAP, UINT32_MAX);
    CHECK(one && one->blocks == 1 && one->bytes == PAGE);
    sd_alloc_lifetimes_release(&l);
    sd_alloc_history_free(h);
    sd_maker_release(&m);
}

TEST(counts_say_how_often_where_and_by_what)
{
    struct sd_maker m;
    struct sd_alloc_history *h = open_readings(&m);
    struct sd_alloc_counts c = { 0 };
    struct sd_alloc_place_count *lines, *files;
    size_t n_lines, n_files;
    uint64_t n = 0;

    CHECK(sd_alloc_counts_read(&c, h) == 0);
    CHECK(c.all.blocks == 4 && c.all.bytes == 108 + 2 * PAGE && c.n_frees == 3);
    CHECK(c.by[SD_BY_MALLOC] == 2 && c.by[SD_BY_CALLOC] == 1 && c.by[SD_BY_MMAP] == 1);
    CHECK(sd_table_get(&c.sizes, 7, &n) && n == 1);
    CHECK(sd_alloc_counts_lines(&c, h, &lines, &n_lines) == 0 && n_lines == 3);
    sd_alloc_counts_by_bytes(lines, n_lines);
    CHECK(lines[0].line == 12 && lines[0].count.bytes == 2 * PAGE);
    CHECK(strcmp(lines[0].function, "work") == 0 &&
          strcmp(lines[0].file, "/app/b.py") == 0);
    sd_alloc_counts_by_blocks(lines, n_lines);
    CHECK(lines[0].line == 10 && lines[0].count.blocks == 2);
    CHECK(sd_alloc_counts_files(&c, h, &files, &n_files) == 0 && n_files == 1);
    CHECK(files[0].count.blocks == 4 && !files[0].function);
    sd_free(lines);
    sd_free(files);
    sd_alloc_counts_release(&c);
    sd_alloc_history_free(h);
    sd_maker_release(&m);
}

/* --- Damage */

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Tags and numbers that mean something here and there. */
static void put_any(struct events *e, uint64_t *state)
{
    size_t n = 20 + draw(state) % 200;

    for (size_t i = 0; i < n; i++)
        *e->at++ = (uint8_t)(draw(state) % 3 ? draw(state) % 24 : draw(state));
}

TEST(any_bytes_of_events_are_read_to_their_end)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct events a = { .at = a.bytes }, b = { .at = b.bytes };
        struct sd_alloc_lifetimes l = { 0 };
        struct sd_alloc_history *h;
        struct sd_maker m;
        uint64_t random = seed;

        sd_maker_begin(&m);
        put_table(&m);
        put_any(&a, &random);
        put_any(&b, &random);
        put_thread(&m, 11, 70, 71, 1, &a);
        put_thread(&m, 12, 70, 72, 2, &b);
        h = open_history(&m, seed % 3);
        CHECK(sd_alloc_lifetimes_read(&l, h, seed % 2, 1) == 0);
        for (size_t i = 0; i < l.n; i++)
            CHECK(l.items[i].by < SD_ALLOCATORS && l.items[i].from <= l.items[i].to);
        sd_alloc_lifetimes_release(&l);
        sd_alloc_history_free(h);
        sd_maker_release(&m);
    }
}
