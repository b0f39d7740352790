/* SPDX-License-Identifier: MIT */
/* code_block: finds where a function ends in its file.
 *
 * Python's inspect.getblock asks the tokenizer and follows indents; its answer decides
 * which lines a table of lines shows, so the same is done here: a scanner that knows
 * as much of Python's words as is needed to see where statements, comments and indents
 * begin and end, and a finder that is told of them in the order of the text. */
#include <string.h>

#include "report/text/code_text.h"

enum { INDENTS_MAX = 100, NESTED_MAX = 16, TAB = 8 };

enum token {
    TOKEN_NAME, /* a word that is no string */
    TOKEN_AT,
    TOKEN_OTHER,
    TOKEN_NEWLINE, /* ends a statement */
    TOKEN_NL,      /* ends a line that ends none */
    TOKEN_COMMENT,
    TOKEN_INDENT,
    TOKEN_DEDENT,
};

struct finder {
    int indent;
    bool is_lambda, has_started, passes_line, is_in_decorator;
    bool has_ended;
    bool has_body;
    size_t body_column;
    size_t last; /* lines of the block so far */
};

struct scan {
    const char *p, *end;
    const char *line_start;
    size_t row; /* from 1 on */
    int n_open; /* brackets */
    size_t indents[INDENTS_MAX];
    size_t n_indents;
    bool is_in_statement;
    struct finder f;
};

/* --- The finder */

static bool is_word(const char *p, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(p, word, n) == 0;
}

/* Cython's words begin a block, too. */
static bool begins_block(const char *p, size_t n)
{
    return is_word(p, n, "def") || is_word(p, n, "class") || is_word(p, n, "lambda") ||
           is_word(p, n, "cdef") || is_word(p, n, "cpdef") || is_word(p, n, "property");
}

static void look_for_start(struct finder *f, enum token t, const char *p, size_t n)
{
    if (t == TOKEN_AT) {
        f->is_in_decorator = true;
    } else if (t == TOKEN_NAME && begins_block(p, n)) {
        f->is_lambda = is_word(p, n, "lambda");
        f->has_started = true;
    }
    f->passes_line = true;
}

static void end_statement(struct finder *f, size_t row)
{
    f->passes_line = false;
    f->last = row;
    if (f->is_lambda)
        f->has_ended = true;
    f->is_in_decorator = false;
}

static void tell(struct scan *s, enum token t, const char *p, size_t n)
{
    struct finder *f = &s->f;
    size_t column = (size_t)(p - s->line_start);

    if (!f->has_started && !f->is_in_decorator) {
        look_for_start(f, t, p, n);
    } else if (t == TOKEN_NEWLINE) {
        end_statement(f, s->row);
    } else if (f->passes_line) {
        return;
    } else if (t == TOKEN_INDENT) {
        if (!f->has_body && f->has_started) {
            f->has_body = true;
            f->body_column = column;
        }
        f->indent++;
        f->passes_line = true;
    } else if (t == TOKEN_DEDENT) {
        f->has_ended = --f->indent <= 0;
    } else if (t == TOKEN_COMMENT) {
        if (f->has_body && column >= f->body_column)
            f->last = s->row;
    } else if (f->indent == 0 && t != TOKEN_NL) {
        f->has_ended = true;
    }
}

/* --- Strings */

static void next_line(struct scan *s)
{
    s->row++;
    s->line_start = s->p;
}

static bool is_at(const struct scan *s, const char *quote, size_t n)
{
    return (size_t)(s->end - s->p) >= n && memcmp(s->p, quote, n) == 0;
}

static void skip_string(struct scan *s, bool is_formatted, int depth);

/* The format of a field, behind its colon, up to the } that ends it; fields may stand
 * in it. */
static void skip_field(struct scan *s, int depth)
{
    int n_open = 0;
    bool is_format = false;

    while (s->p < s->end) {
        char c = *s->p;

        if (c == '}' && n_open == 0)
            return;
        if (is_format && c == '\n')
            return;
        if (!is_format && (c == '\'' || c == '"')) {
            skip_string(s, false, depth + 1);
            continue;
        }
        s->p++;
        if (c == '\n')
            next_line(s);
        else if (c == '(' || c == '[' || c == '{')
            n_open++;
        else if (c == ')' || c == ']' || c == '}')
            n_open--;
        else if (c == ':' && n_open == 0)
            is_format = true;
    }
}

/* The text stands at the quote; afterwards behind the string, or at the end of a line
 * on which one of a single line did not end. */
static void skip_string(struct scan *s, bool is_formatted, int depth)
{
    char quote[3] = { *s->p, *s->p, *s->p };
    size_t n = is_at(s, quote, 3) ? 3 : 1;

    s->p += n;
    while (s->p < s->end && !is_at(s, quote, n)) {
        char c = *s->p;

        if (c == '\n' && n == 1)
            return;
        s->p++;
        if (c == '\\' && s->p < s->end)
            c = *s->p++;
        if (c == '\n') {
            next_line(s);
        } else if (is_formatted && c == '{' && depth < NESTED_MAX) {
            if (is_at(s, "{", 1))
                s->p++;
            else
                skip_field(s, depth);
        }
    }
    s->p += s->p < s->end ? n : 0;
}

/* r, b, u, f, t and pairs of them, in either case. */
static bool is_prefix(const char *p, size_t n, bool *is_formatted)
{
    *is_formatted = false;
    for (size_t i = 0; i < n; i++) {
        if (!strchr("rbuft", p[i] | 32))
            return false;
        *is_formatted |= (p[i] | 32) == 'f' || (p[i] | 32) == 't';
    }
    return n <= 2;
}

/* --- Words and lines */

static bool is_name_byte(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static void scan_word(struct scan *s)
{
    const char *p = s->p;
    bool is_formatted;

    while (s->p < s->end && is_name_byte(*s->p))
        s->p++;
    if (s->p < s->end && (*s->p == '\'' || *s->p == '"') &&
        is_prefix(p, (size_t)(s->p - p), &is_formatted)) {
        skip_string(s, is_formatted, 0);
        tell(s, TOKEN_OTHER, p, 0);
        return;
    }
    tell(s, TOKEN_NAME, p, (size_t)(s->p - p));
}

static void scan_comment(struct scan *s)
{
    const char *p = s->p;

    while (s->p < s->end && *s->p != '\n')
        s->p++;
    tell(s, TOKEN_COMMENT, p, 1);
}

static void scan_newline(struct scan *s)
{
    bool ends = s->n_open <= 0 && s->is_in_statement;

    tell(s, ends ? TOKEN_NEWLINE : TOKEN_NL, s->p, 1);
    if (ends)
        s->is_in_statement = false;
    s->p++;
    next_line(s);
}

static void scan_mark(struct scan *s)
{
    char c = *s->p;

    if (c == '(' || c == '[' || c == '{')
        s->n_open++;
    else if ((c == ')' || c == ']' || c == '}') && s->n_open > 0)
        s->n_open--;
    tell(s, c == '@' ? TOKEN_AT : TOKEN_OTHER, s->p, 1);
    s->p++;
}

static void scan_token(struct scan *s)
{
    char c = *s->p;

    if (c == ' ' || c == '\t' || c == '\f') {
        s->p++;
    } else if (c == '\\' && is_at(s, "\\\n", 2)) {
        s->p += 2;
        next_line(s);
    } else if (c == '\n') {
        scan_newline(s);
    } else if (c == '#') {
        scan_comment(s);
    } else if (c == '\'' || c == '"') {
        const char *p = s->p;

        skip_string(s, false, 0);
        tell(s, TOKEN_OTHER, p, 0);
    } else if (is_name_byte(c)) {
        scan_word(s);
    } else {
        scan_mark(s);
    }
}

/* The column of the first word of a line, as Python counts tabs. */
static size_t skip_blanks(struct scan *s)
{
    size_t column = 0;

    for (; s->p < s->end; s->p++) {
        if (*s->p == ' ')
            column++;
        else if (*s->p == '\t')
            column = (column / TAB + 1) * TAB;
        else if (*s->p == '\f')
            column = 0;
        else
            break;
    }
    return column;
}

/* False when it is deeper or elsewhere than a Python program can be. */
static bool scan_indent(struct scan *s, size_t column)
{
    if (column > s->indents[s->n_indents - 1]) {
        if (s->n_indents == INDENTS_MAX)
            return false;
        s->indents[s->n_indents++] = column;
        tell(s, TOKEN_INDENT, s->p, 0);
        return true;
    }
    while (column < s->indents[s->n_indents - 1]) {
        s->n_indents--;
        if (column > s->indents[s->n_indents - 1])
            return false;
        tell(s, TOKEN_DEDENT, s->p, 0);
        if (s->f.has_ended)
            break;
    }
    return true;
}

/* A statement begins, unless the line is empty or a comment. */
static bool begin_line(struct scan *s)
{
    size_t column = skip_blanks(s);

    if (s->p >= s->end || *s->p == '\n' || *s->p == '#')
        return true;
    s->is_in_statement = true;
    return scan_indent(s, column);
}

size_t sd_code_block(const struct sd_code_text *s, uint64_t first)
{
    struct scan scan = { .row = 1, .n_indents = 1, .f.last = 1 };

    if (first == 0 || first > s->n)
        return 0;
    scan.p = scan.line_start = (const char *)s->text.p + s->starts[first - 1];
    scan.end = (const char *)s->text.p + s->text.n;
    while (scan.p < scan.end && !scan.f.has_ended) {
        if (scan.p == scan.line_start && scan.n_open == 0 && !scan.is_in_statement &&
            !begin_line(&scan))
            break;
        if (scan.p < scan.end && !scan.f.has_ended)
            scan_token(&scan);
    }
    return scan.f.last;
}

size_t sd_code_block_extent(const struct sd_code_text *s, const char *name,
                            size_t n_name, uint64_t first)
{
    if (is_word(name, n_name, "<module>") && first > 0 && first <= s->n)
        return s->n - (size_t)first + 1;
    return sd_code_block(s, first);
}
