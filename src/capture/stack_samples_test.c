/* SPDX-License-Identifier: MIT */
/* Stacks and samples through a log: every chunk has the frames its samples need. */
#include "base/test.h"
#include "capture/capture_testing.h"

enum { DEPTH = 40, N_STACKS = 900, N_SAMPLES = 20000, MOST_IDS = 1 << 14 };

struct node {
    uint32_t chunk, id; /* of the log */
};

static const struct sd_metric_about metrics[] = {
    { "samples", SD_UNIT_COUNT, SD_ADDS_SUM, NULL },
    { NULL, SD_UNIT_COUNT, SD_ADDS_SUM, NULL },
};

/* Frame `depth` of stack `which` executes line which * DEPTH + depth. */
static uint32_t stack_id(struct sd_log *l, struct node nodes[][DEPTH], uint32_t which,
                         uint32_t site)
{
    uint32_t parent = 0;

    for (uint32_t i = 0; i < DEPTH; i++) {
        struct node *n = &nodes[which][i];

        if (n->chunk != sd_log_chunk(l)) {
            n->id = sd_log_define_stack(l, parent, site, which * DEPTH + i);
            n->chunk = sd_log_chunk(l);
        }
        parent = n->id;
    }
    return parent;
}

static void put_sample(struct sd_log *l, struct node nodes[][DEPTH], uint32_t which,
                       uint64_t time)
{
    struct sd_rec_sample *e;
    uint32_t name, site, shape, stack;

    CHECK(sd_log_room(l, SD_ROOM_STRING(1) + SD_ROOM_SITE + SD_ROOM_SHAPE +
                             DEPTH * SD_ROOM_STACK + sizeof *e + 8));
    site = sd_log_known(l, 1);
    if (!site) {
        name = sd_log_define_string(l, 2, "f", 1);
        site = sd_log_define_function(l, 1, SD_SITE_NATIVE, name, name, name, 7);
    }
    shape = sd_log_known(l, 3);
    if (!shape)
        shape = sd_log_define_shape(l, 3, metrics, 1);
    stack = stack_id(l, nodes, which, site);
    e = sd_log_put(l, SD_REC_SAMPLE, sizeof *e + 8);
    e->track = 0;
    e->stack = stack;
    e->shape = (uint16_t)shape;
    e->flags = SD_SAMPLE_GIL;
    e->time = time;
    e->values[0] = 1;
    sd_log_commit(l, 1, time);
}

struct frame {
    uint32_t chunk, parent, line;
};

/* Walks down to the root; false when a frame is missing or not the right one. */
static bool is_whole(const struct frame *frames, uint32_t chunk, uint32_t id,
                     uint32_t which)
{
    for (uint32_t i = DEPTH; i-- > 0; id = frames[id].parent)
        if (id == 0 || id >= MOST_IDS || frames[id].chunk != chunk ||
            frames[id].line != which * DEPTH + i)
            return false;
    return id == 0;
}

TEST(log_has_the_frames_of_every_sample_in_its_own_chunk)
{
    static struct node nodes[N_STACKS][DEPTH];
    static struct frame frames[MOST_IDS];
    struct sd_scratch s;
    struct sd_reader *r;
    struct sd_chunk_view view;
    uint32_t n_chunks = 0, n_samples = 0, n_wrong = 0;

    memset(nodes, 0, sizeof nodes);
    memset(frames, 0, sizeof frames);
    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    for (uint32_t i = 0; i < N_SAMPLES; i++)
        put_sample(sd_writer_log(s.writer), nodes, i * 7 % N_STACKS, i + 1);
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, &s.counts) == 0);
    CHECK(sd_reader_open(s.path, &r) == 0);
    while (sd_reader_next(r, &view) == 1) {
        const struct sd_record *record;
        uint32_t at = 0;

        n_chunks++;
        while ((record = sd_chunk_view_next(&view, &at))) {
            const struct sd_rec_stack *stack = (const void *)record;
            const struct sd_rec_sample *sample = (const void *)record;

            if (record->type == SD_REC_STACK && stack->id < MOST_IDS)
                frames[stack->id] =
                    (struct frame){ n_chunks, stack->parent, stack->line };
            if (record->type == SD_REC_SAMPLE)
                n_wrong += !is_whole(frames, n_chunks, sample->stack,
                                     n_samples++ * 7 % N_STACKS);
        }
    }
    CHECK(!sd_reader_complaint(r));
    CHECK(n_samples == N_SAMPLES && n_wrong == 0 && n_chunks > 3);
    sd_reader_free(r);
    sd_scratch_remove(&s);
}
