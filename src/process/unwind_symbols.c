/* SPDX-License-Identifier: MIT */
/* What an instruction belongs to: function, file, line. */
#include "process/unwind_parts.h"

#ifdef HAVE_DW
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    N_NAMES_MAX = 8 << 20, /* symbols of one file; more are not looked at */
    N_BACK = 64,           /* symbols before a place that may still reach over it */
    N_NAME_MAX = 1024,     /* bytes of a name; longer ones are cut */
};

/* --- The symbols of a file, sorted */

/* A name for people first: functions before labels, visible ones before those of one
 * file, and of `__read` and `read` the one that is in the manual. */
static unsigned rank_of(const char *name, const GElf_Sym *sym)
{
    unsigned type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);
    unsigned n = 0;

    while (name[n] == '_' && n < 3)
        n++;
    return n | (bind == STB_LOCAL ? 4u : 0) | (type == STT_NOTYPE ? 8u : 0) |
           (sym->st_size == 0 ? 16u : 0);
}

static int by_start(const void *a, const void *b)
{
    const struct sd_unwind_name *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool take_name(const struct sd_unwind_module *m, const char *name,
                      const GElf_Sym *sym, GElf_Addr address,
                      struct sd_unwind_name *out)
{
    unsigned type = GELF_ST_TYPE(sym->st_info);

    if (!name || !*name || sym->st_shndx == SHN_UNDEF || address < m->start ||
        address >= m->end ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
        return false;
    *out = (struct sd_unwind_name){ address, address + sym->st_size, name,
                                    rank_of(name, sym) };
    return true;
}

static void read_names(struct sd_unwind_module *m)
{
    const struct sd_dw *dw = &m->of->dw;
    int n = dw->dwfl_module_getsymtab(m->dwfl), i;
    GElf_Sym sym;
    GElf_Addr address;

    m->has_names = true;
    if (n <= 0 || n > N_NAMES_MAX)
        return;
    m->names = sd_alloc((size_t)n * sizeof *m->names);
    for (i = 1; m->names && i < n; i++) {
        const char *name =
            dw->dwfl_module_getsym_info(m->dwfl, i, &sym, &address, NULL, NULL, NULL);

        m->n_names += take_name(m, name, &sym, address, &m->names[m->n_names]);
    }
    if (m->n_names)
        qsort(m->names, m->n_names, sizeof *m->names, by_start);
}

void sd_unwind_names_release(struct sd_unwind_module *m)
{
    sd_free(m->names);
    m->names = NULL;
    m->n_names = 0;
    m->has_names = false;
}

/* The last symbol that begins at or before the address, or n_names. */
static size_t last_before(const struct sd_unwind_module *m, uint64_t address)
{
    size_t low = 0, high = m->n_names;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (m->names[mid].start <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? low - 1 : m->n_names;
}

/* --- Functions without a symbol: the unwind tables tell where they begin */

/* The address of .eh_frame_hdr's table and its number of entries, in the one encoding
 * that linkers write. */
static const uint8_t *starts_table(const struct sd_unwind_module *m,
                                   struct sd_elf_place *section, uint32_t *n)
{
    const uint8_t *p;

    if (!m->elf.file.p || !sd_elf_section(&m->elf, ".eh_frame_hdr", section) ||
        section->size < 12)
        return NULL;
    p = sd_elf_bytes(&m->elf, section->address, section->size);
    if (!p || p[0] != 1 || p[2] != 0x03 || p[3] != 0x3b)
        return NULL;
    memcpy(n, p + 8, sizeof *n);
    return *n <= (section->size - 12) / 8 ? p + 12 : NULL;
}

static uint64_t start_of(const struct sd_elf_place *section, const uint8_t *table,
                         size_t i)
{
    int32_t at;

    memcpy(&at, table + 8 * i, sizeof at);
    return section->address + (uint64_t)(int64_t)at;
}

/* As the file counts; the address itself where nothing tells. */
static uint64_t function_start(const struct sd_unwind_module *m, uint64_t address)
{
    struct sd_elf_place section;
    uint32_t n = 0;
    const uint8_t *table = starts_table(m, &section, &n);
    size_t low = 0, high = n;

    while (table && low < high) {
        size_t mid = low + (high - low) / 2;

        if (start_of(&section, table, mid) <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return table && low ? start_of(&section, table, low - 1) : address;
}

/* --- Names of addresses */

/* A symbol without a size is believed as far as the unwind table says that its function
 * goes: what follows _init is not _init. */
static bool covers(const struct sd_unwind_module *m, const struct sd_unwind_name *x,
                   uint64_t address)
{
    if (x->end > x->start)
        return address < x->end;
    return m->bias + function_start(m, address - m->bias) <= x->start;
}

static const struct sd_unwind_name *name_at(struct sd_unwind_module *m,
                                            uint64_t address)
{
    const struct sd_unwind_name *best = NULL;
    size_t at, n;

    if (!m->has_names)
        read_names(m);
    at = last_before(m, address);
    for (n = 0; at < m->n_names && n < N_BACK; n++, at--) {
        const struct sd_unwind_name *x = &m->names[at];

        if (best && x->start != best->start)
            break;
        if (covers(m, x, address))
            best = x; /* the first of those that begin here has the best rank */
        if (at == 0)
            break;
    }
    return best;
}

/* --- Names as their programmer wrote them */

/* Where the parameters begin: "a::b(int) const" is cut after b.  The parentheses of
 * operator() and (anonymous namespace) stay. */
static size_t without_parameters(const char *s, size_t n)
{
    size_t at = n, depth = 0;

    while (at > 0 && s[at - 1] != ')') /* " const", " [clone .cold]" */
        at--;
    for (; at > 0; at--) {
        if (s[at - 1] == ')')
            depth++;
        else if (s[at - 1] == '(' && --depth == 0)
            break;
    }
    if (at <= 1 || (at >= 9 && memcmp(s + at - 9, "operator", 8) == 0))
        return n;
    return at - 1;
}

/* Functions made from templates have their type before the name: "int f<int>". */
static size_t name_start(const char *s, size_t n)
{
    size_t i, start = 0;
    int depth = 0;

    if (strstr(s, "operator"))
        return 0; /* its own signs are no brackets */
    for (i = 0; i < n; i++) {
        depth += s[i] == '<' || s[i] == '(' || s[i] == '{';
        depth -= s[i] == '>' || s[i] == ')' || s[i] == '}';
        if (s[i] == ' ' && depth == 0)
            start = i + 1;
    }
    return start < n ? start : 0;
}

/* Rust ends its names with a hash: "::h0123456789abcdef". */
static size_t without_hash(const char *s, size_t n)
{
    if (n > 19 && memcmp(s + n - 19, "::h", 3) == 0 &&
        strspn(s + n - 16, "0123456789abcdef") == 16)
        return n - 19;
    return n;
}

static const char *text_of(struct sd_unwinder *u, const char *s, size_t n)
{
    uint32_t id;

    if (n > N_NAME_MAX)
        n = N_NAME_MAX;
    return sd_intern(&u->texts, s, n, &id) < 0 ? NULL : u->texts.items[id].p;
}

/* "f.cold", "f.part.0" are pieces of f that the compiler has made, "f@GLIBC_2.2.5" a
 * version of it. */
static size_t without_pieces(const char *s)
{
    static const char *const pieces[] = { ".cold",  ".part.",     ".constprop.",
                                          ".isra.", ".lto_priv.", ".llvm.",
                                          "@" };
    size_t n = strlen(s), i;

    for (i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        const char *at = strstr(s, pieces[i]);

        if (at && at > s && (size_t)(at - s) < n)
            n = (size_t)(at - s);
    }
    return n;
}

static const char *readable(struct sd_unwinder *u, const char *symbol)
{
    const char *name;
    char *found = NULL;
    size_t n, all, start;
    int status = -1;

    if (u->dw.demangle && strncmp(symbol, "_Z", 2) == 0)
        found = u->dw.demangle(symbol, NULL, NULL, &status);
    if (!found || status != 0) {
        u->dw.drop(found);
        return text_of(u, symbol, without_pieces(symbol));
    }
    all = strlen(found);
    n = without_parameters(found, all);
    start = n < all ? name_start(found, n) : 0;
    name = text_of(u, found + start, without_hash(found, n) - start);
    u->dw.drop(found);
    return name;
}

/* --- Symbols */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool has_table(const struct sd_unwind_module *m, uint64_t address)
{
    const struct sd_dw *dw = &m->of->dw;
    Dwarf_Addr bias = 0;
    Dwarf_Frame *frame = NULL;
    Dwarf_CFI *cfi = dw->dwfl_module_eh_cfi(m->dwfl, &bias);
    bool is_found = cfi && dw->dwarf_cfi_addrframe(cfi, address - bias, &frame) == 0;

    if (!is_found) {
        cfi = dw->dwfl_module_dwarf_cfi(m->dwfl, &bias);
        is_found = cfi && dw->dwarf_cfi_addrframe(cfi, address - bias, &frame) == 0;
    }
    dw->drop(frame);
    return is_found;
}

static struct sd_symbol *new_function(struct sd_unwinder *u, struct sd_unwind_module *m,
                                      const struct sd_unwind_name *name, uint64_t start)
{
    struct sd_symbol *s = sd_arena_alloc(&u->arena, sizeof *s);
    const char *file;
    char text[N_NAME_MAX];
    int n;

    if (!s)
        return NULL;
    s->module = m->path;
    s->offset = start - m->bias;
    if (name) {
        s->name = readable(u, name->name);
    } else {
        n = snprintf(text, sizeof text, "%.200s+0x%llx", base_name(m->path),
                     (unsigned long long)s->offset);
        s->name = text_of(u, text, (size_t)n);
        s->is_nameless = true;
    }
    file =
        m->dwfl && name ? sd_unwind_lines_at(u->lines, m, start, &s->first_line) : NULL;
    s->file = file ? text_of(u, file, strlen(file)) : m->path;
    if (!s->name || !s->file)
        return NULL;
    s->function = ++u->n_functions;
    s->role = u->judge ? u->judge(s->name) : 0;
    return s;
}

static struct sd_symbol *function_at(struct sd_unwinder *u, struct sd_unwind_module *m,
                                     uint64_t address)
{
    const struct sd_unwind_name *name = m->dwfl ? name_at(m, address) : NULL;
    uint64_t start =
        name ? name->start : m->bias + function_start(m, address - m->bias);
    struct sd_symbol *s;
    uint64_t found;

    if (sd_table_get(&u->by_function, start, &found))
        return (struct sd_symbol *)(uintptr_t)found;
    s = new_function(u, m, name, start);
    if (s && sd_table_put(&u->by_function, start, (uint64_t)(uintptr_t)s) < 0)
        return NULL;
    return s;
}

/* In the function's own file: what was inlined from another one has no line here. */
static uint32_t line_at(const struct sd_unwind_module *m, const struct sd_symbol *s,
                        uint64_t address)
{
    uint32_t line;
    const char *file =
        s->first_line ? sd_unwind_lines_at(m->of->lines, m, address, &line) : NULL;

    return file && strncmp(file, s->file, N_NAME_MAX) == 0 ? line : 0;
}

static const struct sd_symbol *make(struct sd_unwinder *u, uint64_t address)
{
    static const struct sd_symbol nowhere = {
        .name = "[unknown code]", .module = "", .file = "", .function = UINT32_MAX
    };
    struct sd_unwind_module *m = sd_unwind_module_at(u, address);
    const struct sd_symbol *function;
    struct sd_symbol *s;

    if (!m) {
        u->has_unknown_place = true;
        return &nowhere;
    }
    function = function_at(u, m, address);
    s = function ? sd_arena_copy(&u->arena, function, sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->line = m->dwfl ? line_at(m, s, address) : 0;
    s->can_go_on = m->dwfl && has_table(m, address);
    return s;
}

const struct sd_symbol *sd_unwind_symbol(struct sd_unwinder *u, uint64_t address)
{
    const struct sd_symbol *s;
    uint64_t found;

    if (sd_table_get(&u->by_pc, address, &found))
        return (const struct sd_symbol *)(uintptr_t)found;
    s = make(u, address);
    if (s && s->function != UINT32_MAX &&
        sd_table_put(&u->by_pc, address, (uint64_t)(uintptr_t)s) < 0)
        return NULL;
    return s;
}
#endif
