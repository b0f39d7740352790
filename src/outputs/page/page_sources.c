/* SPDX-License-Identifier: MIT */
/* page_sources: attaches the text of source files to a view.
 *
 * A page is shown around, and a capture of a stranger may name any file.  So only the
 * program's own files are read, only Python's, and only those that are still what ran.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "outputs/page/page_maker.h"
#include "outputs/source_age.h"
#include "profile/notebook/cell_names.h"
#include "report/text/code_text.h"

enum { SOURCE_BYTES = 2 * 1000 * 1000 /* of all files together */ };

/* The names of relative files begin where the program did. */
static const char *path_of(struct sd_page_maker *m, const char *file)
{
    const char *folder = m->profile ? sd_profile_meta(m->profile, "cwd") : NULL;

    return *file == '/' ? file
           : folder     ? sd_arena_printf(&m->arena, "%s/%s", folder, file)
                        : file;
}

/* What is no regular file may wait for a writer forever, and a link may lead to a file
 * that is nobody's source. */
static bool is_special(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* By its name, or as scripts without a suffix say it. */
static bool is_python(const char *path, const struct sd_code_text *text)
{
    struct sd_code_text_line first = sd_code_text_line(text, 1);

    if (sd_text_ends(path, ".py") || sd_text_ends(path, ".pyw"))
        return true;
    return first.n > 2 && memcmp(first.p, "#!", 2) == 0 &&
           memmem(first.p, first.n, "python", strlen("python"));
}

static bool has_changed(const struct sd_page_maker *m, const char *path)
{
    if (m->profile)
        return sd_source_has_changed(m->profile, path);
    return sd_file_modified_ns(path) > m->request->recorded_ns;
}

static int attach(struct sd_page_maker *m, const struct sd_code_text *text,
                  struct sd_source_file *f)
{
    if (text->text.n > SOURCE_BYTES - m->n_source_bytes) {
        f->note = "not in this page, which has at most 2 MB of source";
        return 0;
    }
    f->text = sd_arena_string(&m->arena, (const char *)text->text.p, text->text.n);
    f->n_text = text->text.n;
    m->n_source_bytes += text->text.n;
    return f->text ? 0 : sd_no_memory();
}

static int read_file(struct sd_page_maker *m, const char *path,
                     struct sd_source_file *f)
{
    struct sd_code_text text = { 0 };
    int rc = is_special(path) ? 0 : sd_code_text_read(&text, path);

    if (rc == 0 || (rc > 0 && !is_python(path, &text)))
        f->note = "there is no such file here";
    if (rc > 0)
        rc = f->note ? 0 : attach(m, &text, f);
    sd_code_text_release(&text);
    return rc;
}

/* A cell of a notebook: its text stands in the capture. */
static int take_text(struct sd_page_maker *m, const char *cell,
                     struct sd_source_file *f)
{
    struct sd_code_text text = { 0 };
    int rc = sd_code_text_take_utf8(&text, cell, strlen(cell));

    if (rc == 0)
        rc = attach(m, &text, f);
    sd_code_text_release(&text);
    return rc;
}

static int add_text(struct sd_page_maker *m, struct sd_source_file *f)
{
    const char *path = path_of(m, f->file);
    const char *cell = m->profile ? sd_cell_names_source(m->profile, f->file) : NULL;

    if (!path)
        return sd_no_memory();
    if (cell && !m->request->privacy)
        return take_text(m, cell, f);
    if (m->request->privacy)
        f->note = "source was left out of this page";
    else if (f->is_library)
        f->note = "library source is left out";
    else if (*f->file == '<')
        f->note = "this code has no file";
    else if (has_changed(m, path))
        f->note = "the file has changed since the run: figures and source may not "
                  "belong together";
    else
        return read_file(m, path, f);
    return 0;
}

/* The hottest come first. */
int sd_page_add_source(struct sd_page_maker *m, struct sd_view_source *s)
{
    int rc = 0;

    for (size_t i = 0; i < s->n_files && rc == 0; i++)
        rc = add_text(m, &s->files[i]);
    return rc;
}
