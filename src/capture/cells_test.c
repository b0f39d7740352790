/* SPDX-License-Identifier: MIT */
#include "capture/cells.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/test.h"
#include "capture/capture_testing.h"

struct cell { /* one node of a tree, as a collector of calls has */
    uint32_t site, parent;
    uint64_t calls;
};

enum { KIND = 7, CELLS = 40000 }; /* three segments of cells */

static struct sd_cells *fill(struct sd_writer *w, uint32_t n)
{
    struct sd_cells *t;

    CHECK(sd_cells_new(w, KIND, sizeof(struct cell), &t) == 0);
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        int len = snprintf(name, sizeof name, "f%u", i);
        uint32_t string = sd_cells_define_string(t, name, (size_t)len);
        struct cell cell = { sd_cells_define_site(t, SD_SITE_FUNCTION, string, 0, i, 0),
                             i / 2, i };

        CHECK(sd_cells_add(t, &cell) == i);
    }
    return t;
}

/* What the capture says about a table that `fill` made. */
struct table_seen {
    uint32_t n, wrong, n_sites;
    uint64_t calls;
};

static void see_cells(struct table_seen *seen, const struct sd_cells_view *cells)
{
    seen->wrong += cells->kind != KIND || cells->cell_bytes != sizeof(struct cell);
    seen->wrong += cells->first != seen->n;
    for (uint32_t i = 0; i < cells->n; i++) {
        const struct cell *c =
            (const void *)(cells->cells + (size_t)i * cells->cell_bytes);

        /* Two definitions before each cell: its site has an even id. */
        seen->wrong += c->site != 2 * (seen->n + 1) || c->parent != seen->n / 2;
        seen->calls += c->calls;
        seen->n++;
    }
}

static void read_table(struct sd_scratch *s, struct table_seen *seen)
{
    struct sd_reader *r;
    struct sd_chunk_view view;
    struct sd_cells_view cells;
    const struct sd_record *record;

    *seen = (struct table_seen){ 0 };
    CHECK(sd_reader_open(s->path, &r) == 0);
    while (sd_reader_next(r, &view) == 1) {
        uint32_t at = 0;

        if (sd_cells_of_chunk(&view, &cells))
            see_cells(seen, &cells);
        else if (view.type == SD_CHUNK_DEFS)
            while ((record = sd_chunk_view_next(&view, &at)))
                seen->n_sites += record->type == SD_REC_SITE;
    }
    sd_reader_free(r);
}

static int n_tables_in(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    int n = 0;

    CHECK(d);
    while ((e = readdir(d)))
        n += strstr(e->d_name, ".cells") != NULL;
    closedir(d);
    return n;
}

TEST(cells_never_move_and_count_in_plain_memory)
{
    struct sd_cells *t = fill(NULL, CELLS);
    struct cell *first = sd_cells_at(t, 0), *last = sd_cells_at(t, CELLS - 1);
    struct cell more = { 0 };

    CHECK(sd_cells_n(t) == CELLS && last->calls == CELLS - 1);
    first->calls = 5;
    for (int i = 0; i < CELLS; i++)
        sd_cells_add(t, &more);
    CHECK(sd_cells_at(t, 0) == first && first->calls == 5);
    CHECK(sd_cells_at(t, CELLS - 1) == last && sd_cells_lost(t) == 0);
    sd_cells_free(t);
}

TEST(cells_are_sealed_at_the_end)
{
    struct sd_scratch s;
    struct table_seen seen;
    struct sd_cells *t;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    t = fill(s.writer, CELLS);
    ((struct cell *)sd_cells_at(t, 0))->calls = 1000000;
    sd_cells_free(t);
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    CHECK(access(s.live, F_OK) != 0);
    read_table(&s, &seen);
    CHECK(seen.n == CELLS && seen.wrong == 0 && seen.n_sites == CELLS);
    CHECK(seen.calls == 1000000 + (uint64_t)CELLS * (CELLS - 1) / 2);
    sd_scratch_remove(&s);
}

TEST(cells_outlive_a_kill_and_are_read_as_they_stand)
{
    for (int is_owner_killed = 0; is_owner_killed < 2; is_owner_killed++) {
        struct sd_scratch s;
        struct table_seen seen;
        pid_t pid;

        sd_scratch_make(&s);
        if (!is_owner_killed)
            CHECK(sd_scratch_create(&s, NULL) == 0);
        pid = fork();
        if (pid == 0) {
            struct sd_cells *t;

            if (is_owner_killed)
                sd_scratch_create(&s, NULL);
            sd_scratch_join(&s);
            t = fill(s.writer, CELLS);
            for (int i = 0; i < 100; i++)
                ((struct cell *)sd_cells_at(t, 3))->calls++;
            raise(SIGKILL);
        }
        waitpid(pid, NULL, 0);
        if (!is_owner_killed)
            CHECK(sd_capture_finish(s.capture, -9, NULL) == 0);
        read_table(&s, &seen);
        CHECK(seen.n == CELLS && seen.wrong == 0 && seen.n_sites == CELLS);
        CHECK(seen.calls == 100 + (uint64_t)CELLS * (CELLS - 1) / 2);
        sd_scratch_remove(&s);
    }
}

/* SIGKILL at any moment of adding and counting: every cell that was added is there with
 * its names, and with at least the count it had reached. */
TEST(cells_lose_no_count_to_a_kill_at_any_moment)
{
    _Atomic uint32_t *reached =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    for (uint32_t round = 0; round < 50; round++) {
        struct sd_scratch s;
        struct table_seen seen;
        pid_t pid;

        sd_scratch_make(&s);
        CHECK(sd_scratch_create(&s, NULL) == 0);
        atomic_store(reached, 0);
        pid = fork();
        if (pid == 0) {
            struct sd_cells *t;

            sd_scratch_join(&s);
            sd_cells_new(s.writer, KIND, sizeof(struct cell), &t);
            for (uint32_t i = 0;; i++) {
                uint32_t string = sd_cells_define_string(t, "name", 4);
                uint32_t site =
                    sd_cells_define_site(t, SD_SITE_FUNCTION, string, 0, i, 0);
                struct cell cell = { site, i / 2, 0 };

                ((struct cell *)sd_cells_at(t, sd_cells_add(t, &cell)))->calls = 1;
                atomic_store(reached, i + 1);
            }
        }
        while (atomic_load(reached) == 0)
            usleep(100);
        usleep(round * 200);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        CHECK(sd_capture_finish(s.capture, -9, NULL) == 0);
        read_table(&s, &seen);
        CHECK(seen.wrong == 0);
        CHECK(seen.n >= atomic_load(reached) && seen.n <= atomic_load(reached) + 1);
        CHECK(seen.calls >= atomic_load(reached) && seen.n_sites >= seen.n);
        sd_scratch_remove(&s);
    }
    munmap(reached, 4096);
}

TEST(cells_refuse_a_forked_child)
{
    struct sd_scratch s;
    struct table_seen seen;
    struct sd_cells *t;
    int status;
    pid_t pid;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    t = fill(s.writer, 10);
    pid = fork();
    if (pid == 0) {
        struct cell cell = { 0 };

        if (sd_cells_is_ours(t) || sd_cells_add(t, &cell) != SD_NO_CELL ||
            sd_cells_define_string(t, "x", 1) != 0)
            _exit(1);
        sd_cells_free(t); /* the child's view of it only */
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(sd_cells_is_ours(t));
    sd_cells_free(t);
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    read_table(&s, &seen);
    CHECK(seen.n == 10 && seen.wrong == 0);
    sd_scratch_remove(&s);
}

TEST(cells_are_written_at_their_end_without_shared_mapping)
{
    struct sd_scratch s;
    struct table_seen seen;

    sd_live_forbid_mapping(true);
    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    sd_cells_free(fill(s.writer, CELLS));
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    sd_live_forbid_mapping(false);
    CHECK(access(s.live, F_OK) != 0);
    read_table(&s, &seen);
    CHECK(seen.n == CELLS && seen.wrong == 0 && seen.n_sites == CELLS);
    sd_scratch_remove(&s);
}

/* One table after the other, each sealed and its file removed before the next. */
TEST(cells_of_tables_that_come_and_go_are_all_there)
{
    enum { TABLES = 5, EACH = 100 };
    struct sd_scratch s;
    struct table_seen seen;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_capture_start(s.capture) == 0);
    CHECK(sd_scratch_join(&s) == 0);
    for (int i = 0; i < TABLES; i++) {
        sd_cells_free(fill(s.writer, EACH));
        for (int tries = 0; tries < 6000 && n_tables_in(s.live) > 0; tries++)
            usleep(10000);
        CHECK(n_tables_in(s.live) == 0);
    }
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    read_table(&s, &seen);
    CHECK(seen.n == TABLES * EACH && seen.n_sites == TABLES * EACH);
    sd_scratch_remove(&s);
}

/* A disk that is full for this process alone. */
static int lose_names(struct sd_writer *w)
{
    const struct rlimit little = { 1024 * 1024, 1024 * 1024 };
    struct sd_cells *t;
    int i = 0;

    if (sd_cells_new(w, KIND, sizeof(struct cell), &t) < 0 ||
        setrlimit(RLIMIT_FSIZE, &little) != 0)
        return 1;
    while (i < 1000000 && sd_cells_define_string(t, "a name that is long", 19))
        i++;
    if (i == 0 || i == 1000000)
        return 2;
    for (i = 0; i < 100000; i++)
        if (sd_cells_define_string(t, "a name that is long", 19))
            return 3;
    return sd_cells_lost(t) == 1 ? 0 : 4;
}

TEST(cells_that_run_out_of_room_say_so_once)
{
    struct sd_scratch s;
    int status = 0;
    pid_t child;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0);
    child = fork();
    if (child == 0)
        _exit(sd_scratch_join(&s) == 0 ? lose_names(s.writer) : 5);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    sd_scratch_remove(&s);
}
