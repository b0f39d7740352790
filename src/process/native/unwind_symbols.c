/* SPDX-License-Identifier: MIT */
/* unwind_symbols: finds the function, file and line of an instruction.  Addresses are
 * as the file counts, unless they are called pc. */
#include "process/native/unwind_parts.h"

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

static bool take_name(const char *name, const GElf_Sym *sym, uint64_t address,
                      struct sd_unwind_name *out)
{
    unsigned type = GELF_ST_TYPE(sym->st_info);

    if (!name || !*name || sym->st_shndx == SHN_UNDEF ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
        return false;
    *out = (struct sd_unwind_name){ address, address + sym->st_size, name,
                                    rank_of(name, sym) };
    return true;
}

/* bias: of the place where elfutils believes the file to be. */
static void read_names(struct sd_unwind_names *to, const struct sd_dw *dw,
                       Dwfl_Module *from, uint64_t bias)
{
    int n = from ? dw->dwfl_module_getsymtab(from) : 0, i;
    Dwarf_Addr start = 0, end = 0;
    GElf_Addr address = 0;
    GElf_Sym sym;

    to->is_read = true;
    if (n <= 0 || n > N_NAMES_MAX)
        return;
    dw->dwfl_module_info(from, NULL, &start, &end, NULL, NULL, NULL, NULL);
    to->items = sd_alloc((size_t)n * sizeof *to->items);
    for (i = 1; to->items && i < n; i++) {
        const char *name =
            dw->dwfl_module_getsym_info(from, i, &sym, &address, NULL, NULL, NULL);

        to->n += address >= start && address < end &&
                 take_name(name, &sym, address - bias, &to->items[to->n]);
    }
    if (to->n)
        qsort(to->items, to->n, sizeof *to->items, by_start);
}

void sd_unwind_names_release(struct sd_unwind_names *names)
{
    sd_free(names->items);
    *names = (struct sd_unwind_names){ 0 };
}

void sd_unwind_symbols_release(struct sd_unwind_symbols *symbols)
{
    sd_table_release(&symbols->by_address);
    sd_table_release(&symbols->by_function);
}

/* Those of its file, or of what is in memory alone. */
static const struct sd_unwind_names *names_of(struct sd_unwind_module *m)
{
    struct sd_unwind_names *names = m->file ? &m->file->names : &m->names;
    const struct sd_dw *dw = m->of->dw;

    if (!names->is_read && m->file)
        read_names(names, dw, m->file->dwfl, m->file->bias);
    else if (!names->is_read)
        read_names(names, dw, m->dwfl, m->bias);
    return names;
}

/* The last symbol that begins at or before the address, or n. */
static size_t last_before(const struct sd_unwind_names *names, uint64_t address)
{
    size_t low = 0, high = names->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (names->items[mid].start <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? low - 1 : names->n;
}

/* --- Functions without a symbol: the unwind tables tell where they begin */

/* The address of .eh_frame_hdr's table and its number of entries, in the one encoding
 * that linkers write. */
static const uint8_t *starts_table(const struct sd_unwind_module *m,
                                   struct sd_elf_place *section, uint32_t *n)
{
    const struct sd_elf *elf = m->file ? &m->file->elf : NULL;
    const uint8_t *p;

    if (!elf || !sd_elf_section(elf, ".eh_frame_hdr", section) || section->size < 12)
        return NULL;
    p = sd_elf_bytes(elf, section->address, section->size);
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

/* The address itself where nothing tells. */
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
    return function_start(m, address) <= x->start;
}

static const struct sd_unwind_name *name_at(struct sd_unwind_module *m,
                                            uint64_t address)
{
    const struct sd_unwind_names *names = names_of(m);
    const struct sd_unwind_name *best = NULL;
    size_t at = last_before(names, address), n;

    for (n = 0; at < names->n && n < N_BACK; n++, at--) {
        const struct sd_unwind_name *x = &names->items[at];

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

static const char *text_of(struct sd_unwind_files *files, const char *s, size_t n)
{
    return sd_unwind_text(files, s, n < N_NAME_MAX ? n : N_NAME_MAX);
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

static const char *readable(struct sd_unwind_files *files, const char *symbol)
{
    const char *name;
    char *found = NULL;
    size_t n, all, start;
    int status = -1;

    if (files->dw.demangle && strncmp(symbol, "_Z", 2) == 0)
        found = files->dw.demangle(symbol, NULL, NULL, &status);
    if (!found || status != 0) {
        files->dw.drop(found);
        return text_of(files, symbol, without_pieces(symbol));
    }
    all = strlen(found);
    n = without_parameters(found, all);
    start = n < all ? name_start(found, n) : 0;
    name = text_of(files, found + start, without_hash(found, n) - start);
    files->dw.drop(found);
    return name;
}

/* --- Symbols */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool has_table(const struct sd_unwind_module *m, uint64_t pc)
{
    const struct sd_dw *dw = m->of->dw;
    Dwarf_Addr bias = 0;
    Dwarf_Frame *frame = NULL;
    Dwarf_CFI *cfi = dw->dwfl_module_eh_cfi(m->dwfl, &bias);
    bool is_found = cfi && dw->dwarf_cfi_addrframe(cfi, pc - bias, &frame) == 0;

    if (!is_found) {
        cfi = dw->dwfl_module_dwarf_cfi(m->dwfl, &bias);
        is_found = cfi && dw->dwarf_cfi_addrframe(cfi, pc - bias, &frame) == 0;
    }
    dw->drop(frame);
    return is_found;
}

static struct sd_symbol *new_function(struct sd_unwind_module *m,
                                      const struct sd_unwind_name *name, uint64_t start)
{
    struct sd_unwind_files *files = m->of->files;
    struct sd_symbol *s = sd_arena_alloc(&files->arena, sizeof *s);
    const char *file = NULL;
    char text[N_NAME_MAX];
    int n;

    if (!s)
        return NULL;
    s->module = m->path;
    s->offset = start;
    if (name) {
        s->name = readable(files, name->name);
    } else {
        n = snprintf(text, sizeof text, "%.200s+0x%llx", base_name(m->path),
                     (unsigned long long)s->offset);
        s->name = text_of(files, text, (size_t)n);
        s->is_nameless = true;
    }
    if (m->dwfl && m->file && name)
        file = sd_unwind_file_line(m->file, start, &s->first_line);
    s->file = file ? text_of(files, file, strlen(file)) : m->path;
    if (!s->name || !s->file)
        return NULL;
    s->function = ++files->n_functions;
    s->role = files->judge ? files->judge(s->name) : 0;
    return s;
}

static struct sd_symbol *function_at(struct sd_unwind_module *m,
                                     struct sd_table *by_start, uint64_t address)
{
    const struct sd_unwind_name *name = m->dwfl ? name_at(m, address) : NULL;
    uint64_t start = name ? name->start : function_start(m, address);
    struct sd_symbol *s;
    uint64_t found;

    if (sd_table_get(by_start, start, &found))
        return (struct sd_symbol *)(uintptr_t)found;
    s = new_function(m, name, start);
    if (s && sd_table_put(by_start, start, (uint64_t)(uintptr_t)s) < 0)
        return NULL;
    return s;
}

/* In the function's own file: what was inlined from another one has no line here. */
static uint32_t line_at(const struct sd_unwind_module *m, const struct sd_symbol *s,
                        uint64_t address)
{
    uint32_t line;
    const char *file =
        s->first_line && m->file ? sd_unwind_file_line(m->file, address, &line) : NULL;

    return file && strncmp(file, s->file, N_NAME_MAX) == 0 ? line : 0;
}

/* Told once for all processes that have the file where elfutils believes it to be. */
static const struct sd_symbol *symbol_in(struct sd_unwind_module *m, uint64_t pc)
{
    struct sd_unwind_symbols *known =
        m->file && m->dwfl ? &m->file->symbols : &m->symbols;
    uint64_t address = pc - m->bias, found;
    const struct sd_symbol *function;
    struct sd_symbol *s;

    if (sd_table_get(&known->by_address, address, &found))
        return (const struct sd_symbol *)(uintptr_t)found;
    function = function_at(m, &known->by_function, address);
    s = function ? sd_arena_copy(&m->of->files->arena, function, sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->line = m->dwfl ? line_at(m, s, address) : 0;
    s->can_go_on = m->dwfl && has_table(m, pc);
    if (sd_table_put(&known->by_address, address, (uint64_t)(uintptr_t)s) < 0)
        return NULL;
    return s;
}

const struct sd_symbol *sd_unwind_symbol(struct sd_unwinder *u, uint64_t pc)
{
    static const struct sd_symbol nowhere = {
        .name = "[unknown code]", .module = "", .file = "", .function = UINT32_MAX
    };
    struct sd_unwind_module *m;
    const struct sd_symbol *s;
    uint64_t found;

    if (sd_table_get(&u->by_pc, pc, &found))
        return (const struct sd_symbol *)(uintptr_t)found;
    m = sd_unwind_module_at(u, pc);
    if (!m) {
        u->has_unknown_place = true;
        return &nowhere;
    }
    s = symbol_in(m, pc);
    if (s && sd_table_put(&u->by_pc, pc, (uint64_t)(uintptr_t)s) < 0)
        return NULL;
    return s;
}
#endif
