/* SPDX-License-Identifier: MIT */
#include "collect/rss/connections.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"

#define AT_MOST_EVERY_NS 100000000u
enum {
    REST = 400,      /* times what a look took: looks take half of what readings may */
    PATIENCE_MS = 5, /* for the kernel's word on connections of a process that ended */
};

struct sd_connection {
    uint64_t cookie;
    uint64_t inode;                      /* while it had one */
    uint64_t sent_bytes, received_bytes; /* booked so far */
    struct sd_tcp_account *holder;       /* NULL: nobody of ours any more */
    unsigned seen_at;                    /* the look */
};

/* --- The list -------------------------------------------------------------------- */

static struct sd_connection *find(struct sd_connections *c, uint64_t cookie)
{
    uint64_t at;

    if (!sd_table_get(&c->by_cookie, cookie, &at))
        return NULL;
    sd_assert(at < c->n && c->all[at].cookie == cookie);
    return &c->all[at];
}

static void set_holder(struct sd_connection *k, struct sd_tcp_account *holder)
{
    sd_assert(!k->holder || k->holder->n_open > 0);
    if (k->holder)
        k->holder->n_open--;
    k->holder = holder;
    if (holder)
        holder->n_open++;
}

/* NULL: no memory; it is found at the next look. */
static struct sd_connection *add(struct sd_connections *c, uint64_t cookie)
{
    struct sd_connection *grown =
        sd_grow_array(c->all, &c->cap, c->n + 1, sizeof *c->all);

    if (!grown)
        return NULL;
    c->all = grown;
    if (sd_table_put(&c->by_cookie, cookie, c->n) < 0)
        return NULL;
    c->all[c->n] = (struct sd_connection){ .cookie = cookie };
    return &c->all[c->n++];
}

/* The last one moves to its place. */
static void drop(struct sd_connections *c, struct sd_connection *k)
{
    const struct sd_connection *last = &c->all[c->n - 1];

    sd_assert(k >= c->all && k <= last);
    set_holder(k, NULL);
    sd_table_remove(&c->by_cookie, k->cookie);
    if (k != last) {
        *k = *last;
        sd_table_put(&c->by_cookie, k->cookie, (uint64_t)(k - c->all)); /* replaces */
    }
    c->n--;
}

static void book(struct sd_connection *k, uint64_t sent, uint64_t received)
{
    if (sent < k->sent_bytes) /* retransmissions are subtracted: it may sink a little */
        sent = k->sent_bytes;
    if (received < k->received_bytes)
        received = k->received_bytes;
    if (k->holder) {
        k->holder->sent_bytes += (int64_t)(sent - k->sent_bytes);
        k->holder->received_bytes += (int64_t)(received - k->received_bytes);
        k->holder->has_news = true;
    }
    sd_assert(sent >= k->sent_bytes && received >= k->received_bytes);
    k->sent_bytes = sent;
    k->received_bytes = received;
}

/* --- What ends ------------------------------------------------------------------- */

static void book_ended(void *of, const struct sd_tcp_socket *s)
{
    struct sd_connections *c = of;
    struct sd_connection *k = find(c, s->cookie);

    if (!k)
        return;
    /* One more than before is the peer's end (tcp.h), not a byte. */
    book(k, s->sent_bytes,
         s->received_bytes - (s->received_bytes == k->received_bytes + 1));
    drop(c, k);
}

static void hear(struct sd_connections *c)
{
    for (size_t i = 0; i < c->n_namespaces; i++)
        sd_tcp_each_ended(&c->namespaces[i].tcp, book_ended, c);
}

void sd_connections_hear(struct sd_connections *c)
{
    hear(c);
    c->may_wait = true;
}

/* --- A look ---------------------------------------------------------------------- */

bool sd_connections_are_due(const struct sd_connections *c, uint64_t now_ns)
{
    return now_ns >= c->next_ns;
}

void sd_connections_begin(struct sd_connections *c, uint64_t now_ns)
{
    c->began_ns = now_ns;
    c->began_cpu_ns = sd_clock_thread_cpu_ns();
    c->n_looks++;
    sd_table_clear(&c->held);
    for (size_t i = 0; i < c->n_namespaces; i++)
        c->namespaces[i].is_used = false;
}

/* True when its connections will be told. */
static bool use_namespace(struct sd_connections *c, pid_t pid)
{
    uint64_t inode = sd_tcp_namespace(pid);
    size_t i;

    for (i = 0; i < c->n_namespaces && c->namespaces[i].inode != inode; i++)
        ;
    sd_assert(i <= c->n_namespaces && c->n_namespaces <= SD_CONNECTIONS_NAMESPACES);
    if (i == SD_CONNECTIONS_NAMESPACES)
        return false;
    if (i == c->n_namespaces) {
        c->n_namespaces++;
        c->namespaces[i].inode = inode;
        sd_tcp_open(&c->namespaces[i].tcp, pid); /* refused once, refused for good */
    }
    c->namespaces[i].is_used = c->namespaces[i].tcp.asks >= 0;
    return c->namespaces[i].is_used;
}

struct taking {
    struct sd_connections *c;
    struct sd_tcp_account *account;
    size_t n_held;
};

static void hold(void *of, uint64_t inode)
{
    struct taking *t = of;
    uint64_t first;

    t->n_held++;
    if (!sd_table_get(&t->c->held, inode, &first))
        sd_table_put(&t->c->held, inode, (uint64_t)(uintptr_t)t->account);
}

void sd_connections_take(struct sd_connections *c, pid_t pid, struct sd_tcp_account *a)
{
    struct taking t = { .c = c, .account = a };

    a->is_told =
        sd_tcp_held_by(pid, hold, &t) == 0 && (t.n_held == 0 || use_namespace(c, pid));
    a->has_news |= a->is_told;
}

static void book_open(void *of, const struct sd_tcp_socket *s)
{
    struct sd_connections *c = of;
    struct sd_connection *k = find(c, s->cookie);
    uint64_t account = 0;

    if (s->inode)
        sd_table_get(&c->held, s->inode, &account);
    if (!k && account)
        k = add(c, s->cookie);
    if (!k)
        return;
    /* Without an inode it was closed and still carries what was written before. */
    if (s->inode) {
        k->inode = s->inode;
        set_holder(k, (struct sd_tcp_account *)(uintptr_t)account);
    }
    book(k, s->sent_bytes, s->received_bytes);
    k->seen_at = c->n_looks;
}

/* One that nobody holds and that was not seen has ended.  The kernel's word on that may
 * come a little later: it is waited for until the next look.  (A walk over a changing
 * table may miss one that is open; forgotten and found again it would count twice.) */
static void drop_unseen(struct sd_connections *c)
{
    uint64_t account;

    for (size_t i = c->n; i-- > 0;)
        if (c->n_looks - c->all[i].seen_at >= 2 &&
            !sd_table_get(&c->held, c->all[i].inode, &account))
            drop(c, &c->all[i]);
}

void sd_connections_finish(struct sd_connections *c)
{
    uint64_t rest;

    for (size_t i = 0; i < c->n_namespaces; i++)
        if (c->namespaces[i].is_used)
            sd_tcp_each(&c->namespaces[i].tcp, book_open, c);
    drop_unseen(c);
    rest = (sd_clock_thread_cpu_ns() - c->began_cpu_ns) * REST;
    c->next_ns = c->began_ns + (rest > AT_MOST_EVERY_NS ? rest : AT_MOST_EVERY_NS);
}

/* --- A process ends -------------------------------------------------------------- */

static void book_known(void *of, const struct sd_tcp_socket *s)
{
    struct sd_connections *c = of;
    struct sd_connection *k = find(c, s->cookie);

    if (k)
        book(k, s->sent_bytes, s->received_bytes);
}

void sd_connections_settle(struct sd_connections *c, const struct sd_tcp_account *a)
{
    size_t i;

    hear(c);
    for (i = 0; i < c->n_namespaces && a->n_open > 0; i++) {
        if (c->namespaces[i].tcp.asks < 0)
            continue;
        if (c->may_wait)
            sd_tcp_wait_for_ended(&c->namespaces[i].tcp, PATIENCE_MS);
        c->may_wait = false;
        hear(c);
        sd_tcp_each(&c->namespaces[i].tcp, book_known, c);
    }
}

void sd_connections_leave(struct sd_connections *c, const struct sd_tcp_account *a)
{
    for (size_t i = 0; i < c->n && a->n_open > 0; i++)
        if (c->all[i].holder == a)
            set_holder(&c->all[i], NULL);
}

void sd_connections_release(struct sd_connections *c)
{
    for (size_t i = 0; i < c->n_namespaces; i++)
        sd_tcp_close(&c->namespaces[i].tcp);
    sd_free(c->all);
    sd_table_release(&c->by_cookie);
    sd_table_release(&c->held);
    *c = (struct sd_connections){ 0 };
}
