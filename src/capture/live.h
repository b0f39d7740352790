/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_LIVE_H
#define SD_CAPTURE_LIVE_H
/* live: the layout of x.sonde.live/, where events wait until they are sealed.
 *
 * The folder holds the file `capture` (one page: salt, bell) and, for each process and
 * writer in it, a live file named pid-starttime-n.  A live file is a head page and then
 * slots, each a page of words and two halves; it is shared memory, so what a producer
 * stored is there however it dies.
 *
 * A half passes FREE -> FILLING -> FULL -> FREE.  The producer owns it while FILLING
 * and alone stores `committed`; the capture's owner has it while FULL, and gives it
 * back by storing FREE.  No word is ever written by both. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SD_PAGE = 4096,
#ifdef SD_TINY
    SD_BIG_SLOTS = 2,
    SD_MAX_SLOTS = 4,
#else
    SD_BIG_SLOTS = 96,   /* threads of one process that get big halves */
    SD_MAX_SLOTS = 1024, /* then the process begins another file */
#endif
    SD_BIG_HALF = 256 * 1024,
    SD_SMALL_HALF = 16 * 1024,
};

enum sd_half_state { SD_HALF_FREE, SD_HALF_FILLING, SD_HALF_FULL };

struct sd_half {
    _Atomic uint32_t state; /* enum sd_half_state */
    _Atomic uint32_t seq;
    _Atomic uint32_t committed; /* bytes of whole events */
    uint32_t count;             /* events; may be one ahead of committed */
    uint64_t t0, t1;
    uint32_t lost_before;
    uint32_t type; /* enum sd_chunk_type of its chunk; 0: SD_CHUNK_EVENTS */
    uint32_t zero[6];
};
_Static_assert(sizeof(struct sd_half) == 64, "on disk");

struct sd_slot {    /* the first words of a slot's first page */
    uint32_t magic; /* SD_SLOT_MAGIC */
    uint32_t half_bytes;
    uint64_t stream;
    _Atomic uint32_t lost; /* events lost since the last half was handed over */
    uint32_t zero[11];
    struct sd_half halves[2];
};
_Static_assert(sizeof(struct sd_slot) == 192, "on disk");
_Static_assert(offsetof(struct sd_slot, halves) == 64, "on disk");
_Static_assert(SD_BIG_HALF % SD_PAGE == 0 && SD_SMALL_HALF % SD_PAGE == 0,
               "every slot begins with a page");
_Static_assert((int)SD_BIG_SLOTS <= (int)SD_MAX_SLOTS && SD_MAX_SLOTS <= UINT16_MAX,
               "the head of a live file has 16 bits for each");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2,
               "processes share the words, and no lock");
enum { SD_SLOT_MAGIC = 0x544F4C53 /* "SLOT" */ };

enum sd_live_kind { SD_LIVE_SLOTS = 1, SD_LIVE_CELLS = 2 };
enum sd_live_flags {
    SD_LIVE_WRITTEN = 1, /* no shared mapping here: all goes to .chunks by write(2) */
};

struct sd_live_head {
    char magic[8]; /* SD_LIVE_MAGIC */
    uint16_t major, minor;
    uint32_t kind; /* enum sd_live_kind */
    uint64_t salt;
    uint64_t start;  /* of the process, clock ticks since boot */
    uint64_t pid_ns; /* inode of its pid namespace, 0 when not known */
    uint32_t pid, number;
    uint32_t flags; /* enum sd_live_flags */
    uint16_t big_slots, max_slots;
    uint32_t zero;
    uint32_t crc; /* of the 60 bytes above */
    /* 64: words that change, written by the process */
    _Atomic uint32_t n_slots;  /* those whose pages are there; of cells: segments */
    _Atomic uint32_t has_left; /* nothing more will be written */
    _Atomic uint64_t lost;     /* events that found no slot at all */
    _Atomic uint64_t peak_bytes;
    _Atomic uint64_t own_read, own_written; /* by Sonde itself, in this process */
    _Atomic uint32_t lost_tables;           /* threads that found no room for one */
    _Atomic int32_t lost_tables_why; /* errno of the last; of a table that of the last
                                        cells that found no room */
    uint8_t zeros[16];
    /* 128: written by the owner of the capture */
    _Atomic uint64_t drained; /* bytes of .chunks that are sealed */
};
#define SD_LIVE_MAGIC "SDLIVE\r\n"
_Static_assert(offsetof(struct sd_live_head, n_slots) == 64, "on disk");
_Static_assert(offsetof(struct sd_live_head, crc) == 60,
               "on disk: the sum comes before what changes");
_Static_assert(offsetof(struct sd_live_head, drained) == 128, "on disk");
_Static_assert(sizeof(struct sd_live_head) <= SD_PAGE, "it has one page");

struct sd_bell {   /* the file `capture` of the folder, one page, mapped by all */
    char magic[8]; /* SD_BELL_MAGIC */
    uint16_t major, minor;
    uint32_t owner_pid;
    uint64_t salt;
    uint64_t owner_start, owner_pid_ns;
    uint64_t created_real_ns, created_mono_ns;
    uint32_t boot; /* sd_boot() of the owner */
    uint32_t crc;  /* of the 60 bytes above */
    /* 64 */
    _Atomic uint32_t rings;    /* a futex: +1 for each half handed over */
    _Atomic uint32_t n_files;  /* +1 for each file made in the folder */
    _Atomic uint32_t is_ended; /* enum sd_bell_end, by the owner, with `status` */
    _Atomic int32_t status;
    _Atomic uint32_t n_coming;    /* children of fork that will have a file soon */
    _Atomic uint32_t ticks;       /* +1 every 10 ms by the owner, while ... */
    _Atomic uint32_t wants_ticks; /* ... this is not 0 */
};
enum sd_bell_end {
    SD_BELL_ENDED = 1,   /* the file is finished; the folder stays, and may be joined */
    SD_BELL_CLOSING = 2, /* the folder is about to go: nobody may join any more */
};
#define SD_BELL_MAGIC "SDBELL\r\n"
_Static_assert(offsetof(struct sd_bell, rings) == 64, "on disk");
_Static_assert(offsetof(struct sd_bell, crc) == 60,
               "on disk: the sum comes before what changes");
_Static_assert(sizeof(struct sd_bell) <= SD_PAGE, "it has one page");

/* Where slot i of a file begins, and its length; from the head's own figures. */
uint64_t sd_slot_offset(uint32_t big_slots, uint32_t i);
uint32_t sd_slot_half_bytes(uint32_t big_slots, uint32_t i);

/* Who a process is, so that a later one of the same number is not taken for it. */
struct sd_who {
    uint32_t pid;
    uint64_t start, pid_ns;
};
struct sd_who sd_who_am_i(void);
/* False only when it is certain: in another pid namespace nothing is. */
bool sd_who_may_live(const struct sd_who *who);
/* True only when it is certain, in this boot of this machine. */
bool sd_who_lives(const struct sd_who *who);
/* A number of this boot of this machine: pids, start times and the clock are of no use
 * in another.  0: not known. */
uint32_t sd_boot(void);
/* For how long in its life its first thread could have run and was given no CPU; 0
 * where that is not known. */
uint64_t sd_who_starved_ns(const struct sd_who *who);

/* CPU time of the process, to 10 ms; 0 where that is not known. */
uint64_t sd_who_cpu_ns(const struct sd_who *who);

uint64_t sd_live_stream_of(const struct sd_who *who, uint32_t number, uint32_t slot);

/* Fill all up to and including the checksum. */
void sd_live_head_fill(struct sd_live_head *h, enum sd_live_kind kind, uint32_t flags,
                       uint64_t salt, const struct sd_who *who, uint32_t number);
bool sd_live_head_is_sound(const struct sd_live_head *h, uint64_t salt);
bool sd_bell_is_sound(const struct sd_bell *b);
void sd_bell_fill(struct sd_bell *b, uint64_t salt, uint64_t real_ns, uint64_t mono_ns);
uint32_t sd_bell_sum(const struct sd_bell *b);

/* Tells the owner that there is work.  NULL is fine. */
void sd_bell_ring(struct sd_bell *b);

/* Maps bytes of a file shared, the first n_now of them there already.  NULL with errno
 * when that cannot be had. */
void *sd_live_map(int fd, uint64_t offset, size_t n, size_t n_now);
/* Brings pages of a mapping in, so that what could go wrong is an error now and no
 * SIGBUS later.  errno is kept. */
bool sd_live_bring(void *p, size_t n);
/* Makes the file hold bytes up to offset + n, reserved on disk.  0 or an errno. */
int sd_live_reserve(int fd, uint64_t offset, size_t n);
/* errno EFBIG when a file of that size would raise SIGXFSZ, else 0. */
int sd_live_size_allowed(uint64_t bytes);

/* For tests: behave as on a file system that has no shared mappings. */
void sd_live_forbid_mapping(bool forbidden);
bool sd_live_may_map(void);

/* "123-456-7.chunks" into its parts.  False for any other name. */
enum sd_live_suffix { SD_NAME_LIVE, SD_NAME_CHUNKS, SD_NAME_CELLS };
struct sd_live_name {
    uint32_t pid, number;
    uint64_t start;
    enum sd_live_suffix suffix;
};
enum { SD_LIVE_NAME_MAX = 64 };
bool sd_live_name_read(const char *text, struct sd_live_name *name);
char *sd_live_name_write(char out[SD_LIVE_NAME_MAX], const struct sd_live_name *name);
#endif
