/* SPDX-License-Identifier: MIT */
#include "formats/pickle.h"

#include <string.h>

#include "base/cursor.h"
#include "base/error.h"
#include "base/mem.h"

enum { N_MARKS = 64, PROTOCOL_MAX = 5 };

typedef struct sd_pickle_value value;

struct machine {
    struct sd_cursor c;
    const uint8_t *start;
    struct sd_arena *arena;
    value **stack; /* owned */
    size_t n, cap;
    size_t marks[N_MARKS]; /* heights of the stack */
    size_t n_marks;
    value **memo; /* owned; NULL where nothing was put */
    size_t n_memo, memo_cap;
};

/* --- Failing */

static int is_wrong(const struct machine *m, const char *what)
{
    return sd_fail(SD_EFORMAT, "the pickle %s at byte %zu",
                   m->c.bad ? "ends too soon" : what, (size_t)(m->c.at - m->start));
}

/* --- Stack and memo */

static int push(struct machine *m, value *v)
{
    value **grown = sd_grow_array(m->stack, &m->cap, m->n + 1, sizeof *m->stack);

    if (grown)
        m->stack = grown; /* it has moved, also when there is no value to put there */
    if (!grown || !v)
        return sd_no_memory();
    m->stack[m->n++] = v;
    return 0;
}

/* How much of the stack lies above the last mark. */
static size_t above(const struct machine *m)
{
    return m->n - (m->n_marks > 0 ? m->marks[m->n_marks - 1] : 0);
}

static value *top(const struct machine *m)
{
    return above(m) > 0 ? m->stack[m->n - 1] : NULL;
}

static value *make(struct machine *m, enum sd_pickle_kind kind)
{
    value *v = sd_arena_alloc(m->arena, sizeof *v);

    if (v)
        v->kind = kind;
    return v;
}

static int add_item(struct machine *m, value *to, const value *item)
{
    struct sd_pickle_item *i = sd_arena_alloc(m->arena, sizeof *i);

    if (!i)
        return sd_no_memory();
    i->value = item;
    *(to->items.last ? &to->items.last->next : &to->items.first) = i;
    to->items.last = i;
    to->items.n++;
    return 0;
}

static int push_mark(struct machine *m)
{
    if (m->n_marks == N_MARKS)
        return is_wrong(m, "is nested too deeply");
    m->marks[m->n_marks++] = m->n;
    return 0;
}

/* Numbers in the memo count up, so one beyond the bytes was made up. */
static int memo_put(struct machine *m, uint64_t at)
{
    value **grown;
    size_t before = m->memo_cap;

    if (!top(m) || at > (uint64_t)(m->c.end - m->start))
        return is_wrong(m, "keeps nothing");
    grown = sd_grow_array(m->memo, &m->memo_cap, (size_t)at + 1, sizeof *m->memo);
    if (!grown)
        return sd_no_memory();
    m->memo = grown;
    if (m->memo_cap > before)
        memset(m->memo + before, 0, (m->memo_cap - before) * sizeof *m->memo);
    m->memo[at] = top(m);
    if (at >= m->n_memo)
        m->n_memo = (size_t)at + 1;
    return 0;
}

static int memo_get(struct machine *m, uint64_t at)
{
    if (at >= m->n_memo || !m->memo[at])
        return is_wrong(m, "names what it never kept");
    return push(m, m->memo[at]);
}

/* --- Plain values */

static int push_int(struct machine *m, enum sd_pickle_kind kind, int64_t whole)
{
    value *v = make(m, kind);

    if (v)
        v->whole = whole;
    return push(m, v);
}

/* Little-endian, two's complement, of any length up to eight bytes. */
static int push_long(struct machine *m)
{
    uint8_t n = sd_cursor_u8(&m->c);
    const uint8_t *p = sd_cursor_take(&m->c, n);
    uint64_t bits = 0;

    if (!p || n > sizeof bits)
        return is_wrong(m, "has a number of more than 64 bits");
    if (n > 0 && (p[n - 1] & 0x80))
        bits = UINT64_MAX;
    for (unsigned i = n; i > 0; i--)
        bits = bits << 8 | p[i - 1];
    return push_int(m, SD_PICKLE_INT, (int64_t)bits);
}

/* Big-endian, the one number in a pickle that is. */
static int push_real(struct machine *m)
{
    const uint8_t *p = sd_cursor_take(&m->c, 8);
    value *v = make(m, SD_PICKLE_REAL);
    uint64_t bits = 0;

    if (!p)
        return is_wrong(m, "ends");
    for (unsigned i = 0; i < 8; i++)
        bits = bits << 8 | p[i];
    if (v)
        memcpy(&v->real, &bits, sizeof bits);
    return push(m, v);
}

static int push_text(struct machine *m, uint64_t n)
{
    const uint8_t *p = n <= SIZE_MAX ? sd_cursor_take(&m->c, (size_t)n) : NULL;
    value *v = make(m, SD_PICKLE_TEXT);

    if (!p)
        return is_wrong(m, "ends");
    if (v) {
        v->text.p = (const char *)p;
        v->text.n = (size_t)n;
    }
    return push(m, v);
}

/* --- Containers */

static int push_empty(struct machine *m, enum sd_pickle_kind kind)
{
    return push(m, make(m, kind));
}

/* The last n of the stack become the items of `to`. */
static int move_items(struct machine *m, value *to, size_t n)
{
    int rc = 0;

    for (size_t i = m->n - n; i < m->n && rc == 0; i++)
        rc = add_item(m, to, m->stack[i]);
    m->n -= n;
    return rc;
}

static int push_tuple(struct machine *m, size_t n)
{
    value *v = make(m, SD_PICKLE_TUPLE);
    int rc;

    if (above(m) < n)
        return is_wrong(m, "takes more than there is");
    rc = v ? move_items(m, v, n) : sd_no_memory();
    return rc < 0 ? rc : push(m, v);
}

static int pop_mark(struct machine *m, size_t *n)
{
    if (m->n_marks == 0)
        return is_wrong(m, "takes more than there is");
    *n = above(m);
    m->n_marks--;
    return 0;
}

static int push_marked_tuple(struct machine *m)
{
    size_t n = 0;
    int rc = pop_mark(m, &n);

    return rc < 0 ? rc : push_tuple(m, n);
}

/* Items above the mark, or n of them, go into the container below. */
static int fill(struct machine *m, enum sd_pickle_kind kind, size_t n)
{
    value *to;

    if (above(m) <= n || (kind == SD_PICKLE_DICT && n % 2 != 0))
        return is_wrong(m, "fills nothing");
    to = m->stack[m->n - n - 1];
    if (to->kind != kind)
        return is_wrong(m, "fills what is no list and no dictionary");
    return move_items(m, to, n);
}

static int fill_marked(struct machine *m, enum sd_pickle_kind kind)
{
    size_t n = 0;
    int rc = pop_mark(m, &n);

    return rc < 0 ? rc : fill(m, kind, n);
}

/* --- Classes and objects, of which nothing is ever looked up or made */

static int push_class(struct machine *m, const char *module, size_t n_module,
                      const char *name, size_t n_name)
{
    value *v = make(m, SD_PICKLE_CLASS);
    char *text = sd_arena_alloc(m->arena, n_module + n_name + 2);

    if (!v || !text)
        return sd_no_memory();
    memcpy(text, module, n_module);
    text[n_module] = '.';
    memcpy(text + n_module + 1, name, n_name);
    v->text.p = text;
    v->text.n = n_module + n_name + 1;
    return push(m, v);
}

/* A name that stands as a line of text. */
static const char *take_line(struct machine *m, size_t *n)
{
    const uint8_t *p = m->c.at, *end = memchr(p, '\n', sd_cursor_left(&m->c));

    if (!end) {
        m->c.bad = true;
        return NULL;
    }
    *n = (size_t)(end - p);
    m->c.at = end + 1;
    return (const char *)p;
}

static int push_global(struct machine *m)
{
    size_t n_module = 0, n_name = 0;
    const char *module = take_line(m, &n_module);
    const char *name = module ? take_line(m, &n_name) : NULL;

    if (!name)
        return is_wrong(m, "ends");
    return push_class(m, module, n_module, name, n_name);
}

static int push_stack_global(struct machine *m)
{
    const value *module, *name;

    if (above(m) < 2)
        return is_wrong(m, "takes more than there is");
    name = m->stack[m->n - 1];
    module = m->stack[m->n - 2];
    if (name->kind != SD_PICKLE_TEXT || module->kind != SD_PICKLE_TEXT)
        return is_wrong(m, "names no class");
    m->n -= 2;
    return push_class(m, module->text.p, module->text.n, name->text.p, name->text.n);
}

/* Class and arguments become an object: what unpickling would call. */
static int push_object(struct machine *m)
{
    value *v = make(m, SD_PICKLE_OBJECT);
    int rc;

    if (above(m) < 2 || m->stack[m->n - 1]->kind != SD_PICKLE_TUPLE ||
        m->stack[m->n - 2]->kind != SD_PICKLE_CLASS)
        return is_wrong(m, "makes an object of no class");
    rc = v ? move_items(m, v, 2) : sd_no_memory();
    return rc < 0 ? rc : push(m, v);
}

static int set_state(struct machine *m)
{
    if (above(m) < 2 || m->stack[m->n - 2]->kind != SD_PICKLE_OBJECT)
        return is_wrong(m, "gives no object a state");
    return move_items(m, m->stack[m->n - 2], 1);
}

/* --- The program */

static int drop(struct machine *m)
{
    if (!top(m))
        return is_wrong(m, "takes more than there is");
    m->n--;
    return 0;
}

static int drop_marked(struct machine *m)
{
    size_t n = 0;
    int rc = pop_mark(m, &n);

    m->n -= rc < 0 ? 0 : n;
    return rc;
}

static int begin(struct machine *m)
{
    if (sd_cursor_u8(&m->c) > PROTOCOL_MAX)
        return is_wrong(m, "has an unknown protocol");
    return 0;
}

static int step(struct machine *m, uint8_t op)
{
    switch (op) {
    case 0x80:
        return begin(m);
    case 0x95: /* a frame, whose length is only for readers of streams */
        sd_cursor_u64(&m->c);
        return 0;
    case '(':
        return push_mark(m);
    case '0':
        return drop(m);
    case '1':
        return drop_marked(m);
    case 'N':
        return push_empty(m, SD_PICKLE_NONE);
    case 0x88:
        return push_int(m, SD_PICKLE_BOOL, 1);
    case 0x89:
        return push_int(m, SD_PICKLE_BOOL, 0);
    case 'K':
        return push_int(m, SD_PICKLE_INT, sd_cursor_u8(&m->c));
    case 'M':
        return push_int(m, SD_PICKLE_INT, sd_cursor_u16(&m->c));
    case 'J':
        return push_int(m, SD_PICKLE_INT, (int32_t)sd_cursor_u32(&m->c));
    case 0x8a:
        return push_long(m);
    case 'G':
        return push_real(m);
    case 0x8c: /* text, its length in one, four or eight bytes; then bytes */
    case 'C':
    case 'U':
        return push_text(m, sd_cursor_u8(&m->c));
    case 'X':
    case 'B':
        return push_text(m, sd_cursor_u32(&m->c));
    case 0x8d:
    case 0x8e:
        return push_text(m, sd_cursor_u64(&m->c));
    case ')':
        return push_empty(m, SD_PICKLE_TUPLE);
    case 0x85:
        return push_tuple(m, 1);
    case 0x86:
        return push_tuple(m, 2);
    case 0x87:
        return push_tuple(m, 3);
    case 't':
        return push_marked_tuple(m);
    case ']':
        return push_empty(m, SD_PICKLE_LIST);
    case 'a':
        return fill(m, SD_PICKLE_LIST, 1);
    case 'e':
        return fill_marked(m, SD_PICKLE_LIST);
    case '}':
        return push_empty(m, SD_PICKLE_DICT);
    case 's':
        return fill(m, SD_PICKLE_DICT, 2);
    case 'u':
        return fill_marked(m, SD_PICKLE_DICT);
    case 'c':
        return push_global(m);
    case 0x93:
        return push_stack_global(m);
    case 0x81: /* cls.__new__(*arguments) */
    case 'R':  /* callable(*arguments) */
        return push_object(m);
    case 'b':
        return set_state(m);
    case 0x94:
        return memo_put(m, m->n_memo);
    case 'q':
        return memo_put(m, sd_cursor_u8(&m->c));
    case 'r':
        return memo_put(m, sd_cursor_u32(&m->c));
    case 'h':
        return memo_get(m, sd_cursor_u8(&m->c));
    case 'j':
        return memo_get(m, sd_cursor_u32(&m->c));
    default:
        return is_wrong(m, "holds more than data");
    }
}

static int run(struct machine *m, const value **out)
{
    int rc = 0;

    for (;;) {
        uint8_t op = sd_cursor_u8(&m->c);

        if (rc == 0 && m->c.bad)
            return is_wrong(m, "ends");
        if (rc < 0 || op == '.')
            break;
        rc = step(m, op);
        if (rc == 0 && m->c.bad)
            return is_wrong(m, "ends");
    }
    if (rc == 0 && (m->n != 1 || m->n_marks != 0))
        rc = is_wrong(m, "does not end with one value");
    if (rc == 0)
        *out = m->stack[0];
    return rc;
}

/* --- pickle.h */

bool sd_pickle_is(const void *p, size_t n)
{
    const uint8_t *b = p;

    return n >= 2 && b[0] == 0x80 && b[1] >= 2 && b[1] <= PROTOCOL_MAX;
}

int sd_pickle_read(const void *p, size_t n, struct sd_arena *arena,
                   const struct sd_pickle_value **out)
{
    struct machine m = { .c = sd_cursor_over(p, n), .start = p, .arena = arena };
    int rc;

    *out = NULL;
    rc = run(&m, out);
    sd_free(m.stack);
    sd_free(m.memo);
    return rc;
}

const struct sd_pickle_value *sd_pickle_get(const struct sd_pickle_value *dict,
                                            const char *key)
{
    const struct sd_pickle_value *found = NULL;
    size_t n = strlen(key);

    if (dict->kind != SD_PICKLE_DICT)
        return NULL;
    for (const struct sd_pickle_item *i = dict->items.first; i && i->next;
         i = i->next->next)
        if (i->value->kind == SD_PICKLE_TEXT && i->value->text.n == n &&
            memcmp(i->value->text.p, key, n) == 0)
            found = i->next->value;
    return found;
}
