// SPDX-License-Identifier: BSD-3-Clause
// snmp_test.c - AgentX PDUs byte by byte, and answers from the trees against a sorted list of what
// is there
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "core/thread.h"
#include "export/agentx.h"
#include "export/mib.h"
#include "export/snmp_answer.h"
#include "port/port_manager.h"
#include "port/port_queue_manager.h"
#include "port/watch_manager.h"
#include "rib/rib_manager.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/vr.h"

// --- a rib_manager that answers when the test says so ---

#define ROUTES 700
#define CHUNK 16

static struct rib_row route[2][ROUTES]; // IPv4, IPv6; sorted
static unsigned n_routes[2];

struct rib_walk {
    struct rib_query q;
    bool (*rows)(void *ctx, const struct rib_row *row, unsigned n);
    void (*done)(void *ctx, int result);
    unsigned at;
    bool closed;
};
static struct rib_walk *walk;
static unsigned walks;

struct rib_walk *rib_walk_open(const struct rib_query *q,
                               bool (*rows)(void *ctx, const struct rib_row *row, unsigned n),
                               void (*done)(void *ctx, int result), void *ctx)
{
    assert_null(walk);
    assert_int_equal(q->match, RIB_FROM);
    walk = calloc(1, sizeof *walk);
    *walk = (struct rib_walk){.q = *q, .rows = rows, .done = done};
    struct prefix canon = q->prefix;
    prefix_canon(&canon);
    assert_true(prefix_equal(&canon, &q->prefix));
    while (walk->at < n_routes[q->family == IP6] &&
           prefix_compare(&route[q->family == IP6][walk->at].prefix, &q->prefix) < 0)
        walk->at++;
    walks++;
    return walk;
}

void rib_walk_more(struct rib_walk *w)
{
}

void rib_walk_close(struct rib_walk *w)
{
    w->closed = true;
}

static struct rib_walk *rib_take(void)
{
    struct rib_walk *w = walk;

    walk = NULL;
    return w;
}

static void (*stats_done)(void *ctx, const struct rib_stats *s);

int rib_manager_stats(uint16_t vr, void (*done)(void *ctx, const struct rib_stats *s), void *ctx)
{
    assert_null(stats_done);
    stats_done = done;
    return 0;
}

// Two interfaces have a prefix in common, and one link-local address.
static void address_add(struct address_row *r, uint16_t iface, const char *text, uint8_t len,
                        bool usable)
{
    *r = (struct address_row){.iface = iface, .len = len, .usable = usable};
    assert_int_equal(ip_parse(text, &r->addr), 0);
}

#define ADDRESSES 6
static unsigned address_rows(struct address_row r[ADDRESSES])
{
    address_add(&r[0], 1, "fe80::1", 64, true);
    address_add(&r[1], 2, "fe80::1", 64, true);
    address_add(&r[2], 1, "10.1.0.200", 16, true);
    address_add(&r[3], 1, "10.1.0.1", 16, true);
    address_add(&r[4], 2, "2001:db8::1", 64, false);
    address_add(&r[5], 2, "10.1.0.7", 24, true);
    return ADDRESSES;
}

static void (*addresses_done)(void *ctx, const struct address_row *row, unsigned n);
static void (*neighbors_done)(void *ctx, const struct neigh_row *row, unsigned n);
static void *addresses_ctx, *neighbors_ctx;

int rib_manager_addresses(int vr,
                          void (*done)(void *ctx, const struct address_row *row, unsigned n),
                          void *ctx)
{
    addresses_done = done;
    addresses_ctx = ctx;
    return 0;
}

int rib_manager_neigh(int vr, void (*done)(void *ctx, const struct neigh_row *row, unsigned n),
                      void *ctx)
{
    neighbors_done = done;
    neighbors_ctx = ctx;
    return 0;
}

static bool answer_ip(void)
{
    struct address_row address[ADDRESSES];
    struct neigh_row neighbor[3] = {
        {.iface = "p1", .iface_id = 2, .state = "reachable", .mac = {2, 0, 0, 0, 0, 9}},
        {.iface = "p0", .iface_id = 1, .state = "incomplete"},
        {.iface = "eth9", .state = "stale"}}; // not one of ours

    assert_int_equal(
        ip_parse("10.1.0.9", &neighbor[0].addr) | ip_parse("fe80::9", &neighbor[1].addr), 0);
    neighbor[2].addr = neighbor[0].addr;
    if (addresses_done) {
        void (*done)(void *ctx, const struct address_row *row, unsigned n) = addresses_done;
        addresses_done = NULL;
        done(addresses_ctx, address, address_rows(address));
    } else if (neighbors_done) {
        void (*done)(void *ctx, const struct neigh_row *row, unsigned n) = neighbors_done;
        neighbors_done = NULL;
        done(neighbors_ctx, neighbor, 3);
    } else {
        return false;
    }
    return true;
}

static void answer_stats(void)
{
    void (*done)(void *ctx, const struct rib_stats *s) = stats_done;

    stats_done = NULL;
    done(NULL, &(struct rib_stats){.family = {{.fib_routes = n_routes[0]},
                                              {.fib_routes = n_routes[1]}}});
}

// Everything that was asked is answered, chunk by chunk.
static void rib_answer(void)
{
    while (walk || stats_done || addresses_done || neighbors_done) {
        if (answer_ip())
            continue;
        if (stats_done) {
            answer_stats();
            continue;
        }
        struct rib_walk *w = rib_take();
        const struct rib_row *rows = route[w->q.family == IP6];
        unsigned n = n_routes[w->q.family == IP6], k = n - w->at < CHUNK ? n - w->at : CHUNK;
        bool more = !k || w->rows(NULL, rows + w->at, k);
        w->at += k;
        if (!w->closed && more && w->at < n)
            walk = w;
        else {
            if (!w->closed)
                w->done(NULL, 0);
            free(w);
        }
    }
}

int rib_manager_lengths(struct rib_length *ask, unsigned n, void (*done)(void *ctx), void *ctx)
{
    return -ENOTCONN;
}

int watch_manager_add(const struct watch_spec *s, struct watch_filter *filter, char *err,
                      size_t err_size)
{
    return -EBUSY;
}

void watch_manager_del(unsigned index)
{
}

int port_manager_state(const char *name, struct port_state *s)
{
    *s = (struct port_state){.speed_mbps = 100000};
    return 0;
}

// Port p0 has a queue, by which one virtual router and, with a queue of its own, v40 send.
bool port_queue_manager_at(unsigned i, struct port_queue_state *s)
{
    *s = (struct port_queue_state){.port = "p0", .refused_port = 1000, .refused_ring = 100};
    return !i;
}

bool port_queue_manager_client(const char *port, unsigned i, struct port_queue_client_state *s)
{
    *s = (struct port_queue_client_state){0};
    s->class[i].total.dropped_codel = 1 + i;
    s->class[7].total.refused_class = 10;
    snprintf(i ? s->vport : s->vr, 16, "%s", i ? "v40" : "default");
    return i < 2;
}

void iface_manager_description(uint16_t id, char description[256]);
void iface_manager_description(uint16_t id, char description[256])
{
    snprintf(description, 256, "uplink %u", id);
}

// --- PDUs ---

static void a_pdu_is_written_as_the_rfc_shows_it(void **state)
{
    static const uint8_t wanted[] = {
        1, 18, 0x10, 0,  0,   0,   0, 7, 0, 0, 0, 8, 0, 0, 0, 9,
        0, 0,  0,    52,                                         // header: response, network order
        0, 4,  0,    0,                                          // an octet string …
        3, 2,  0,    0,  0,   0,   0, 1, 0, 0, 0, 2, 0, 0, 0, 3, // … named 1.3.6.1.2.1.2.3
        0, 0,  0,    2,  'p', '0', 0, 0,                         // padded
        0, 70, 0,    0,                                          // a counter of 64 bits …
        2, 0,  1,    0,  0,   0,   0, 1, 0, 0, 0, 2, // … named 1.2, which has no short form
        0, 0,  0,    1,  0,   0,   0, 2};
    struct oid a = {8, {1, 3, 6, 1, 2, 1, 2, 3}}, b = {2, {1, 2}};
    struct text t = {0};

    size_t begun = agentx_begin(&t, AGENTX_RESPONSE, 0, 7, 8, 9);
    struct value name = value_string("p0", 2);
    agentx_write_variable(&t, &a, &name);
    agentx_write_u16(&t, VALUE_COUNTER64);
    agentx_write_u16(&t, 0);
    agentx_write_oid(&t, &b, true);
    agentx_write_u32(&t, 1);
    agentx_write_u32(&t, 2);
    agentx_end(&t, begun);
    assert_int_equal(t.n, sizeof wanted);
    assert_memory_equal(t.s, wanted, t.n);
    text_free(&t);
}

static void both_byte_orders_are_read(void **state)
{
    static const uint8_t little[] = {1,  5, 0x08, 0, 7, 0, 0, 0, 8,   0,   0,   0, 9, 0, 0, 0,
                                     12, 0, 0,    0, 3, 0, 0, 0, 'r', 'e', 'd', 0, 0, 2, 1, 0},
                         big[] = {1, 5, 0x10, 0, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0,
                                  0, 9, 0,    0, 0, 8, 1, 2, 0, 0, 0, 0, 1, 44};
    struct agentx_header h;
    struct agentx_reader r;
    struct oid o;
    char context[AGENTX_CONTEXT_MAX];
    bool include;

    assert_int_equal(agentx_read_header(little, &h), 0);
    assert_true(h.session == 7 && h.transaction == 8 && h.packet == 9 && h.payload == 12 &&
                h.has_context);
    agentx_reader_init(&r, &h, little + AGENTX_HEADER);
    agentx_read_context(&r, context);
    assert_string_equal(context, "red");
    agentx_read_oid(&r, &o, &include);
    assert_false(r.failed);
    assert_true(o.n == 5 && o.id[0] == 1 && o.id[3] == 1 && o.id[4] == 2 && include);
    assert_int_equal(agentx_read_header(big, &h), 0);
    agentx_reader_init(&r, &h, big + AGENTX_HEADER);
    agentx_read_oid(&r, &o, &include);
    assert_true(!r.failed && o.n == 6 && o.id[5] == 300 && !include);
}

static void what_is_no_agentx_is_refused(void **state)
{
    uint8_t head[AGENTX_HEADER] = {2, 5, 0x10};
    struct agentx_header h;
    struct agentx_reader r;
    struct oid o;
    bool include;

    assert_int_equal(agentx_read_header(head, &h), -EINVAL);
    head[0] = 1;
    head[19] = 3;
    assert_int_equal(agentx_read_header(head, &h), -EINVAL);
    head[17] = 1;
    head[19] = 4;
    assert_int_equal(agentx_read_header(head, &h), -EINVAL); // larger than any PDU
    head[17] = 0;
    assert_int_equal(agentx_read_header(head, &h), 0);
    agentx_reader_init(&r, &h, (uint8_t[]){200, 0, 0, 0});
    agentx_read_oid(&r, &o, &include); // says 200 numbers, has none
    assert_true(r.failed);
}

// --- answers ---

static void make_interface(const char *name, enum iface_kind kind, uint16_t port)
{
    struct iface *i = iface_new(name);

    i->kind = kind;
    i->port = port;
    i->admin_up = i->carrier = true;
    i->mtu = 1500;
    if (kind == IFACE_PORT)
        port_get(port)->untagged = i->id;
}

static uint64_t dice;

static unsigned throw(unsigned sides)
{
    return (unsigned)(hash_mix64(++dice) % sides);
}

static int by_prefix(const void *a, const void *b)
{
    return prefix_compare(&((const struct rib_row *)a)->prefix,
                          &((const struct rib_row *)b)->prefix);
}

static void make_routes(uint8_t family, unsigned n)
{
    struct rib_row *r = route[family == IP6];

    for (unsigned i = 0; i < n; i++) {
        r[i] = (struct rib_row){.prefix = {.family = family},
                                .type = RIB_UNICAST,
                                .protocol = 186,
                                .active = throw(10) > 0,
                                .metric = i};
        for (unsigned k = 0; k < 4; k++)
            r[i].prefix.b[k] = (uint8_t)(throw(3) ? throw(4) : throw(256));
        r[i].prefix.len = (uint8_t)throw(33);
        prefix_canon(&r[i].prefix);
        r[i].n_hops = (uint16_t)throw(4);
        for (unsigned h = 0; h < r[i].n_hops; h++) {
            snprintf(r[i].hop[h].iface, sizeof r[i].hop[h].iface, "p%u", throw(3));
            r[i].hop[h].gateway =
                (struct ip_addr){.family = throw(4) ? family : 0, .b = {10, (uint8_t) throw(3)}};
        }
    }
    qsort(r, n, sizeof *r, by_prefix);
    unsigned kept = 0; // each prefix once
    for (unsigned i = 0; i < n; i++)
        if (!kept || !prefix_equal(&r[kept - 1].prefix, &r[i].prefix))
            r[kept++] = r[i];
    n_routes[family == IP6] = kept;
}

static bool is_ready;

static void ready(void)
{
    is_ready = true;
}

static struct oid answer_name[64];
static uint16_t answer_type[64];

static const uint8_t *skip_value(uint16_t type, const uint8_t *p)
{
    switch (type) {
    case VALUE_COUNTER64: return p + 8;
    case VALUE_STRING: return p + 4 + ((p[3] + 3u) & ~3u);
    case VALUE_OID: return p + 4 + p[0] * 4;
    case VALUE_NO_OBJECT:
    case VALUE_NO_INSTANCE:
    case VALUE_END_OF_MIB: return p;
    }
    return p + 4;
}

// Asks, and reads names and types of the answer: how many.
static unsigned ask(enum agentx_type type, const char *context, const struct oid *from,
                    const struct oid *to, unsigned repetitions)
{
    struct text q = {0}, a = {0};
    struct agentx_header h;
    struct agentx_reader r;
    unsigned n = 0;

    size_t begun = agentx_begin(&q, type, context[0] ? AGENTX_FLAG_CONTEXT : 0, 1, 2, 3);
    if (context[0])
        agentx_write_string(&q, context, (uint32_t)strlen(context));
    if (type == AGENTX_GET_BULK) {
        agentx_write_u16(&q, 0);
        agentx_write_u16(&q, (uint16_t)repetitions);
    }
    agentx_write_oid(&q, from, false);
    agentx_write_oid(&q, to, false);
    agentx_end(&q, begun);
    assert_int_equal(agentx_read_header((uint8_t *)q.s, &h), 0);
    is_ready = false;
    snmp_answer_begin(&h, (uint8_t *)q.s + AGENTX_HEADER, &a, ready);
    text_free(&q);
    rib_answer();
    assert_true(is_ready);
    assert_false(snmp_answer_rests());
    assert_int_equal(agentx_read_header((uint8_t *)a.s, &h), 0);
    assert_int_equal(h.payload + AGENTX_HEADER, a.n);
    agentx_reader_init(&r, &h, (uint8_t *)a.s + AGENTX_HEADER);
    agentx_read_u32(&r);
    if (agentx_read_u16(&r))
        n = 1000; // an error
    agentx_read_u16(&r);
    while (r.p < r.end && n < 64) {
        bool include;
        answer_type[n] = agentx_read_u16(&r);
        agentx_read_u16(&r);
        agentx_read_oid(&r, &answer_name[n], &include);
        assert_false(r.failed);
        r.p = skip_value(answer_type[n], r.p);
        n++;
    }
    assert_true(r.p == r.end);
    text_free(&a);
    return n;
}

static const struct oid everything = {4, {1, 3, 6, 1}}, no_end = {0};
static struct oid all[60000];
static unsigned n_all;

// All variables of the context by GetNext, in order.
static void walk_all(const char *context)
{
    struct oid from = everything;

    for (n_all = 0; n_all < 60000; n_all++) {
        assert_int_equal(ask(AGENTX_GET_NEXT, context, &from, &no_end, 0), 1);
        if (answer_type[0] == VALUE_END_OF_MIB)
            return;
        assert_true(oid_compare(&answer_name[0], &from) > 0);
        all[n_all] = from = answer_name[0];
    }
    fail_msg("the walk does not end");
}

static bool same_gateway(const struct ip_addr *a, const struct ip_addr *b)
{
    return ip_equal(a, b) || (!a->family && !b->family);
}

static unsigned rows_expected(unsigned family)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < n_routes[family]; i++) {
        const struct rib_row *r = &route[family][i];
        if (!r->active)
            continue;
        sum += !r->n_hops;
        for (unsigned h = 0; h < r->n_hops; h++) {
            bool again = false;
            for (unsigned k = 0; k < h; k++)
                again |= !strcmp(r->hop[k].iface, r->hop[h].iface) &&
                         same_gateway(&r->hop[k].gateway, &r->hop[h].gateway);
            sum += !again;
        }
    }
    return sum;
}

static void a_walk_finds_everything_in_order(void **state)
{
    unsigned routes = rows_expected(0) + rows_expected(1);

    walk_all("");
    // 3 interfaces: 16 columns of ifTable, 11 of ifXTable; a port with a vport, and one without: 5
    // rows of ifStackTable 5 prefixes of 5 columns, 6 addresses of 9, 2 neighbors of 5
    unsigned ip = 5 * 5 + 6 * 9 + 2 * 5;
    assert_int_equal(n_all, routes * 11 + 3 * 16 + 3 * 11 + 5 + 3 + ip);
    assert_in_range(
        walks, 1, 11 * 2 * (ROUTES / CHUNK + 2)); // about one for each chunk, not one for each row
    walk_all("red");
    assert_int_equal(n_all, routes * 11 + 1 + ip);
}

static void assert_there(const struct oid *name, uint16_t type)
{
    assert_int_equal(ask(AGENTX_GET, "", name, &no_end, 0), 1);
    assert_int_equal(answer_type[0], type);
}

static void addresses_and_neighbors_have_the_names_of_the_rfc(void **state)
{
    static const struct oid address = {15, {1, 3, 6, 1, 2, 1, 4, 34, 1, 3, 1, 4, 10, 1, 0}},
                            of_link = {32,
                                       {1, 3, 6, 1, 2, 1, 4, 34, 1, 5, 4, 20, 0xfe, 0x80, 0, 0,
                                        0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 1,  0,    0,    0, 2}},
                            prefix = {18,
                                      {1, 3, 6, 1, 2, 1, 4, 32, 1, 5, 1, 1, 4, 10, 1, 0, 0, 16}},
                            neighbor = {17, {1, 3, 6, 1, 2, 1, 4, 35, 1, 4, 2, 1, 4, 10, 1, 0, 9}};
    struct oid name = address;

    assert_there(&name, VALUE_NO_INSTANCE);
    oid_add(&name, 200);
    assert_there(&name, VALUE_INTEGER);
    assert_there(&of_link, VALUE_OID);
    assert_there(&prefix, VALUE_INTEGER);
    assert_there(&neighbor, VALUE_STRING);
}

static uint64_t out_discards(const char *iface)
{
    struct oid from = {11, {1, 3, 6, 1, 2, 1, 2, 2, 1, 19, iface_find_name(iface)->id}}, name;
    struct mib_question q = {.ready = NULL};
    struct value v;

    assert_int_equal(mib_if_table(&q, &from, true, &name, &v), MIB_FOUND);
    assert_int_equal(oid_compare(&name, &from), 0);
    assert_int_equal(v.type, VALUE_COUNTER32);
    return v.number;
}

static void what_queues_drop_are_discards_of_the_port_and_of_its_shaped_sub_interfaces(void **state)
{
    assert_int_equal(out_discards("p0"), 1000 + 100 + 11 + 12);
    assert_int_equal(out_discards("v40"), 12);
    assert_int_equal(out_discards("p1"), 0);
}

static void an_answer_to_an_older_question_is_nobodys(void **state)
{
    static const struct oid tree = {8, {1, 3, 6, 1, 2, 1, 4, 34}};
    struct mib_question q = {.ready = NULL};
    struct address_row row[ADDRESSES];
    struct oid name;
    struct value v;

    snmp_answer_forget();
    assert_int_equal(mib_address_table(&q, &tree, false, &name, &v), MIB_LATER);
    void *old = addresses_ctx;
    mib_ip_forget();
    q.vr = 1;
    assert_int_equal(mib_address_table(&q, &tree, false, &name, &v), MIB_LATER);
    addresses_done(old, row, address_rows(row)); // of the other virtual router
    assert_int_equal(mib_address_table(&q, &tree, false, &name, &v), MIB_LATER);
    addresses_done(addresses_ctx, NULL, 0);
    assert_int_equal(mib_address_table(&q, &tree, false, &name, &v), MIB_END);
    addresses_done = NULL;
    mib_ip_forget();
}

static void whatever_is_asked_the_next_one_is_the_right_one(void **state)
{
    walk_all("");
    for (unsigned i = 0; i < 5000; i++) {
        struct oid from = all[throw(n_all)];
        for (unsigned k = throw(3); k; k--)
            from.id[throw(from.n)] = throw(2) ? throw(300) : throw(5);
        from.n -= throw(2) ? throw(from.n) : 0;
        if (!throw(4))
            oid_add(&from, throw(3));
        unsigned next = 0;
        while (next < n_all && oid_compare(&all[next], &from) <= 0)
            next++;
        assert_int_equal(ask(AGENTX_GET_NEXT, "", &from, &no_end, 0), 1);
        assert_int_equal(answer_type[0] == VALUE_END_OF_MIB, next == n_all);
        if (next < n_all)
            assert_int_equal(oid_compare(&answer_name[0], &all[next]), 0);
        assert_int_equal(ask(AGENTX_GET, "", &from, &no_end, 0), 1);
        bool there = next && !oid_compare(&all[next - 1], &from);
        assert_int_equal(answer_type[0] < VALUE_NO_OBJECT, there);
        if (!throw(20)) { // what was kept is forgotten
            snmp_answer_forget();
        }
    }
}

static void get_bulk_gives_as_many_as_there_are_to_the_end(void **state)
{
    walk_all("");
    for (unsigned i = 0; i < 300; i++) {
        unsigned at = throw(n_all), n = 1 + throw(30), left = n_all - 1 - at;
        assert_int_equal(ask(AGENTX_GET_BULK, "", &all[at], &no_end, n), left < n ? left + 1 : n);
        for (unsigned k = 0; k < n && k < left; k++)
            assert_int_equal(oid_compare(&answer_name[k], &all[at + 1 + k]), 0);
        if (left < n)
            assert_int_equal(answer_type[left], VALUE_END_OF_MIB);
    }
    struct oid end = all[10];
    assert_int_equal(ask(AGENTX_GET_BULK, "", &all[5], &end, 10),
                     5); // up to the end of the range, which is not in it
    assert_int_equal(answer_type[4], VALUE_END_OF_MIB);
}

static void what_is_not_there_is_told_apart(void **state)
{
    struct oid column = {11, {1, 3, 6, 1, 2, 1, 2, 2, 1, 1, 99}},
               beyond = {7, {1, 3, 6, 1, 2, 1, 99}};

    assert_int_equal(ask(AGENTX_GET, "", &column, &no_end, 0), 1);
    assert_int_equal(answer_type[0], VALUE_NO_INSTANCE);
    assert_int_equal(ask(AGENTX_GET, "", &beyond, &no_end, 0), 1);
    assert_int_equal(answer_type[0], VALUE_NO_OBJECT);
    assert_int_equal(ask(AGENTX_GET, "red", &column, &no_end, 0),
                     1); // interfaces are in the default context alone
    assert_int_equal(answer_type[0], VALUE_NO_OBJECT);
    assert_int_equal(ask(AGENTX_GET, "blue", &column, &no_end, 0), 1000); // no such virtual router
    assert_int_equal(ask(AGENTX_TEST_SET, "", &column, &no_end, 0), 1000);
}

static uint16_t told_id;
static bool told_up;
static unsigned told_n;

static void told(void *ctx, uint16_t id, bool up)
{
    told_id = id;
    told_up = up;
    told_n++;
}

static void links_that_change_are_told_once(void **state)
{
    mib_if_look(NULL, NULL);
    mib_if_look(told, NULL);
    assert_int_equal(told_n, 0);
    iface_get(2)->carrier = false;
    mib_if_look(told, NULL);
    mib_if_look(told, NULL);
    assert_true(told_n == 1 && told_id == 2 && !told_up);
    iface_get(2)->carrier = true;
    mib_if_look(told, NULL);
    assert_true(told_n == 2 && told_up);
}

static int set_up(void **state)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    assert_int_equal(counter_init() | port_table_init() | iface_table_init(), 0);
    vr_table = calloc(VR_MAX, sizeof *vr_table);
    vr_table[0] = (struct vr){.used = true, .name = "default"};
    vr_table[1] = (struct vr){.used = true, .name = "red", .id = 1};
    make_interface("p0", IFACE_PORT, 0);
    make_interface("p1", IFACE_PORT, 1);
    make_interface("v40", IFACE_VPORT, 0);
    make_routes(IP4, ROUTES);
    make_routes(IP6, ROUTES / 4);
    return 0;
}

static int tear_down(void **state)
{
    snmp_answer_forget();
    free(vr_table);
    iface_table_fini();
    port_table_fini();
    counter_fini();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pdu_is_written_as_the_rfc_shows_it),
        cmocka_unit_test(both_byte_orders_are_read),
        cmocka_unit_test(what_is_no_agentx_is_refused),
        cmocka_unit_test(a_walk_finds_everything_in_order),
        cmocka_unit_test(addresses_and_neighbors_have_the_names_of_the_rfc),
        cmocka_unit_test(
            what_queues_drop_are_discards_of_the_port_and_of_its_shaped_sub_interfaces),
        cmocka_unit_test(an_answer_to_an_older_question_is_nobodys),
        cmocka_unit_test(whatever_is_asked_the_next_one_is_the_right_one),
        cmocka_unit_test(get_bulk_gives_as_many_as_there_are_to_the_end),
        cmocka_unit_test(what_is_not_there_is_told_apart),
        cmocka_unit_test(links_that_change_are_told_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
