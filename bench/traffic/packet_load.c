// SPDX-License-Identifier: BSD-3-Clause
// packet_load.c - sends packets into a router by one veth and counts them at its output by another
//
// One thread on one core does both, so that the router has the others: it sends a burst by sendmmsg
// when one is due, and meanwhile empties the receiving ring, which costs no system call. Sending
// bypasses the queueing discipline. Prints one JSON object.
//
//     packet_load --send NS%DEV --receive NS%DEV --to ROUTER-MAC --source A --destination B
//                 [--destinations N] [--bytes 64] [--rate PPS] [--seconds S] [--cpu N]
//
// --bytes includes the frame check sequence: 64 means 60 here.
#include <errno.h>
#include <string.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "lib/report.h"
#include "throughput/arrival.h"
#include "traffic/load.h"
#include "traffic/receive_ring.h"

#define BURST 32
#define REST_NS (200 * NS_PER_MS) // without packets: the trial has ended
#define SOL_PACKET_LEVEL 263

static double rate, seconds = 1;
static unsigned frame_bytes = FRAME_SIZE_MIN, n_destinations = 256;

static uint8_t frames[BURST][1518];
static struct iovec vector[BURST];
static struct mmsghdr message[BURST];

static _Noreturn void die(const char *what)
{
    bench_fail("%s: %s", what, strerror(errno));
}

// --- receiving ---

// Counts the frames in the ring; returns their number.
static unsigned ring_drain(struct receive_ring *r, struct arrival *a)
{
    const struct tpacket2_hdr *h;
    unsigned n = 0;

    for (; (h = receive_ring_first(r)) != NULL; receive_ring_next(r), n++) {
        uint32_t number;

        if (load_read((const uint8_t *)h + h->tp_mac, h->tp_snaplen, &number))
            arrival_note(a, arrival_number(a, number));
    }
    return n;
}

// --- sending ---

static void send_open(int fd)
{
    int on = 1;

    if (setsockopt(fd, SOL_PACKET_LEVEL, PACKET_QDISC_BYPASS, &on, sizeof(on)))
        die("PACKET_QDISC_BYPASS");
    for (unsigned i = 0; i < BURST; i++) {
        vector[i] = (struct iovec){frames[i], load_plan.bytes[0]};
        message[i].msg_hdr = (struct msghdr){.msg_iov = &vector[i], .msg_iovlen = 1};
    }
}

static unsigned send_burst(int fd, uint64_t seq, unsigned n)
{
    int sent;

    for (unsigned i = 0; i < n; i++)
        stream_write(&load, &load_plan, frames[i], seq + i, 0);
    sent = sendmmsg(fd, message, n, MSG_DONTWAIT);
    // A full device queue or socket buffer is backpressure, not loss: the packet counts when it is
    // sent.
    if (sent < 0 && errno != EAGAIN && errno != ENOBUFS)
        die("sending");
    return sent < 0 ? 0 : (unsigned)sent;
}

// Packets due by now, at most a burst.
static unsigned packets_due(uint64_t elapsed_ns, uint64_t sent)
{
    uint64_t wanted;

    if (rate <= 0)
        return BURST;
    wanted = (uint64_t)((double)elapsed_ns * rate / NS_PER_SECOND);
    return wanted <= sent ? 0 : wanted - sent > BURST ? BURST : (unsigned)(wanted - sent);
}

static void sleep_ns(uint64_t ns)
{
    struct timespec t = {0, (long)ns};

    nanosleep(&t, NULL);
}

static void result_report(const struct arrival *a, uint64_t sent, double sending_s)
{
    report_begin(true);
    report_number("target_pps", 0, rate);
    report_number("offered_pps", 0, (double)sent / sending_s);
    report_number("received_pps", 0, (double)a->received / sending_s);
    report_number("sent", 0, (double)sent);
    report_number("received", 0, (double)a->received);
    report_number("lost", 0, (double)sent - (double)a->received);
    report_number("reordered", 0, (double)a->reordered);
    report_number("seconds", 6, sending_s);
    report_end();
}

static void load_run(int out, struct receive_ring *in)
{
    static struct arrival a;
    static uint64_t first, refused, lost_in_all;
    struct slices all = {&first, &refused, &lost_in_all, .n = 1, .cap = 1};
    uint64_t sent = 0, begun = clock_now_ns(), now = begun, last,
             end = begun + (uint64_t)(seconds * NS_PER_SECOND);

    arrival_begin(&a, &all);
    while (now < end) {
        unsigned n = packets_due(now - begun, sent);

        if (n)
            sent += send_burst(out, sent, n);
        else if (!ring_drain(in, &a) && rate < 40000)
            sleep_ns(10 * NS_PER_US); // slow load: leave the core to others
        ring_drain(in, &a);
        now = clock_now_ns();
    }
    double sending_s = (double)(now - begun) / NS_PER_SECOND;
    for (last = now; now - last < REST_NS && a.received < sent; now = clock_now_ns()) {
        if (ring_drain(in, &a))
            last = now;
        else
            sleep_ns(NS_PER_MS);
    }
    result_report(&a, sent, sending_s);
}

static const struct bench_option options[] = {
    LOAD_OPTIONS, LOAD_RECEIVER_OPTIONS,
    OPTION_NUMBER("destinations", &n_destinations, 1, 0),
    OPTION_NUMBER("bytes", &frame_bytes, FRAME_SIZE_MIN, 1518), OPTION_REAL("rate", &rate),
    OPTION_REAL("seconds", &seconds), {0}};

int main(int argc, char **argv)
{
    struct receive_ring ring;
    int out, in;

    bench_options(argc, argv, options, NULL);
    bench_check(
        load_is_complete() && load_to.device[0] && load_destination.family,
        "needs --send NS%%DEV --receive NS%%DEV --to ROUTER-MAC --source A --destination B");
    load_plan.bytes[0] = (uint16_t)(frame_bytes - FRAME_FCS);
    load_set_destinations(load_destination.ip4, n_destinations);
    out = load_open();
    send_open(out);
    in = netns_packet_socket(&load_to, ETH_P_IP, NULL);
    receive_ring_open(&ring, in);
    load_pin();
    load_run(out, &ring);
    return 0;
}
