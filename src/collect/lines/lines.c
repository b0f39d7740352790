/* SPDX-License-Identifier: MIT */
#include "collect/lines/lines.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mark.h"
#include "base/mem.h"
#include "capture/cells.h"
#include "capture/log.h"
#include "collect/lines/calibrate.h"
#include "collect/lines/memory.h"
#include "collect/session.h"
#include "collect/source_name.h"
#include "cpython/compat.h"

struct thread {
    struct sd_line_stack stack;
    struct thread *next;
};

/* What a process has only one of. */
static struct {
    pthread_mutex_t lock; /* over the list of threads, whose ends have no other */
    struct thread *threads;
    struct sd_line_session *sessions; /* linked */
    size_t n_on;                      /* of them, those that do not rest */
    uint32_t n_for_nobody;            /* events told while all that want them rest */
    bool is_stopping;                 /* those that rest will be stopped */
    struct sd_line_session *captured; /* that has tables in the capture, or NULL */
    PyInterpreterState *interpreter;  /* whose code objects they are ... */
    int64_t interpreter_id; /* ... of which one after another may lie in one place */
    bool cannot_stop;       /* those that rest: pending calls are another one's */
    unsigned n_forks;       /* between the first process and this one */
    struct sd_table marked; /* hashes of paths: source files whose mark is written */
    struct timespec began;  /* CLOCK_REALTIME */
    struct sd_ticks_pair first;
    enum sd_clock_kind clock;
    pthread_key_t at_end;
    bool is_ready;
} lines = { .lock = PTHREAD_MUTEX_INITIALIZER };

_Thread_local
    __attribute__((tls_model("initial-exec"))) struct sd_line_stack *sd_line_stack_here;
Py_ssize_t sd_line_extra = -1;
sd_line_seeker *sd_line_seeks;

/* --- Threads -----------------------------------------------------------------------
 */

static struct thread *thread_of(struct sd_line_stack *s) { return (struct thread *)s; }

static void forget_thread(struct thread *th)
{
    sd_line_stack_release(&th->stack);
    sd_free(th);
}

/* Without the interpreter's lock: the thread is past all Python. */
static void at_thread_end(void *of)
{
    struct thread *th = of, **link;

    pthread_mutex_lock(&lines.lock);
    for (link = &lines.threads; *link && *link != th;)
        link = &(*link)->next;
    if (*link)
        *link = th->next;
    pthread_mutex_unlock(&lines.lock);
    sd_line_stack_here = NULL;
    forget_thread(th);
}

/* Under the lock: a thread may end meanwhile, and its stack with it. */
static void grew_elsewhere(const struct sd_line_stack *s,
                           const struct sd_line_reading *r)
{
    pthread_mutex_lock(&lines.lock);
    for (struct thread *th = lines.threads; th; th = th->next)
        if (&th->stack != s && sd_line_stack_grew(&th->stack, r))
            break;
    pthread_mutex_unlock(&lines.lock);
}

struct sd_line_stack *sd_line_stack_make(void)
{
    struct thread *th = sd_zalloc(sizeof *th);

    if (!th || sd_line_stack_init(&th->stack, lines.clock) < 0) {
        sd_free(th);
        return NULL;
    }
    th->stack.grew_elsewhere = grew_elsewhere;
    if (pthread_setspecific(lines.at_end, th) != 0) {
        forget_thread(th);
        return NULL;
    }
    pthread_mutex_lock(&lines.lock);
    th->next = lines.threads;
    lines.threads = th;
    pthread_mutex_unlock(&lines.lock);
    return sd_line_stack_here = &th->stack;
}

/* --- Fork --------------------------------------------------------------------------
 */

static void before_fork(void) { pthread_mutex_lock(&lines.lock); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&lines.lock); }

/* All cells of a page are another process's: the next line makes one of our own. */
static void forget_cells(struct sd_line_session *s)
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

/* Only this thread is here, and what is open in it began in the parent. */
static void after_fork_in_child(void)
{
    struct thread *here = sd_line_stack_here ? thread_of(sd_line_stack_here) : NULL;

    for (struct thread *th = lines.threads, *next; th; th = next) {
        next = th->next;
        if (th != here)
            forget_thread(th);
    }
    lines.threads = here;
    if (here)
        here->next = NULL;
    lines.is_stopping = false;
    lines.n_forks++;
    sd_line_memory_forget();
    if (lines.captured) {
        if (here)
            sd_line_stack_abandon(&here->stack, &lines.captured->turn);
        forget_cells(lines.captured);
    }
    pthread_mutex_unlock(&lines.lock);
}

static int take_interpreter(void)
{
    PyInterpreterState *now = sd_interpreter();
    int64_t id = PyInterpreterState_GetID(now);

    if (lines.interpreter == now && lines.interpreter_id == id)
        return 0;
    if (lines.interpreter && lines.interpreter != now &&
        sd_interpreter_lives(lines.interpreter))
        return sd_fail(SD_ELACKS, "lines are counted in another interpreter of this "
                                  "process already");
    sd_line_extra = sd_code_extra_index();
    if (sd_line_extra < 0)
        return sd_fail(SD_ELACKS,
                       "other tools hold all places on code objects (co_extra)");
    lines.interpreter = now;
    lines.interpreter_id = id;
    lines.cannot_stop = false;
    return 0;
}

static int make_ready(void)
{
    if (lines.is_ready)
        return take_interpreter();
    sd_session_watch_forks();
    if (pthread_key_create(&lines.at_end, at_thread_end) != 0)
        return sd_fail(SD_ELACKS,
                       "the program has no place left for thread-local data");
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    lines.clock = sd_ticks_kind();
    lines.first = sd_ticks_pair(lines.clock);
    clock_gettime(CLOCK_REALTIME, &lines.began);
    sd_source_name_begins();
    lines.is_ready = true;
    return take_interpreter();
}

enum sd_clock_kind sd_line_clock(void) { return lines.clock; }

unsigned sd_line_forks(void) { return lines.n_forks; }

double sd_line_ns_per_tick(void)
{
    struct sd_ticks_pair now = sd_ticks_pair(lines.clock);

    return sd_ticks_ns(lines.clock, &lines.first, &now);
}

/* --- Tables ------------------------------------------------------------------------
 */

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

enum { MARKS_MOST = 256 };

/* Is it what it was when the process began to count?  Else nobody knows which of the
 * two was compiled. */
static bool is_unchanged(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && (st.st_mtim.tv_sec < lines.began.tv_sec ||
                                    (st.st_mtim.tv_sec == lines.began.tv_sec &&
                                     st.st_mtim.tv_nsec <= lines.began.tv_nsec));
}

/* Who reads a capture later must know whether it is still this file.  Once for each,
 * and not for more than a program has by hand: a capture has no place for all there
 * are. */
static void mark_source(const char *path)
{
    uint64_t key = sd_hash(path, strlen(path), 0), known;
    char name[sizeof SD_META_SOURCE + PATH_MAX], mark[SD_MARK_MAX];
    struct sd_log *log;

    if (lines.marked.n >= MARKS_MOST || sd_table_get(&lines.marked, key, &known) ||
        sd_table_put(&lines.marked, key, 1) < 0 || !is_unchanged(path) ||
        !sd_mark_of(path, mark))
        return;
    snprintf(name, sizeof name, SD_META_SOURCE "%s", path);
    log = sd_session_log();
    if (log)
        sd_log_meta(log, name, mark);
}

static uint32_t define_file(struct sd_line_session *s, PyObject *name)
{
    const char *typed = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    char path[PATH_MAX];
    bool is_whole = typed && sd_source_name_whole(typed, path);

    PyErr_Clear();
    if (s->wish.in_capture && typed)
        mark_source(is_whole ? path : typed);
    return is_whole ? sd_cells_define_string(s->table, path, strlen(path))
                    : define_text(s->table, name);
}

static void put_clock(struct sd_line_session *s)
{
    struct sd_ticks_pair now = sd_ticks_pair(lines.clock);

    if (s->table && sd_cells_is_ours(s->table))
        sd_cells_put_clock(s->table, lines.clock, now.ticks, now.mono_ns);
}

static unsigned wants_of(const struct sd_line_wish *w)
{
    return (w->has_cpu ? SD_LINES_HAVE_CPU : 0u) |
           (w->has_memory ? SD_LINES_HAVE_MEMORY : 0u) |
           (w->has_memory && w->has_peak ? SD_LINES_HAVE_PEAK : 0u);
}

static bool make_table(struct sd_line_session *s)
{
    struct sd_writer *w = s->wish.in_capture ? sd_session_writer() : NULL;

    if (s->table)
        return true;
    return (!s->wish.in_capture || w) &&
           sd_cells_new(w, SD_CELLS_LINES, sizeof(struct sd_line_cell), &s->table) == 0;
}

/* On a full disk this may take many lines: no cell of a line may come before it. */
static bool make_root(struct sd_line_session *s)
{
    struct sd_line_root root = { .flags = wants_of(&s->wish),
                                 .hit_cost = s->costs.hit,
                                 .line_cost = s->costs.line,
                                 .call_cost = s->costs.call,
                                 .stay_cost = s->costs.stay };

    if (sd_cells_n(s->table) > 0)
        return true;
    if (!s->track && sd_cells_put_clock(s->table, lines.clock, lines.first.ticks,
                                        lines.first.mono_ns)) {
        s->track = sd_session_define_in_table(s->table, NULL, 0);
        put_clock(s);
    }
    root.track = s->track;
    return s->track && sd_cells_add(s->table, &root) == 0;
}

static bool is_alike(const PyCodeObject *a, const PyCodeObject *b)
{
    return a->co_firstlineno == b->co_firstlineno &&
           PyUnicode_Compare(a->co_name, b->co_name) == 0 &&
           PyUnicode_Compare(a->co_filename, b->co_filename) == 0;
}

/* What exec() makes again and again stands where it stood before: which of these it is,
 * in the order of choosing. */
static unsigned twin_of(const struct sd_line_page *p)
{
    unsigned n = 0;

    for (size_t i = 0; i < p->session->n_pages && p->session->pages[i] != p; i++)
        n += is_alike(p->session->pages[i]->chosen->code, p->chosen->code);
    PyErr_Clear();
    return n < SD_TWINS_MAX ? n : SD_TWINS_MAX;
}

static bool define_page(struct sd_line_page *p)
{
    struct sd_cells *t = p->session->table;
    PyCodeObject *code = p->chosen->code;
    uint32_t name = define_text(t, code->co_name);
    uint32_t label = define_text(t, sd_code_qualname(code));
    uint32_t file = define_file(p->session, code->co_filename);

    if (name)
        p->site =
            sd_cells_define_function(t, (enum sd_site_flags)(twin_of(p) * SD_SITE_TWIN),
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
    struct sd_raised raised = sd_raised_take();
    struct sd_line_cell cell = { .line = line };
    uint32_t at = SD_NO_CELL;

    if (make_table(s) && make_root(s) && (p->site || define_page(p)) &&
        make_room(b, line)) {
        cell.site = p->site;
        at = sd_cells_add(s->table, &cell);
    }
    sd_raised_give_back(raised);
    if (at == SD_NO_CELL)
        return NULL;
    return b->cells[line - b->first] = sd_cells_at(s->table, at);
}

uint32_t sd_line_at(struct sd_line_chosen *c, int offset)
{
    uint64_t line;

    if (sd_table_get(&c->line_at, (uint64_t)(int64_t)offset, &line))
        return (uint32_t)line;
    line = (uint64_t)PyCode_Addr2Line(c->code, offset);
    line = (int64_t)line > 0 ? line : 0;
    sd_table_put(&c->line_at, (uint64_t)(int64_t)offset, line);
    return (uint32_t)line;
}

/* --- What is chosen ----------------------------------------------------------------
 */

/* By any session, active or not. */
static struct sd_line_chosen *chosen_by_any(const PyCodeObject *code)
{
    struct sd_line_chosen *c = sd_code_extra(code, sd_line_extra);

    return (uintptr_t)c > SD_LINE_UNWANTED ? c : NULL;
}

static struct sd_line_chosen *make_chosen(PyCodeObject *code)
{
    bool was_unwanted = sd_code_extra(code, sd_line_extra) != NULL;
    struct sd_line_chosen *c = sd_zalloc(sizeof *c);

    if (!c || sd_code_set_extra(code, sd_line_extra, c) < 0) {
        PyErr_Clear();
        sd_free(c);
        return NULL;
    }
    c->code = (PyCodeObject *)Py_NewRef((PyObject *)code);
    c->was_unwanted = was_unwanted;
    return c;
}

static void free_chosen(struct sd_line_chosen *c)
{
    PyCodeObject *code = c->code;

    sd_assert(!c->core.books);
    sd_line_memory_acquit(&c->core);
    sd_code_set_extra(code, sd_line_extra, NULL);
    sd_table_release(&c->line_at);
    sd_free(c);
    Py_DECREF(code);
}

bool sd_line_is_part(const PyCodeObject *code)
{
    enum { WAITS = CO_COROUTINE | CO_ASYNC_GENERATOR | CO_GENERATOR };

    if (!sd_code_has_comprehensions() || code->co_flags & WAITS)
        return false;
    return PyUnicode_CompareWithASCIIString(code->co_name, "<listcomp>") == 0 ||
           PyUnicode_CompareWithASCIIString(code->co_name, "<setcomp>") == 0 ||
           PyUnicode_CompareWithASCIIString(code->co_name, "<dictcomp>") == 0;
}

/* Comprehensions in this code are told of with the function.  One that finds no memory
 * is not told of by itself. */
static void choose_parts(struct sd_line_chosen *owner, PyCodeObject *code)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *o = PyTuple_GET_ITEM(code->co_consts, i);
        struct sd_line_chosen *c;

        if (!PyCode_Check(o) || !sd_line_is_part((PyCodeObject *)o) ||
            chosen_by_any((PyCodeObject *)o))
            continue;
        c = make_chosen((PyCodeObject *)o);
        if (!c)
            continue;
        c->owner = owner;
        c->next = owner->inner;
        owner->inner = c;
        choose_parts(owner, c->code);
    }
}

static struct sd_line_chosen *choose(PyCodeObject *code)
{
    struct sd_line_chosen *c = chosen_by_any(code);

    if (c)
        return c;
    c = make_chosen(code);
    if (c && sd_code_has_comprehensions())
        choose_parts(c, code);
    return c;
}

/* The last session that had it is gone. */
static void unchoose(struct sd_line_chosen *c)
{
    if (--c->n_sessions > 0)
        return;
    while (c->inner) {
        struct sd_line_chosen *part = c->inner;

        c->inner = part->next;
        free_chosen(part);
    }
    free_chosen(c);
}

static void judge_plain(struct sd_line_chosen *c)
{
    const struct sd_line_book *b = c->core.books;

    c->core.is_plain = b && !b->next && !b->wants;
}

/* The page's lines are counted while its session is on. */
static int open_page(struct sd_line_page *p)
{
    struct sd_line_chosen *c = p->chosen;
    int rc = 0;

    p->book.next = c->core.books;
    c->core.books = &p->book;
    judge_plain(c);
    if (!c->is_armed)
        rc = sd_lines_arm(c);
    c->is_armed = c->is_armed || rc == 0;
    return rc;
}

/* Hits that stand in no cell are not passed over in silence. */
static void put_lost(struct sd_line_page *p)
{
    if (p->book.n_lost && p->session->table)
        sd_cells_lose(p->session->table, p->book.n_lost);
    p->book.n_lost = 0;
}

static void close_page(struct sd_line_page *p)
{
    struct sd_line_chosen *c = p->chosen;
    struct sd_line_book **link = &c->core.books;

    put_lost(p);
    while (*link && *link != &p->book)
        link = &(*link)->next;
    if (*link)
        *link = p->book.next;
    judge_plain(c);
    if (!c->core.books && c->is_armed) {
        sd_lines_disarm(c);
        c->is_armed = false;
    }
}

static struct sd_line_page *find_page(const struct sd_line_session *s,
                                      PyCodeObject *code)
{
    const struct sd_line_chosen *c = chosen_by_any(code);

    for (size_t i = 0; c && i < s->n_pages; i++)
        if (s->pages[i]->chosen == c)
            return s->pages[i];
    return NULL;
}

const struct sd_line_page *sd_line_session_page(const struct sd_line_session *s,
                                                PyCodeObject *code)
{
    return find_page(s, code);
}

void sd_line_seek(sd_line_seeker *seeker) { sd_line_seeks = seeker; }

void sd_line_seen(PyCodeObject *code)
{
    struct sd_line_chosen *c = chosen_by_any(code);

    if (c)
        c->is_seen = true;
    else if (!sd_code_extra(code, sd_line_extra) &&
             sd_code_set_extra(code, sd_line_extra,
                               (void *)(uintptr_t)SD_LINE_UNWANTED) < 0)
        PyErr_Clear();
}

struct sd_line_chosen *sd_line_show(PyCodeObject *code, PyObject *globals)
{
    struct sd_raised raised = sd_raised_take();

    sd_line_seeks(code, globals);
    sd_line_seen(code);
    PyErr_Clear();
    sd_raised_give_back(raised);
    return sd_line_chosen_of(code);
}

/* --- Sessions ----------------------------------------------------------------------
 */

int sd_line_session_new(const struct sd_line_wish *wish, struct sd_line_session **out)
{
    int rc = make_ready();
    struct sd_line_session *s;

    *out = NULL;
    if (rc < 0)
        return rc;
    s = sd_zalloc(sizeof *s);
    if (!s)
        return sd_no_memory();
    s->wish = *wish;
    if (wish->in_capture)
        lines.captured = s;
    *out = s;
    return 0;
}

static struct sd_line_page *make_page(struct sd_line_session *s, PyCodeObject *code)
{
    struct sd_line_page **grown =
        sd_grow_array(s->pages, &s->cap_pages, s->n_pages + 1, sizeof *grown);
    struct sd_line_page *p = grown ? sd_zalloc(sizeof *p) : NULL;

    if (grown)
        s->pages = grown;
    if (p)
        p->chosen = choose(code);
    if (!p || !p->chosen) {
        sd_free(p);
        return NULL;
    }
    p->chosen->n_sessions++;
    p->session = s;
    p->book.make = make_cell;
    p->book.turn = &s->turn;
    p->book.wants = wants_of(&s->wish);
    p->book.entry_line = (uint32_t)code->co_firstlineno;
    return s->pages[s->n_pages++] = p;
}

static void drop_entries(void)
{
    for (struct thread *th = lines.threads; th; th = th->next)
        sd_line_stack_drop(&th->stack);
}

static void free_page(struct sd_line_page *p)
{
    unchoose(p->chosen);
    sd_free(p->book.cells);
    sd_free(p);
}

/* The last page, which could not be opened: another try begins as the first did. */
static void take_back(struct sd_line_session *s)
{
    struct sd_line_page *p = s->pages[--s->n_pages];

    pthread_mutex_lock(&lines.lock);
    close_page(p);
    drop_entries();
    pthread_mutex_unlock(&lines.lock);
    free_page(p);
}

/* A comprehension that counts with its function, and not by itself too. */
static bool is_owned(const PyCodeObject *code)
{
    const struct sd_line_chosen *c = chosen_by_any(code);

    return c && c->owner;
}

int sd_line_session_add(struct sd_line_session *s, PyCodeObject *code)
{
    struct sd_line_page *p;
    int rc;

    if (sd_line_session_page(s, code) || is_owned(code))
        return 0;
    p = make_page(s, code);
    if (!p)
        return sd_no_memory();
    rc = s->is_linked ? open_page(p) : 0;
    if (rc < 0)
        take_back(s);
    else if (s->turn.is_on)
        sd_lines_adopt();
    return rc < 0 ? rc : 1;
}

void sd_line_session_mention(struct sd_line_session *s, PyCodeObject *code)
{
    struct sd_line_page *p = find_page(s, code);
    uint32_t at = p ? p->book.entry_line - p->book.first : 0;

    if (p && p->book.entry_line && !(at < p->book.n && p->book.cells[at]))
        make_cell(&p->book, p->book.entry_line);
}

/* Of a process that forked, the table may be the parent's still. */
void sd_line_session_set_costs(struct sd_line_session *s,
                               const struct sd_line_costs *costs)
{
    struct sd_line_root *root;

    s->costs = *costs;
    if (!s->table || sd_cells_n(s->table) == 0 || !sd_cells_is_ours(s->table))
        return;
    root = sd_cells_at(s->table, 0);
    root->hit_cost = costs->hit;
    root->line_cost = costs->line;
    root->call_cost = costs->call;
    root->stay_cost = costs->stay;
}

bool sd_line_is_any_active(void) { return lines.n_on > 0; }

/* --- On, off and between -----------------------------------------------------------
 */

static int link_session(struct sd_line_session *s)
{
    int rc = sd_lines_listen(true);

    if (rc < 0)
        return rc;
    s->next = lines.sessions;
    lines.sessions = s;
    s->is_linked = true;
    for (size_t i = 0; i < s->n_pages && rc == 0; i++)
        rc = open_page(s->pages[i]);
    return rc;
}

/* With the lock. */
static void unlink_session(struct sd_line_session *s)
{
    struct sd_line_session **link = &lines.sessions;

    for (size_t i = 0; i < s->n_pages; i++)
        close_page(s->pages[i]);
    while (*link && *link != s)
        link = &(*link)->next;
    if (*link)
        *link = s->next;
    s->is_linked = false;
}

/* What is open ends here.  With the lock. */
static void switch_off(struct sd_line_session *s)
{
    uint64_t now = sd_ticks_now(lines.clock);

    if (!s->turn.is_on)
        return;
    for (struct thread *th = lines.threads; th; th = th->next)
        sd_line_stack_close(&th->stack, &s->turn, now);
    s->turn.is_on = false;
    lines.n_on--;
}

static void settle_all(uint64_t now)
{
    pthread_mutex_lock(&lines.lock);
    for (struct thread *th = lines.threads; th; th = th->next)
        sd_line_stack_settle(&th->stack, now);
    pthread_mutex_unlock(&lines.lock);
}

/* What is open for others began before: that part is theirs alone. */
int sd_line_session_start(struct sd_line_session *s)
{
    int rc = 0;

    if (s->turn.is_on)
        return 0;
    if (!s->is_linked)
        rc = link_session(s);
    else if (lines.n_on == 0)
        sd_lines_pause(false);
    if (rc < 0) {
        sd_line_session_stop(s);
        return rc;
    }
    s->turn.since = sd_ticks_now(lines.clock);
    if (lines.n_on > 0)
        settle_all(s->turn.since);
    s->turn.is_on = s->is_pace_due = true;
    lines.n_on++;
    sd_lines_adopt();
    return 0;
}

void sd_line_session_rest(struct sd_line_session *s)
{
    if (!s->turn.is_on)
        return;
    pthread_mutex_lock(&lines.lock);
    switch_off(s);
    drop_entries();
    pthread_mutex_unlock(&lines.lock);
    lines.n_for_nobody = s->n_for_nobody = 0;
    if (lines.n_on == 0)
        sd_lines_pause(true);
}

void sd_line_session_stop(struct sd_line_session *s)
{
    if (!s->is_linked)
        return;
    pthread_mutex_lock(&lines.lock);
    switch_off(s);
    unlink_session(s);
    drop_entries();
    pthread_mutex_unlock(&lines.lock);
    put_clock(s);
    if (!lines.sessions)
        sd_lines_listen(false);
    else if (lines.n_on == 0)
        sd_lines_pause(true);
}

void sd_line_session_settle(struct sd_line_session *s)
{
    if (s->turn.is_on)
        settle_all(sd_ticks_now(lines.clock));
}

void sd_line_session_end(struct sd_line_session *s)
{
    if (!s->turn.is_on)
        return;
    pthread_mutex_lock(&lines.lock);
    switch_off(s);
    for (size_t i = 0; i < s->n_pages; i++)
        put_lost(s->pages[i]);
    s->is_linked = false;
    pthread_mutex_unlock(&lines.lock);
    put_clock(s);
}

int sd_line_session_clear(struct sd_line_session *s)
{
    bool was_on = s->turn.is_on;

    sd_line_session_stop(s);
    forget_cells(s);
    return was_on ? sd_line_session_start(s) : 0;
}

/* As many of these take about as long as to be stopped and started again: so resting
 * never costs more than twice what the better of the two would. */
enum { FOR_NOBODY_MOST = 1024 };

static int stop_those_at_rest(void *unused)
{
    struct sd_line_session *next;

    (void)unused;
    lines.is_stopping = false;
    if (lines.interpreter != sd_interpreter()) {
        lines.cannot_stop = true;
        return 0;
    }
    for (struct sd_line_session *s = lines.sessions; s; s = next) {
        next = s->next;
        if (s->turn.is_on ||
            (lines.n_for_nobody < FOR_NOBODY_MOST && s->n_for_nobody < FOR_NOBODY_MOST))
            continue;
        sd_line_session_stop(s);
        sd_line_calibrated(s);
        s->n_for_nobody = 0;
    }
    lines.n_for_nobody = 0;
    return 0;
}

/* Those who chose this and rest are told of it in vain.  Has one of them been often
 * enough? */
static bool count_for_nobody(const struct sd_line_chosen *c)
{
    bool is_enough = false;

    for (struct sd_line_book *b = c ? c->core.books : NULL; b; b = b->next) {
        struct sd_line_session *s = ((struct sd_line_page *)b)->session;

        is_enough |= ++s->n_for_nobody >= FOR_NOBODY_MOST;
    }
    return is_enough;
}

/* The interpreter is in the middle of telling: it is stopped when that is over. */
bool sd_line_told_for_nobody(const PyCodeObject *code)
{
    const struct sd_line_chosen *c = chosen_by_any(code);
    bool rests = c && c->core.books, is_enough = count_for_nobody(c);

    if (lines.n_on == 0)
        is_enough |= ++lines.n_for_nobody >= FOR_NOBODY_MOST;
    if (is_enough && !lines.is_stopping && !lines.cannot_stop)
        lines.is_stopping = Py_AddPendingCall(stop_those_at_rest, NULL) == 0;
    return rests;
}

void sd_line_session_free(struct sd_line_session *s)
{
    if (!s)
        return;
    sd_line_session_stop(s);
    pthread_mutex_lock(&lines.lock); /* a fork beside us must not find what is freed */
    if (lines.captured == s) {
        lines.captured = NULL;
        sd_table_clear(&lines.marked); /* another capture wants its own */
    }
    pthread_mutex_unlock(&lines.lock);
    for (size_t i = 0; i < s->n_pages; i++)
        free_page(s->pages[i]);
    sd_cells_free(s->table);
    sd_free(s->pages);
    sd_free(s);
}
