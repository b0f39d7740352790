/* SPDX-License-Identifier: MIT */
#include "collect/lines/line_stack.h"

#include <string.h>

#include "base/mem.h"
#include "base/test.h"
#include "collect/lines/line_memory.h"

enum { FIRST = 10, N = 8 };

struct made { /* a code object with lines 10 to 17, in one book */
    struct sd_line_book book;
    struct sd_line_turn turn;
    struct sd_line_code code;
    struct sd_line_cell cells[N];
    struct sd_line_cell *places[N];
};

static struct sd_line_cell *make_cell(struct sd_line_book *b, uint32_t line)
{
    struct made *m = (struct made *)b;

    if (line - FIRST >= N)
        return NULL;
    return m->places[line - FIRST] = &m->cells[line - FIRST];
}

static void make(struct made *m)
{
    memset(m, 0, sizeof *m);
    m->book.first = FIRST;
    m->book.n = N;
    m->book.cells = m->places;
    m->book.make = make_cell;
    m->book.turn = &m->turn;
    m->turn.is_on = true;
    m->code.books = &m->book;
    m->code.is_plain = true;
}

/* The front's part: the frame on top, or another. */
static void line(struct sd_line_stack *s, uintptr_t frame, struct made *m, uint32_t n)
{
    uint64_t now = sd_line_now(s);

    if (s->top->frame == frame)
        sd_line_stack_line(s, n, now);
    else
        sd_line_stack_line_slowly(s, frame, &m->code, n, now);
}

TEST(lines_that_follow_each_other_are_hits_and_the_same_again_is_none)
{
    struct sd_line_stack s;
    struct made m;

    make(&m);
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 11);
    line(&s, 64, &m, 11); /* a jump back to the line that it is on */
    line(&s, 64, &m, 12);
    line(&s, 64, &m, 11);
    sd_line_stack_leave(&s, 64, false, sd_line_now(&s));
    CHECK(m.cells[1].hits == 2 && m.cells[2].hits == 1);
    CHECK(m.cells[1].stays == 1 && m.cells[2].stays == 0);
    CHECK(m.cells[1].max_ticks >= m.cells[1].min_ticks && m.cells[1].min_ticks > 0);
    CHECK(m.cells[1].ticks >= m.cells[1].min_ticks);
    CHECK(s.top == s.entries);
    sd_line_stack_release(&s);
}

TEST(a_line_that_recurses_goes_on_while_the_inner_ones_begin_and_end)
{
    enum { DEPTH = 50 };
    struct sd_line_stack s;
    struct made m;

    make(&m);
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    for (uintptr_t f = 1; f <= DEPTH; f++) {
        sd_line_stack_enter(&s, f * 64, &m.code, 0);
        line(&s, f * 64, &m, 12);
    }
    for (uintptr_t f = DEPTH; f >= 1; f--)
        sd_line_stack_leave(&s, f * 64, false, sd_line_now(&s));
    CHECK(m.cells[2].hits == DEPTH);
    CHECK(m.cells[2].child_ticks < m.cells[2].ticks && m.cells[2].child_ticks > 0);
    CHECK(s.top == s.entries);
    sd_line_stack_release(&s);
}

TEST(a_generator_that_goes_on_with_its_line_hits_it_once)
{
    struct sd_line_stack s;
    struct made m;

    make(&m);
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 13);
    sd_line_stack_leave(&s, 64, true, sd_line_now(&s));
    CHECK(m.cells[3].min_ticks == 0); /* the hit has not ended */
    sd_line_stack_enter(&s, 64, &m.code, 13);
    line(&s, 64, &m, 14);
    sd_line_stack_leave(&s, 64, false, sd_line_now(&s));
    CHECK(m.cells[3].hits == 1 && m.cells[4].hits == 1);
    sd_line_stack_release(&s);
}

TEST(an_end_that_nobody_told_is_found_out_by_the_next_line)
{
    struct sd_line_stack s;
    struct made m;

    make(&m);
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 11);
    sd_line_stack_enter(&s, 128, &m.code, 0);
    line(&s, 128, &m, 12);
    line(&s, 64, &m, 13); /* the inner one is gone */
    CHECK(s.top == s.entries + 1);
    line(&s, 192, &m, 14); /* one that began unheard */
    CHECK(s.top == s.entries + 2 && s.top->frame == 192);
    sd_line_stack_leave(&s, 256, false, sd_line_now(&s)); /* of nobody */
    CHECK(s.top == s.entries + 2);
    CHECK(m.cells[1].hits == 1 && m.cells[3].hits == 1 && m.cells[4].hits == 1);
    sd_line_stack_release(&s);
}

TEST(what_is_open_when_a_session_ends_has_its_time_and_is_dropped)
{
    struct sd_line_stack s;
    struct made m, other;

    make(&m);
    make(&other);
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 11);
    sd_line_stack_enter(&s, 128, &other.code, 0);
    line(&s, 128, &other, 12);
    sd_line_stack_close(&s, &m.turn, sd_line_now(&s) + 1);
    CHECK(m.cells[1].ticks > 0 && other.cells[2].ticks == 0);
    m.turn.is_on = false;
    sd_line_stack_drop(&s);
    CHECK(s.top == s.entries + 1 && s.top->frame == 128 && s.top->line == 12);
    sd_line_stack_leave(&s, 128, false, sd_line_now(&s));
    CHECK(other.cells[2].hits == 1 && other.cells[2].max_ticks > 0);
    sd_line_stack_release(&s);
}

/* Nobody can read the memory of a moment for all threads: it is not read, not 0. */
TEST(what_is_open_when_a_session_ends_has_no_reading_of_memory)
{
    struct sd_line_stack s;
    struct made m;

    make(&m);
    m.code.is_plain = false;
    m.book.wants = SD_LINES_HAVE_MEMORY | SD_LINES_HAVE_PEAK;
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 11);
    sd_line_stack_close(&s, &m.turn, sd_line_now(&s) + 1);
    CHECK(m.cells[1].ticks > 0 && m.cells[1].n_read == 0);
    CHECK(m.cells[1].after_bytes == 0 && m.cells[1].peak_bytes == 0);
    sd_line_stack_release(&s);
}

/* Somebody who looks at the program above a limit of memory. */
static struct {
    struct sd_line_stack *stack;
    const struct sd_line_code *by;
    uint32_t line;
    uint64_t from, to;                      /* ticks */
    uint64_t start, began, start_of_caller; /* as they were */
} looked;

static void look(int64_t rss_bytes, const struct sd_line_culprit *blamed,
                 bool is_elsewhere)
{
    struct sd_line_stack *s = looked.stack;

    looked.by = blamed->by;
    looked.line = blamed->line;
    CHECK(!is_elsewhere);
    looked.start = s->top->start;
    looked.began = s->top->began;
    looked.start_of_caller = s->top[-1].start;
    looked.from = looked.to = sd_line_now(s);
    while (looked.to - looked.from < 1000000)
        looked.to = sd_line_now(s);
    CHECK(rss_bytes > 1);
}

TEST(who_looks_above_a_limit_is_told_of_the_line_before_and_takes_no_time)
{
    struct sd_line_stack s;
    struct made m;
    uint64_t away;

    make(&m);
    m.code.is_plain = false;
    m.book.wants = SD_LINES_HAVE_MEMORY;
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    looked.stack = &s;
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 11);
    sd_line_stack_enter(&s, 128, &m.code, 0);
    line(&s, 128, &m, 12);
    sd_line_memory_limit(1, look);
    line(&s, 128, &m, 13);
    away = looked.to - looked.from;
    CHECK(looked.by == &m.code && looked.line == 12);
    CHECK(s.top->start - looked.start >= away);
    CHECK(s.top->began - looked.began >= away);
    CHECK(s.top[-1].start - looked.start_of_caller >= away);
    sd_line_memory_limit(0, NULL);
    sd_line_memory_acquit(&m.code);
    sd_line_stack_release(&s);
}

TEST(a_look_at_memory_below_the_limit_is_no_time_of_the_line)
{
    struct sd_line_stack s;
    struct made m;
    uint64_t start, began, now;

    make(&m);
    m.code.is_plain = false;
    m.book.wants = SD_LINES_HAVE_MEMORY;
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 11);
    sd_line_memory_limit(UINT64_MAX, look);
    start = s.top->start;
    began = s.top->began;
    now = sd_line_now(&s);
    sd_line_stack_ends(&s, 64, now);
    CHECK(s.top->start > start && s.top->start - start == s.top->began - began);
    CHECK(s.top->start - start <= sd_line_now(&s) - now);
    sd_line_memory_limit(0, NULL);
    sd_line_stack_release(&s);
}

TEST(a_clock_that_is_behind_on_another_cpu_gives_no_time_at_all)
{
    struct sd_line_stack s;
    struct made m;

    make(&m);
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 12);
    line(&s, 64, &m, 11);
    sd_line_stack_enter(&s, 128, &m.code, 0);
    sd_line_stack_leave(&s, 128, false, s.top->began - 5);
    CHECK(s.top->child.ticks == 0);
    sd_line_stack_line(&s, 12, s.top->start - 5);
    CHECK(m.cells[1].max_ticks == 0 && m.cells[1].ticks == 0);
    m.cells[2].max_ticks = m.cells[2].ticks = 0;
    sd_line_stack_leave(&s, 64, false, s.top->start - 5);
    CHECK(m.cells[2].max_ticks == 0 && m.cells[2].ticks == 0);
    sd_line_stack_release(&s);
}

TEST(a_line_without_room_for_its_cell_harms_nobody)
{
    struct sd_line_stack s;
    struct made m;

    make(&m);
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 11);
    line(&s, 64, &m, 99);
    line(&s, 64, &m, 11);
    sd_line_stack_leave(&s, 64, false, sd_line_now(&s));
    CHECK(m.cells[1].hits == 2 && s.nowhere.hits == 1 && m.book.n_lost == 1);
    sd_line_stack_release(&s);
}

TEST(two_sessions_count_the_same_line_each_for_itself)
{
    struct sd_line_stack s;
    struct made m, second;

    make(&m);
    make(&second);
    m.book.next = &second.book;
    m.code.is_plain = false;
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 11);
    line(&s, 64, &m, 12);
    sd_line_stack_leave(&s, 64, false, sd_line_now(&s));
    CHECK(m.cells[1].hits == 1 && second.cells[1].hits == 1);
    CHECK(m.cells[2].hits == 1 && second.cells[2].hits == 1);
    CHECK(m.cells[1].ticks == second.cells[1].ticks);
    sd_line_stack_release(&s);
}

TEST(a_line_that_stays_is_known_to_who_waits_for_it_and_in_every_book)
{
    struct made m, other;
    struct sd_line_stack s;

    make(&m);
    make(&other);
    m.book.next = &other.book;
    m.code.is_plain = false;
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 11);
    sd_line_stack_enter(&s, 128, &m.code, 0);
    for (int i = 0; i < 4; i++)
        line(&s, 128, &m, 12);
    sd_line_stack_leave(&s, 128, false, sd_line_now(&s));
    sd_line_stack_leave(&s, 64, false, sd_line_now(&s));
    CHECK(m.cells[2].hits == 1 && m.cells[2].stays == 3 && other.cells[2].stays == 3);
    CHECK(m.cells[1].child_stays == 3 && m.cells[1].stays == 0);
    CHECK(other.cells[1].child_stays == 3);
    sd_line_stack_release(&s);
}

TEST(of_two_sessions_the_one_that_rests_counts_nothing)
{
    struct sd_line_stack s;
    struct made m, second;

    make(&m);
    make(&second);
    m.book.next = &second.book;
    m.code.is_plain = false;
    m.turn.is_on = false;
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 11);
    line(&s, 64, &m, 12);
    m.turn = (struct sd_line_turn){ .is_on = true, .since = sd_line_now(&s) };
    line(&s, 64, &m, 13);
    sd_line_stack_close(&s, &second.turn, sd_line_now(&s) + 1);
    second.turn.is_on = false;
    sd_line_stack_drop(&s);
    CHECK(s.top == s.entries + 1 && s.top->cell == &m.cells[3]);
    sd_line_stack_leave(&s, 64, false, sd_line_now(&s));
    CHECK(m.cells[1].hits == 0 && m.cells[2].hits == 0 && m.cells[3].hits == 1);
    CHECK(second.cells[1].hits == 1 && second.cells[2].hits == 1);
    CHECK(second.cells[3].hits == 1 && second.cells[3].ticks > 0);
    sd_line_stack_release(&s);
}

TEST(what_is_open_while_somebody_reads_has_its_time_and_goes_on)
{
    struct sd_line_stack s;
    struct made m;
    uint64_t first, all;

    make(&m);
    CHECK(sd_line_stack_init(&s, SD_CLOCK_MONOTONIC) == 0);
    sd_line_stack_enter(&s, 64, &m.code, 0);
    line(&s, 64, &m, 11);
    first = s.top->start;
    sd_line_stack_settle(&s, first + 1000);
    CHECK(m.cells[1].hits == 1 && m.cells[1].ticks == 1000);
    CHECK(m.cells[1].min_ticks == 0);
    sd_line_stack_settle(&s, first + 1500);
    CHECK(m.cells[1].ticks == 1500);
    all = m.cells[1].ticks;
    sd_line_stack_leave(&s, 64, false, first + 2500);
    CHECK(m.cells[1].hits == 1 && m.cells[1].ticks == all + 1000);
    sd_line_stack_release(&s);
}
