// SPDX-License-Identifier: BSD-3-Clause
// upgrade_take.c - see modules.h
//
//     start -> routes are read -> audit of each virtual router -> lookups compared -> GO
//     -> HALTED: discard earlier packets, forward -> CLOSED: open the other devices
//     -> STATE: counters -> END: listeners, keeper, lock, systemd -> links are up: done
#include "main/modules.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "base/version.h"
#include "core/child.h"
#include "core/eal.h"
#include "core/thread.h"
#include "device/devargs.h"
#include "feature/upgrade.h"
#include "main/keep.h"
#include "main/upgrade_proof.h"
#include "main/upgrade_protocol.h"
#include "port/port_manager.h"
#include "rib/rib_manager.h"
#include "server/mgmt.h"
#include "table/vr.h"

#define HELLO_S 30 // for all that the old one gives
#define OLD_S 10   // from BEGUN to the end of the old one
#define TRIES_MAX 50 // for lookups that differ: routes change meanwhile
#define TRY_AGAIN_MS 100
#define AUDITS_MAX 3
#define LINKS_NS (10 * NS_PER_SECOND)
#define LOOK_US 2000

static struct take {
    bool on, begun, huge; // huge: the old one uses huge pages
    int socket;
    struct event_base *loop;
    struct event *said, *look;
    void (*done)(void);
    VEC(struct port_upgrade) port;
    VEC(int) listener;
    unsigned vr, audits, tries;
    int lookups; // file
    uint64_t halted_ns, begun_ns;
} take = {.socket = -1, .lookups = -1};
// Once we forward, it must neither continue nor undo things that are ours now.
static struct child old = {.name = "old kamueed", .abruptly = true};

bool upgrade_takes(void)
{
    return take.on;
}

void upgrade_take_fail(int code, const char *sentence)
{
    if (!take.on || take.begun)
        return;
    log_error("upgrade: the new version does not take over: %s", sentence);
    upgrade_send(take.socket, UPGRADE_FAILED, sentence, -1);
    eal_leave();
    _exit(code);
}

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *fmt, ...)
{
    char why[UPGRADE_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    upgrade_take_fail(1, why);
    abort();
}

static void end_instead_of_undo(const char *sentence)
{
    fail("%s", sentence);
}

static void say_phase(const char *phase)
{
    upgrade_state.phase = phase;
    upgrade_send(take.socket, UPGRADE_PHASE, phase, -1);
}

// --- receiving from the old one ------------------------------------------------------------------

static void note_port(const char *text)
{
    struct port_upgrade p = {0};
    int up;

    if (sscanf(text, "%15s %hhx:%hhx:%hhx:%hhx:%hhx:%hhx %d", p.name, &p.mac[0], &p.mac[1],
               &p.mac[2], &p.mac[3], &p.mac[4], &p.mac[5], &up) != 8)
        return;
    p.up = up;
    *vec_push(&take.port) = p;
}

static void note_file(struct upgrade_given *g, const char *name, int fd)
{
    if (!strcmp(name, "tap"))
        keep_add(name, fd);
    else if (!strcmp(name, "listener"))
        *vec_push(&take.listener) = fd;
    else if (!strcmp(name, "lock"))
        g->lock = fd;
    else
        close(fd);
}

static int note_hello(struct upgrade_given *g, const char *text, char *err, size_t err_size)
{
    int protocol = 0, second, huge;
    unsigned long long digest;

    if (sscanf(text, "%d %31s %d %d %llu", &protocol, upgrade_state.from, &second, &huge,
               &digest) != 5 ||
        protocol != UPGRADE_PROTOCOL) {
        snprintf(err, err_size,
                 "the running kamueed %s hands over by protocol %d, this one by %d: restart "
                 "instead (systemctl restart kamueed)",
                 upgrade_state.from, protocol, UPGRADE_PROTOCOL);
        return -EPROTO;
    }
    take.huge = huge;
    g->second = second;
    g->digest = digest;
    return 0;
}

int upgrade_take_begin(struct upgrade_given *g, char *err, size_t err_size)
{
    uint64_t until_ns = clock_now_ns() + HELLO_S * NS_PER_SECOND;
    struct upgrade_message m;
    char text[80];
    int fd, r = 0;

    *g = (struct upgrade_given){.lock = -1};
    snprintf(text, sizeof text, "%d %s", UPGRADE_PROTOCOL, kamuee_version);
    if (!upgrade_send(UPGRADE_FD, UPGRADE_HELLO, text, -1)) {
        snprintf(err, err_size, "--upgrade is for the kamueed that 'kamuee upgrade' starts");
        return -ENOTCONN;
    }
    take.on = true;
    take.socket = fcntl(UPGRADE_FD, F_DUPFD_CLOEXEC, UPGRADE_FD + 1);
    close(UPGRADE_FD);
    upgrade_state.time_ns = clock_wall_ns();
    upgrade_state.since_ns = clock_now_ns();
    upgrade_state.phase = "starting";
    snprintf(upgrade_state.to, sizeof upgrade_state.to, "%s", kamuee_version);
    ssize_t n = readlink("/proc/self/exe", upgrade_state.binary, sizeof upgrade_state.binary - 1);
    upgrade_state.binary[n < 0 ? 0 : n] = 0;
    while (!r && descriptor_until(take.socket, until_ns) &&
           upgrade_receive(take.socket, &m, &fd)) {
        if (m.word == UPGRADE_HELLO)
            r = note_hello(g, m.text, err, err_size);
        else if (m.word == UPGRADE_PORT)
            note_port(m.text);
        else if (m.word == UPGRADE_DONE)
            return 0;
        else if (m.word == UPGRADE_FAILED)
            exit(1); // it has logged the reason
        if (m.word == UPGRADE_FILE && fd >= 0)
            note_file(g, m.text, fd);
        else if (fd >= 0)
            close(fd);
    }
    if (!r)
        snprintf(err, err_size, "the running kamueed has ended the upgrade");
    return r ? r : -EPIPE;
}

static const uint8_t *told_mac(const char *name)
{
    vec_foreach (&take.port, p)
        if (!strcmp(p->name, name))
            return p->mac;
    return NULL;
}

// --- equal to the kernel, and to the old one -----------------------------------------------------

static void audit_next(void);

static void compare_lookups(void)
{
    struct upgrade_lookup first;
    char text[IP_TEXT_MAX];
    int n = upgrade_proof_compare(take.lookups, &first);

    if (n < 0)
        fail("the lookups cannot be compared: %s", strerror(-n));
    if (!n) {
        upgrade_state.lookups = UPGRADE_LOOKUPS_N;
        close(take.lookups);
        port_upgrade_discard(NULL);
        upgrade_send(take.socket, UPGRADE_GO, "", -1);
        return;
    }
    if (take.tries++ == TRIES_MAX)
        fail("%d of %d lookups differ from the running version's, for example %s in "
             "virtual router %s: report this, and restart instead (systemctl restart kamueed)", n,
             UPGRADE_LOOKUPS_N, ip_format(&first.addr, text), first.vr);
    usleep(TRY_AGAIN_MS * 1000);
    upgrade_send(take.socket, UPGRADE_LOOKUPS, "", take.lookups);
}

static void ask_lookups(int file)
{
    if (file < 0)
        fail("no addresses to compare: %s", strerror(-file));
    take.lookups = file;
    upgrade_send(take.socket, UPGRADE_LOOKUPS, "", file);
}

static void audited(void *ctx, const struct rib_audit_report *r)
{
    const struct vr *v = vr_get((uint16_t)take.vr);

    if (r->result && v->used)
        fail("the audit of virtual router %s could not be finished: %s: try again", v->name,
             strerror(-r->result));
    if (!r->result && r->diverged && ++take.audits < AUDITS_MAX) { // again, after the repair
        audit_next();
        return;
    }
    if (!r->result && r->diverged)
        fail("virtual router %s: %llu differences between the kernel's routes and the new tables: "
             "report this, with kamuee show tech-support", v->name,
             (unsigned long long)r->diverged);
    upgrade_state.audited += r->result ? 0 : r->checked;
    take.audits = 0;
    take.vr++;
    audit_next();
}

static void audit_next(void)
{
    while (take.vr < VR_MAX && !vr_get((uint16_t)take.vr)->used)
        take.vr++;
    if (take.vr == VR_MAX) {
        say_phase("comparing");
        upgrade_proof_choose(take.loop, ask_lookups);
        return;
    }
    int r = rib_manager_audit((uint16_t)take.vr, audited, NULL);
    if (r)
        fail("no audit of virtual router %s: %s", vr_get((uint16_t)take.vr)->name, strerror(-r));
}

static void tables_read(bool all)
{
    if (!all)
        fail("the kernel's routes could not be read within a minute");
    if (take.huge && !eal_has_hugepages())
        fail("there are not enough free huge pages for two kamueeds: add as many as this one has "
             "(sysctl vm.nr_hugepages), or restart instead (systemctl restart kamueed)");
    say_phase("auditing");
    audit_next();
}

// --- the switch ----------------------------------------------------------------------------------

static struct upgrade_port_state *state_of(const char *port)
{
    struct upgrade_state *u = &upgrade_state;

    for (unsigned i = 0; i < u->n_ports; i++)
        if (!strcmp(u->port[i].name, port))
            return &u->port[i];
    if (u->n_ports == PORT_MAX)
        return NULL;
    snprintf(u->port[u->n_ports].name, sizeof u->port[0].name, "%s", port);
    return &u->port[u->n_ports++];
}

static void note_discarded(const char *port, uint32_t n)
{
    struct upgrade_port_state *p = state_of(port);

    if (p)
        p->discarded += n;
}

// Packets that the old one had received but not forwarded when it halted.
static void note_left(const char *text)
{
    char port[16];
    uint32_t n;

    if (sscanf(text, "%15s %u", port, &n) == 2)
        note_discarded(port, n);
}

// The old one created the socket pair, and is our parent as long as it lives.
static void watch_old(void)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    if (!getsockopt(take.socket, SOL_SOCKET, SO_PEERCRED, &peer, &n) && peer.pid == getppid() &&
        peer.pid > 1)
        child_take(&old, peer.pid, false, OLD_S * 1000);
}

static void begin_forwarding(const char *text)
{
    take.halted_ns = strtoull(text, NULL, 10);
    port_upgrade_discard(note_discarded);
    port_begin_now();
    take.begun = true;
    take.begun_ns = clock_now_ns();
    upgrade_send(take.socket, UPGRADE_BEGUN, "", -1);
    watch_old();
    mgmt_instead_of_undo(NULL);
    upgrade_state.phase = "switching";
}

static void take_state(int file)
{
    struct text t = {0};
    char buf[65536];
    ssize_t n;

    lseek(file, 0, SEEK_SET);
    while ((n = read(file, buf, sizeof buf)) > 0)
        text_append(&t, buf, (size_t)n);
    const char *bad = n < 0 ? strerror(errno) : mgmt_take_text(&t);
    if (bad)
        log_error("upgrade: counters are not taken along, they begin at 0: why=\"%s\"", bad);
    text_free(&t);
}

// --- afterwards ----------------------------------------------------------------------------------

static bool note_link(const struct port_upgrade *p, uint64_t now_ns)
{
    struct upgrade_port_state *u = state_of(p->name);
    struct port_state s;

    if (!u || u->blocked_known || !p->up)
        return true;
    if (port_manager_state(p->name, &s) || !s.link_up)
        return false;
    uint64_t until_ns = devargs_is_shared(s.config.devargs) ? take.begun_ns : now_ns;
    u->blocked_ns = until_ns - take.halted_ns;
    u->blocked_known = true;
    return true;
}

static void log_ports(void)
{
    for (unsigned i = 0; i < upgrade_state.n_ports; i++) {
        const struct upgrade_port_state *p = &upgrade_state.port[i];
        if (p->blocked_known)
            log_notice("upgrade: port=%s blocked-us=%llu discarded=%llu", p->name,
                       (unsigned long long)(p->blocked_ns / NS_PER_US),
                       (unsigned long long)p->discarded);
    }
}

static void look_at_links(evutil_socket_t fd, short what, void *arg)
{
    uint64_t now_ns = clock_now_ns();
    bool all = true;

    vec_foreach (&take.port, p)
        all &= note_link(p, now_ns);
    if (take.on || (!all && now_ns - take.begun_ns < LINKS_NS)) {
        event_add(take.look, &(struct timeval){.tv_usec = LOOK_US});
        return;
    }
    upgrade_state.phase = "done";
    upgrade_state.took_ns = clock_now_ns() - upgrade_state.since_ns;
    log_ports();
    event_free(take.look);
    vec_free(&take.port);
}

static void open_ports(void)
{
    port_upgrade_open();
    take.look = event_new(take.loop, -1, 0, look_at_links, NULL);
    if (take.look)
        look_at_links(-1, 0, NULL);
}

// The old one has ended, cleanly or not: we are the router.
static void finish_upgrade(void)
{
    if (!take.look)
        open_ports();
    take.on = false;
    child_forget(&old);
    event_free(take.said);
    close(take.socket);
    take.socket = -1;
    mgmt_hold_listeners(false);
    keep_join();
    take.done();
    log_notice("upgrade: taken over: from=%s to=%s audited=%llu lookups=%llu", upgrade_state.from,
               upgrade_state.to, (unsigned long long)upgrade_state.audited,
               (unsigned long long)upgrade_state.lookups);
}

static void on_said(evutil_socket_t s, short what, void *arg)
{
    struct upgrade_message m;
    int fd;
    bool there = upgrade_receive(s, &m, &fd);

    if (!there && !take.begun)
        fail("the running kamueed has ended the upgrade");
    else if (!there || m.word == UPGRADE_END)
        finish_upgrade();
    else if (m.word == UPGRADE_LOOKUPS)
        compare_lookups();
    else if (m.word == UPGRADE_LEFT)
        note_left(m.text);
    else if (m.word == UPGRADE_HALTED)
        begin_forwarding(m.text);
    else if (m.word == UPGRADE_CLOSED)
        open_ports();
    else if (m.word == UPGRADE_STATE && fd >= 0)
        take_state(fd);
    else if (m.word == UPGRADE_FAILED && !take.begun)
        fail("%s", m.text);
    if (there && fd >= 0)
        close(fd);
}

void upgrade_take_prepare(struct event_base *loop, void (*done)(void))
{
    thread_must_be(ROLE_CONTROL);
    take.loop = loop;
    take.done = done;
    take.said = event_new(loop, take.socket, EV_READ | EV_PERSIST, on_said, NULL);
    if (!take.said || event_add(take.said, NULL))
        fail("no memory");
    mgmt_instead_of_undo(end_instead_of_undo);
    mgmt_hold_listeners(true);
    vec_foreach (&take.listener, fd)
        mgmt_offer_listener(*fd);
    vec_free(&take.listener);
    port_manager_defer(told_mac);
    port_begin_instead(tables_read);
    upgrade_send(take.socket, UPGRADE_PHASE, "reading", -1);
}
