// SPDX-License-Identifier: BSD-3-Clause
// route_latency.c - measures how soon packets follow a route change in the kernel
//
//        sender                 router                     receivers
//     send NS%DEV ──────►  prefix via A or via B  ──────►  receive NS%DEV (A)
//                                                  ──────►  receive NS%DEV (B)
//
// Sends a packet to the prefix every --interval-us. About every --gap-ms, one RTM_NEWROUTE with
// NLM_F_REPLACE in the router's namespace moves the prefix to the other next hop. Measures for each
// change the time from sending that message, and from the kernel's acknowledgement, to the arrival
// of the first packet at the new receiver. The kernel stamps arrivals (SO_TIMESTAMPNS), so
// scheduling of this program does not matter. Half the interval between packets, on average, is
// part of the result.
//
// One thread, which sleeps between packets, so that it does not starve a router on the same core.
// Prints one JSON object with all values.
#include <errno.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <linux/if_ether.h>

#include "base/clock.h"
#include "lib/report.h"
#include "traffic/load.h"
#include "route/route.h"

#define LINKS 2
#define GIVE_UP_NS (5 * NS_PER_SECOND)
#define WARM_UP_NS (300 * NS_PER_MS)

struct link {
    struct netns_place place;
    int fd;
    struct route_hop hop; // next hop in the router towards this receiver
};

struct change {
    uint64_t sent_ns, acknowledged_ns, followed_ns; // CLOCK_REALTIME
};

static struct link link_of[LINKS];
static unsigned n_receive, n_via;
static const char *router;
static struct prefix prefix;
static unsigned n_changes = 200, interval_us = 50, gap_ms = 20;
static int out;

static struct mnl_socket *nl;
static struct change *changes;
static uint64_t n_sent, n_received;
static uint64_t first_seq; // earlier packets belong to the warm-up
static uint64_t n_strays; // packets on the old link more than a gap after the first on the new link

static _Noreturn void die(const char *what)
{
    bench_fail("%s: %s", what, strerror(errno));
}

static uint64_t real_ns(void) // clock of SO_TIMESTAMPNS
{
    return clock_wall_ns();
}

// --- the route ---

static void move_route(const struct link *l, struct change *c)
{
    static uint32_t sequence;
    char buf[256];
    struct nlmsghdr *h = route_message(buf, &prefix, &l->hop, RTM_NEWROUTE,
                                       NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, ++sequence);
    ssize_t n;

    c->sent_ns = real_ns();
    if (mnl_socket_sendto(nl, h, h->nlmsg_len) < 0)
        die("changing the route");
    n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
    c->acknowledged_ns = real_ns();
    if (n < 0 || mnl_cb_run(buf, (size_t)n, sequence, mnl_socket_get_portid(nl), NULL, NULL) < 0)
        die("the kernel refused the route");
}

// --- packets ---

static uint64_t arrival_ns(struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec t;

            memcpy(&t, CMSG_DATA(c), sizeof(t));
            return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
        }
    }
    return real_ns();
}

// Reads the packets of one link; returns the arrival of the first load packet at or after
// `since_ns`, or 0.
static uint64_t packets_receive(const struct link *l, uint64_t since_ns, uint64_t *n)
{
    uint64_t first = 0;

    for (;;) {
        uint8_t frame[256];
        char control[128];
        struct iovec v = {frame, sizeof(frame)};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
                           .msg_controllen = sizeof(control)};
        ssize_t bytes = recvmsg(l->fd, &m, MSG_DONTWAIT);
        uint32_t number;
        uint64_t at;

        if (bytes < 0)
            return first;
        if (!load_read(frame, (size_t)bytes, &number))
            continue;
        n_received += number >= first_seq;
        at = arrival_ns(&m);
        if (at < since_ns)
            continue;
        if (!first)
            first = at;
        ++*n;
    }
}

static void send_packet(void)
{
    uint8_t frame[FRAME_HEAD] = {0};
    uint16_t bytes = stream_write(&load, &load_plan, frame, n_sent, 0);

    if (send(out, frame, bytes, 0) == bytes)
        n_sent++;
    else if (errno != ENOBUFS && errno != EAGAIN)
        die("sending");
}

// Sleeps until the next packet is due, or until one arrives.
static void wait_for(uint64_t next_ns)
{
    struct pollfd p[LINKS] = {{.fd = link_of[0].fd, .events = POLLIN},
                              {.fd = link_of[1].fd, .events = POLLIN}};
    uint64_t now = real_ns();
    struct timespec t = {0, now < next_ns ? (long)(next_ns - now) : 0};

    ppoll(p, LINKS, &t, NULL);
}

// --- the measurement ---

static uint64_t next_send_ns;

static void send_if_due(void)
{
    uint64_t now = real_ns();

    if (now < next_send_ns)
        return;
    send_packet();
    next_send_ns += interval_us * NS_PER_US;
    if (next_send_ns < now) // we were preempted: do not make up for it by a burst
        next_send_ns = now + interval_us * NS_PER_US;
}

static void send_and_wait(void)
{
    send_if_due();
    wait_for(next_send_ns);
}

// Waits until a random time before the next packet, so that changes are not in step with packets.
// Spins, since the time is short.
static void fall_out_of_step(void)
{
    uint64_t now, until;

    send_if_due();
    now = real_ns();
    until = now < next_send_ns ? now + (uint64_t)random() % (next_send_ns - now) : now;
    while (real_ns() < until)
        ;
}

// Sends and reads for a while, ignoring arrival times; returns the packets on the link that should
// be silent.
static uint64_t run_for(uint64_t ns, unsigned silent)
{
    uint64_t end = real_ns() + ns, n = 0, other = 0;

    while (real_ns() < end) {
        send_and_wait();
        packets_receive(&link_of[silent], 0, &n);
        packets_receive(&link_of[!silent], 0, &other);
    }
    return n;
}

static bool change_follow(unsigned target, struct change *c)
{
    uint64_t n = 0, other = 0;

    fall_out_of_step();
    move_route(&link_of[target], c);
    while (!c->followed_ns) {
        send_and_wait();
        c->followed_ns = packets_receive(&link_of[target], c->sent_ns, &n);
        packets_receive(&link_of[!target], 0, &other);
        if (!c->followed_ns && real_ns() > c->sent_ns + GIVE_UP_NS)
            return false;
    }
    return true;
}

static unsigned changes_measure(void)
{
    struct change first = {0};
    unsigned n, missed = 0;

    move_route(&link_of[0], &first);
    next_send_ns = real_ns();
    first_seq = UINT64_MAX;
    run_for(WARM_UP_NS, 1);
    first_seq = n_sent;
    for (n = 0; n < n_changes && missed < 3; n++) {
        unsigned target = (n + 1) % LINKS;

        // Packets in flight to the old link are no strays: they count only after half the gap.
        missed += !change_follow(target, &changes[n]);
        run_for(gap_ms * NS_PER_MS / 2, !target);
        n_strays += run_for((gap_ms * NS_PER_MS / 2) + (n * 7919 % 1000) * NS_PER_US, !target);
    }
    next_send_ns = real_ns() + NS_PER_SECOND; // rest: only receive
    run_for(100 * NS_PER_MS, 0);
    n_sent -= first_seq;
    return n;
}

static void print_values(const char *name, unsigned n, bool from_ack)
{
    double *us = calloc(n + 1, sizeof *us);
    unsigned followed = 0;

    for (unsigned i = 0; us && i < n; i++) {
        uint64_t since = from_ack ? changes[i].acknowledged_ns : changes[i].sent_ns;

        if (changes[i].followed_ns)
            us[followed++] = ((double)changes[i].followed_ns - (double)since) / NS_PER_US;
    }
    report_series(name, 2, us, followed);
    free(us);
}

static void print_result(unsigned n)
{
    unsigned missed = 0;

    for (unsigned i = 0; i < n; i++)
        missed += !changes[i].followed_ns;
    report_begin(true);
    report_number("changes", 0, n);
    report_number("missed", 0, missed);
    report_number("strays", 0, (double)n_strays);
    report_number("sent", 0, (double)n_sent);
    report_number("lost", 0, (double)n_sent - (double)n_received);
    print_values("from_send_us", n, false);
    print_values("from_ack_us", n, true);
    report_end();
}

// --- setting up ---

static void add_via(const char *text)
{
    struct link *l = &link_of[n_via++ % LINKS];

    bench_check(!route_parse_hop(text, &l->hop) && l->hop.gateway.family == IP4,
                "--via %s: expected GATEWAY%%ROUTER-DEVICE", text);
}

static void add_receiver(const char *text)
{
    netns_parse(text, &link_of[n_receive++ % LINKS].place);
}

static void read_prefix(const char *text)
{
    bench_check(!prefix_parse(text, &prefix, false) && prefix.family == IP4,
                "--prefix %s: expected an IPv4 prefix", text);
    ip4_t host = prefix.ip4;
    load_set_destinations(host | htonl(1), 1);
}

static const struct bench_option options[] = {
    LOAD_OPTIONS, OPTION_TEXT("router", &router), OPTION_CALL("prefix", read_prefix),
    OPTION_CALL("via", add_via), OPTION_CALL("receive", add_receiver),
    OPTION_NUMBER("changes", &n_changes, 1, 0), OPTION_NUMBER("gap-ms", &gap_ms, 2, 0),
    OPTION_NUMBER("interval-us", &interval_us, 10, 0), {0}};

static void open_sockets(void)
{
    int on = 1;

    out = load_open();
    for (unsigned i = 0; i < LINKS; i++) {
        link_of[i].fd = netns_packet_socket(&link_of[i].place, ETH_P_IP, NULL);
        if (setsockopt(link_of[i].fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)))
            die("SO_TIMESTAMPNS");
    }
    netns_enter(router);
    for (unsigned i = 0; i < LINKS; i++) {
        link_of[i].hop.ifindex = if_nametoindex(link_of[i].hop.device);
        if (!link_of[i].hop.ifindex)
            die(link_of[i].hop.device);
    }
    nl = mnl_socket_open(NETLINK_ROUTE);
    if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
        die("netlink socket");
}

int main(int argc, char **argv)
{
    unsigned n;

    bench_options(argc, argv, options, NULL);
    bench_check(router && load_is_complete() && prefix.family && n_via == LINKS &&
                    n_receive == LINKS,
                "needs --router NS --send NS%%DEV --to ROUTER-MAC --source A --prefix P, and --via "
                "GATEWAY%%ROUTER-DEVICE --receive NS%%DEV twice, in the same order");
    changes = calloc(n_changes, sizeof(*changes));
    if (!changes)
        die("memory");
    prctl(PR_SET_TIMERSLACK, 1UL);
    open_sockets();
    load_pin();
    n = changes_measure();
    print_result(n);
    return 0;
}
