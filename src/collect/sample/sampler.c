/* SPDX-License-Identifier: MIT */
#include "collect/sample/sampler.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "collect/sample/follow.h"
#include "collect/sample/target.h"

#define LOOK_NS 10000000u  /* between two looks for new processes */
#define NAME_NS 100000000u /* between two questions for the name of a process */

struct sd_sampler {
    struct sd_sampler_options options;
    struct sd_tree tree; /* each member's of_user is a struct sd_target */
    struct sd_follow follow;
    struct sd_sample_counts counts;
    struct sd_unwind_files *files; /* owned; options.native, else NULL */
    uint64_t next_look_ns, next_name_ns;
    size_t next_named;              /* member of the tree, counted on and on */
    size_t n_left;                  /* processes, of the last round */
    struct sd_target_visits visits; /* of a round */
    struct iovec to[SD_REMOTE_RANGES], from[SD_REMOTE_RANGES]; /* of a round */
};

static struct sd_round round_of(struct sd_sampler *s,
                                const struct sd_listener *listener)
{
    return (struct sd_round){ .options = &s->options,
                              .follow = &s->follow,
                              .counts = &s->counts,
                              .listener = listener,
                              .now_ns = sd_clock_ns(),
                              .n_looks = s->n_left == 1 ? s->options.n_looks : 1,
                              .files = s->files,
                              .to = s->to,
                              .from = s->from };
}

static struct sd_target *target_of(struct sd_sampler *s, size_t member)
{
    struct sd_tree_member *m = &s->tree.members[member];

    if (!m->of_user && !m->is_gone)
        m->of_user = sd_target_new(m->pid, member);
    return m->of_user;
}

static int attach_root(struct sd_sampler *s)
{
    struct sd_round round = round_of(s, NULL);
    struct sd_target *t = target_of(s, 0);

    return t ? sd_target_attach(t, s->options.hints, &round) : sd_no_memory();
}

int sd_sampler_open(struct sd_sampler **out, pid_t root,
                    const struct sd_sampler_options *options,
                    enum sd_sampler_open_flags flags)
{
    struct sd_sampler *s = sd_zalloc(sizeof *s);
    int rc;

    *out = NULL;
    if (!s)
        return sd_no_memory();
    s->options = *options;
    sd_follow_init(&s->follow);
    rc = options->native ? sd_unwind_files_new(&s->files, sd_native_judge) : 0;
    if (rc == 0)
        rc = sd_tree_init(&s->tree, root);
    if (rc == 0 && (flags & SD_SAMPLER_NEEDS_PYTHON))
        rc = attach_root(s);
    if (rc < 0) {
        sd_sampler_free(s, NULL);
        return rc;
    }
    *out = s;
    return 0;
}

void sd_sampler_free(struct sd_sampler *s, const struct sd_listener *listener)
{
    size_t i;

    if (!s)
        return;
    for (i = 0; i < s->tree.n; i++)
        sd_target_free(s->tree.members[i].of_user, listener);
    sd_unwind_files_free(s->files);
    sd_follow_end(&s->follow);
    sd_free(s->visits.items);
    sd_tree_release(&s->tree);
    sd_free(s);
}

static void look_for_processes(struct sd_sampler *s, uint64_t now_ns)
{
    if (s->options.skips_children || now_ns < s->next_look_ns)
        return;
    s->next_look_ns = now_ns + LOOK_NS;
    sd_tree_look(&s->tree);
}

/* One process is asked for its name, in turn: it may have given itself another. */
static void look_for_names(struct sd_sampler *s, uint64_t now_ns)
{
    size_t i;

    if (now_ns < s->next_name_ns)
        return;
    s->next_name_ns = now_ns + NAME_NS;
    i = s->next_named++ % s->tree.n;
    if (!s->tree.members[i].is_gone)
        sd_tree_name_again(&s->tree, i);
}

/* A process that has exec'ed has another name now, and so may have those it comes
 * from, which were seen before their own exec. */
static void name_again(struct sd_sampler *s, size_t member)
{
    for (; member != SIZE_MAX; member = s->tree.members[member].parent)
        if (!s->tree.members[member].is_gone)
            sd_tree_name_again(&s->tree, member);
}

static void look_at_all(struct sd_sampler *s, struct sd_round *round)
{
    size_t i;

    s->visits.n = 0;
    for (i = 0; i < s->tree.n; i++) {
        struct sd_target *t = target_of(s, i);
        uint32_t serial = t ? t->serial : 0;

        if (!t)
            continue; /* no memory: next time */
        round->now_ns = sd_clock_ns();
        if (t->state == SD_TARGET_WAITS)
            sd_target_try(t, round);
        if (t->serial != serial)
            name_again(s, i);
        sd_target_look(t, round);
        sd_target_gather(t, round, &s->visits);
    }
}

/* From outside, and those that were torn once more from where they are. */
static void read_all(struct sd_sampler *s, struct sd_round *round)
{
    size_t i;

    for (i = 0; i < s->tree.n; i++)
        if (s->tree.members[i].of_user)
            sd_target_read_outside(s->tree.members[i].of_user, round);
    s->visits.n = 0;
    for (i = 0; i < s->tree.n; i++)
        if (s->tree.members[i].of_user)
            sd_target_gather_torn(s->tree.members[i].of_user, round, &s->visits);
    sd_target_visit_all(&s->visits, round);
}

/* How many processes are left. */
static size_t tell_all(struct sd_sampler *s, struct sd_round *round)
{
    size_t i, n_left = 0;

    for (i = 0; i < s->tree.n; i++) {
        struct sd_target *t = s->tree.members[i].of_user;

        if (!t) {
            n_left += !s->tree.members[i].is_gone;
            continue;
        }
        sd_target_tell(t, round);
        if (t->state == SD_TARGET_GONE) {
            s->tree.members[i].of_user = NULL;
            sd_tree_set_gone(&s->tree, i);
            sd_target_free(t, round->listener);
        } else {
            n_left++;
        }
    }
    return n_left;
}

int sd_sampler_round(struct sd_sampler *s, const struct sd_listener *listener)
{
    struct sd_round round = round_of(s, listener);

    s->counts.rounds++;
    look_for_processes(s, round.now_ns);
    look_for_names(s, round.now_ns);
    look_at_all(s, &round);
    sd_target_visit_all(&s->visits, &round);
    read_all(s, &round);
    s->n_left = tell_all(s, &round);
    return s->n_left ? 0 : SD_EGONE;
}

void sd_sampler_set_consistency(struct sd_sampler *s, enum sd_consistency how)
{
    s->options.consistency = how;
}

void sd_sampler_end_reading(struct sd_sampler *s)
{
    s->counts.followed_ns = sd_follow_cpu_ns(&s->follow);
    sd_follow_end(&s->follow);
}

void sd_sampler_skip_time(struct sd_sampler *s)
{
    uint64_t now_ns = sd_clock_ns();

    for (size_t i = 0; i < s->tree.n; i++)
        if (s->tree.members[i].of_user)
            sd_target_skip_time(s->tree.members[i].of_user, now_ns);
}

uint64_t sd_sampler_cpu_ns(const struct sd_sampler *s)
{
    return sd_clock_thread_cpu_ns() + sd_follow_cpu_ns(&s->follow);
}

struct sd_sample_counts *sd_sampler_counts(struct sd_sampler *s) { return &s->counts; }

const struct sd_tree *sd_sampler_tree(const struct sd_sampler *s) { return &s->tree; }

const char *sd_sampler_version(const struct sd_sampler *s, size_t member)
{
    const struct sd_target *t =
        member < s->tree.n ? s->tree.members[member].of_user : NULL;

    return t && t->state == SD_TARGET_RUNS ? t->rt.version : "";
}

const char *sd_sampler_refusal(struct sd_sampler *s, pid_t *pid)
{
    size_t i;

    for (i = 0; i < s->tree.n; i++) {
        struct sd_target *t = s->tree.members[i].of_user;

        if (!t || !t->has_new_refusal)
            continue;
        t->has_new_refusal = false;
        *pid = t->pid;
        return t->refusal;
    }
    return NULL;
}

void sd_sample_frame(const struct sd_thread_sample *t, size_t i,
                     struct sd_sample_frame *out)
{
    const struct sd_shot_frame *f = &t->frames[i];
    int32_t line;

    if (!f->code) {
        *out = (struct sd_sample_frame){ .name = f->native->name,
                                         .qualname = f->native->name,
                                         .file = f->native->file,
                                         .module = f->native->module,
                                         .line = (int32_t)f->native->line,
                                         .first_line = (int32_t)f->native->first_line };
        return;
    }
    line = sd_codes_line(t->codes, f->code, &t->rt->layout, f->instr);
    *out = (struct sd_sample_frame){ .name = f->code->name,
                                     .qualname = *f->code->qualname ? f->code->qualname
                                                                    : f->code->name,
                                     .file = f->code->filename,
                                     .line = line > 0 ? line : 0,
                                     .first_line = f->code->first_line };
}
