/* SPDX-License-Identifier: MIT */
#include "collect/lines/line_page.h"

#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "capture/cells.h"
#include "collect/lines/lines.h"
#include "collect/session.h"
#include "collect/shared/code_place.h"
#include "collect/shared/source_name.h"
#include "cpython/compat.h"

/* --- The table ------------------------------------------------------------------- */

static uint32_t define_text(struct sd_cells *t, PyObject *text)
{
    PyObject *bytes;
    uint32_t id = 0;

    if (!text || !PyUnicode_Check(text))
        return 0;
    bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (bytes)
        id = sd_cells_define_string(t, PyBytes_AS_STRING(bytes),
                                    (size_t)PyBytes_GET_SIZE(bytes));
    Py_XDECREF(bytes);
    PyErr_Clear();
    return id;
}

static uint32_t define_file(struct sd_line_session *s, PyObject *name)
{
    const char *typed = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    char whole[PATH_MAX], plain[PATH_MAX];
    const char *path = typed && sd_source_name_whole(typed, whole) ? whole : typed;

    PyErr_Clear();
    if (path && sd_source_name_plain(path, plain))
        path = plain;
    return path && path != typed ? sd_cells_define_string(s->table, path, strlen(path))
                                 : define_text(s->table, name);
}

void sd_line_page_put_clock(struct sd_line_session *s)
{
    struct sd_ticks_pair now = sd_ticks_pair(sd_line_clock());

    if (s->table && sd_cells_is_ours(s->table))
        sd_cells_put_clock(s->table, sd_line_clock(), now.ticks, now.mono_ns);
}

static unsigned wants_of(const struct sd_line_request *w)
{
    return (w->has_cpu ? SD_LINES_HAVE_CPU : 0u) |
           (w->has_memory ? SD_LINES_HAVE_MEMORY : 0u) |
           (w->has_memory && w->has_peak ? SD_LINES_HAVE_PEAK : 0u);
}

static bool make_table(struct sd_line_session *s)
{
    struct sd_writer *w = s->request.in_capture ? sd_session_writer() : NULL;

    if (s->table)
        return true;
    return (!s->request.in_capture || w) &&
           sd_cells_new(w, SD_CELLS_LINES, sizeof(struct sd_line_cell), &s->table) == 0;
}

/* On a full disk this may take many lines: no cell of a line may come before it. */
static bool make_root(struct sd_line_session *s)
{
    struct sd_line_root root = { .flags = wants_of(&s->request),
                                 .hit_cost = s->costs.hit,
                                 .line_cost = s->costs.line,
                                 .call_cost = s->costs.call,
                                 .stay_cost = s->costs.stay };
    struct sd_ticks_pair first = sd_line_first_ticks();

    if (sd_cells_n(s->table) > 0)
        return true;
    if (!s->track &&
        sd_cells_put_clock(s->table, sd_line_clock(), first.ticks, first.mono_ns)) {
        s->track = sd_session_define_in_table(s->table, NULL, 0);
        sd_line_page_put_clock(s);
    }
    root.track = s->track;
    return s->track && sd_cells_add(s->table, &root) == 0;
}

/* What exec() makes again and again stands where it stood before: which of these it is,
 * in the order of choosing. */
static unsigned count_twin(struct sd_line_session *s, const PyCodeObject *code)
{
    uint64_t place = sd_code_place(code), n = 0;

    sd_table_get(&s->n_alike, place, &n);
    sd_table_put(&s->n_alike, place, n + 1);
    return n < SD_TWINS_MAX ? (unsigned)n : SD_TWINS_MAX;
}

static bool define_page(struct sd_line_page *p)
{
    struct sd_cells *t = p->session->table;
    PyCodeObject *code = p->chosen->code;
    uint32_t name = define_text(t, code->co_name);
    uint32_t label = define_text(t, sd_compat_code_qualname(code));
    uint32_t file = define_file(p->session, code->co_filename);

    if (name)
        p->site =
            sd_cells_define_function(t, (enum sd_site_flags)(p->twin * SD_SITE_TWIN),
                                     name, label, file, (uint32_t)code->co_firstlineno);
    return p->site != 0;
}

/* How far from its first line a code object may have others: numbers that somebody made
 * up must not cost memory for all between. */
enum { LINES_MOST = 1 << 20 };

static bool is_near(const struct sd_line_book *b, uint32_t line)
{
    return line < b->entry_line ? b->entry_line - line < LINES_MOST
                                : line - b->entry_line < LINES_MOST;
}

/* Room for this line, too.  Some are above the first line that a code object claims to
 * have: decorators, and whatever made it. */
static bool make_room(struct sd_line_book *b, uint32_t line)
{
    uint32_t first = b->n && b->first < line ? b->first : line;
    uint32_t end = b->n && b->first + b->n > line + 1 ? b->first + b->n : line + 1;
    uint32_t spare = (end - first) / 2 + 8, before = b->first - first;
    struct sd_line_cell **cells;

    if (b->n && line >= b->first && line - b->first < b->n)
        return true;
    if (!is_near(b, line))
        return false;
    end = end < UINT32_MAX - spare ? end + spare : end;
    cells = sd_zalloc((size_t)(end - first) * sizeof *cells);
    if (!cells)
        return false;
    if (b->n)
        memcpy(cells + before, b->cells, b->n * sizeof *cells);
    sd_free(b->cells);
    b->cells = cells;
    b->first = first;
    b->n = end - first;
    return true;
}

/* A line is counted for the first time.  Whatever was raised stays so. */
static struct sd_line_cell *make_cell(struct sd_line_book *b, uint32_t line)
{
    struct sd_line_page *p = (struct sd_line_page *)b;
    struct sd_line_session *s = p->session;
    struct sd_pending_exception raised = sd_pending_exception_take();
    struct sd_line_cell cell = { .line = line };
    uint32_t at = SD_NO_CELL;

    if (make_table(s) && make_root(s) && (p->site || define_page(p)) &&
        make_room(b, line)) {
        cell.site = p->site;
        at = sd_cells_add(s->table, &cell);
    }
    sd_pending_exception_give_back(raised);
    if (at == SD_NO_CELL)
        return NULL;
    return b->cells[line - b->first] = sd_cells_at(s->table, at);
}

/* --- Pages ----------------------------------------------------------------------- */

struct sd_line_page *sd_line_page_new(struct sd_line_session *s, PyCodeObject *code)
{
    struct sd_line_page *p = sd_zalloc(sizeof *p);

    if (p)
        p->chosen = sd_line_choose(code);
    if (!p || !p->chosen) {
        sd_free(p);
        return NULL;
    }
    p->session = s;
    p->twin = count_twin(s, code);
    p->book.make = make_cell;
    p->book.turn = &s->turn;
    p->book.wants = wants_of(&s->request);
    p->book.entry_line = (uint32_t)code->co_firstlineno;
    return p;
}

void sd_line_page_free(struct sd_line_page *p)
{
    sd_line_unchoose(p->chosen);
    sd_free(p->book.cells);
    sd_free(p);
}

int sd_line_page_open(struct sd_line_page *p)
{
    return sd_line_chosen_open(p->chosen, &p->book);
}

void sd_line_page_close(struct sd_line_page *p)
{
    sd_line_page_put_lost(p);
    sd_line_chosen_close(p->chosen, &p->book);
}

void sd_line_page_put_lost(struct sd_line_page *p)
{
    if (p->book.n_lost && p->session->table)
        sd_cells_lose(p->session->table, p->book.n_lost);
    p->book.n_lost = 0;
}

void sd_line_page_mention(struct sd_line_page *p)
{
    uint32_t at = p->book.entry_line - p->book.first;

    if (p->book.entry_line && !(at < p->book.n && p->book.cells[at]))
        make_cell(&p->book, p->book.entry_line);
}

void sd_line_page_drop_table(struct sd_line_session *s)
{
    for (size_t i = 0; i < s->n_pages; i++) {
        struct sd_line_page *p = s->pages[i];

        if (p->book.n)
            memset(p->book.cells, 0, p->book.n * sizeof *p->book.cells);
        p->book.n_lost = 0;
        p->site = 0;
    }
    sd_cells_free(s->table);
    s->table = NULL;
    s->track = 0;
}

/* Of a process that forked, the table may be the parent's still. */
void sd_line_page_put_costs(struct sd_line_session *s)
{
    struct sd_line_root *root;

    if (!s->table || sd_cells_n(s->table) == 0 || !sd_cells_is_ours(s->table))
        return;
    root = sd_cells_at(s->table, 0);
    root->hit_cost = s->costs.hit;
    root->line_cost = s->costs.line;
    root->call_cost = s->costs.call;
    root->stay_cost = s->costs.stay;
}
