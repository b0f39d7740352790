/* SPDX-License-Identifier: MIT */
#include "cli/model/model_source.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/helper.h"
#include "cli/path.h"
#include "cli/read/command_captures.h"
#include "cli/record/environment.h"
#include "cli/record/interpreter.h"
#include "cli/record/package.h"
#include "cli/say.h"
#include "formats/weights/model_files.h"
#include "outputs/remarks.h"

enum { N_MAGIC = sizeof SD_MODEL_MAGIC - 1, MOST_INPUTS = SD_WORDS_MAX };

/* --- Inputs, as files of models are told of them */

struct inputs {
    struct sd_model_input of[MOST_INPUTS];
    size_t n;
};

static int bad_input(const char *words)
{
    return sd_fail(SD_EUSAGE,
                   "--input takes [NAME=]SIZES[:DTYPE], for example 1,3,224,224 or "
                   "ids=1,128:int64, not \"%s\"",
                   words);
}

/* "1,3,224,224": up to `end`.  Nothing at all, before a dtype, is a single number. */
static int read_dims(struct sd_arena *a, const char *at, const char *end,
                     const char *words, struct sd_model_input *to)
{
    int64_t dims[SD_MODEL_DIMS_MAX] = { 0 };
    uint32_t n = 0;

    while (at < end) {
        char *behind;

        if (!isdigit((unsigned char)*at) || n == SD_MODEL_DIMS_MAX)
            return bad_input(words);
        errno = 0;
        dims[n] = strtoll(at, &behind, 10);
        if (errno || dims[n] > SD_MODEL_AXIS_MAX)
            return sd_fail(SD_EUSAGE,
                           "--input %s: a size is larger than %lld, the most that an "
                           "axis can have",
                           words, (long long)SD_MODEL_AXIS_MAX);
        n++;
        at = behind;
        if (at < end && (*at++ != ',' || at == end))
            return bad_input(words);
    }
    to->dims = sd_arena_copy(a, dims, n * sizeof *dims);
    to->n_dims = n;
    return to->dims ? 0 : sd_no_memory();
}

/* Something was forgotten in "a=", "2,8:" and "=2,8". */
static bool is_whole(const char *words, const char *shape)
{
    const char *colon = strchr(shape, ':');

    return *shape && (!colon || colon[1]) && *words != '=';
}

static int read_shape(struct sd_arena *a, const char *from, const char *words,
                      struct sd_model_input *to)
{
    const char *colon = strchr(from, ':');

    if (!is_whole(words, from))
        return bad_input(words);
    if (colon)
        to->dtype = (uint8_t)sd_dtype_named(colon + 1, strlen(colon + 1));
    return read_dims(a, from, colon ? colon : from + strlen(from), words, to);
}

/* What stands behind the name, which may have colons of its own ("images:0=1,3"). */
static const char *shape_of(const char *words)
{
    const char *equals = strrchr(words, '=');

    return equals ? equals + 1 : words;
}

static bool is_named_before(const struct inputs *before, const char *name)
{
    for (size_t i = 0; i < before->n; i++)
        if (before->of[i].name && strcmp(before->of[i].name, name) == 0)
            return true;
    return false;
}

static int read_inputs(struct sd_arena *a, const char *const *words, struct inputs *to)
{
    int rc = 0;

    for (to->n = 0; rc == 0 && words[to->n] && to->n < MOST_INPUTS; to->n++) {
        const char *w = words[to->n], *shape = shape_of(w);
        struct sd_model_input *in = &to->of[to->n];

        *in = (struct sd_model_input){ 0 };
        if (shape > w + 1) {
            in->name = sd_arena_string(a, w, (size_t)(shape - w) - 1);
            if (!in->name)
                return sd_no_memory();
            if (is_named_before(to, in->name))
                return sd_fail(SD_EUSAGE, "--input %s: this input was given twice", w);
        }
        rc = read_shape(a, shape, w, in);
    }
    return rc;
}

/* The dtypes of a program's model are torch's, and it is asked: it has more names for
 * them than we do. */
static int check_dtypes(const struct sd_model_target *asked, const struct inputs *given)
{
    for (size_t i = 0; i < given->n; i++)
        if (strchr(shape_of(asked->inputs[i]), ':') &&
            given->of[i].dtype == SD_DTYPE_UNKNOWN)
            return sd_fail(
                SD_EUSAGE,
                "--input %s: there is no such dtype; use float32, int64, bool, ...",
                asked->inputs[i]);
    return 0;
}

/* --- A counted model as bytes */

static bool is_counted(const struct sd_map *map)
{
    return map->n >= N_MAGIC && memcmp(map->p, SD_MODEL_MAGIC, N_MAGIC) == 0;
}

static int read_file(const struct sd_model_target *asked, const struct inputs *inputs,
                     const struct sd_input *input, struct sd_model *m)
{
    const struct sd_model_request request = { inputs->of, inputs->n };
    const struct sd_loader how = { .model = &request };
    struct sd_contents into = { .model = m };
    int rc = check_dtypes(asked, inputs);

    return rc < 0 ? rc
                  : input->load(&how, (char *[]){ (char *)asked->target }, 1, &into);
}

static int read_bytes(const char *path, struct sd_model *m, bool *is_one)
{
    struct sd_map map = { 0 };
    int rc = 0;

    *is_one = false;
    if (sd_path_is_dir(path) || sd_map_file(&map, path) < 0)
        return 0; /* the reader of files says why */
    *is_one = is_counted(&map);
    if (*is_one)
        rc = sd_model_read(m, map.p, map.n);
    sd_map_release(&map);
    return rc < 0 ? sd_fail_in(rc, "%s", path) : 0;
}

/* In one that is damaged or cut there may have been a model. */
static int no_model(const struct sd_profile *p, const char *path)
{
    if (p->complaint)
        return sd_fail(SD_EFORMAT, "%s: %s; what is left of it holds no model", path,
                       p->complaint);
    return sd_fail(SD_EABSENT,
                   "%s holds no model; write one with: sonde model ... -o x.sonde",
                   path);
}

/* A capture holds the bytes of the models that were counted; the first is taken. */
static int read_capture(const struct sd_command *c, const char *path,
                        struct sd_model *m)
{
    struct sd_profile *p = NULL;
    const void *bytes;
    size_t n;
    int rc = sd_load_back(c, path, &p);

    if (rc < 0)
        return rc;
    bytes = sd_profile_model(p, 0, &n);
    /* Why there is no model says some of it already. */
    sd_remark_losses(&sd_said_remarks, path, p,
                     bytes ? SD_LOSSES_ALL : SD_LOSSES_ALL & ~SD_LOSSES_OF_FILE);
    rc = bytes ? sd_model_read(m, bytes, n) : no_model(p, path);
    sd_profile_free(p);
    return rc;
}

/* --- A model of a program */

/* "pkg.mod:factory", "model.py:Net": a name and an attribute, no file of that name. */
static bool is_program(const char *target)
{
    const char *colon = strrchr(target, ':');

    if (!colon || colon == target || !colon[1] || sd_path_exists(target))
        return false;
    for (const char *at = colon + 1; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '_' && *at != '.' &&
            (unsigned char)*at < 128)
            return false;
    return true;
}

struct starting {
    struct sd_arena arena;
    struct sd_interpreter python;
    const char *package;
    const char *argv[16 + 2 * MOST_INPUTS];
    char **environment;
    int fd; /* a file without a name, for the model */
};

/* False: there is no memory for one of them. */
static bool make_words(struct starting *s, const struct sd_model_target *asked)
{
    size_t n = 0;

    s->argv[n++] = s->python.path;
    /* By its path: -m would look for our own modules in the current folder first. */
    s->argv[n++] = sd_arena_printf(&s->arena, "%s/_torch/_model_main.py", s->package);
    s->argv[n++] = sd_arena_printf(&s->arena, "%d", s->fd);
    s->argv[n++] = asked->target;
    for (size_t i = 0; asked->inputs[i] && i < MOST_INPUTS; i++)
        s->argv[n++] = sd_arena_printf(&s->arena, "--input=%s", asked->inputs[i]);
    if (asked->has_backward)
        s->argv[n++] = "--backward";
    if (asked->has_runtime)
        s->argv[n++] = "--runtime";
    if (asked->has_memory)
        s->argv[n++] = "--memory";
    if (asked->is_training)
        s->argv[n++] = "--train";
    s->argv[n] = NULL;
    for (size_t i = 0; i < n; i++)
        if (!s->argv[i])
            return false;
    return true;
}

static int prepare(struct starting *s, const struct sd_model_target *asked)
{
    extern char **environ;
    int rc = sd_interpreter_find(&s->arena, asked->python, &s->python);

    if (rc < 0)
        return rc;
    s->package = sd_package_find(&s->arena);
    rc = sd_interpreter_fits(&s->arena, s->python.path, s->package);
    if (rc < 0)
        return rc;
    s->environment = sd_helper_environment(
        &s->arena, s->python.environment ? s->python.environment : environ, s->package);
    s->fd = memfd_create("sonde-model", 0);
    if (s->fd < 0)
        return sd_fail_errno(
            errno,
            "cannot create a file in memory (memfd_create) for the counted model");
    return make_words(s, asked) && s->environment ? 0 : sd_no_memory();
}

/* What the program's modules print goes to stderr: stdout is for our tables. */
static int let_it_count(const struct starting *s, int *status)
{
    struct sd_helper h = { .path = s->python.path,
                           .argv = (char *const *)s->argv,
                           .envp = s->environment };
    int rc = sd_helper_run(&h), ended = h.status;

    if (rc == 0 && ended < 0)
        return sd_fail(SD_EGONE,
                       "the Python process was killed by signal %d (%s) before it had "
                       "counted the model",
                       -ended, strsignal(-ended));
    if (rc == 0)
        *status = ended;
    return rc;
}

/* The Python half writes a word where it said why there is no model. */
static bool has_said_why(const struct starting *s)
{
    static const char word[] = "refused";
    char said[sizeof word - 1];

    return pread(s->fd, said, sizeof said, 0) == (ssize_t)sizeof said &&
           memcmp(said, word, sizeof said) == 0;
}

/* Without that word the program itself ended it (os._exit), and its status is not
 * ours. */
static int refused(const struct starting *s, int *status)
{
    int ended = *status;

    if (has_said_why(s))
        return SD_EUSAGE;
    *status = 0;
    return sd_fail(SD_EGONE,
                   "the Python process exited with status %d before it counted the "
                   "model; does the program call os._exit()?",
                   ended);
}

static int take(const struct starting *s, struct sd_model *m)
{
    const char *path =
        sd_arena_printf((struct sd_arena *)&s->arena, "/proc/self/fd/%d", s->fd);
    bool is_one;
    int rc = path ? read_bytes(path, m, &is_one) : sd_no_memory();

    if (rc == 0 && !is_one)
        return sd_fail(SD_EGONE, "the Python process exited without a counted model");
    return rc;
}

static int run_program(const struct sd_model_target *asked, struct sd_model *m,
                       int *status)
{
    struct starting s = { .fd = -1 };
    int rc = prepare(&s, asked);

    if (rc == 0)
        rc = let_it_count(&s, status);
    if (rc == 0 && *status != 0)
        rc = refused(&s, status);
    if (rc == 0)
        rc = take(&s, m);
    if (s.fd >= 0)
        close(s.fd);
    sd_arena_release(&s.arena);
    return rc;
}

/* --- Any of them */

/* Of what only a run tells: files have none of it. */
struct holds {
    bool runtime, backward, training, memory;
};

/* What was asked for and is not there, as it is on the command line; or NULL. */
static const char *lacking(const struct sd_model_target *asked, struct holds h)
{
    return asked->has_runtime && !h.runtime       ? "--runtime"
           : asked->has_backward && !h.backward   ? "--backward"
           : asked->needs_training && !h.training ? "--train"
           : asked->needs_memory && !h.memory     ? "--memory"
                                                  : NULL;
}

static struct holds held_by(const struct sd_model *m)
{
    const char *mode = sd_model_fact_of(m, "mode");
    struct holds h = { .training = mode && strcmp(mode, "train") == 0 };

    for (size_t i = 0; i < m->n_layers; i++) {
        h.runtime |= m->layers[i].time_ns >= 0;
        h.memory |= m->layers[i].activation_bytes >= 0;
    }
    for (size_t i = 0; i < m->n_ops && !h.backward; i++)
        h.backward = m->ops[i].is_backward;
    return h;
}

/* A model that was counted before has what it was asked for then. */
static int check_counted(const struct sd_model_target *asked,
                         const struct inputs *inputs, const struct sd_model *m)
{
    const char *wrong = lacking(asked, held_by(m));

    if (inputs->n > 0)
        return sd_fail(SD_EUSAGE,
                       "%s is a model that was already counted; --input cannot "
                       "change its inputs",
                       asked->target);
    if (wrong)
        return sd_fail(SD_EUSAGE,
                       "%s was counted without %s; count the model again with "
                       "that option",
                       asked->target, wrong);
    return 0;
}

static int get_counted(const struct sd_command *c, const struct sd_model_target *asked,
                       const struct inputs *inputs, const struct sd_input *input,
                       struct sd_model *m, bool *is_one)
{
    int rc;

    *is_one = input == &sd_input_capture;
    rc = *is_one ? read_capture(c, asked->target, m)
                 : read_bytes(asked->target, m, is_one);
    if (rc < 0 || !*is_one)
        return rc;
    rc = check_counted(asked, inputs, m);
    if (rc < 0)
        sd_model_release(m);
    return rc;
}

static int get_file(const struct sd_command *c, const struct sd_model_target *asked,
                    const struct inputs *inputs, struct sd_model *m)
{
    const char *wrong = lacking(asked, (struct holds){ 0 });
    const struct sd_input *input =
        sd_input_of(asked->target, SD_HOLDS_MODEL, &sd_input_model);
    bool is_one = false;
    int rc;

    if (!sd_path_exists(asked->target))
        return sd_fail(SD_EABSENT,
                       "there is no file %s; a model of a program is named pkg.mod:"
                       "factory",
                       asked->target);
    if (sd_path_has_suffix(asked->target, ".py"))
        return sd_fail(SD_EUSAGE,
                       "name the model in %s as %s:NAME: a class, a function that "
                       "returns a model, or the model itself",
                       asked->target, asked->target);
    rc = get_counted(c, asked, inputs, input, m, &is_one);
    if (rc < 0 || is_one)
        return rc;
    if (wrong)
        return sd_fail(SD_EUSAGE,
                       "%s needs a model that can run, given as a Python factory "
                       "(pkg.mod:factory); %s holds only weights or a graph",
                       wrong, asked->target);
    return read_file(asked, inputs, input, m);
}

int sd_model_get(const struct sd_command *c, const struct sd_model_target *asked,
                 struct sd_model *m, int *status)
{
    struct sd_arena arena = { 0 };
    struct inputs inputs = { .n = 0 };
    int rc = read_inputs(&arena, asked->inputs, &inputs);

    *status = 0;
    if (rc == 0)
        rc = is_program(asked->target) ? run_program(asked, m, status)
                                       : get_file(c, asked, &inputs, m);
    sd_arena_release(&arena);
    return rc;
}
