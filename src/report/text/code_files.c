/* SPDX-License-Identifier: MIT */
#include "report/text/code_files.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static void release(struct sd_code_file *f)
{
    sd_code_text_release(&f->text);
    sd_free(f->name);
    *f = (struct sd_code_file){ 0 };
}

static void put_first(struct sd_code_files *s, size_t at)
{
    struct sd_code_file found = s->files[at];

    memmove(&s->files[1], &s->files[0], at * sizeof *s->files);
    s->files[0] = found;
}

static int take_text(struct sd_code_text *into, const char *text)
{
    int rc = sd_code_text_take_utf8(into, text, strlen(text));

    return rc < 0 ? rc : 1;
}

static int read_in(struct sd_code_files *s, const char *name, const char *text)
{
    struct sd_code_file file = { .name = sd_strdup(name) };
    int rc = !file.name ? sd_no_memory()
             : text     ? take_text(&file.text, text)
             : s->read  ? s->read(s->context, name, &file.text)
                        : sd_code_text_read(&file.text, name);

    if (rc < 0) {
        release(&file);
        return rc;
    }
    file.is_there = rc > 0;
    if (s->n == SD_CODE_FILES)
        release(&s->files[--s->n]);
    s->files[s->n] = file;
    put_first(s, s->n++);
    return 0;
}

int sd_code_files_find(struct sd_code_files *s, const char *file,
                       const struct sd_code_text **out)
{
    return sd_code_files_find_in(s, file, NULL, out);
}

int sd_code_files_find_in(struct sd_code_files *s, const char *file, const char *text,
                          const struct sd_code_text **out)
{
    size_t at = 0;
    int rc = 0;

    while (at < s->n && strcmp(s->files[at].name, file) != 0)
        at++;
    if (at < s->n)
        put_first(s, at);
    else
        rc = read_in(s, file, text);
    *out = &s->files[0].text;
    return rc < 0 ? rc : s->files[0].is_there;
}

void sd_code_files_release(struct sd_code_files *s)
{
    while (s->n > 0)
        release(&s->files[--s->n]);
}
