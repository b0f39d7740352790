/* SPDX-License-Identifier: MIT */
/* Damage: a capture cut at every byte and with every bit flipped gives all that is
 * whole, says that something is missing, and never gives anything else. */
#include "capture/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding/crc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/test.h"
#include "capture/capture_testing.h"
#include "capture/chunk.h"
#include "capture/gather.h"
#include "capture/owner.h"
#include "capture/source.h"

struct bytes {
    uint8_t *p;
    size_t n;
};

/* A finished capture of n_streams chunks with some events each. */
static struct bytes make_capture(int n_streams, int n_events, int zstd_level)
{
    struct sd_capture_options options = { .zstd_level = zstd_level };
    struct sd_scratch s;
    struct bytes b;
    char *p;
    uint64_t number = 1;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, &options) == 0);
    CHECK(sd_capture_meta(s.capture, "key", "value") == 0);
    for (int i = 0; i < n_streams; i++) {
        CHECK(sd_scratch_join(&s) == 0);
        for (int k = 0; k < n_events; k++)
            CHECK(sd_scratch_event(sd_writer_log(s.writer), number++));
        sd_writer_leave(s.writer);
    }
    CHECK(sd_capture_finish(s.capture, 7, NULL) == 0);
    CHECK(sd_read_file(s.path, 1 << 24, &p, &b.n) == 0);
    b.p = (uint8_t *)p;
    sd_scratch_remove(&s);
    return b;
}

/* Everything a reader gives, as one number. */
static uint64_t digest(struct sd_reader *r, struct sd_test_counts *seen)
{
    const struct sd_health *h = sd_reader_health(r);
    struct sd_chunk_view view;
    uint64_t all = h->created_real_ns ^ h->created_mono_ns * 3 ^ (uint64_t)h->status;

    while (sd_reader_next(r, &view) == 1) {
        all = sd_hash(view.p, view.n, all ^ view.stream ^ view.seq);
        all ^= view.t0 + view.t1 * 3 + view.count * 7 + view.lost_before * 11;
    }
    sd_reader_rewind(r);
    sd_seen_fill(seen, r);
    return all;
}

TEST(reader_gives_all_whole_chunks_of_a_file_cut_at_any_byte)
{
    struct bytes b = make_capture(12, 60, 0);
    struct sd_source source;
    struct sd_scan scan;
    struct sd_source_chunk found;
    uint64_t expected = 0;
    size_t whole = 64;

    sd_source_of_bytes(&source, b.p, b.n);
    sd_scan_init(&scan, &source, 0, 64);
    CHECK(b.n > 20000 && b.n < 100000);
    for (size_t cut = 0; cut < b.n; cut++) {
        /* On the heap and exactly so long, so that ASan sees a step beyond. */
        uint8_t *p = memcpy(malloc(cut ? cut : 1), b.p, cut);
        struct sd_reader *r;
        struct sd_test_counts seen;

        while (whole < cut && sd_scan_here(&scan, &found)) {
            if (scan.at > cut) {
                scan.at = found.at;
                break;
            }
            expected += found.head.count;
            whole = scan.at;
        }
        if (cut < 64) {
            CHECK(sd_reader_open_bytes(p, cut, &r) == SD_EFORMAT);
        } else {
            CHECK(sd_reader_open_bytes(p, cut, &r) == 0);
            sd_seen_fill(&seen, r);
            CHECK(seen.events == expected);
            CHECK(seen.health.events == expected);
            CHECK(seen.names_wrong == 0);
            CHECK(seen.health.is_cut == (cut != whole));
            CHECK(seen.complaint[0]);
            sd_reader_free(r);
        }
        free(p);
    }
    CHECK(expected == 12 * 60);
    sd_free(b.p);
}

static void flip_every_bit(int zstd_level)
{
    struct bytes b = make_capture(3, 20, zstd_level);
    struct sd_reader *r;
    struct sd_test_counts seen;
    uint64_t whole, silent = 0, refused = 0;

    CHECK(b.n < 6000);
    CHECK(sd_reader_open_bytes(b.p, b.n, &r) == 0);
    whole = digest(r, &seen);
    CHECK(seen.events == 60 && !seen.complaint[0]);
    sd_reader_free(r);
    for (size_t bit = 0; bit < b.n * 8; bit++) {
        b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (sd_reader_open_bytes(b.p, b.n, &r) == 0) {
            silent += digest(r, &seen) != whole && !seen.complaint[0];
            CHECK(seen.names_wrong == 0);
            sd_reader_free(r);
        } else {
            refused++;
        }
        b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK(silent == 0);
    CHECK(refused == 0); /* one bit never costs more than a chunk */
    sd_free(b.p);
}

TEST(reader_reports_every_flipped_bit_of_a_raw_capture) { flip_every_bit(0); }
TEST(reader_reports_every_flipped_bit_of_a_compressed_capture) { flip_every_bit(1); }

TEST(reader_loses_one_chunk_to_one_damaged_byte)
{
    struct bytes b = make_capture(10, 30, 1);
    struct sd_reader *r;
    struct sd_test_counts seen;

    b.p[b.n / 2] ^= 0x55;
    CHECK(sd_reader_open_bytes(b.p, b.n, &r) == 0);
    sd_seen_fill(&seen, r);
    CHECK(seen.events == 9 * 30);
    CHECK(seen.health.bad_chunks == 1 && seen.health.missing_chunks == 1);
    CHECK(strstr(seen.complaint, "1 of 12 chunks (8.3 %) is missing"));
    CHECK(seen.health.is_ended && seen.health.status == 7);
    sd_reader_free(r);
    sd_free(b.p);
}

TEST(reader_does_without_a_preamble_and_says_so)
{
    struct bytes b = make_capture(3, 10, 1);
    struct sd_reader *r;
    struct sd_test_counts seen;

    memset(b.p, 0xFF, 64);
    CHECK(sd_reader_open_bytes(b.p, b.n, &r) == 0);
    sd_seen_fill(&seen, r);
    CHECK(seen.events == 30 && seen.metas == 4);
    CHECK(strstr(seen.complaint, "first 64 bytes"));
    sd_reader_free(r);
    sd_free(b.p);
}

TEST(reader_refuses_a_newer_major_version_by_name)
{
    struct bytes b = make_capture(1, 1, 1);
    struct sd_preamble *preamble = (void *)b.p;
    struct sd_reader *r;

    preamble->major = SD_FORMAT_MAJOR + 1;
    preamble->crc = sd_crc32c(0, preamble, 60);
    CHECK(sd_reader_open_bytes(b.p, b.n, &r) == SD_EFORMAT);
    CHECK(r == NULL);
    CHECK(strstr(sd_fail_text(), "newer Sonde (format 2.0"));
    preamble->major = SD_FORMAT_MAJOR;
    preamble->minor = 9;
    preamble->crc = sd_crc32c(0, preamble, 60);
    CHECK(sd_reader_open_bytes(b.p, b.n, &r) == 0);
    CHECK(sd_reader_complaint(r) == NULL);
    sd_reader_free(r);
    sd_free(b.p);
}

/* Builds the bytes of one chunk behind the n that are there. */
static struct bytes append_chunk(struct bytes b, uint16_t type, uint64_t stream,
                                 uint32_t seq, const void *raw, uint32_t n)
{
    struct sd_preamble preamble;
    struct sd_chunk_head head = { .magic = SD_CHUNK_MAGIC,
                                  .type = type,
                                  .stream = stream,
                                  .seq = seq,
                                  .raw_len = n,
                                  .stored_len = n };

    memcpy(&preamble, b.p, sizeof preamble);
    head.salt = preamble.salt;
    head.crc = sd_chunk_sum(&head, raw);
    b.p = sd_regrow(b.p, b.n + sizeof head + n);
    memcpy(b.p + b.n, &head, sizeof head);
    memcpy(b.p + b.n + sizeof head, raw, n);
    b.n += sizeof head + n;
    return b;
}

TEST(reader_skips_chunks_and_records_it_does_not_know)
{
    struct bytes b = make_capture(2, 5, 1);
    struct {
        struct sd_record head;
        uint32_t x;
    } unknown = { { 8, 200, 1 }, 0 };
    struct sd_reader *r;
    struct sd_test_counts seen;

    b = append_chunk(b, 99, 5, 1, "whatever", 8);
    b = append_chunk(b, SD_CHUNK_EVENTS, 6, 1, &unknown, sizeof unknown);
    CHECK(sd_reader_open_bytes(b.p, b.n, &r) == 0);
    sd_seen_fill(&seen, r);
    CHECK(seen.events == 10 && !seen.complaint[0]);
    sd_reader_free(r);
    sd_free(b.p);
}

/* Records whose own counts lie stay inside their chunk. */
TEST(reader_hands_out_no_record_that_claims_more_than_it_has)
{
    struct bytes b = make_capture(1, 1, 1);
    struct sd_rec_string lying = { .head = { 16, SD_REC_STRING, 1 },
                                   .id = 1,
                                   .n = 100 };
    struct sd_rec_site short_one = { .head = { 16, SD_REC_SITE, 1 }, .id = 2 };
    struct sd_rec_exit good = { .head = { sizeof good, SD_REC_EXIT, 1 }, .track = 3 };
    struct sd_chunk_view view = { .type = SD_CHUNK_EVENTS };
    uint8_t raw[16 + 16 + sizeof good] __attribute__((aligned(8)));
    uint32_t at = 0;

    memcpy(raw, &lying, 16);
    memcpy(raw + 16, &short_one, 16);
    memcpy(raw + 32, &good, sizeof good);
    view.p = raw;
    view.n = sizeof raw;
    CHECK(sd_chunk_view_next(&view, &at) == (const void *)(raw + 32));
    CHECK(sd_chunk_view_next(&view, &at) == NULL);
    sd_free(b.p);
}

TEST(reader_says_what_is_no_capture)
{
    struct sd_scratch s;
    struct sd_reader *r;
    FILE *f;

    sd_scratch_make(&s);
    CHECK(sd_reader_open(s.path, &r) == SD_EABSENT);
    CHECK(sd_reader_open(s.dir, &r) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "is a directory"));
    f = fopen(s.path, "w");
    fclose(f);
    CHECK(sd_reader_open(s.path, &r) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "empty"));
    f = fopen(s.path, "w");
    fputs("this is a text file, long enough to hold a preamble and a chunk header, "
          "but neither of them; nothing of it is a capture, and the reader says so",
          f);
    fclose(f);
    CHECK(sd_reader_open(s.path, &r) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "not a capture"));
    sd_scratch_remove(&s);
}

TEST(reader_takes_a_chunk_once_that_is_there_twice)
{
    struct bytes b = make_capture(1, 10, 0);
    struct sd_source source;
    struct sd_scan scan;
    struct sd_source_chunk found;
    struct sd_reader *r;
    struct sd_test_counts seen;
    size_t n = b.n;

    sd_source_of_bytes(&source, b.p, b.n);
    sd_scan_init(&scan, &source, 0, 64);
    do
        CHECK(sd_scan_next(&scan, &found));
    while (found.head.type != SD_CHUNK_EVENTS);
    n = SD_CHUNK_HEAD + found.head.stored_len;
    b.p = sd_regrow(b.p, b.n + n);
    memcpy(b.p + b.n, b.p + found.at, n);
    b.n += n;
    CHECK(sd_reader_open_bytes(b.p, b.n, &r) == 0);
    sd_seen_fill(&seen, r);
    CHECK(seen.events == 10 && seen.health.events == 10);
    CHECK(!seen.complaint[0]);
    sd_reader_free(r);
    sd_free(b.p);
}

/* A header in every line that claims a quarter of a megabyte is not summed for ever. */
TEST(reader_gives_up_on_a_file_made_of_headers)
{
    size_t n = 4 << 20;
    uint8_t *p = sd_zalloc(n);
    struct sd_chunk_head head = { .magic = SD_CHUNK_MAGIC,
                                  .salt = 1,
                                  .raw_len = SD_CHUNK_RAW_MAX,
                                  .stored_len = SD_CHUNK_RAW_MAX };
    struct sd_reader *r;

    for (size_t at = 0; at + sizeof head <= n; at += sizeof head)
        memcpy(p + at, &head, sizeof head);
    CHECK(sd_reader_open_bytes(p, n, &r) == SD_EFORMAT);
    sd_free(p);
}

/* A reader has looked at how far the owner is; then the owner seals, and gives the
 * place back; then the reader goes on. */
TEST(what_is_sealed_while_it_is_read_is_no_damage)
{
    struct sd_live_in in;
    struct sd_scratch s;
    struct sd_reader *r;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0);
    CHECK(sd_scratch_join(&s) == 0);
    for (uint64_t i = 1; i <= 100000; i++)
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    CHECK(sd_reader_open(s.path, &r) == 0);
    CHECK(r->n_files == 1 && !sd_reader_complaint(r));
    CHECK(sd_live_in_open(&in, r->dir, &r->files[0], r->salt, false) == 0);
    CHECK(in.head.drained == 0);
    sd_seal_look(s.capture);
    sd_seal_pass(s.capture, false);
    CHECK(sd_gather_spilled(r, 0) && sd_gather_chunks(r, &in) == 0);
    CHECK(in.head.drained > 0);
    CHECK(r->health.bad_bytes == 0 && r->health.bad_chunks == 0 && !r->health.is_cut);
    sd_live_in_close(&in);
    sd_reader_free(r);
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    sd_scratch_remove(&s);
}
