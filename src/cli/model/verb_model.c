/* SPDX-License-Identifier: MIT */
/* model: what a model holds and costs, layer by layer, whatever it comes from. */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/memory_capture.h"
#include "cli/export.h"
#include "cli/model/measured_machine.h"
#include "cli/model_map.h"
#include "cli/model/model_put.h"
#include "cli/model/model_source.h"
#include "cli/path.h"
#include "cli/say.h"
#include "cli/shared_options.h"
#include "cli/tables.h"
#include "machine/machine_processor.h"

enum {
    OPT_INPUT,
    OPT_COUNT,
    OPT_BACKWARD,
    OPT_TRAIN,
    OPT_RUNTIME,
    OPT_MEMORY,
    OPT_FIT,
    OPT_OPTIMIZER,
    OPT_AVAILABLE,
    OPT_TABLE,
    OPT_TREE,
    OPT_DEPTH,
    OPT_TYPE,
    OPT_TOP,
    OPT_IMPACT,
    OPT_METRIC,
    OPT_SORT,
    OPT_ROWS,
    OPT_PLOT,
    OPT_GRAPH,
    OPT_WIDTH,
    OPT_JSON,
    OPT_CSV,
    OPT_OUTPUT,
    OPT_FORMAT,
    OPT_FORCE,
    OPT_PYTHON
};
enum { ROWS_SHOWN = 100, WIDTH = 1000 };
_Static_assert(SD_BARS_MAX == 400, "the help of --rows says so");

static const struct sd_option options[] = {
    [OPT_INPUT] = { "input", SD_WORDS, NULL,
                    "the shape of an input, batch first; said again for each input, in "
                    "their order or with their names",
                    'i', "[NAME=]1,3,224,224[:DTYPE]" },
    [OPT_COUNT] = { "count", SD_TEXT, "macs",
                    "count as this tool does: macs (ours), metinor, fvcore, thop, "
                    "ptflops, ptflops-hooks, torchinfo",
                    0, "NAME" },
    [OPT_BACKWARD] = { "backward", SD_FLAG, NULL,
                       "the backward of the summed output, too", 0, NULL },
    [OPT_TRAIN] = { "train", SD_FLAG, NULL, "put the model into training mode", 0,
                    NULL },
    [OPT_RUNTIME] = { "runtime", SD_FLAG, NULL,
                      "run it, and time every layer (median of five)", 0, NULL },
    [OPT_MEMORY] = { "memory", SD_FLAG, NULL, "what each layer keeps for the backward",
                     0, NULL },
    [OPT_FIT] = { "fit", SD_NUMBER, NULL,
                  "what training takes with a batch of N, so the model runs in "
                  "training "
                  "mode (0: the batch it is run with); with --available the largest "
                  "batch that fits",
                  0, "N" },
    [OPT_OPTIMIZER] = { "optimizer", SD_TEXT, "adam",
                        "of --fit, which it asks for: sgd, sgd-momentum, adam, ...", 0,
                        "NAME" },
    [OPT_AVAILABLE] = { "available", SD_SIZE, NULL,
                        "of --fit, which it asks for: memory there is", 0, "SIZE" },
    [OPT_TABLE] = { "table", SD_TEXT, NULL,
                    "only these tables: layers, types, operators, unsupported, "
                    "tensors, dtypes",
                    0, "NAME[,NAME...]" },
    [OPT_TREE] = { "tree", SD_FLAG, NULL, "layers inside the layers that hold them", 0,
                   NULL },
    [OPT_DEPTH] = { "depth", SD_NUMBER, NULL,
                    "of the tree and of the graph: not deeper than N; 0 is the model "
                    "alone",
                    0, "N" },
    [OPT_TYPE] = { "type", SD_TEXT, NULL, "only layers of this type: Conv2d", 0,
                   "NAME" },
    [OPT_TOP] = { "top", SD_NUMBER, NULL, "the N layers with most of --metric", 0,
                  "N" },
    [OPT_IMPACT] = { "impact", SD_FLAG, NULL,
                     "layers by their share of --metric, and what they add up to", 0,
                     NULL },
    [OPT_METRIC] = { "metric", SD_TEXT, "macs",
                     "what shares, bars and colours are of: params, macs, flops, "
                     "mem_read, mem_write, runtime, ... (of weights alone: params)",
                     0, "NAME" },
    [OPT_SORT] = { "sort", SD_TEXT, NULL,
                   "sort by this column, largest first; -COLUMN the other way round",
                   's', "COLUMN" },
    [OPT_ROWS] = { "rows", SD_NUMBER, NULL,
                   "at most N rows or bars; 0 is all (100 rows, all as CSV and JSON; "
                   "10 bars of --plot top, else 400, and no picture has more)",
                   'n', "N" },
    [OPT_PLOT] = { "plot", SD_CHOICE, NULL,
                   "draw bars into the picture that -o names: of the layers with most, "
                   "of shares, of all layers, of memory, of types; or layers under the "
                   "roof of this machine",
                   0, "top|impact|layers|memory|types|roofline" },
    [OPT_GRAPH] = { "graph", SD_FLAG, NULL,
                    "draw layers and what goes from one to another, coloured by "
                    "--metric, into the picture that -o names",
                    0, NULL },
    [OPT_WIDTH] = { "width", SD_NUMBER, "1000", "of bars, in pixels", 0, "N" },
    [OPT_JSON] = { "json", SD_FLAG, NULL, "print one JSON object", 0, NULL },
    [OPT_CSV] = { "csv", SD_FLAG, NULL, "print the first table as CSV", 0, NULL },
    [OPT_OUTPUT] = { "output", SD_TEXT, NULL,
                     "write to FILE: .sonde, .json, .csv, .txt, or a picture: .svg, "
                     ".png, "
                     ".jpeg, .pdf",
                     'o', "FILE" },
    [OPT_FORMAT] = { "format", SD_CHOICE, NULL,
                     "what to write, where the name of FILE does not say", 'f',
                     "txt|json|csv|svg|png|jpeg|jpg|pdf" },
    [OPT_FORCE] = SD_OPTION_FORCE,
    [OPT_PYTHON] = SD_OPTION_PYTHON,
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

enum form { FORM_TEXT, FORM_JSON, FORM_CSV, FORM_PICTURE, FORM_CAPTURE };

struct wish {
    enum form form;
    enum sd_picture picture;
    const char *to; /* "-" is stdout */
    enum sd_create_flags create;
    enum sd_count_mode mode;
    struct sd_model_tables_wish tables;
    struct sd_model_fit_wish fit;
    bool is_graph, is_roofline;
    enum sd_model_bars_kind bars; /* where it is neither */
    unsigned width;
    size_t n_bars;
};

/* --- What was asked for */

/* What the name of a file says of it; false: nothing. */
static bool form_of(const char *name, enum form *form, enum sd_picture *picture)
{
    if (sd_picture_of(name, picture))
        *form = FORM_PICTURE;
    else if (sd_text_ends(name, ".json"))
        *form = FORM_JSON;
    else if (sd_text_ends(name, ".csv"))
        *form = FORM_CSV;
    else if (sd_text_ends(name, ".sonde"))
        *form = FORM_CAPTURE;
    else if (sd_text_ends(name, ".txt"))
        *form = FORM_TEXT;
    else
        return false;
    return true;
}

/* --json or --csv */
static int read_flag(const struct sd_option_value *v, struct wish *w)
{
    enum form other;

    w->form = v[OPT_JSON].number ? FORM_JSON : FORM_CSV;
    if (v[OPT_JSON].number && v[OPT_CSV].number)
        return sd_fail(SD_EUSAGE, "--json and --csv are two forms: say one");
    if (!v[OPT_FORMAT].text &&
        (!form_of(w->to, &other, &w->picture) || other == w->form))
        return 0;
    return sd_fail(SD_EUSAGE,
                   "--json and --csv say what is written, and so does %s: leave one of "
                   "them out",
                   v[OPT_FORMAT].text ? "--format" : w->to);
}

static int read_form(const struct sd_option_value *v, struct wish *w)
{
    const char *word = v[OPT_FORMAT].text, *name = w->to;
    char suffix[8];

    if (v[OPT_JSON].number || v[OPT_CSV].number)
        return read_flag(v, w);
    if (word) {
        suffix[0] = '.';
        strncpy(suffix + 1, word, sizeof suffix - 2);
        suffix[sizeof suffix - 1] = 0;
        name = suffix;
    }
    if (form_of(name, &w->form, &w->picture))
        return 0;
    w->form = FORM_TEXT;
    if (strcmp(name, "-") == 0)
        return 0;
    return sd_fail(SD_EUSAGE,
                   "cannot write %s: a counted model is .sonde, its tables .txt, .json "
                   "or .csv, its pictures .svg, .png, .jpeg or .pdf",
                   name);
}

static int read_picture(const struct sd_option_value *v, struct wish *w)
{
    static const struct {
        const char *word;
        enum sd_model_bars_kind kind;
    } known[] = { { "top", SD_MODEL_BARS_TOP },
                  { "impact", SD_MODEL_BARS_IMPACT },
                  { "layers", SD_MODEL_BARS_LAYERS },
                  { "memory", SD_MODEL_BARS_MEMORY },
                  { "types", SD_MODEL_BARS_TYPES } };

    if (v[OPT_GRAPH].number && v[OPT_PLOT].text)
        return sd_fail(SD_EUSAGE, "--graph and --plot are two pictures: say one");
    w->is_graph = v[OPT_GRAPH].number || !v[OPT_PLOT].text;
    w->is_roofline = v[OPT_PLOT].text && strcmp(v[OPT_PLOT].text, "roofline") == 0;
    w->width = (unsigned)v[OPT_WIDTH].number;
    w->n_bars = v[OPT_ROWS].is_given ? v[OPT_ROWS].number : 0;
    for (size_t i = 0; v[OPT_PLOT].text && i < sizeof known / sizeof *known; i++)
        if (strcmp(v[OPT_PLOT].text, known[i].word) == 0)
            w->bars = known[i].kind;
    if (w->bars == SD_MODEL_BARS_TOP && !v[OPT_ROWS].is_given)
        w->n_bars = v[OPT_TOP].is_given ? v[OPT_TOP].number : 10;
    if ((v[OPT_GRAPH].number || v[OPT_PLOT].text) && w->form != FORM_PICTURE)
        return sd_fail(SD_EUSAGE, "a picture goes into a file: say -o model.svg, .png, "
                                  ".jpeg or .pdf");
    return 0;
}

static int read_tables(const struct sd_option_value *v, struct wish *w)
{
    struct sd_model_tables_wish *t = &w->tables;
    int rc = sd_model_metric_named(v[OPT_METRIC].text, &t->metric);

    t->tables = v[OPT_TABLE].text;
    t->type = v[OPT_TYPE].text;
    t->sort = v[OPT_SORT].text;
    t->is_tree = v[OPT_TREE].number != 0;
    t->n_levels = !v[OPT_DEPTH].is_given ? 0
                  : v[OPT_DEPTH].number < UINT32_MAX - 1
                      ? (uint32_t)v[OPT_DEPTH].number + 1
                      : 0;
    t->has_impact = v[OPT_IMPACT].number != 0;
    t->limit = v[OPT_ROWS].is_given   ? v[OPT_ROWS].number
               : w->form == FORM_TEXT ? ROWS_SHOWN
                                      : 0;
    if (rc == 0 && v[OPT_TOP].is_given && v[OPT_TOP].number == 0)
        return sd_fail(SD_EUSAGE, "--top 0 would be no layer: say 1 or more");
    if (rc == 0 && v[OPT_TOP].is_given) {
        t->sort = sd_model_metric_word(t->metric);
        t->limit = v[OPT_TOP].number;
        t->tables = t->tables ? t->tables : "layers";
    }
    if (rc == 0 && w->form == FORM_CSV && t->tables && strchr(t->tables, ','))
        return sd_fail(SD_EUSAGE,
                       "CSV is one table, and --table %s names several: say one, or "
                       "--json for all of them",
                       t->tables);
    /* Programs get all that there is. */
    if (w->form == FORM_JSON && !t->tables)
        t->tables = "layers,types,operators,tensors,dtypes";
    return rc;
}

/* What would be ignored is refused. */
static int check_depth(const struct sd_option_value *v, const struct wish *w)
{
    bool has_levels = w->form == FORM_PICTURE ? w->is_graph : w->tables.is_tree;

    return v[OPT_DEPTH].is_given && !has_levels
               ? sd_fail(SD_EUSAGE, "--depth is of the tree and of the graph: say "
                                    "--tree, or --graph, too")
               : 0;
}

/* Whatever is said of it asks for it. */
static int read_fit(const struct sd_option_value *v, struct wish *w)
{
    w->fit.is_asked =
        v[OPT_FIT].is_given || v[OPT_AVAILABLE].is_given || v[OPT_OPTIMIZER].is_given;
    w->fit.batch = (int64_t)v[OPT_FIT].number;
    w->fit.available_bytes = (int64_t)v[OPT_AVAILABLE].number;
    return sd_optimizer_named(v[OPT_OPTIMIZER].text, &w->fit.optimizer);
}

static int read_wish(const struct sd_command *c, struct wish *w)
{
    const struct sd_option_value *v = c->values;
    int rc;

    *w =
        (struct wish){ .to = v[OPT_OUTPUT].text ? v[OPT_OUTPUT].text : "-",
                       .create = v[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW };
    if (c->n_words != 1)
        return sd_fail(SD_EUSAGE,
                       "model wants one model: a file (.onnx, .safetensors, .gguf, a "
                       "folder of them) or pkg.mod:factory");
    rc = sd_count_mode_named(v[OPT_COUNT].text, &w->mode);
    if (rc == 0 && v[OPT_BACKWARD].number && sd_count_mode_is_of_modules(w->mode))
        rc = sd_fail(SD_EUSAGE,
                     "--count %s looks at modules alone: it has no count of "
                     "the backward",
                     v[OPT_COUNT].text);
    if (rc == 0)
        rc = read_form(v, w);
    if (rc == 0)
        rc = read_picture(v, w);
    if (rc == 0)
        rc = read_tables(v, w);
    if (rc == 0)
        rc = check_depth(v, w);
    return rc == 0 ? read_fit(v, w) : rc;
}

/* --- What comes of it */

/* Times on another processor, or on a device of this machine, say nothing about what
 * this processor reached.  Whoever timed the model, the verb or a program's own report,
 * has noted where, unless the machine does not name its processor: then it was not
 * here. */
static bool is_timed_here(const struct sd_model *m)
{
    const char *device = sd_model_fact_of(m, "device");
    const char *cpu = sd_model_fact_of(m, SD_MODEL_FACT_CPU);
    char here[SD_MACHINE_TEXT];

    return device && strncmp(device, "cpu", 3) == 0 && cpu &&
           sd_machine_processor(here) && strcmp(cpu, here) == 0;
}

/* Measured once, if it never was. */
static int know_machine(struct sd_machine *machine)
{
    if (sd_machine_load(machine) == 0)
        return 0;
    sd_say("measuring once what this machine can do (sonde info --machine shows it)");
    return sd_machine_known(true, machine);
}

static int put_roofline(const struct sd_model_costs *c, const struct wish *w,
                        struct sd_out *out)
{
    struct sd_arena arena = { 0 };
    struct sd_view_roofline roofline;
    struct sd_machine machine;
    int rc;

    if (c->total.time_ns >= 0 && !is_timed_here(c->model))
        return sd_fail(SD_EABSENT,
                       "this model was timed on another machine or device, or it is "
                       "not known where: its layers have no place under the roof of "
                       "this one");
    rc = know_machine(&machine);
    if (rc == 0) {
        const char *type = sd_model_dtype(c->model);
        double peak = sd_machine_peak(&machine, type);

        /* That of float32 stands in for what has none of its own. */
        if (peak == sd_machine_peak(&machine, "float32"))
            type = "float32";
        rc = sd_model_roofline(c, peak, type, sd_machine_bandwidth(&machine), &arena,
                               &roofline);
    }
    if (rc == 0)
        rc = sd_report_roofline(out, w->picture, &roofline, w->width);
    sd_arena_release(&arena);
    return rc;
}

static int put_picture(const struct sd_model_costs *c, const struct wish *w,
                       struct sd_out *out)
{
    struct sd_arena arena = { 0 };
    struct sd_view_bars bars;
    int rc;

    if (w->is_roofline)
        return put_roofline(c, w, out);
    if (w->is_graph)
        return sd_model_put_map(out, w->picture, c, w->tables.metric,
                                w->tables.n_levels);
    rc = sd_model_bars(c,
                       &(struct sd_model_bars_wish){ .kind = w->bars,
                                                     .metric = w->tables.metric,
                                                     .type = w->tables.type,
                                                     .limit = w->n_bars },
                       &arena, &bars);
    if (rc == 0)
        rc = sd_report_bars(out, w->picture, &bars, w->width);
    sd_arena_release(&arena);
    return rc;
}

/* The model as it was counted: other views of it are made later, without running it. */
static int put_capture(const struct sd_model *m, struct sd_out *out)
{
    struct sd_buf bytes = { 0 }, whole = { 0 };
    int rc;

    sd_model_write(m, &bytes);
    rc = bytes.bad
             ? sd_no_memory()
             : sd_whole_model(bytes.p, bytes.n,
                              &(struct sd_whole_how){ .command = sd_model_title(m) },
                              &whole);
    if (rc == 0)
        sd_out_write(out, whole.p, whole.n);
    sd_buf_release(&bytes);
    sd_buf_release(&whole);
    return rc;
}

static int put_tables(const struct sd_command *command, const struct sd_model_costs *c,
                      const struct wish *w, struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(command, fd);
    struct sd_view view = { 0 };
    int rc = sd_model_tables(c, &w->tables, &view);

    if (rc == 0 && w->form == FORM_JSON)
        sd_model_put_json(out, c, &view, &w->fit);
    else if (rc == 0 && w->form == FORM_CSV)
        sd_tables_csv(out, &view);
    else if (rc == 0)
        sd_model_put_text(out, c, &view, &w->fit, &style);
    sd_view_release(&view);
    return rc;
}

static int put(const struct sd_command *c, const struct sd_model_costs *costs,
               const struct wish *w)
{
    struct sd_export_file file;
    int rc = sd_export_open(&file, w->to, w->create);

    if (rc < 0)
        return rc;
    if (w->form == FORM_CAPTURE)
        rc = put_capture(costs->model, &file.out);
    else if (w->form == FORM_PICTURE)
        rc = put_picture(costs, w, &file.out);
    else
        rc = put_tables(c, costs, w, &file.out, file.fd);
    return sd_export_close(&file, rc);
}

static int get(const struct sd_command *c, const struct wish *w, struct sd_model *m,
               int *status)
{
    const struct sd_option_value *v = c->values;

    return sd_model_get(c,
                        &(struct sd_model_asked){
                            .target = c->words[0],
                            .inputs = v[OPT_INPUT].words,
                            .python = v[OPT_PYTHON].text,
                            .has_backward = v[OPT_BACKWARD].number != 0,
                            .has_runtime = v[OPT_RUNTIME].number != 0,
                            .has_memory = v[OPT_MEMORY].number != 0 || w->fit.is_asked,
                            .is_training = v[OPT_TRAIN].number != 0 || w->fit.is_asked,
                            .needs_training = v[OPT_TRAIN].number != 0,
                            .needs_memory = v[OPT_MEMORY].number != 0,
                        },
                        m, status);
}

/* Times stand beside their share of what the machine can do.  Where this very run took
 * them that is measured if need be; a capture is only read, and whoever reads it did
 * not ask for seconds of all cores. */
static int compare_with_machine(const struct sd_command *command, struct sd_model *m,
                                const struct sd_model_costs *c, struct wish *w)
{
    struct sd_machine machine;

    if (c->total.time_ns < 0 || w->form == FORM_CAPTURE || w->form == FORM_PICTURE ||
        !is_timed_here(m))
        return 0;
    if (command->values[OPT_RUNTIME].number ? know_machine(&machine) == 0
                                            : sd_machine_load(&machine) == 0) {
        w->tables.peak_flops = sd_machine_peak(&machine, sd_model_dtype(m));
        return 0;
    }
    return sd_model_note(m, "what this machine can do is not known: after sonde info "
                            "--machine there is a column peak%% beside the times");
}

/* Other tools count what torch runs; a file has neither its modules nor, of weights
 * alone, any operator. */
static int check_count(const struct sd_model *m, enum sd_count_mode mode)
{
    const char *source = sd_model_fact_of(m, "source");

    if (mode == SD_COUNT_MACS || (source && strncmp(source, "torch", 5) == 0))
        return 0;
    if (!sd_model_knows_operators(m))
        return sd_fail(SD_EUSAGE,
                       "--count %s: weights alone tell no operators to count",
                       sd_count_mode_name(mode));
    if (sd_count_mode_is_of_modules(mode))
        return sd_fail(SD_EUSAGE,
                       "--count %s looks at modules of torch, and a file has operators "
                       "alone: say macs, fvcore or ptflops",
                       sd_count_mode_name(mode));
    return 0;
}

/* A file of weights tells no types of layers: what asks for them is refused, rather
 * than shown without names. */
static int check_types(const struct sd_model *m, const struct wish *w)
{
    /* Of a tree with a type more is wrong: who makes the tables says it. */
    bool asks =
        (w->tables.type && !w->tables.is_tree) || w->bars == SD_MODEL_BARS_TYPES;

    for (size_t i = 1; asks && i < m->n_layers; i++)
        asks = !*sd_model_text(m, m->layers[i].type);
    if (!asks || sd_model_knows_operators(m))
        return 0;
    return sd_fail(SD_EUSAGE, "%s: weights alone tell no types of layers",
                   w->tables.type ? "--type" : "--plot types");
}

static int note_beyond(struct sd_model *m, const struct sd_model_costs *c,
                       const struct sd_model_fit_wish *w)
{
    const char *said = sd_model_beyond(c);
    struct sd_model_fit fit;

    if (!said && w->is_asked) {
        sd_model_fit(c, w->optimizer, w->batch, w->available_bytes, &fit);
        said = sd_model_fit_beyond(&fit);
    }
    return said ? sd_model_note(m, "%s", said) : 0;
}

/* Of weights alone parameters are what there is a share of. */
static void settle_metric(const struct sd_command *c, const struct sd_model *m,
                          struct wish *w)
{
    if (sd_model_knows_operators(m) || c->values[OPT_METRIC].is_given)
        return;
    w->tables.metric = SD_BY_PARAMS;
    if (c->values[OPT_TOP].is_given)
        w->tables.sort = sd_model_metric_word(SD_BY_PARAMS);
}

/* The layers with most of what nobody measured would be any. */
static int check_metric(const struct sd_command *c, const struct sd_model_costs *costs,
                        const struct wish *w)
{
    enum sd_model_metric k = w->tables.metric;
    bool asks = c->values[OPT_TOP].is_given || w->tables.has_impact;
    bool is_measured =
        sd_model_metric_unit(k) == SD_MODEL_NS || k == SD_BY_ACTIVATION_BYTES;

    return asks && is_measured && sd_model_metric_of(&costs->total, k) < 0
               ? sd_model_not_measured(k)
               : 0;
}

static int run(const struct sd_command *c)
{
    struct sd_model model;
    struct sd_model_costs costs;
    struct wish w;
    int status = 0, rc = read_wish(c, &w);

    if (rc == 0)
        rc = sd_export_try(w.to, w.create);
    if (rc < 0)
        return sd_say_failure(rc);
    rc = get(c, &w, &model, &status);
    if (status)
        return status;
    if (rc < 0)
        return sd_say_failure(rc);
    settle_metric(c, &model, &w);
    rc = check_count(&model, w.mode);
    if (rc == 0)
        rc = check_types(&model, &w);
    if (rc == 0)
        rc = sd_model_costs(&model, w.mode, &costs);
    if (rc == 0) {
        rc = check_metric(c, &costs, &w);
        if (rc == 0)
            rc = note_beyond(&model, &costs, &w.fit);
        if (rc == 0)
            rc = compare_with_machine(c, &model, &costs, &w);
        if (rc == 0)
            rc = put(c, &costs, &w);
        sd_model_costs_release(&costs);
    }
    sd_model_release(&model);
    return rc < 0 ? sd_say_failure(rc) : 0;
}

const struct sd_verb sd_verb_model = {
    .name = "model",
    .group = SD_GROUP_RECORD,
    .summary = "counts the parameters, MACs, memory and time of a model, by layer",
    .usage = "[OPTION...] FILE|DIR|PKG.MOD:FACTORY",
    .about =
        "Counts a neural network: parameters, multiply-adds of every matrix and vector "
        "product (MACs; FLOPs are two for each), memory and, with --runtime, time, "
        "layer by layer. The model is an ONNX, safetensors or gguf file, a folder or "
        "index of them, or a config.json, all read without Python; or PKG.MOD:FACTORY, "
        "something of a Python program that is or gives a torch model, which is run on "
        "tensors without data where that is possible. An operator without a rule is "
        "named, never silently left out.",
    .examples = "sonde model resnet18.onnx\n"
                "sonde model model.safetensors --tree --depth 2\n"
                "sonde model torchvision.models:resnet18 --input 1,3,224,224\n"
                "sonde model net.py:Net -i 1,3,224,224 --runtime --backward\n"
                "sonde model net.py:Net -i 8,128:int64 --top 5 --metric params\n"
                "sonde model net.py:Net -i 1,3,32,32 --graph -o net.svg\n"
                "sonde model net.py:Net -i 1,3,32,32 --runtime --plot roofline -o "
                "roof.svg\n"
                "sonde model net.py:Net -i 1,3,32,32 --fit 64 --available 16GiB\n",
    .options = options,
    .run = run,
};
