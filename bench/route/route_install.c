// SPDX-License-Identifier: BSD-3-Clause
// route_install.c - measures how fast the kernel itself takes routes
//
// Installs a table of prefixes into the main table of its network namespace, in batches of netlink
// messages. That is the fastest way, so a follower of the kernel (kamueed) is compared with the
// kernel and not with a routing daemon. Prefix i gets next hop (i + shift) modulo the next hops of
// its family.
//
//     add      new routes; an existing one is an error
//     replace  the same prefixes to other next hops (--shift)
//     delete   deletes them
//     flap     withdraws and announces random prefixes at --rate for --seconds
//     count    dumps the kernel's tables and counts our routes
//     listen   only reads the kernel's announcements until SIGTERM: the cost of any follower to
//              the installer, before it processes them
//
// Routes have protocol 186 (BGP). The last message of each batch requests an acknowledgement; the
// kernel works while we send, so "end_ns" (CLOCK_MONOTONIC) is the time when the kernel has the
// last route. Prints one JSON object.
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/ip.h"
#include "lib/bench.h"
#include "lib/report.h"
#include "route/route.h"

#define HOPS_MAX 64
#define BATCH_MAX 512
#define RECEIVE_BUFFER (256 << 20)

struct table {
    struct prefix *prefix;
    size_t n, cap;
    struct route_hop hop[HOPS_MAX];
    unsigned n_hops;
};

static struct table v4, v6;
static const char *mode = "add";
static unsigned batch = 256, shift;
static double rate, seconds = 10; // rate 0 = as fast as the kernel takes them

static struct mnl_socket *nl;
static char out[BATCH_MAX * ROUTE_MESSAGE_MAX];
static size_t out_bytes;
static unsigned out_messages;
static uint32_t sequence;
static uint64_t n_errors;
static int first_error;
static volatile sig_atomic_t stopping;

static _Noreturn void die(const char *what)
{
    bench_fail("%s: %s", what, strerror(errno));
}

// --- the table ---

static void table_add(const struct prefix *p)
{
    struct table *t = p->family == IP4 ? &v4 : &v6;

    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 1 << 16;
        t->prefix = realloc(t->prefix, t->cap * sizeof(*t->prefix));
        if (!t->prefix)
            die("memory for the prefixes");
    }
    t->prefix[t->n++] = *p;
}

static void read_prefixes(const char *name)
{
    FILE *f = fopen(name, "r");
    char line[128];
    struct prefix p;

    if (!f)
        bench_fail("cannot open %s: %s", name, strerror(errno));
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\r\n")] = 0;
        if (!line[0] || line[0] == '#')
            continue;
        bench_check(!prefix_parse(line, &p, true), "not a prefix: '%s'", line);
        table_add(&p);
    }
    fclose(f);
}

static void add_hop(const char *text)
{
    struct route_hop hop;

    bench_check(!route_parse_hop(text, &hop), "--via %s: expected ADDRESS%%DEVICE", text);
    hop.ifindex = if_nametoindex(hop.device);
    bench_check(hop.ifindex, "no interface %s", hop.device);
    struct table *t = hop.gateway.family == IP4 ? &v4 : &v6;
    bench_check(t->n_hops < HOPS_MAX, "too many next hops at %s", text);
    t->hop[t->n_hops++] = hop;
}

// --- talking to the kernel ---

static void note_answer(const struct nlmsghdr *h, uint32_t wanted, bool *acknowledged)
{
    const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);

    if (h->nlmsg_type != NLMSG_ERROR)
        return;
    if (e->error) {
        n_errors++;
        if (!first_error)
            first_error = -e->error;
    }
    if (h->nlmsg_seq == wanted)
        *acknowledged = true;
}

// Reads answers until the batch's last message is acknowledged.
static void wait_acknowledged(void)
{
    static char in[1 << 16];
    bool acknowledged = false;

    while (!acknowledged) {
        ssize_t n = mnl_socket_recvfrom(nl, in, sizeof(in));
        int left = (int)n;

        if (n < 0)
            die("netlink receive");
        for (struct nlmsghdr *h = (void *)in; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left))
            note_answer(h, sequence, &acknowledged);
    }
}

static struct nlmsghdr *last_message;

static void batch_send(void)
{
    if (!out_messages)
        return;
    last_message->nlmsg_flags |= NLM_F_ACK;
    if (mnl_socket_sendto(nl, out, out_bytes) < 0)
        die("netlink send");
    wait_acknowledged();
    out_bytes = 0;
    out_messages = 0;
}

static void put_route(const struct table *t, size_t i, unsigned hop_shift, uint16_t type,
                      uint16_t flags)
{
    const struct route_hop *hop = t->n_hops ? &t->hop[(i + hop_shift) % t->n_hops] : NULL;

    last_message = route_message(out + out_bytes, &t->prefix[i], hop, type, flags, ++sequence);
    out_bytes += NLMSG_ALIGN(last_message->nlmsg_len);
    if (++out_messages == batch)
        batch_send();
}

// --- the modes ---

static void wait_until(uint64_t at_ns)
{
    struct timespec t = {(time_t)(at_ns / NS_PER_SECOND), (long)(at_ns % NS_PER_SECOND)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

// Seconds for the whole table of one family.
static double table_install(const struct table *t, uint16_t type, uint16_t flags)
{
    uint64_t begun = clock_now_ns();

    for (size_t i = 0; i < t->n; i++) {
        put_route(t, i, shift, type, flags);
        if (rate > 0 && i % 64 == 63) {
            batch_send();
            wait_until(begun + (uint64_t)((double)i / rate * NS_PER_SECOND));
        }
    }
    batch_send();
    return (double)(clock_now_ns() - begun) / NS_PER_SECOND;
}

// Withdraws a random prefix, and announces it again with the next change; at the end no prefix is
// withdrawn.
static uint64_t routes_flap(void)
{
    uint64_t begun = clock_now_ns(), end = begun + (uint64_t)(seconds * NS_PER_SECOND), n = 0;
    size_t total = v4.n + v6.n, i;

    while (clock_now_ns() < end) {
        i = bench_random() % total;
        const struct table *t = i < v4.n ? &v4 : &v6;
        size_t at = i < v4.n ? i : i - v4.n;

        put_route(t, at, shift, RTM_DELROUTE, 0);
        put_route(t, at, shift, RTM_NEWROUTE, NLM_F_CREATE);
        n += 2;
        if (rate > 0 && (n % 16 == 0 || rate < 16000)) {
            batch_send();
            wait_until(begun + (uint64_t)((double)n / rate * NS_PER_SECOND));
        }
    }
    batch_send();
    return n;
}

static int count_route(const struct nlmsghdr *h, void *ctx)
{
    const struct rtmsg *r = mnl_nlmsg_get_payload(h);
    uint64_t *n = ctx;

    if (h->nlmsg_type == RTM_NEWROUTE && r->rtm_protocol == ROUTE_PROTOCOL)
        n[r->rtm_family == AF_INET ? 0 : 1]++;
    return MNL_CB_OK;
}

static void routes_count(uint64_t n[2])
{
    static char in[1 << 16];
    static const int family[2] = {AF_INET, AF_INET6};

    for (int i = 0; i < 2; i++) {
        struct nlmsghdr *h = mnl_nlmsg_put_header(out);
        struct rtmsg *r;
        int more = 1;

        h->nlmsg_type = RTM_GETROUTE;
        h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        h->nlmsg_seq = ++sequence;
        r = mnl_nlmsg_put_extra_header(h, sizeof(*r));
        r->rtm_family = (unsigned char)family[i];
        if (mnl_socket_sendto(nl, h, h->nlmsg_len) < 0)
            die("netlink send");
        while (more > 0) {
            ssize_t bytes = mnl_socket_recvfrom(nl, in, sizeof(in));

            if (bytes < 0)
                die("netlink receive");
            more =
                mnl_cb_run(in, (size_t)bytes, sequence, mnl_socket_get_portid(nl), count_route, n);
        }
        if (more < 0)
            die("netlink dump");
    }
}

static void on_signal(int number)
{
    (void)number;
    stopping = 1;
}

static void listen_only(void)
{
    static char in[1 << 16];
    static const int groups[] = {RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE};
    struct sigaction act = {.sa_handler = on_signal}; // no SA_RESTART: recv returns EINTR
    uint64_t messages = 0, overruns = 0;

    sigaction(SIGTERM, &act, NULL);
    for (unsigned i = 0; i < 2; i++)
        if (mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, (void *)&groups[i], sizeof(int)))
            die("joining a netlink group");
    while (!stopping) {
        ssize_t n = mnl_socket_recvfrom(nl, in, sizeof(in));

        if (n > 0)
            messages++;
        else if (errno == ENOBUFS)
            overruns++;
        else if (errno != EINTR)
            die("netlink receive");
    }
    report_number("messages", 0, (double)messages);
    report_number("overruns", 0, (double)overruns);
}

static void print_result(size_t n4, size_t n6, double s4, double s6)
{
    double s = s4 + s6;

    report_number("routes4", 0, (double)n4);
    report_number("routes6", 0, (double)n6);
    report_number("seconds4", 6, s4);
    report_number("seconds6", 6, s6);
    report_number("seconds", 6, s);
    report_number("per_second", 0, s > 0 ? (double)(n4 + n6) / s : 0.0);
    report_number("errors", 0, (double)n_errors);
    report_text("first_error", "%s", first_error ? strerror(first_error) : "");
    report_number("end_ns", 0, (double)clock_now_ns());
}

// Every family with prefixes needs next hops.
static void must_have_hops(void)
{
    bench_check(!v4.n || v4.n_hops, "no next hop for IPv4: --via");
    bench_check(!v6.n || v6.n_hops, "no next hop for IPv6: --via");
}

static bool is_mode(const char *name)
{
    return !strcmp(mode, name);
}

static void run_mode(void)
{
    double s4, s6;
    uint16_t type = RTM_NEWROUTE, flags = NLM_F_CREATE | NLM_F_EXCL;

    if (is_mode("flap")) {
        must_have_hops();
        uint64_t begun = clock_now_ns(), n = routes_flap();

        print_result(n, 0, (double)(clock_now_ns() - begun) / NS_PER_SECOND, 0);
        return;
    }
    if (is_mode("delete")) {
        type = RTM_DELROUTE;
        flags = 0;
    } else {
        must_have_hops();
        if (is_mode("replace"))
            flags = NLM_F_CREATE | NLM_F_REPLACE;
    }
    s4 = table_install(&v4, type, flags);
    s6 = table_install(&v6, type, flags);
    print_result(v4.n, v6.n, s4, s6);
}

static const char *prefixes;
static const struct bench_option options[] = {
    OPTION_TEXT("mode", &mode), OPTION_TEXT("prefixes", &prefixes), OPTION_CALL("via", add_hop),
    OPTION_NUMBER("shift", &shift, 0, 0), OPTION_REAL("rate", &rate),
    OPTION_REAL("seconds", &seconds), OPTION_NUMBER("batch", &batch, 1, BATCH_MAX), {0}};

int main(int argc, char **argv)
{
    int bytes = RECEIVE_BUFFER;
    uint64_t n[2] = {0, 0};

    bench_options(argc, argv, options, NULL);
    bench_check(is_mode("add") || is_mode("replace") || is_mode("delete") || is_mode("flap") ||
                    is_mode("count") || is_mode("listen"),
                "--mode %s: expected add, replace, delete, flap, count or listen", mode);
    nl = mnl_socket_open(NETLINK_ROUTE);
    if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
        die("netlink socket");
    if (setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
        die("receive buffer (needs root)");
    report_begin(true);
    report_text("mode", "%s", mode);
    if (is_mode("count")) {
        routes_count(n);
        report_number("routes4", 0, (double)n[0]);
        report_number("routes6", 0, (double)n[1]);
    } else if (is_mode("listen")) {
        listen_only();
    } else {
        bench_check(prefixes, "needs a file of prefixes: --prefixes FILE");
        read_prefixes(prefixes);
        bench_check(v4.n || v6.n, "no prefixes in %s", prefixes);
        run_mode();
    }
    report_end();
    mnl_socket_close(nl);
    return n_errors != 0;
}
