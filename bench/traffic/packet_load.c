// SPDX-License-Identifier: BSD-3-Clause
// packet_load.c - sends packets into a router by one veth and counts them behind it by another
//
// One thread on one core does both, so that the router has the others: it sends
// a burst by sendmmsg when the clock says that one is due, and meanwhile empties
// the receiving ring, which costs no system call. Sending passes the queueing
// discipline by. Prints one JSON object (load.h).
//
//     packet_load --send NS%DEV --receive NS%DEV --to ROUTER-MAC --source A --destination B
//                 [--destinations N] [--bytes 64] [--rate PPS] [--seconds S] [--cpu N]
//
// --bytes counts the frame check sequence as the field does: 64 means 60 here.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "lib/bench.h"
#include "lib/report.h"
#include "traffic/load.h"
#include "traffic/netns.h"

#define BURST 32
#define RING_FRAME 2048
#define RING_BLOCK (1 << 16)
#define RING_BLOCKS 1024 // 64 MiB, 32768 frames
#define REST_NS (200 * NS_PER_MS) // without a packet: the trial is over
#define SOL_PACKET_LEVEL 263

struct ring {
    uint8_t *map;
    unsigned at, n;
};

static struct load_packet load = {.n_destinations = 256, .bytes = LOAD_FRAME_MIN};
static struct netns_place from, to;
static double rate, seconds = 1;
static int cpu = -1;
static unsigned frame_bytes = 64;

static uint8_t frames[BURST][LOAD_FRAME_MAX];
static struct iovec vector[BURST];
static struct mmsghdr message[BURST];

static _Noreturn void die(const char *what)
{
    bench_fail("%s: %s", what, strerror(errno));
}

// --- receiving ---

static void ring_open(struct ring *r, int fd)
{
    struct tpacket_req q = {.tp_block_size = RING_BLOCK, .tp_block_nr = RING_BLOCKS,
                            .tp_frame_size = RING_FRAME,
                            .tp_frame_nr = RING_BLOCK / RING_FRAME * RING_BLOCKS};
    int version = TPACKET_V2;

    if (setsockopt(fd, SOL_PACKET_LEVEL, PACKET_VERSION, &version, sizeof(version)) ||
        setsockopt(fd, SOL_PACKET_LEVEL, PACKET_RX_RING, &q, sizeof(q)))
        die("receive ring");
    r->map = mmap(NULL, (size_t)RING_BLOCK * RING_BLOCKS, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_POPULATE, fd, 0);
    if (r->map == MAP_FAILED)
        die("mapping the receive ring");
    r->at = 0;
    r->n = q.tp_frame_nr;
}

// Counts what lies in the ring; number of frames.
static unsigned ring_drain(struct ring *r, struct load_count *c)
{
    unsigned n = 0;

    for (;;) {
        struct tpacket2_hdr *h = (void *)(r->map + (size_t)r->at * RING_FRAME);
        uint64_t seq;

        // acquire: partner is the kernel's barrier before it hands the frame over
        if (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
            return n;
        if (load_read((uint8_t *)h + h->tp_mac, h->tp_snaplen, &seq))
            load_receive(c, seq);
        __atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        r->at = r->at + 1 == r->n ? 0 : r->at + 1;
        n++;
    }
}

// --- sending ---

static void send_open(int fd)
{
    int on = 1;

    if (setsockopt(fd, SOL_PACKET_LEVEL, PACKET_QDISC_BYPASS, &on, sizeof(on)))
        die("PACKET_QDISC_BYPASS");
    for (unsigned i = 0; i < BURST; i++) {
        vector[i] = (struct iovec){frames[i], load.bytes};
        message[i].msg_hdr = (struct msghdr){.msg_iov = &vector[i], .msg_iovlen = 1};
    }
}

static unsigned send_burst(int fd, uint64_t seq, unsigned n)
{
    int sent;

    for (unsigned i = 0; i < n; i++)
        load_write(&load, frames[i], seq + i);
    sent = sendmmsg(fd, message, n, MSG_DONTWAIT);
    // A full device queue or socket buffer is backpressure, not loss: the packet counts when it has
    // gone.
    if (sent < 0 && errno != EAGAIN && errno != ENOBUFS)
        die("sending");
    return sent < 0 ? 0 : (unsigned)sent;
}

// Packets that ought to have gone by now, at most a burst.
static unsigned due(uint64_t elapsed_ns, uint64_t sent)
{
    uint64_t wanted;

    if (rate <= 0)
        return BURST;
    wanted = (uint64_t)((double)elapsed_ns * rate / NS_PER_SECOND);
    return wanted <= sent ? 0 : wanted - sent > BURST ? BURST : (unsigned)(wanted - sent);
}

static void rest(uint64_t ns)
{
    struct timespec t = {0, (long)ns};

    nanosleep(&t, NULL);
}

static void run(int out, struct ring *in)
{
    struct load_count c = {0};
    uint64_t begun = clock_now_ns(), end = begun + (uint64_t)(seconds * NS_PER_SECOND), now = begun,
             last, sending;

    while (now < end) {
        unsigned n = due(now - begun, c.sent);

        if (n)
            c.sent += send_burst(out, c.sent, n);
        else if (!ring_drain(in, &c) && rate < 40000)
            rest(10 * NS_PER_US); // slow load: leave the core to others
        ring_drain(in, &c);
        now = clock_now_ns();
    }
    sending = now - begun;
    for (last = now; now - last < REST_NS && c.received < c.sent; now = clock_now_ns()) {
        if (ring_drain(in, &c))
            last = now;
        else
            rest(NS_PER_MS);
    }
    load_print(&c, (double)sending / NS_PER_SECOND, rate);
}

static void read_sender(const char *text)
{
    netns_parse(text, &from);
}

static void read_receiver(const char *text)
{
    netns_parse(text, &to);
}

static void read_router_mac(const char *text)
{
    load_parse_mac(text, load.dst_mac);
}

static void read_source(const char *text)
{
    load.src = load_parse_ip4(text);
}

static void read_destination(const char *text)
{
    load.dst = load_parse_ip4(text);
}

static void read_cpu(const char *text)
{
    cpu = atoi(text);
}

static const struct bench_option options[] = {
    OPTION_CALL("send", read_sender), OPTION_CALL("receive", read_receiver),
    OPTION_CALL("to", read_router_mac), OPTION_CALL("source", read_source),
    OPTION_CALL("destination", read_destination),
    OPTION_NUMBER("destinations", &load.n_destinations, 1, 0),
    OPTION_NUMBER("bytes", &frame_bytes, 64, 1518), OPTION_REAL("rate", &rate),
    OPTION_REAL("seconds", &seconds), OPTION_CALL("cpu", read_cpu), {0}};

int main(int argc, char **argv)
{
    struct ring ring;
    int out, in;

    bench_options(argc, argv, options, NULL);
    bench_check(
        from.device[0] && to.device[0] && load.src && load.dst,
        "needs --send NS%%DEV --receive NS%%DEV --to ROUTER-MAC --source A --destination B");
    load.bytes = frame_bytes - 4;
    out = netns_packet_socket(&from, 0, NULL); // protocol 0: this socket receives nothing
    netns_mac(out, &from, load.src_mac);
    send_open(out);
    in = netns_packet_socket(&to, ETH_P_IP, NULL);
    ring_open(&ring, in);
    netns_pin(cpu);
    run(out, &ring);
    return 0;
}
