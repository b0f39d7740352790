/* SPDX-License-Identifier: MIT */
/* page_models: a counted model as views of a page. */
#include <string.h>

#include "analyse/findings/stats_findings.h"
#include "analyse/model/model_view.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "outputs/page/page_stats.h"

enum { BOXES_MAX = 1500 /* of a map that somebody still reads */, LEVELS_MAX = 6 };

/* --- Head */

static int add_count(struct sd_page_maker *m, const char *label, int64_t n)
{
    char text[SD_TEXT_MAX];

    return n < 0 ? 0 : sd_page_add_item(m, label, sd_text_count(text, n));
}

static int add_bytes(struct sd_page_maker *m, const char *label, int64_t n)
{
    char text[SD_TEXT_MAX];

    return n < 0 ? 0 : sd_page_add_item(m, label, sd_text_bytes(text, n));
}

static int add_time(struct sd_page_maker *m, const char *label, int64_t ns)
{
    char text[SD_TEXT_MAX];

    return ns < 0 ? 0 : sd_page_add_item(m, label, sd_text_duration(text, ns));
}

static int add_sums(struct sd_page_maker *m, const struct sd_model_costs *c)
{
    const struct sd_model_sum *t = &c->total;
    bool has_ops = sd_model_knows_operators(c->model);
    int rc = sd_page_add_item(m, "model", sd_model_words_title(c->model));

    if (rc == 0)
        rc = add_count(m, "parameters", t->params);
    if (rc == 0)
        rc = add_bytes(m, "memory of parameters", t->param_bytes);
    if (rc == 0 && has_ops)
        rc = add_count(m, "MACs", t->macs);
    if (rc == 0 && has_ops)
        rc = add_count(m, "FLOPs", t->flops);
    if (rc == 0)
        rc = add_time(m, "forward", t->time_ns);
    if (rc == 0)
        rc = add_time(m, "backward", t->backward_ns);
    if (rc == 0)
        rc = add_bytes(m, "activations kept", t->activation_bytes);
    return rc;
}

/* What the counts are, and what they lack. */
static int add_notes(struct sd_page_maker *m, const struct sd_model_costs *c)
{
    const struct sd_model *model = c->model;
    int rc = 0;

    if (!sd_model_knows_operators(model))
        rc = sd_page_add_note(m, "No operator is known of this model: what it computes "
                                 "is not counted.");
    else if (c->total.n_unknown > 0)
        rc = sd_page_add_note(m, "Some operators have no rule, or unknown shapes: what "
                                 "they cost is not in the sums.");
    for (size_t i = 0; i < model->n_notes && rc == 0; i++)
        rc = sd_page_add_note(m, sd_model_text(model, model->notes[i]));
    return rc;
}

static int add_facts(struct sd_page_maker *m, const struct sd_model *model)
{
    int rc = 0;

    for (size_t i = 0; i < model->n_facts && rc == 0; i++)
        if (strcmp(sd_model_text(model, model->facts[i].key), "input") == 0)
            rc = sd_page_add_item(m, "input",
                                  sd_model_text(model, model->facts[i].value));
    return rc;
}

/* --- Views */

static bool shows_nothing(const struct sd_drawing *d)
{
    return (d->shape == SD_SHAPE_BARS && d->bars.n_bars == 0) ||
           (d->shape == SD_SHAPE_MAP && d->map.n_boxes == 0) ||
           (d->shape == SD_SHAPE_ROOFLINE && d->roofline.n_points == 0);
}

/* 1: the view has something of it; 0: there is nothing to show. */
static int make(const struct sd_view_about *a, const struct sd_model_costs *c,
                const struct sd_view_request *r, struct sd_view *v)
{
    int rc = a->of_model(c, r, v);

    if (rc == SD_EABSENT || rc == SD_EUSAGE)
        return 0;
    if (rc < 0)
        return rc;
    return a->shape == SD_SHAPE_TABLE
               ? v->n_tables > 0 && v->tables[0].n_rows > 0
               : v->n_drawings > 0 && !shows_nothing(&v->drawings[0]);
}

/* Less deep, until it can be read. */
static int make_readable(const struct sd_view_about *a, const struct sd_model_costs *c,
                         const struct sd_view_request *r, struct sd_view *v)
{
    struct sd_view_request other = *r;
    int rc = make(a, c, r, v);

    for (uint32_t levels = LEVELS_MAX;
         rc > 0 && a->shape == SD_SHAPE_MAP && levels > 1 &&
         v->drawings[0].map.n_boxes > BOXES_MAX;
         levels--) {
        sd_view_release(v);
        *v = (struct sd_view){ 0 };
        other.n_levels = levels;
        rc = make(a, c, &other, v);
    }
    return rc;
}

static int add_view(struct sd_page_maker *m, const struct sd_view_about *a,
                    const struct sd_model_costs *c, const struct sd_view_request *r)
{
    struct sd_view *v = sd_page_new_view(m);
    struct sd_page_view view = { .name = a->name,
                                 .title = a->title,
                                 .shape = a->shape };
    int rc = v ? make_readable(a, c, r, v) : SD_ENOMEM;

    if (rc <= 0)
        return rc;
    if (a->shape == SD_SHAPE_TABLE)
        view.table = &v->tables[0];
    else
        view.drawing = &v->drawings[0];
    if (!m->page.hottest && view.table)
        sd_page_set_hottest(m, view.table);
    return sd_page_add_view(m, &view);
}

int sd_page_add_model(struct sd_page_maker *m, const struct sd_model_costs *c,
                      const struct sd_view_request *views)
{
    struct sd_view_request r = *views;
    int rc = add_sums(m, c);

    r.views = NULL;
    if (!sd_model_knows_operators(c->model) && r.model_metric == SD_BY_MACS)
        r.model_metric = SD_BY_PARAMS; /* there is a share of nothing else */
    r.is_tree = true;
    r.is_short = false;
    r.limit = 0;
    r.sort = NULL;
    if (rc == 0)
        rc = add_facts(m, c->model);
    if (rc == 0)
        rc = add_notes(m, c);
    for (const struct sd_view_about *a = sd_views; a->name && rc == 0; a++)
        if (a->of_model && (a->needs != SD_NEEDS_MACHINE || r.peak_flops > 0))
            rc = add_view(m, a, c, &r);
    return rc;
}

int sd_page_put_model(const struct sd_page_request *request,
                      const struct sd_model_costs *c,
                      const struct sd_view_request *views, struct sd_out *out)
{
    struct sd_page_maker m;
    int rc;

    sd_page_maker_init(&m, request);
    m.page.findings = &m.findings;
    rc = sd_stats_findings_of_model(c, &m.arena, &m.findings);
    return sd_page_finish(&m, rc < 0 ? rc : sd_page_add_model(&m, c, views), out);
}

/* --- Of a capture */

int sd_page_models_of(struct sd_page_maker *m)
{
    const struct sd_view_request views = { .model_metric = SD_BY_MACS };
    const void *bytes;
    size_t n;
    int rc;

    bytes = sd_profile_model(m->profile, 0, &n);
    if (!bytes)
        return 0;
    rc = sd_model_read(&m->model, bytes, n);
    if (rc < 0)
        return sd_page_add_note(m, "the model in this capture cannot be read");
    m->has_model = true;
    rc = sd_model_costs(&m->model, SD_COUNT_MACS, &m->costs);
    if (rc < 0)
        return rc;
    m->has_costs = true;
    return sd_page_add_model(m, &m->costs, &views);
}
