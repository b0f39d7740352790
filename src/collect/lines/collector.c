/* SPDX-License-Identifier: MIT */
#include "collect/lines/collector.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/inside.h"
#include "collect/lines/line_calibration.h"
#include "collect/lines/line_choice.h"
#include "collect/lines/line_marks.h"
#include "collect/lines/line_memory.h"
#include "collect/lines/lines.h"
#include "collect/lines/options.h"
#include "collect/shared/source_name.h"
#include "collect/with.h"
#include "cpython/compat.h"

extern const struct sd_collector_about sd_about_lines;
extern const struct sd_inside sd_inside_lines;

/* The one session that fills the capture, for as long as the process lives. */
static struct {
    struct sd_line_session *session;
    struct sd_line_choice choice; /* what --only named; empty: nothing */
    uint64_t limit_bytes;         /* of --debug-above; 0: none */
    const char *then;             /* of --then; or NULL */
    sd_lines_deed *deed;          /* what is done above it */
} captured;

int sd_lines_choose(PyCodeObject *code)
{
    if (!captured.session)
        return 0;
    sd_line_mark_source(code);
    /* Another thread may have stopped it while the file was read. */
    return captured.session ? sd_line_session_add(captured.session, code) : 0;
}

/* --- Choosing by names ----------------------------------------------------------- */

/* The text of a string, without running anything; "" where it has none. */
static const char *text_of(PyObject *o)
{
    const char *text = o && PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : NULL;

    PyErr_Clear();
    return text ? text : "";
}

static bool begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* The interpreter's own modules and ours, whose lines nobody means by a star. */
static bool is_not_programs(const char *file, const char *module)
{
    return begins_with(file, "<frozen ") || begins_with(file, "<sonde") ||
           strcmp(module, "sonde") == 0 || begins_with(module, "sonde.") ||
           strstr(file, "/sonde/_bootstrap/") != NULL;
}

static void judge_one(PyCodeObject *code, const char *module, const char *name)
{
    const char *file = text_of(code->co_filename);
    char whole[PATH_MAX], plain[PATH_MAX];
    const char *name_of_file = sd_source_name_whole(file, whole) ? whole : file;
    const struct sd_line_subject f = {
        .file = sd_source_name_plain(name_of_file, plain) ? plain : name_of_file,
        .module = module,
        .name = name,
        .first = (uint32_t)code->co_firstlineno,
    };

    if (!sd_line_is_part(code) && !is_not_programs(file, module) &&
        sd_line_choice_has(&captured.choice, &f))
        sd_lines_choose(code);
    sd_line_seen(code);
}

enum { NAME_MAX_BYTES = 512 };

static void judge_inner(PyCodeObject *code, const char *module, const char *prefix);

static void judge_const(PyObject *o, const char *module, const char *prefix)
{
    PyCodeObject *code = (PyCodeObject *)o;
    char name[NAME_MAX_BYTES], below[NAME_MAX_BYTES + 16];
    bool is_function = code->co_flags & CO_OPTIMIZED;

    snprintf(name, sizeof name, "%s%s", prefix, text_of(code->co_name));
    judge_one(code, module, name);
    snprintf(below, sizeof below, "%s%s", name, is_function ? ".<locals>." : ".");
    judge_inner(code, module, below);
}

/* Before 3.11 a code object does not know its qualified name, so all that a module
 * holds are judged with it, by where they stand. */
static void judge_inner(PyCodeObject *code, const char *module, const char *prefix)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *o = PyTuple_GET_ITEM(code->co_consts, i);

        if (PyCode_Check(o))
            judge_const(o, module, prefix);
    }
}

/* The names of code objects are the program's; nothing of it is run. */
static void judge(PyCodeObject *code, PyObject *globals)
{
    PyObject *module = globals && PyDict_CheckExact(globals)
                           ? sd_compat_dict_get(globals, "__name__")
                           : NULL;
    PyObject *qualified = sd_compat_code_qualname(code);

    judge_one(code, text_of(module), text_of(qualified ? qualified : code->co_name));
    if (!qualified && !(code->co_flags & CO_OPTIMIZED))
        judge_inner(code, text_of(module), "");
}

/* --- Starting and stopping ------------------------------------------------------- */

static int read_choice(const char *only)
{
    const char *from = secure_getenv("SONDE_FROM"); /* a child may be elsewhere */
    char folder[PATH_MAX] = "";

    if (!only)
        return 0;
    if (!from && !getcwd(folder, sizeof folder))
        folder[0] = '\0';
    return sd_line_choice_read(only, from ? from : folder, &captured.choice);
}

void sd_lines_above(sd_lines_deed *deed) { captured.deed = deed; }

static void ring(int64_t rss_bytes, const struct sd_line_culprit *blamed,
                 bool is_elsewhere)
{
    const struct sd_lines_alarm passed = {
        .rss_bytes = rss_bytes,
        .limit_bytes = captured.limit_bytes,
        .then = captured.then,
        .by = blamed->by,
        .line = blamed->line,
        .is_elsewhere = is_elsewhere,
    };

    if (captured.deed)
        captured.deed(&passed);
}

static void set_limit(const struct sd_option_value *v)
{
    captured.limit_bytes = v[SD_LINES_OPT_DEBUG_ABOVE].number;
    captured.then = v[SD_LINES_OPT_THEN].text;
    if (captured.limit_bytes)
        sd_line_memory_limit(captured.limit_bytes, ring);
}

/* A Ctrl-C that comes just now is the program's, once it has begun. */
static void calibrate(struct sd_line_session *s)
{
    bool is_interrupt;

    if (sd_line_calibrate(s) == 0)
        return;
    is_interrupt = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    PyErr_Clear();
    if (is_interrupt)
        PyErr_SetInterrupt();
}

static int start(const struct sd_option_value *v)
{
    bool has_memory = v[SD_LINES_OPT_MEMORY].number;
    const char *only = v[SD_LINES_OPT_ONLY].text;
    const struct sd_line_request request = {
        .has_cpu = v[SD_LINES_OPT_CPU].number,
        .has_memory = has_memory || v[SD_LINES_OPT_DEBUG_ABOVE].number,
        .has_peak = has_memory,
        .in_capture = true,
    };
    int rc = read_choice(only);

    if (rc == 0)
        rc = sd_line_session_new(&request, &captured.session);
    if (rc == 0)
        calibrate(captured.session);
    if (rc == 0 && only)
        sd_line_seek(judge);
    if (rc == 0)
        rc = sd_line_session_start(captured.session);
    if (rc == 0)
        set_limit(v);
    if (rc == 0)
        return 0;
    sd_line_seek(NULL);
    sd_line_session_free(captured.session);
    captured.session = NULL;
    sd_line_choice_release(&captured.choice);
    return rc;
}

/* Python is gone: what is left open ends here. */
static void at_exit(void)
{
    sd_line_session_end(captured.session);
    sd_line_calibrated(captured.session);
}

static void stop(void)
{
    struct sd_line_session *s = captured.session;

    captured.session = NULL;
    sd_line_seek(NULL);
    sd_line_memory_limit(0, NULL);
    sd_line_calibrated(s);
    sd_line_session_free(s);
    sd_line_choice_release(&captured.choice);
    captured.then = NULL;
}

const struct sd_inside sd_inside_lines = {
    .about = &sd_about_lines,
    .start = start,
    .at_exit = at_exit,
    .stop = stop,
};

bool sd_lines_are_asked(void)
{
    return sd_with_has(secure_getenv("SONDE_WITH"), sd_about_lines.name);
}

bool sd_lines_are_asked_for_memory(void)
{
    struct sd_option_value *values;
    struct sd_arena keep = { 0 };
    bool is_asked = sd_with_read(secure_getenv("SONDE_WITH"), &sd_about_lines, &keep,
                                 &values) > 0 &&
                    values[SD_LINES_OPT_MEMORY].number;

    sd_arena_release(&keep);
    return is_asked;
}

struct sd_line_session *sd_lines_captured(void) { return captured.session; }
