// SPDX-License-Identifier: BSD-3-Clause
// tap_manager.c - the thread between the TAPs and the forwarders
//
//     punt rings --strict class order, policed--> write() to the TAP      up.    punt_round
//     TAPs --epoll, read()--> inject ring of the port's forwarder                inject_round
// Each batch of PUNT_BATCH packets comes from the best class that has packets, so a packet waits
// for at most one batch of a lower class. A class over its rate (table/punt.h) has the rest of a
// batch dropped and is skipped for the round, so its flood takes no time from the classes below.
// Both directions have the same budget per round. The free room of the inject ring limits how much
// is read: the rest waits in the kernel's queue, where TCP notices.
//
// With traffic, the thread polls the rings every 100 us, so that forwarders need no system call to
// wake it. Without traffic, it sleeps until the first punted packet (exchange_punt_waker), a frame
// from the kernel, or a call from control.
#include "tap/tap_manager.h"

#include <errno.h>
#include <event2/event.h>
#include <linux/virtio_net.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/mailbox.h"
#include "core/manager.h"
#include "core/thread.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/limits.h"
#include "table/plan.h"
#include "table/punt.h"
#include "table/watch.h"
#include "tap/lag_frame.h"
#include "tap/tunnel_back.h"

#define BATCH 64
#define PUNT_BATCH 32
#define BUDGET 512                 // packets per round and direction
#define ACTIVE_NS (20 * NS_PER_MS) // polls for so long after the last traffic
#define WAIT_ACTIVE_NS (100 * NS_PER_US)
#define WAIT_IDLE_NS (100 * NS_PER_MS) // unless woken
#define ID_WAKER IFACE_MAX             // in the epoll set, beside interface ids
#define ID_MAIL (IFACE_MAX + 1)        // the same
#define FRAME_MAX 65550                // the largest a TAP can carry
#define CALL_MS 5000

static int epoll_fd = -1;
static int *tap_fd; // [IFACE_MAX], -1 = none; tap_manager only
static struct counter_block *counter;
static struct rte_mbuf *spare[BATCH]; // empty buffers for the next reads
static unsigned n_spare;
static uint8_t overflow[FRAME_MAX]; // part of a frame that does not fit one buffer
static uint64_t bucket[PUNT_CLASS_N];
static bool reflecting[IFACE_MAX]; // in a self-test; tap_manager only
static bool waiting[IFACE_MAX];    // frames from before it was read; tap_manager only
static unsigned n_waited[IFACE_MAX];
static bool mail;                  // calls are waiting

// --- mirrored frames, from the forwarders' slots to TAPs ---
// One batch of each mirror per round, so that busy mirrors do not delay packets of the control
// plane. A frame that a TAP rejects, because its reader is too slow, is missed.

#define MIRROR_BATCH 32

static struct {
    bool used;
    int fd;
} mirrors[WATCH_MAX];
static unsigned n_mirrors;

static void set_mirror(unsigned watch, int fd) // owns the fd; -1: stop this watch
{
    if (mirrors[watch].used) {
        close(mirrors[watch].fd);
        n_mirrors--;
    }
    mirrors[watch].used = fd >= 0;
    mirrors[watch].fd = fd;
    n_mirrors += fd >= 0;
}

static bool write_slot(int fd, struct watch_slot *s)
{
    struct virtio_net_hdr header = {0};
    struct iovec iov[2] = {{&header, sizeof header}, {s->data, s->kept}};

    return writev(fd, iov, 2) >= 0;
}

static unsigned write_batch(unsigned watch)
{
    struct watch_count *c = &watch_count[thread_slot()][watch];
    struct watch_slot *slot[MIRROR_BATCH];
    unsigned n = watch_take(watch, slot, MIRROR_BATCH);

    for (unsigned i = 0; i < n; i++)
        if (!write_slot(mirrors[watch].fd, slot[i])) {
            c->taken--; // forwarders counted it; readers add up all threads
            c->bytes -= slot[i]->len;
            c->missed++;
        }
    watch_give_back(watch, slot, n);
    return n;
}

static unsigned mirror_round(void) // returns the number of frames
{
    unsigned n = 0;

    for (unsigned i = 0; n_mirrors && i < WATCH_MAX; i++)
        if (mirrors[i].used)
            n += write_batch(i);
    return n;
}

static bool mirror_waits(void) // there are frames to write
{
    for (unsigned i = 0; n_mirrors && i < WATCH_MAX; i++)
        if (mirrors[i].used && !rte_ring_empty(watch_table[i].full))
            return true;
    return false;
}

static void end_mirrors(void)
{
    for (unsigned i = 0; i < WATCH_MAX; i++)
        if (mirrors[i].used)
            set_mirror(i, -1);
}

// --- to the kernel ---

#define IOVS 34

// Writes the packet after iov[0] to iov[n - 1], without its first `skip` bytes.
static ssize_t write_segments(int fd, struct iovec *iov, int n, const struct rte_mbuf *m,
                              uint16_t skip)
{
    if (m->nb_segs > IOVS - n) {
        errno = EMSGSIZE;
        return -1;
    }
    for (; m; m = m->next, skip = 0)
        iov[n++] = (struct iovec){rte_pktmbuf_mtod_offset(m, void *, skip),
                                  (size_t)(m->data_len - skip)};
    return writev(fd, iov, n);
}

static ssize_t write_tap_frame(int fd, const struct rte_mbuf *m)
{
    struct virtio_net_hdr header = tap_frame_header(m);
    struct iovec iov[IOVS] = {{&header, sizeof header}};

    return write_segments(fd, iov, 1, m, 0);
}

// Writes a packet of interface `id`, a Linux tunnel, to the TAP of `by`.
static ssize_t write_outer_packet(uint16_t id, uint16_t by, const struct rte_mbuf *m)
{
    struct tunnel_back b;
    struct iovec iov[IOVS] = {{&b.header, sizeof b.header}, {b.bytes, 0}};

    if (!tunnel_back_make(&b, tunnel_get(tunnel_of_iface(iface_get(id))), m, iface_get(by)->mac)) {
        errno = EPROTONOSUPPORT;
        return -1;
    }
    iov[1].iov_len = b.size;
    return write_segments(tap_fd[by], iov, 2, m, b.skip);
}

static void punt_drop(const struct rte_mbuf *m, enum drop_reason reason)
{
    iface_count_drop(counter, packet_meta((struct rte_mbuf *)m)->iface % IFACE_MAX, reason);
}

// --- slow-protocol frames of LAG members, for control, which runs LACP ---

#define SLOW_PER_S 32 // per port: a partner sends three LACPDUs, and perhaps markers

static void (*slow_listener)(uint16_t port, const uint8_t frame[LAG_SLOW_FRAME]); // control's

void tap_manager_on_slow_frame(void (*fn)(uint16_t port, const uint8_t frame[LAG_SLOW_FRAME]))
{
    thread_must_be(ROLE_CONTROL);
    slow_listener = fn;
}

struct slow_call {
    uint16_t port;
    uint8_t frame[LAG_SLOW_FRAME];
};

static void slow_call_run(void *arg)
{
    struct slow_call *c = arg;

    if (slow_listener)
        slow_listener(c->port, c->frame);
    free(c);
}

static bool slow_rate_allows(uint16_t port)
{
    static struct {
        uint64_t since_ns;
        unsigned n;
    } seen[LAG_FIRST];
    uint64_t now = clock_now_ns();

    if (now - seen[port].since_ns >= NS_PER_SECOND) {
        seen[port].since_ns = now;
        seen[port].n = 0;
    }
    return seen[port].n++ < SLOW_PER_S;
}

// Returns true if control gets it.
static bool pass_slow_frame(const struct rte_mbuf *m, uint16_t port)
{
    struct slow_call *c =
        port < LAG_FIRST && m->data_len >= LAG_SLOW_FRAME && slow_rate_allows(port)
            ? malloc(sizeof *c)
            : NULL;

    if (!c)
        return false;
    c->port = port;
    memcpy(c->frame, rte_pktmbuf_mtod(m, const uint8_t *), sizeof c->frame);
    if (!mailbox_post(ROLE_CONTROL, slow_call_run, c))
        return true;
    free(c);
    return false;
}

static void punt_one(struct rte_mbuf *m, enum punt_class class)
{
    uint16_t id = packet_meta(m)->iface % IFACE_MAX, member = packet_meta(m)->member,
             by = tunnel_back_iface(id);

    if (member && !pass_slow_frame(m, (uint16_t)(member - 1))) {
        punt_drop(m, DROP_SLOW_POLICED);
    } else if (!member && (!by || tap_fd[by] < 0)) {
        punt_drop(m, DROP_PUNT_NO_TAP);
    } else if (!member && (by == id ? write_tap_frame(tap_fd[id], m)
                                    : write_outer_packet(id, by, m)) < 0) { // full, or set down
        punt_drop(m, DROP_PUNT_TAP);
    } else {
        if (class == PUNT_ICMP)
            tunnel_icmp(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, packet_meta(m)->vr);
        counter->punt++;
        counter->punt_class[class].passed++;
        counter->iface[id].punt_packets++;
    }
}

// Punts a batch of one class; returns its number of packets. *within false: the class is over its
// rate, and the rest of the batch was dropped.
static unsigned punt_batch(enum punt_class class, bool *within)
{
    struct rte_mbuf *m[PUNT_BATCH];
    unsigned n = rte_ring_dequeue_burst(exchange_punt[class], (void **)m, PUNT_BATCH, NULL), i = 0;
    uint64_t now = rte_rdtsc();

    __atomic_store_n(&counter->held, n, __ATOMIC_RELAXED);
    for (unsigned k = 0; k < n; k++) // its interface may have moved
        counter_cross(counter, packet_meta(m[k])->owner,
                      iface_get(packet_meta(m[k])->iface % IFACE_MAX)->vr);
    for (; i < n && token_bucket_take(&bucket[class], &punt_policy[class].rate, now); i++)
        punt_one(m[i], class);
    *within = i == n;
    counter->punt_class[class].policed += n - i;
    for (; i < n; i++)
        punt_drop(m[i], DROP_PUNT_POLICED);
    __atomic_store_n(&counter->held, 0, __ATOMIC_RELAXED);
    rte_pktmbuf_free_bulk(m, n);
    return n;
}

// Punts batches of the best class within its rate until the budget is spent; returns the number of
// packets.
static unsigned punt_round(void)
{
    bool over[PUNT_CLASS_N] = {false};
    unsigned total = 0, c = 0;

    while (c < PUNT_CLASS_N && total < BUDGET) {
        bool within = true;
        unsigned n = over[c] ? 0 : punt_batch(c, &within);
        over[c] |= !within;
        total += n;
        c = n ? 0 : c + 1; // each batch comes from the best class again
    }
    return total;
}

// --- from the kernel ---

// Returns false without buffers: frames must be read and dropped.
static bool fill_spare(void)
{
    if (!n_spare && !rte_pktmbuf_alloc_bulk(exchange_pool, spare, BATCH))
        n_spare = BATCH;
    return n_spare;
}

// Appends the part that did not fit the first buffer. Returns false without buffers.
static bool append_segments(struct rte_mbuf *m, const uint8_t *p, size_t n)
{
    struct rte_mbuf *last = m;

    exchange_mix();
    while (n) {
        struct rte_mbuf *s = rte_pktmbuf_alloc(exchange_pool);
        if (!s)
            return false;
        uint16_t part = (uint16_t)(n < rte_pktmbuf_tailroom(s) ? n : rte_pktmbuf_tailroom(s));
        memcpy(rte_pktmbuf_append(s, part), p, part);
        last->next = s;
        last = s;
        m->nb_segs++;
        m->pkt_len += part;
        p += part;
        n -= part;
    }
    return true;
}

// Reads one frame. 1: in *out; 0: read and dropped; -1: none.
static int read_tap_frame(int fd, uint16_t id, struct rte_mbuf **out)
{
    bool room = fill_spare();
    struct rte_mbuf *m = room ? spare[n_spare - 1] : NULL;
    uint16_t first = m ? rte_pktmbuf_tailroom(m) : 0;
    struct virtio_net_hdr header; // empty: offloads are off
    struct iovec iov[3] = {{&header, sizeof header},
                           {m ? rte_pktmbuf_mtod(m, void *) : overflow, first},
                           {overflow, sizeof overflow}};
    ssize_t n = readv(fd, iov, 3) - (ssize_t)sizeof header;

    if (n <= 0)
        return -1;
    counter->inject++;
    counter->iface[id].inject_packets++;
    if (!m) {
        iface_count_drop(counter, id, DROP_INJECT_NO_BUFFER);
        return 0;
    }
    n_spare--;
    m->data_len = (uint16_t)(n < first ? n : first);
    m->pkt_len = m->data_len;
    if (n > first && !append_segments(m, overflow, (size_t)(n - first))) {
        rte_pktmbuf_free(m);
        iface_count_drop(counter, id, DROP_INJECT_NO_BUFFER);
        return 0;
    }
    *out = m;
    return 1;
}

// For an interface whose port has no forwarder.
static unsigned drop_tap_frames(int fd, uint16_t id)
{
    unsigned n = 0;

    for (; n < BATCH && read(fd, overflow, sizeof overflow) > 0; n++) {
        counter->inject++;
        counter->iface[id].inject_packets++;
        iface_count_drop(counter, id, DROP_INJECT_NO_FORWARDER);
    }
    return n;
}

// Takes a frame for the simulated neighbor of a self-test.
static bool reflect_frame(struct rte_mbuf *m, uint16_t id)
{
    enum punt_class class;

    if (!reflecting[id] || !tap_reflect(m, &class))
        return false;
    *packet_meta(m) = (struct packet_meta){
        .iface = id, .vr = iface_get(id)->vr, .owner = iface_get(id)->vr};
    if (rte_ring_enqueue(exchange_punt[class], m)) {
        iface_count_drop(counter, id, DROP_PUNT_RING_FULL);
        rte_pktmbuf_free(m);
    }
    return true;
}

// Frames that waited in a TAP are sent like others: there are few, mostly the last messages of a
// routing daemon. `done`: its queue is empty.
static void count_waited(uint16_t id, unsigned n, bool done)
{
    n_waited[id] += n;
    if (!done)
        return;
    waiting[id] = false;
    if (n_waited[id])
        log_info("tap_manager: frames that waited in the TAP are sent: interface=%s frames=%u",
                 iface_get(id)->name, n_waited[id]);
    n_waited[id] = 0;
}

// Injects one batch of one TAP; returns the number of frames read, 0 also if the ring is full.
static unsigned inject_batch(int fd, uint16_t id)
{
    const struct iface *iface = iface_get(id);
    uint8_t home = plan_home(iface->port);
    struct rte_mbuf *m[BATCH];
    unsigned n = 0, n_read = 0;

    if (home >= FORWARDER_MAX) {
        waiting[id] = false;
        return drop_tap_frames(fd, id);
    }
    unsigned room = rte_ring_free_count(exchange_inject[home]);
    while (n_read < BATCH && n_read < room) {
        int r = read_tap_frame(fd, id, &m[n]);
        if (r < 0)
            break;
        n_read++;
        n += r && !reflect_frame(m[n], id);
    }
    for (unsigned i = 0; i < n; i++)
        *packet_meta(m[i]) = (struct packet_meta){
            .iface = id, .port = iface->port, .vr = iface->vr, .kind = INJECT_FRAME};
    unsigned sent = rte_ring_enqueue_burst(exchange_inject[home], (void **)m, n, NULL);
    waker_wake(&forwarder_slot[home].waker);
    for (unsigned i = sent; i < n; i++) { // other threads filled it meanwhile
        iface_count_drop(counter, id, DROP_INJECT_RING_FULL);
        rte_pktmbuf_free(m[i]);
    }
    if (waiting[id])
        count_waited(id, n_read, n_read < BATCH && n_read < room);
    return n_read;
}

static void tap_forget(uint16_t id)
{
    if (tap_fd[id] < 0)
        return;
    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, tap_fd[id], NULL);
    tap_fd[id] = -1;
}

// Waits at most wait_ns for frames from the kernel and injects them. Returns false if none came and
// nothing woke the thread.
static bool inject_round(uint64_t wait_ns)
{
    struct epoll_event e[BUDGET / BATCH];
    struct timespec t = {.tv_nsec = (long)wait_ns};
    int n = epoll_pwait2(epoll_fd, e, BUDGET / BATCH, &t, NULL);
    unsigned n_read = 0;
    bool woken = false;

    for (int i = 0; i < n; i++) {
        uint16_t id = (uint16_t)e[i].data.u32;
        if (id == ID_WAKER)
            woken = true;
        else if (id == ID_MAIL)
            mail = true;
        else if (e[i].events & EPOLLIN)
            n_read += inject_batch(tap_fd[id], id);
        else // the TAP was deleted; iface_manager learns that from the kernel and passes a new one
            epoll_ctl(epoll_fd, EPOLL_CTL_DEL, tap_fd[id], NULL);
    }
    if (n > 0 && !n_read && !woken && !mail) // inject rings are full: epoll would return at once
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 50 * NS_PER_US}, NULL);
    return n_read || woken;
}

// --- the thread ---

// No traffic for a while: sleeps until woken.
static bool sleep_round(void)
{
    waker_prepare(&exchange_punt_waker);
    bool came = inject_round(exchange_punted() || mirror_waits() ? 0 : WAIT_IDLE_NS);
    waker_done(&exchange_punt_waker);
    return came;
}

static void run_rounds(struct event_base *loop)
{
    uint64_t last_traffic = 0, last_mail = 0;

    while (!event_base_got_break(loop)) {
        unsigned n = punt_round() + mirror_round();
        uint64_t now = clock_now_ns();
        if (mail || now - last_mail > NS_PER_MS) {
            mail = false;
            event_base_loop(loop, EVLOOP_NONBLOCK); // the mailbox
            lacp_repeat_round(now);
            last_mail = now;
        }
        if (n)
            last_traffic = now;
        bool idle = now - last_traffic >= ACTIVE_NS;
        if (idle ? sleep_round() : inject_round(n < BUDGET ? WAIT_ACTIVE_NS : 0))
            last_traffic = clock_now_ns();
    }
}

static int begin_manager(struct event_base *loop)
{
    struct epoll_event waker = {.events = EPOLLIN, .data.u32 = ID_WAKER},
                       calls = {.events = EPOLLIN, .data.u32 = ID_MAIL};

    counter = counter_mine();
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    tap_fd = malloc(IFACE_MAX * sizeof *tap_fd);
    if (!tap_fd)
        return -ENOMEM;
    for (unsigned i = 0; i < IFACE_MAX; i++)
        tap_fd[i] = -1;
    return epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, exchange_punt_waker.fd, &waker) ||
                   epoll_ctl(epoll_fd, EPOLL_CTL_ADD, mailbox_fd(), &calls)
               ? -errno
               : 0;
}

static void end_manager(void)
{
    end_mirrors();
    rte_pktmbuf_free_bulk(spare, n_spare);
    n_spare = 0;
    if (epoll_fd >= 0)
        close(epoll_fd);
    epoll_fd = -1;
    free(tap_fd);
    tap_fd = NULL;
}

static struct manager manager = {.role = ROLE_TAP_MANAGER,
                                 .slot = THREAD_SLOT_TAP_MANAGER,
                                 .name = "tap_manager",
                                 .begin = begin_manager,
                                 .run = run_rounds,
                                 .end = end_manager};

int tap_manager_start(void)
{
    return manager_start(&manager);
}

void tap_manager_stop(void)
{
    manager_stop(&manager);
}

// --- calls of control ---

struct tap_call {
    uint16_t iface;
    int fd;
    bool read;
};

static int begin_reading(uint16_t iface)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = iface};

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, tap_fd[iface], &e) ? -errno : 0;
}

static int change_tap(void *arg)
{
    struct tap_call *c = arg;
    int r;

    reflecting[c->iface] = waiting[c->iface] = false;
    tap_forget(c->iface);
    if (c->fd < 0)
        return 0;
    tap_fd[c->iface] = c->fd;
    waiting[c->iface] = !c->read;
    r = c->read ? begin_reading(c->iface) : 0;
    if (r)
        tap_forget(c->iface);
    return r;
}

int tap_manager_set(uint16_t iface, int fd, bool read)
{
    struct tap_call c = {iface, fd, read};

    thread_must_be(ROLE_CONTROL);
    int r = manager_call_short(ROLE_TAP_MANAGER, change_tap, &c, sizeof c, CALL_MS);
    if (r == -ETIMEDOUT)
        log_error("tap_manager: no answer: iface=%u", iface);
    return r;
}

static void read_call_run(void *iface)
{
    uint16_t id = (uint16_t)(uintptr_t)iface;

    if (tap_fd[id] >= 0 && waiting[id] && begin_reading(id) && errno != EEXIST)
        log_error("tap_manager: cannot read a TAP: interface=%s error=\"%m\"", iface_get(id)->name);
}

void tap_manager_read(uint16_t iface)
{
    thread_must_be(ROLE_CONTROL);
    if (mailbox_post(ROLE_TAP_MANAGER, read_call_run, (void *)(uintptr_t)iface))
        log_error("tap_manager: no answer: iface=%u", iface);
}

struct mirror_call {
    unsigned watch;
    int fd;
};

static int change_mirror(void *arg)
{
    struct mirror_call *c = arg;

    set_mirror(c->watch, c->fd);
    return 0;
}

int tap_manager_mirror(unsigned watch, int fd)
{
    struct mirror_call c = {watch, fd};

    thread_must_be(ROLE_CONTROL);
    return manager_call_short(ROLE_TAP_MANAGER, change_mirror, &c, sizeof c, CALL_MS);
}

struct reflect_call {
    uint16_t iface;
    bool on;
};

static void reflect_call_run(void *arg)
{
    struct reflect_call *c = arg;

    reflecting[c->iface] = c->on && tap_fd[c->iface] >= 0;
    free(c);
}

int tap_manager_reflect(uint16_t iface, bool on)
{
    struct reflect_call c = {iface, on};

    return manager_ask(ROLE_TAP_MANAGER, reflect_call_run, &c, sizeof c);
}

int tap_manager_sync(void)
{
    return mailbox_call(ROLE_TAP_MANAGER, NULL, NULL, NULL, CALL_MS);
}
