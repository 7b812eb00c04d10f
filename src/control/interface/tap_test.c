// SPDX-License-Identifier: BSD-3-Clause
// tap_test.c - probes: a socket of each kind on each TAP, and what came back
//
// Each step sends and receives on all probes without waiting, and opens the sockets of at most 64
// interfaces. A probe passes when its token comes back. After the last one the reflector stays for
// a moment, so that frames of closing sockets do not get outside.
#include "interface/tap_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "core/thread.h"
#include "interface/vr_manager.h"
#include "netlink/netns.h"
#include "table/iface.h"
#include "table/tunnel.h"
#include "tap/tap_manager.h"

#define PATIENCE_NS (3 * NS_PER_SECOND) // the kernel solicits three times, once a second
#define OPENED_AT_ONCE 64               // interfaces whose sockets are opened in one step
#define AGAIN_NS (200 * NS_PER_MS)      // a datagram may be dropped while the neighbor is resolved
#define LAST_WORDS_NS                                                                              \
    (100 * NS_PER_MS) // frames of sockets that are being closed must not get outside, either
#define RAW_PROTO 253 // for experiments (RFC 3692)

struct probe {
    struct tap_test_result result;
    uint16_t iface;
    int fd;
    int type; // SOCK_STREAM, SOCK_DGRAM, SOCK_RAW
    bool done;
    uint64_t sent_ns;
    uint64_t token; // must come back
    char reason[200];
};

static VEC(struct probe) probes;
static VEC(struct tap_test_result) results;
static uint64_t until_ns, quiet_ns; // quiet_ns: the end of reflecting, 0 = probes are running
static bool running;
static char only[16];       // interface; empty: all
static uint16_t next_iface; // next interface whose sockets are opened

static void finish_probe(struct probe *p, const char *why, int e)
{
    p->done = true;
    p->result.passed = !why;
    if (why && e)
        snprintf(p->reason, sizeof p->reason, "%s: %s", why, strerror(e));
    else
        snprintf(p->reason, sizeof p->reason, "%s", why ? why : "");
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

// Guesses why the kernel dropped an answer, with the remedy. In the TAP's namespace.
static void explain_silence(const struct iface *i, bool four, char *buf, size_t n)
{
    int all = netns_sysctl_get("ipv4/conf/%s/rp_filter", "all"),
        own = netns_sysctl_get("ipv4/conf/%s/rp_filter", i->name);

    if (four &&
        (all > 0 || own > 0)) // the larger value counts; even loose (2) needs a route to the source
        snprintf(buf, n,
                 "nothing came back: rp_filter is %s; sysctl -w net.ipv4.conf.all.rp_filter=0 "
                 "net.ipv4.conf.%s.rp_filter=0",
                 all == 2 || own == 2 ? "loose, and the source has no route" : "strict", i->name);
    else
        snprintf(buf, n,
                 "nothing came back: a packet filter of the kernel? nft list ruleset shows it");
}

static void finish_silent_probe(struct probe *p)
{
    const struct iface *i = iface_get(p->iface);
    char why[sizeof p->reason] = "nothing came back";
    int back = netns_enter(vr_manager_netns(i->vr));

    if (back >= 0) {
        explain_silence(i, !strcmp(p->result.family, "ipv4"), why, sizeof why);
        netns_leave(back);
    }
    finish_probe(p, why, 0);
}

// Address of the simulated neighbor with `port` (network byte order).
static socklen_t neighbor_address(struct sockaddr_storage *to, int family, uint16_t port,
                                  int ifindex)
{
    struct sockaddr_in *a4 = (struct sockaddr_in *)to;
    struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)to;

    memset(to, 0, sizeof *to);
    to->ss_family = (sa_family_t)family;
    if (family == AF_INET) {
        a4->sin_port = port;
        inet_pton(AF_INET, TAP_REFLECT_IP4, &a4->sin_addr);
        return sizeof *a4;
    }
    a6->sin6_port = port;
    a6->sin6_scope_id = (uint32_t)ifindex;
    inet_pton(AF_INET6, TAP_REFLECT_IP6, &a6->sin6_addr);
    return sizeof *a6;
}

// Binds a port chosen by the kernel: the reflector swaps ports, so both ends have the same port.
static int bind_any_port(int fd, int family, uint16_t *port)
{
    struct sockaddr_storage own = {.ss_family = (sa_family_t)family};
    socklen_t n = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

    if (bind(fd, (struct sockaddr *)&own, n) || getsockname(fd, (struct sockaddr *)&own, &n))
        return -1;
    *port = family == AF_INET ? ((struct sockaddr_in *)&own)->sin_port
                              : ((struct sockaddr_in6 *)&own)->sin6_port;
    return 0;
}

static void probe_open(struct probe *p, int family)
{
    const struct iface *i = iface_get(p->iface);
    const struct linger reset = {.l_onoff = 1}; // no FIN to be retransmitted later
    struct sockaddr_storage to;
    uint16_t port = 0;
    int yes = 1;

    p->fd =
        socket(family, p->type | SOCK_NONBLOCK | SOCK_CLOEXEC, p->type == SOCK_RAW ? RAW_PROTO : 0);
    if (p->fd < 0) {
        finish_probe(p, "no socket", errno);
        return;
    }
    if (setsockopt(p->fd, SOL_SOCKET, SO_BINDTODEVICE, i->name, (socklen_t)strlen(i->name)) ||
        setsockopt(p->fd, SOL_SOCKET, SO_DONTROUTE, &yes, sizeof yes) ||
        setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) ||
        (p->type != SOCK_RAW && bind_any_port(p->fd, family, &port))) {
        finish_probe(p, "not bound to the TAP", errno);
        return;
    }
    socklen_t n = neighbor_address(&to, family, port, i->ifindex);
    if (connect(p->fd, (struct sockaddr *)&to, n) && errno != EINPROGRESS)
        finish_probe(p, "not connected", errno);
}

static void probe_add(const struct iface *i, int family, int type)
{
    struct probe *p = vec_push(&probes);

    *p = (struct probe){
        .iface = i->id, .fd = -1, .type = type, .token = clock_now_ns() << 16 | probes.n};
    p->result.interface = i->name;
    p->result.family = family == AF_INET ? "ipv4" : "ipv6";
    p->result.socket = type == SOCK_STREAM ? "tcp" : type == SOCK_DGRAM ? "udp" : "raw";
    if (!iface_is_up(i))
        finish_probe(p, "the interface is down", 0);
    else
        probe_open(p, family);
}

static void add_probes(const struct iface *i)
{
    static const int type[] = {SOCK_DGRAM, SOCK_STREAM, SOCK_RAW};
    static const uint8_t none[16];
    int back = netns_enter(vr_manager_netns(i->vr));

    if (back < 0)
        return;
    for (unsigned k = 0; k < 3 && i->addr4; k++)
        probe_add(i, AF_INET, type[k]);
    for (unsigned k = 0; k < 3 && memcmp(i->addr6_ll, none, 16); k++)
        probe_add(i, AF_INET6, type[k]);
    netns_leave(back);
}

static bool is_tested(const struct iface *i, const char *name)
{
    return i->kind != IFACE_NONE && !tunnel_is_by_linux(i) && (!name || !strcmp(i->name, name));
}

// Opens sockets in steps, because hundreds of interfaces at once would keep clients waiting.
// Returns true when all are open.
static bool open_some(uint64_t now)
{
    if (next_iface == IFACE_MAX)
        return true;
    for (unsigned n = 0; next_iface < IFACE_MAX && n < OPENED_AT_ONCE; next_iface++)
        if (is_tested(iface_get(next_iface), *only ? only : NULL)) {
            add_probes(iface_get(next_iface));
            n++;
        }
    until_ns = now + PATIENCE_NS;
    return next_iface == IFACE_MAX;
}

int tap_test_start(const char *name)
{
    thread_must_be(ROLE_CONTROL);
    if (running)
        return -EBUSY;
    if (name && !iface_find_name(name))
        return -ENOENT;
    vec_free(&probes);
    vec_free(&results);
    for (uint16_t id = 1; id < IFACE_MAX; id++)
        if (is_tested(iface_get(id), name))
            tap_manager_reflect(id, true);
    int r = tap_manager_sync();
    if (r)
        return r;
    snprintf(only, sizeof only, "%s", name ? name : "");
    next_iface = 1;
    quiet_ns = 0;
    running = true;
    return 0;
}

// Sends a datagram, repeatedly because the first may be lost, or the first bytes of a stream.
static void probe_send(struct probe *p, uint64_t now)
{
    if (p->sent_ns && (p->type == SOCK_STREAM || now - p->sent_ns < AGAIN_NS))
        return;
    if (send(p->fd, &p->token, sizeof p->token, MSG_NOSIGNAL) == sizeof p->token)
        p->sent_ns = now;
    else if (errno != EAGAIN && errno != ENOTCONN && errno != EHOSTUNREACH)
        finish_probe(p, "not sent", errno);
}

static void probe_receive(struct probe *p)
{
    uint8_t bytes[256]; // a raw IPv4 socket includes the IP header
    ssize_t n = recv(p->fd, bytes, sizeof bytes, 0);

    if (n >= (ssize_t)sizeof p->token &&
        !memcmp(bytes + n - sizeof p->token, &p->token, sizeof p->token))
        finish_probe(p, NULL, 0);
    else if (n < 0 && errno != EAGAIN && errno != ENOTCONN && errno != EHOSTUNREACH)
        finish_probe(p, "nothing came back", errno);
}

bool tap_test_step(void)
{
    uint64_t now = clock_now_ns();
    thread_must_be(ROLE_CONTROL);
    bool all = !running || open_some(now);
    vec_foreach (&probes, p) {
        if (!p->done)
            probe_send(p, now);
        if (!p->done)
            probe_receive(p);
        if (!p->done && now > until_ns && p->sent_ns)
            finish_silent_probe(p);
        else if (!p->done && now > until_ns)
            finish_probe(
                p,
                "the neighbor was not found: is ARP or neighbor discovery filtered? nft list "
                "ruleset shows it",
                0);
        all &= p->done;
    }
    if (!all || !running)
        return all;
    if (!quiet_ns)
        quiet_ns = now + LAST_WORDS_NS;
    if (now < quiet_ns)
        return false;
    running = false;
    for (uint16_t id = 1; id < IFACE_MAX; id++)
        if (iface_get(id)->kind != IFACE_NONE)
            tap_manager_reflect(id, false);
    vec_foreach (&probes, p) {
        p->result.reason = p->reason;
        *vec_push(&results) = p->result;
    }
    return true;
}

unsigned tap_test_results(const struct tap_test_result **r)
{
    *r = results.item;
    return (unsigned)results.n;
}
