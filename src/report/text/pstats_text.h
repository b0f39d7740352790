/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_TEXT_PSTATS_TEXT_H
#define SD_REPORT_TEXT_PSTATS_TEXT_H
/* pstats_text: prints the tables of Python's pstats, byte for byte.
 *
 * People know them, scripts cut them into columns, and two of them are compared with
 * diff; so every blank is where pstats has it.  The versions from 3.8 to 3.15 print
 * the same; tables of samples have the headings of 3.15's SampledStats.  A table goes
 * through three steps, each of which pstats has as a call of its own: an order
 * (sort_stats, reverse_order), a choice among the functions in that order (the
 * restrictions), and the text. */
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/out.h"
#include "profile/call_stats.h"

/* The listed functions in another order than the file's. */
struct sd_pstats_order { /* all zero is a fresh one */
    sd_function_id *ids; /* owned; all that are listed */
    size_t n;
    struct sd_buf by; /* "cumulative time, function name" */
};

/* Orders by these words of pstats ("time", "cumulative", ...; any prefix that pstats
 * takes; of samples also "samples", "nsamples", "psamples"), the first of them first;
 * equal ones stay in the file's order.  SD_EUSAGE with a sentence that lists the words
 * when one is none; `unknown`, if not NULL, is then the word's place. */
int sd_pstats_sort(const struct sd_call_stats *s, const char *const *words, size_t n,
                   struct sd_pstats_order *out, size_t *unknown);
void sd_pstats_order_reverse(struct sd_pstats_order *order);
void sd_pstats_order_release(struct sd_pstats_order *order);
/* The words that mean an order, in pstats' order; ended by NULL. */
extern const char *const sd_pstats_words[];
/* The word that was meant, where pstats knows no such prefix but all words with it mean
 * the same ("cum"); "self" is time, as in the other tables.  NULL: none. */
const char *sd_pstats_word_like(const char *typed);
/* What a number stands for, as old profilers had it: -1 to 2; else NULL. */
const char *sd_pstats_word_of(long number);

enum sd_pstats_limit_kind {
    SD_LIMIT_COUNT,    /* the first so many */
    SD_LIMIT_OWN,      /* so many, of which the program's own are chosen first */
    SD_LIMIT_FRACTION, /* the first part of them, from 0 up to 1 */
    SD_LIMIT_MATCH,    /* those whose label matches */
    SD_LIMIT_INVALID,  /* an expression that is none: all stay, and it is said */
};

/* A restriction. */
struct sd_pstats_limit {
    enum sd_pstats_limit_kind kind;
    int64_t count;
    double fraction;
    const char *shown; /* as Python writes it: 10, 0.1, 'init'; borrowed */
    size_t n_shown;
    /* 1, 0, or negative, which ends all with that code.  The label is as pstats shows
     * it. */
    int (*matches)(void *context, const char *label, size_t n);
    void *context;
};

enum sd_pstats_table { SD_PSTATS_STATS, SD_PSTATS_CALLERS, SD_PSTATS_CALLEES };
enum { SD_PSTATS_DIGITS = 3, SD_PSTATS_DIGITS_MAX = 12 };

struct sd_pstats_view {
    enum sd_pstats_table table;
    const struct sd_pstats_order *order; /* NULL: the file's */
    const struct sd_pstats_limit *limits;
    size_t n_limits;
    unsigned digits; /* of seconds; 0: pstats' three */
    bool is_cpu;     /* seconds of the CPU, which the heading then says */
    size_t widest;   /* label, where someone says so; 0: look */
};

/* What the restrictions leave, in order. */
struct sd_pstats_choice { /* all zero is a fresh one */
    sd_function_id *ids;  /* owned */
    size_t n;
    size_t width; /* of the column of names; of the STATS, which end with them, 0 */
    struct sd_buf about; /* how they are ordered and what was left out */
};
int sd_pstats_choose(const struct sd_call_stats *s, const struct sd_pstats_view *view,
                     struct sd_pstats_choice *out);
void sd_pstats_choice_release(struct sd_pstats_choice *choice);

/* Characters of the longest label of all. */
size_t sd_pstats_widest(const struct sd_call_stats *s);

/* What print_stats, print_callers or print_callees prints. */
int sd_report_pstats(const struct sd_call_stats *s, const struct sd_pstats_view *view,
                     struct sd_out *out);
#endif
