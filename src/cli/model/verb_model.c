/* SPDX-License-Identifier: MIT */
/* verb_model: the verb `model`: what a model holds and costs, layer by layer, whatever
 * it comes from. */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/memory/memory_capture.h"
#include "cli/model/measured_machine.h"
#include "cli/model/map_size.h"
#include "cli/model/model_put.h"
#include "cli/model/model_source.h"
#include "cli/path.h"
#include "cli/read/export.h"
#include "cli/say.h"
#include "cli/shared_options.h"
#include "machine/machine_processor.h"
#include "outputs/outputs.h"
#include "outputs/page/page_maker.h"
#include "outputs/pictures.h"
#include "outputs/tables.h"

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
    OPT_SHARE,
    OPT_FORCE,
    OPT_PYTHON
};
enum { ROWS_SHOWN = 100, TOP_BARS = 10 };
_Static_assert(SD_BARS_MAX == 400, "the help of --rows says so");

static const struct sd_option options[] = {
    [OPT_INPUT] = { "input", SD_WORDS, NULL,
                    "the shape of an input, batch first; repeat the option for each "
                    "input, in their order or with their names",
                    'i', "[NAME=]1,3,224,224[:DTYPE]" },
    [OPT_COUNT] = { "count", SD_TEXT, "macs",
                    "count as this tool does: macs (ours), metinor, fvcore, thop, "
                    "ptflops, ptflops-hooks, torchinfo",
                    0, "NAME" },
    [OPT_BACKWARD] = { "backward", SD_FLAG, NULL,
                       "also count the backward pass of the summed output", 0, NULL },
    [OPT_TRAIN] = { "train", SD_FLAG, NULL, "put the model into training mode", 0,
                    NULL },
    [OPT_RUNTIME] = { "runtime", SD_FLAG, NULL,
                      "run it, and time every layer (median of five)", 0, NULL },
    [OPT_MEMORY] = { "memory", SD_FLAG, NULL,
                     "show what each layer keeps for the backward", 0, NULL },
    [OPT_FIT] = { "fit", SD_NUMBER, NULL,
                  "show the memory that training takes with a batch of N (0: the batch "
                  "given); runs the model in training mode; with --available, also the "
                  "largest batch that fits",
                  0, "N" },
    [OPT_OPTIMIZER] = { "optimizer", SD_TEXT, "adam",
                        "optimizer for --fit (implies --fit): sgd, sgd-momentum, adam, "
                        "...",
                        0, "NAME" },
    [OPT_AVAILABLE] = { "available", SD_SIZE, NULL,
                        "memory available for --fit (implies --fit)", 0, "SIZE" },
    [OPT_TABLE] = { "table", SD_NAMES, NULL,
                    "only these tables; with --json also pictures, as data", 0,
                    sd_model_view_names + 1 },
    [OPT_TREE] = { "tree", SD_FLAG, NULL, "layers inside the layers that hold them", 0,
                   NULL },
    [OPT_DEPTH] = { "depth", SD_NUMBER, NULL,
                    "show the tree or the graph no deeper than N; 0 is the model alone",
                    0, "N" },
    [OPT_TYPE] = { "type", SD_TEXT, NULL, "only layers of this type: Conv2d", 0,
                   "NAME" },
    [OPT_TOP] = { "top", SD_NUMBER, NULL, "the N layers with most of --metric", 0,
                  "N" },
    [OPT_IMPACT] = { "impact", SD_FLAG, NULL,
                     "layers by their share of --metric, and what they add up to", 0,
                     NULL },
    [OPT_METRIC] = { "metric", SD_TEXT, "macs",
                     "the metric for shares, bars and colours: params, macs, flops, "
                     "mem_read, mem_write, runtime, ... (for weights alone: params)",
                     0, "NAME" },
    [OPT_SORT] = { "sort", SD_TEXT, NULL,
                   "sort by this column, largest first; -COLUMN the other way round",
                   's', "COLUMN" },
    [OPT_ROWS] = { "rows", SD_NUMBER, NULL,
                   "at most N rows or bars; 0 is all (100 rows, all as CSV and JSON; "
                   "10 bars of --plot top, else 400, and no picture has more)",
                   'n', "N" },
    [OPT_PLOT] = { "plot", SD_CHOICE, NULL,
                   "draw into the picture that -o names: bars for the layers with "
                   "most, shares, all layers, memory or types; or layers in the "
                   "roofline of this machine",
                   0, sd_model_plot_words + 1 },
    [OPT_GRAPH] = { "graph", SD_FLAG, NULL,
                    "draw layers and what goes from one to another, coloured by "
                    "--metric, into the picture that -o names",
                    0, NULL },
    [OPT_WIDTH] = { "width", SD_NUMBER, "1000",
                    "width of a picture of --plot, in pixels", 0, "N" },
    [OPT_JSON] = { "json", SD_FLAG, NULL, "print one JSON object", 0, NULL },
    [OPT_CSV] = { "csv", SD_FLAG, NULL, "print the first table as CSV", 0, NULL },
    [OPT_OUTPUT] = { "output", SD_TEXT, NULL,
                     "write to FILE: .html for a page with all of it, .sonde, "
                     ".json, .csv, .txt, or a picture: .svg, .png, .jpeg, .pdf",
                     'o', "FILE" },
    [OPT_FORMAT] = { "format", SD_CHOICE, NULL,
                     "what to write, where the name of FILE does not say", 'f',
                     "txt|json|csv|html|svg|png|jpeg|jpg|pdf" },
    [OPT_SHARE] = SD_OPTION_SHARE,
    [OPT_FORCE] = SD_OPTION_FORCE,
    [OPT_PYTHON] = SD_OPTION_PYTHON,
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

enum form {
    FORM_TEXT = SD_TABLE_TEXT,
    FORM_CSV = SD_TABLE_CSV,
    FORM_JSON = SD_TABLE_JSON,
    FORM_PICTURE,
    FORM_CAPTURE,
    FORM_PAGE
};

struct request {
    enum form form;
    enum sd_picture picture;
    const char *to; /* "-" is stdout */
    enum sd_create_flags create;
    enum sd_model_mode mode;
    struct sd_view_request views;
    const char *order[2]; /* the column of --sort or --top, ended by NULL */
    struct sd_model_fit_request fit;
    const struct sd_view_about *drawn; /* what a picture shows */
    unsigned width;
};

/* --- What was asked for */

/* What the name of a file says of it; false: nothing. */
static bool form_of(const char *name, enum form *form, enum sd_picture *picture)
{
    if (sd_picture_of(name, picture)) {
        *form = FORM_PICTURE;
        return true;
    }
    for (const struct sd_output *const *o = sd_outputs; *o; o++)
        if (((*o)->has_tables || (*o)->is_page || !(*o)->write) &&
            sd_output_suffix_of(*o, name)) {
            *form = !(*o)->write    ? FORM_CAPTURE
                    : (*o)->is_page ? FORM_PAGE
                                    : (enum form)(*o)->form;
            return true;
        }
    return false;
}

/* --json or --csv */
static int read_flag(const struct sd_option_value *v, struct request *w)
{
    enum form other;

    w->form = v[OPT_JSON].number ? FORM_JSON : FORM_CSV;
    if (v[OPT_JSON].number && v[OPT_CSV].number)
        return sd_fail(SD_EUSAGE, "choose one of --json and --csv");
    if (!v[OPT_FORMAT].text &&
        (!form_of(w->to, &other, &w->picture) || other == w->form))
        return 0;
    return sd_fail(SD_EUSAGE, "%s already chooses the format; drop --json or --csv",
                   v[OPT_FORMAT].text ? "--format" : w->to);
}

static int read_form(const struct sd_option_value *v, struct request *w)
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
                   "cannot write %s: a counted model is .sonde, its page .html, its "
                   "tables .txt, .json or .csv, its pictures .svg, .png, .jpeg or .pdf",
                   name);
}

static int read_picture(const struct sd_option_value *v, struct request *w)
{
    const char *plot = v[OPT_PLOT].text;

    if (v[OPT_GRAPH].number && plot)
        return sd_fail(SD_EUSAGE, "choose one of --graph and --plot");
    w->drawn = plot ? sd_view_of_plot(plot) : sd_view_named(SD_OF_MODEL, "map", 3);
    w->width = (unsigned)v[OPT_WIDTH].number;
    if ((v[OPT_GRAPH].number || v[OPT_PLOT].text) && w->form != FORM_PICTURE)
        return sd_fail(
            SD_EUSAGE,
            "a picture goes into a file; use -o model.svg, .png, .jpeg or .pdf");
    return 0;
}

/* Of rows, or of bars. */
static size_t read_limit(const struct sd_option_value *v, const struct request *w)
{
    bool is_top = v[OPT_PLOT].text && strcmp(v[OPT_PLOT].text, "top") == 0;

    if (w->form != FORM_PICTURE && v[OPT_TOP].is_given)
        return v[OPT_TOP].number;
    if (v[OPT_ROWS].is_given)
        return v[OPT_ROWS].number;
    if (w->form == FORM_PICTURE && is_top)
        return v[OPT_TOP].is_given ? v[OPT_TOP].number : TOP_BARS;
    return w->form == FORM_TEXT ? ROWS_SHOWN : 0;
}

static int read_views(const struct sd_option_value *v, struct request *w)
{
    struct sd_view_request *r = &w->views;
    int rc = sd_model_metric_named(v[OPT_METRIC].text, &r->model_metric);

    r->views = v[OPT_TABLE].text;
    r->type = v[OPT_TYPE].text;
    w->order[0] = v[OPT_SORT].text;
    r->sort = w->order;
    r->is_tree = v[OPT_TREE].number != 0;
    r->is_short = w->form != FORM_JSON; /* programs get all that there is */
    r->has_drawings = w->form == FORM_JSON;
    r->n_levels = !v[OPT_DEPTH].is_given ? 0
                  : v[OPT_DEPTH].number < UINT32_MAX - 1
                      ? (uint32_t)v[OPT_DEPTH].number + 1
                      : 0;
    r->has_impact = v[OPT_IMPACT].number != 0;
    r->limit = read_limit(v, w);
    if (rc == 0 && v[OPT_TOP].is_given && v[OPT_TOP].number == 0)
        return sd_fail(SD_EUSAGE, "--top takes a number of at least 1");
    if (rc == 0 && v[OPT_TOP].is_given) {
        w->order[0] = sd_model_metric_word(r->model_metric);
        r->views = r->views ? r->views : "layers";
    }
    if (rc == 0 && w->form == FORM_CSV && r->views && strchr(r->views, ','))
        return sd_fail(SD_EUSAGE,
                       "CSV holds one table and --table %s names several; name one, or "
                       "use --json for all of them",
                       r->views);
    return rc;
}

/* What would be ignored is refused. */
static int check_depth(const struct sd_option_value *v, const struct request *w)
{
    bool is_map = w->form == FORM_PICTURE && w->drawn->shape == SD_SHAPE_MAP;
    bool has_levels = w->form == FORM_PICTURE ? is_map : w->views.is_tree;

    return v[OPT_DEPTH].is_given && !has_levels
               ? sd_fail(SD_EUSAGE, "--depth needs --tree or --graph")
               : 0;
}

/* Whatever is said of it asks for it. */
static int read_fit(const struct sd_option_value *v, struct request *w)
{
    w->fit.is_asked =
        v[OPT_FIT].is_given || v[OPT_AVAILABLE].is_given || v[OPT_OPTIMIZER].is_given;
    w->fit.batch = (int64_t)v[OPT_FIT].number;
    w->fit.available_bytes = (int64_t)v[OPT_AVAILABLE].number;
    return sd_optimizer_named(v[OPT_OPTIMIZER].text, &w->fit.optimizer);
}

static int check_share(const struct sd_option_value *v, const struct request *w)
{
    return v[OPT_SHARE].number && w->form != FORM_PAGE
               ? sd_fail(SD_EUSAGE, "--share works only with a page: -o model.html")
               : 0;
}

static int read_request(const struct sd_command *c, struct request *w)
{
    const struct sd_option_value *v = c->values;
    int rc;

    *w = (struct request){ .to = v[OPT_OUTPUT].text ? v[OPT_OUTPUT].text : "-",
                           .create =
                               v[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW };
    if (c->n_words != 1)
        return sd_fail(SD_EUSAGE,
                       "model needs one model: a file (.onnx, .safetensors, .gguf, a "
                       "folder of them) or pkg.mod:factory");
    rc = sd_model_mode_named(v[OPT_COUNT].text, &w->mode);
    if (rc == 0 && v[OPT_BACKWARD].number && sd_model_mode_is_of_modules(w->mode))
        rc = sd_fail(SD_EUSAGE,
                     "--count %s counts modules only, not the backward pass; drop "
                     "--backward or --count",
                     v[OPT_COUNT].text);
    if (rc == 0)
        rc = read_form(v, w);
    if (rc == 0)
        rc = check_share(v, w);
    if (rc == 0)
        rc = read_picture(v, w);
    if (rc == 0)
        rc = read_views(v, w);
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
    sd_say("measuring once the highest speed of this machine (FLOP/s and memory "
           "bandwidth); sonde info --machine shows the result");
    return sd_measured_machine_known(true, machine);
}

/* Puts what the machine can do at most into the request. */
static int add_machine(const struct sd_model_costs *c, struct sd_view_request *r)
{
    struct sd_machine machine;
    int rc;

    if (c->total.time_ns >= 0 && !is_timed_here(c->model))
        return sd_fail(SD_EABSENT,
                       "this model was timed on another or an unknown machine or "
                       "device, so its layers cannot be drawn in this machine's "
                       "roofline; count it again on this machine with --runtime");
    rc = know_machine(&machine);
    if (rc < 0)
        return rc;
    r->peak_of = sd_model_words_dtype(c->model);
    r->peak_flops = sd_machine_peak(&machine, r->peak_of);
    r->bandwidth = sd_machine_bandwidth(&machine);
    /* That of float32 stands in for what has none of its own. */
    if (r->peak_flops == sd_machine_peak(&machine, "float32"))
        r->peak_of = "float32";
    return 0;
}

static int put_picture(const struct sd_model_costs *c, const struct request *w,
                       struct sd_out *out)
{
    struct sd_view_request r = w->views;
    struct sd_view v = { 0 };
    int rc = w->drawn->needs == SD_NEEDS_MACHINE ? add_machine(c, &r) : 0;

    if (rc == 0)
        rc = w->drawn->of_model(c, &r, &v);
    if (rc == 0)
        rc = sd_map_size_check(c, &r, &v.drawings[0]);
    if (rc == 0)
        rc = sd_picture_write_drawing(&v.drawings[0], w->picture,
                                      (struct sd_picture_size){ w->width, 0 }, out);
    sd_view_release(&v);
    return rc;
}

/* A machine that was never measured is not measured for a page. */
static int put_page(const struct sd_command *command, const struct sd_model_costs *c,
                    const struct request *w, struct sd_out *out)
{
    /* What comes from Python has no name. */
    bool has_name = strncmp(command->words[0], "/proc/", 6) != 0;
    const struct sd_page_request page = {
        .name = has_name ? command->words[0] : sd_model_words_title(c->model),
        .privacy = command->values[OPT_SHARE].number ? SD_PAGE_SHARED : SD_PAGE_WHOLE
    };
    struct sd_view_request r = w->views;
    struct sd_machine machine;

    if ((c->total.time_ns < 0 || is_timed_here(c->model)) &&
        sd_machine_load(&machine) == 0) {
        int rc = add_machine(c, &r);

        if (rc < 0)
            return rc;
    }
    return sd_page_put_model(&page, c, &r, out);
}

/* The model as it was counted: other views of it are made later, without running it. */
static int put_capture(const struct sd_model *m, struct sd_out *out)
{
    struct sd_buf bytes = { 0 }, whole = { 0 };
    int rc;

    sd_model_write(m, &bytes);
    rc = bytes.bad ? sd_no_memory()
                   : sd_whole_model(
                         bytes.p, bytes.n,
                         &(struct sd_whole_how){ .command = sd_model_words_title(m) },
                         &whole);
    if (rc == 0)
        sd_out_write(out, whole.p, whole.n);
    sd_buf_release(&bytes);
    sd_buf_release(&whole);
    return rc;
}

static bool needs_machine(const char *names)
{
    for (const struct sd_view_about *a = sd_views; a->name; a++)
        if (a->needs == SD_NEEDS_MACHINE && sd_view_names_have(names, a->name))
            return true;
    return false;
}

static int put_tables(const struct sd_command *command, const struct sd_model_costs *c,
                      const struct request *w, struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(command, fd);
    struct sd_view_request r = w->views;
    struct sd_view view = { 0 };
    int rc = 0;

    if (r.has_drawings && r.views && needs_machine(r.views))
        rc = add_machine(c, &r);
    if (rc == 0)
        rc = sd_views_make_model(c, &r, &view);

    if (rc == 0 && w->form == FORM_JSON)
        sd_model_put_json(out, c, &view, &w->fit);
    else if (rc == 0 && w->form == FORM_CSV)
        sd_tables_put_csv(out, &view);
    else if (rc == 0)
        sd_model_put_text(out, c, &view, &w->fit, &style);
    sd_view_release(&view);
    return rc;
}

static int put(const struct sd_command *c, const struct sd_model_costs *costs,
               const struct request *w)
{
    struct sd_export_file file;
    int rc = sd_export_open(&file, w->to, w->create);

    if (rc < 0)
        return rc;
    if (w->form == FORM_CAPTURE)
        rc = put_capture(costs->model, &file.out);
    else if (w->form == FORM_PAGE)
        rc = put_page(c, costs, w, &file.out);
    else if (w->form == FORM_PICTURE)
        rc = put_picture(costs, w, &file.out);
    else
        rc = put_tables(c, costs, w, &file.out, file.fd);
    return sd_export_close(&file, rc);
}

static int get(const struct sd_command *c, const struct request *w, struct sd_model *m,
               int *status)
{
    const struct sd_option_value *v = c->values;

    return sd_model_get(c,
                        &(struct sd_model_target){
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
                                const struct sd_model_costs *c, struct request *w)
{
    struct sd_machine machine;

    if (c->total.time_ns < 0 || w->form == FORM_CAPTURE || w->form == FORM_PICTURE ||
        !is_timed_here(m))
        return 0;
    if (command->values[OPT_RUNTIME].number ? know_machine(&machine) == 0
                                            : sd_machine_load(&machine) == 0) {
        w->views.peak_flops = sd_machine_peak(&machine, sd_model_words_dtype(m));
        return 0;
    }
    return sd_model_note(
        m, "the highest speed of this machine (FLOP/s) is not known; after `sonde info "
           "--machine` has measured it, the table has a column peak%%");
}

/* Other tools count what torch runs; a file has neither its modules nor, of weights
 * alone, any operator. */
static int check_count(const struct sd_model *m, enum sd_model_mode mode)
{
    const char *source = sd_model_fact_of(m, "source");

    if (mode == SD_COUNT_MACS || (source && strncmp(source, "torch", 5) == 0))
        return 0;
    if (!sd_model_knows_operators(m))
        return sd_fail(SD_EUSAGE,
                       "--count %s needs operators, and a file of weights holds none; "
                       "drop --count, or give the model as .onnx or as pkg.mod:factory",
                       sd_model_mode_name(mode));
    if (sd_model_mode_is_of_modules(mode))
        return sd_fail(SD_EUSAGE,
                       "--count %s counts modules of torch, and a file holds operators "
                       "only; use macs, fvcore or ptflops",
                       sd_model_mode_name(mode));
    return 0;
}

/* A file of weights tells no types of layers: what asks for them is refused, rather
 * than shown without names. */
static int check_types(const struct sd_model *m, const struct request *w)
{
    /* Of a tree with a type more is wrong: who makes the tables says it. */
    const char *plot = w->drawn->plot;
    bool asks =
        (w->views.type && !w->views.is_tree) || (plot && strcmp(plot, "types") == 0);

    for (size_t i = 1; asks && i < m->n_layers; i++)
        asks = !*sd_model_text(m, m->layers[i].type);
    if (!asks || sd_model_knows_operators(m))
        return 0;
    return sd_fail(
        SD_EUSAGE,
        "%s needs the types of layers (Linear, Conv2d, ...), which a file of weights "
        "does not name; give the model as .onnx or as pkg.mod:factory",
        w->views.type ? "--type" : "--plot types");
}

static int note_beyond(struct sd_model *m, const struct sd_model_costs *c,
                       const struct sd_model_fit_request *w)
{
    const char *said = sd_model_costs_beyond(c);
    struct sd_model_fit fit;

    if (!said && w->is_asked) {
        sd_model_fit(c, w->optimizer, w->batch, w->available_bytes, &fit);
        said = sd_model_fit_beyond(&fit);
    }
    return said ? sd_model_note(m, "%s", said) : 0;
}

/* Of weights alone parameters are what there is a share of. */
static void settle_metric(const struct sd_command *c, const struct sd_model *m,
                          struct request *w)
{
    if (sd_model_knows_operators(m) || c->values[OPT_METRIC].is_given)
        return;
    w->views.model_metric = SD_BY_PARAMS;
    if (c->values[OPT_TOP].is_given)
        w->order[0] = sd_model_metric_word(SD_BY_PARAMS);
}

/* The layers with most of what nobody measured would be any. */
static int check_metric(const struct sd_command *c, const struct sd_model_costs *costs,
                        const struct request *w)
{
    enum sd_model_metric k = w->views.model_metric;
    bool asks = c->values[OPT_TOP].is_given || w->views.has_impact;
    bool is_measured =
        sd_model_metric_unit(k) == SD_MODEL_NS || k == SD_BY_ACTIVATION_BYTES;

    return asks && is_measured && sd_model_metric_of(&costs->total, k) < 0
               ? sd_model_pictures_not_measured(k)
               : 0;
}

static int run(const struct sd_command *c)
{
    struct sd_model model;
    struct sd_model_costs costs;
    struct request w;
    int status = 0, rc = read_request(c, &w);

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
