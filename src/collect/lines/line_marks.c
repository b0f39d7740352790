/* SPDX-License-Identifier: MIT */
#include "collect/lines/line_marks.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mark.h"
#include "base/table.h"
#include "capture/line_cell.h"
#include "capture/log.h"
#include "collect/session.h"
#include "collect/shared/source_name.h"
#include "cpython/compat.h"

/* Not for more than a program has by hand: a capture has no place for all there are. */
enum { MARKS_MOST = 256 };

/* What a process has only one of. */
static struct {
    struct timespec began;  /* CLOCK_REALTIME */
    struct sd_table marked; /* hashes of paths */
} marks;

void sd_line_marks_begin(void) { clock_gettime(CLOCK_REALTIME, &marks.began); }

void sd_line_marks_forget(void) { sd_table_clear(&marks.marked); }

static bool is_unchanged(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && (st.st_mtim.tv_sec < marks.began.tv_sec ||
                                    (st.st_mtim.tv_sec == marks.began.tv_sec &&
                                     st.st_mtim.tv_nsec <= marks.began.tv_nsec));
}

static bool is_new(const char *path)
{
    uint64_t key = sd_hash(path, strlen(path), 0), known;

    return marks.marked.n < MARKS_MOST && !sd_table_get(&marks.marked, key, &known) &&
           sd_table_put(&marks.marked, key, 1) == 0;
}

static void put_mark(const char *path, const char *mark)
{
    char name[sizeof SD_META_SOURCE + PATH_MAX];
    struct sd_log *log = sd_session_log();

    snprintf(name, sizeof name, SD_META_SOURCE "%s", path);
    if (log)
        sd_log_meta(log, name, mark);
}

void sd_line_mark_source(const PyCodeObject *code)
{
    const char *typed = PyUnicode_AsUTF8(code->co_filename);
    char path[PATH_MAX], plain[PATH_MAX], mark[SD_MARK_MAX];
    bool is_marked;

    if (!typed) {
        PyErr_Clear();
        return;
    }
    if (!sd_source_name_whole(typed, path))
        snprintf(path, sizeof path, "%s", typed);
    if (sd_source_name_plain(path, plain)) /* as the table has it */
        memcpy(path, plain, sizeof path);
    if (!is_new(path))
        return;
    Py_BEGIN_ALLOW_THREADS is_marked = is_unchanged(path) && sd_mark_of(path, mark);
    Py_END_ALLOW_THREADS if (is_marked) put_mark(path, mark);
}
