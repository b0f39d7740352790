/* SPDX-License-Identifier: MIT */
#include "cli/live/tally.h"

#include <string.h>

#include "analyse/stacks/import_rows.h"
#include "base/buf.h"
#include "base/mem.h"
#include "capture/record.h"

#define NO_ROW UINT32_MAX

/* --- Rows */

static uint32_t add_row(struct sd_tally *t, struct sd_tally_rows *to,
                        const struct sd_tally_row *row)
{
    struct sd_tally_row *items =
        sd_grow_array(to->items, &to->cap, to->n + 1, sizeof *items);

    if (!items) {
        t->has_no_room = true;
        return NO_ROW;
    }
    to->items = items;
    items[to->n] = *row;
    return (uint32_t)to->n++;
}

static const char *keep(struct sd_tally *t, const char *text)
{
    const char *copy = sd_arena_string(&t->arena, text, strlen(text));

    t->has_no_room |= copy == NULL;
    return copy ? copy : "";
}

/* Functions of the same name, file and first line are one, in whichever process. */
uint32_t sd_tally_function(struct sd_tally *t, const char *name, const char *qualname,
                           const char *file, int32_t first_line)
{
    struct sd_buf key = { 0 };
    uint32_t id = NO_ROW;

    t->keys.arena = &t->arena;
    sd_buf_add(&key, name, strlen(name) + 1);
    sd_buf_add(&key, file, strlen(file) + 1);
    sd_buf_u32(&key, (uint32_t)first_line);
    if (key.bad || sd_intern(&t->keys, key.p, key.n, &id) < 0) {
        t->has_no_room = true;
        id = NO_ROW;
    } else if (id == t->functions.n) {
        struct sd_tally_row row = { .name = keep(t, name),
                                    .qualname = keep(t, qualname),
                                    .file = keep(t, file),
                                    .line = first_line,
                                    .part = (uint8_t)sd_import_part_of(name, file) };

        id = add_row(t, &t->functions, &row);
    } else if (id > t->functions.n) { /* a row before it found no room */
        id = NO_ROW;
    }
    sd_buf_release(&key);
    return id;
}

uint32_t sd_tally_line(struct sd_tally *t, uint32_t function, int32_t line)
{
    uint64_t key = (uint64_t)function << 32 | (uint32_t)line, at;
    struct sd_tally_row row;

    if (sd_table_get(&t->line_keys, key, &at))
        return (uint32_t)at;
    row = (struct sd_tally_row){ .name = t->functions.items[function].name,
                                 .qualname = t->functions.items[function].qualname,
                                 .file = t->functions.items[function].file,
                                 .line = line };
    at = add_row(t, &t->lines, &row);
    if (at != NO_ROW && sd_table_put(&t->line_keys, key, at) < 0)
        t->has_no_room = true;
    return (uint32_t)at;
}

/* --- Code objects */

static struct sd_tally_codes *codes_of(struct sd_tally *t, uint32_t serial)
{
    size_t cap = t->n_codes;
    struct sd_tally_codes *codes = t->codes;

    if (serial < t->n_codes)
        return &t->codes[serial];
    codes = sd_grow_array(codes, &cap, (size_t)serial + 1, sizeof *codes);
    if (!codes) {
        t->has_no_room = true;
        return NULL;
    }
    memset(codes + t->n_codes, 0, (cap - t->n_codes) * sizeof *codes);
    t->codes = codes;
    t->n_codes = cap;
    return &codes[serial];
}

static uint32_t *slot_of(struct sd_tally *t, const struct sd_thread_sample *told,
                         uint32_t id)
{
    struct sd_tally_codes *codes = codes_of(t, told->serial);
    size_t cap;
    uint32_t *rows;

    if (!codes)
        return NULL;
    if (id < codes->n)
        return &codes->rows[id];
    cap = codes->n;
    rows = sd_grow_array(codes->rows, &cap, (size_t)id + 1, sizeof *rows);
    if (!rows) {
        t->has_no_room = true;
        return NULL;
    }
    memset(rows + codes->n, 0, (cap - codes->n) * sizeof *rows);
    codes->rows = rows;
    codes->n = cap;
    return &rows[id];
}

static uint32_t row_of(struct sd_tally *t, const struct sd_thread_sample *told,
                       size_t i)
{
    const struct sd_code *code = told->frames[i].code;
    uint32_t *slot, row;

    if (!code) { /* a native function */
        struct sd_sample_frame frame;

        sd_sample_frame(told, i, &frame);
        return sd_tally_function(t, frame.name, frame.qualname, frame.file, 0);
    }
    slot = slot_of(t, told, code->id);
    if (!slot)
        return NO_ROW;
    if (!*slot) {
        row = sd_tally_function(t, code->name,
                                *code->qualname ? code->qualname : code->name,
                                code->path, code->first_line);
        *slot = row == NO_ROW ? 0 : row + 1;
    }
    return *slot - 1;
}

/* --- A sample */

static void count(struct sd_tally_rows *rows, uint32_t at, uint64_t stamp, bool is_own)
{
    struct sd_tally_row *row;

    if (at == NO_ROW)
        return;
    row = &rows->items[at];
    row->n_own += is_own;
    row->n_total += row->stamp != stamp;
    row->stamp = stamp;
}

static void count_partial(struct sd_tally *t)
{
    uint32_t row = sd_tally_function(t, "[partial]", "[partial]", "", 0);

    count(&t->functions, row, t->stamp, true);
    if (row != NO_ROW)
        count(&t->lines, sd_tally_line(t, row, 0), t->stamp, true);
}

static bool read_frames(struct sd_tally *t, const struct sd_thread_sample *told)
{
    struct sd_tally_frames *f = &t->frames;
    uint32_t *rows =
        sd_grow_array(f->rows, &f->cap_rows, told->n_frames + 1, sizeof *rows);
    int32_t *lines =
        sd_grow_array(f->lines, &f->cap_lines, told->n_frames + 1, sizeof *lines);

    f->rows = rows ? rows : f->rows;
    f->lines = lines ? lines : f->lines;
    t->has_no_room |= !rows || !lines;
    if (!rows || !lines)
        return false;
    for (f->n = 0; f->n < told->n_frames; f->n++) {
        struct sd_sample_frame frame;

        sd_sample_frame(told, f->n, &frame);
        rows[f->n] = row_of(t, told, f->n);
        lines[f->n] = frame.line;
    }
    return true;
}

static void count_frames(struct sd_tally *t, const struct sd_thread_sample *told)
{
    bool is_partial = told->flags & SD_SAMPLE_PARTIAL;
    uint32_t import = NO_ROW;
    size_t n_folded;

    if (!read_frames(t, told))
        return;
    n_folded = sd_tally_fold(t, &import);
    if (n_folded > 0 && import == NO_ROW)
        return;
    t->stamp++;
    if (is_partial)
        count_partial(t);
    if (t->folds_imports && n_folded > 0)
        count(&t->functions, import, t->stamp, !is_partial);
    for (size_t i = 0; i < told->n_frames; i++) {
        uint32_t row = t->frames.rows[i];
        bool is_own = i == 0 && !is_partial;

        if (row == NO_ROW)
            continue;
        if (i >= n_folded)
            count(&t->functions, row, t->stamp, is_own);
        count(&t->lines, sd_tally_line(t, row, t->frames.lines[i]), t->stamp, is_own);
    }
}

static struct sd_tally_thread *add_thread(struct sd_tally *t)
{
    struct sd_tally_thread **threads, *x = sd_zalloc(sizeof *x);

    threads =
        sd_grow_array(t->threads, &t->cap_threads, t->n_threads + 1, sizeof *threads);
    if (threads)
        t->threads = threads;
    if (!threads || !x) {
        t->has_no_room = true;
        sd_free(x);
        return NULL;
    }
    t->threads[t->n_threads++] = x;
    return x;
}

static void count_thread(struct sd_tally *t, const struct sd_thread_sample *told)
{
    struct sd_tally_thread *x = *told->of_thread;

    if (!x)
        x = *told->of_thread = add_thread(t);
    if (!x)
        return;
    x->pid = told->pid;
    x->tid = told->tid;
    x->serial = told->serial;
    memcpy(x->name, told->name, strnlen(told->name, sizeof x->name - 1) + 1);
    x->name[sizeof x->name - 1] = 0;
    x->flags = told->flags;
    x->inside = told->n_frames ? row_of(t, told, 0) : NO_ROW;
    x->n_looks++;
    x->n_active += !(told->flags & SD_SAMPLE_IDLE);
    x->n_gil += (told->flags & SD_SAMPLE_GIL) != 0;
    x->cpu_ns += told->cpu_ns;
}

void sd_tally_add(struct sd_tally *t, const struct sd_thread_sample *told)
{
    bool is_active = !(told->flags & SD_SAMPLE_IDLE);
    bool has_gil = told->flags & SD_SAMPLE_GIL;
    bool stands = told->flags & SD_SAMPLE_STOPPED; /* shown, though nothing runs */

    count_thread(t, told);
    t->sees_active |= is_active;
    t->sees_gil |= has_gil;
    if ((t->wants == SD_TALLY_ACTIVE && !is_active && !stands) ||
        (t->wants == SD_TALLY_GIL && !has_gil))
        return;
    count_frames(t, told);
}

static bool has_threads(const struct sd_tally *t, uint32_t serial)
{
    for (size_t i = 0; i < t->n_threads; i++)
        if (t->threads[i]->serial == serial && !t->threads[i]->has_ended)
            return true;
    return false;
}

/* What was known of a process goes with its last thread: there may be a new one every
 * moment, as long as we look. */
void sd_tally_thread_ends(struct sd_tally *t, void *of_thread)
{
    struct sd_tally_thread *x = of_thread;

    if (!x)
        return;
    x->has_ended = true;
    if (x->serial >= t->n_codes || has_threads(t, x->serial))
        return;
    sd_free(t->codes[x->serial].rows);
    t->codes[x->serial] = (struct sd_tally_codes){ 0 };
}

void sd_tally_round(struct sd_tally *t)
{
    t->n_rounds++;
    t->n_active += t->sees_active;
    t->n_gil += t->sees_gil;
    t->sees_active = t->sees_gil = false;
}

/* --- Turns */

static double percent(uint64_t n, uint64_t of)
{
    return of ? 100.0 * (double)n / (double)of : 0;
}

static void turn_rows(struct sd_tally_rows *rows, uint64_t n_rounds, uint64_t ns)
{
    double each = n_rounds ? (double)ns / (double)n_rounds : 0;

    for (size_t i = 0; i < rows->n; i++) {
        struct sd_tally_row *r = &rows->items[i];

        r->own_percent = percent(r->n_own, n_rounds);
        r->total_percent = percent(r->n_total, n_rounds);
        r->own_ns += (uint64_t)((double)r->n_own * each);
        r->total_ns += (uint64_t)((double)r->n_total * each);
        r->n_own = r->n_total = 0;
    }
}

/* Threads that ended are shown for one more turn. */
static void turn_threads(struct sd_tally *t, uint64_t ns)
{
    double each = t->n_rounds ? (double)ns / (double)t->n_rounds : 0;
    size_t n = 0;

    for (size_t i = 0; i < t->n_threads; i++) {
        struct sd_tally_thread *x = t->threads[i];

        if (x->has_ended && x->n_looks == 0) {
            sd_free(x);
            continue;
        }
        x->active_percent = percent(x->n_active, t->n_rounds);
        x->gil_percent = percent(x->n_gil, t->n_rounds);
        x->cpu_percent = percent(x->cpu_ns, ns);
        x->active_ns += (uint64_t)((double)x->n_active * each);
        x->n_looks = x->n_active = x->n_gil = x->cpu_ns = 0;
        t->threads[n++] = x;
    }
    t->n_threads = n;
}

void sd_tally_turn(struct sd_tally *t, uint64_t ns)
{
    turn_rows(&t->functions, t->n_rounds, ns);
    turn_rows(&t->lines, t->n_rounds, ns);
    turn_threads(t, ns);
    t->gil_percent = percent(t->n_gil, t->n_rounds);
    t->active_percent = percent(t->n_active, t->n_rounds);
    t->elapsed_ns += ns;
    t->n_rounds = t->n_gil = t->n_active = 0;
}

static void reset_rows(struct sd_tally_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct sd_tally_row *r = &rows->items[i];

        r->own_ns = r->total_ns = r->n_own = r->n_total = 0;
        r->own_percent = r->total_percent = 0;
    }
}

void sd_tally_reset(struct sd_tally *t)
{
    reset_rows(&t->functions);
    reset_rows(&t->lines);
    for (size_t i = 0; i < t->n_threads; i++) {
        struct sd_tally_thread *x = t->threads[i];

        x->active_ns = x->n_looks = x->n_active = x->n_gil = x->cpu_ns = 0;
    }
    t->elapsed_ns = t->n_rounds = t->n_gil = t->n_active = 0;
}

void sd_tally_release(struct sd_tally *t)
{
    for (size_t i = 0; i < t->n_threads; i++)
        sd_free(t->threads[i]);
    for (size_t i = 0; i < t->n_codes; i++)
        sd_free(t->codes[i].rows);
    sd_free(t->threads);
    sd_free(t->codes);
    sd_free(t->functions.items);
    sd_free(t->lines.items);
    sd_free(t->frames.rows);
    sd_free(t->frames.lines);
    sd_table_release(&t->line_keys);
    sd_table_release(&t->imports_at);
    sd_intern_release(&t->keys);
    sd_arena_release(&t->arena);
    *t = (struct sd_tally){ 0 };
}
