// SPDX-License-Identifier: BSD-3-Clause
// queue_load.c - sends several flows into a router by one veth and measures them at its output
//
//     queue_load --send NS%DEV --receive NS%DEV --to ROUTER-MAC --source A --destination B
//                [--seconds S] [--window-ms 100] [--cpu N] DSCP:BYTES:PPS...
//
// Each flow is UDP of one size (with the frame check sequence) and DSCP, sent evenly at its rate; 0
// sends as much as possible. The flow's number is the trial in the mark of its frames
// (throughput/frame.h). One thread on one core sends due packets, and meanwhile empties the
// receiving ring. A packet's delay is from just before it is handed to the kernel until the kernel
// received it on the other veth, so it excludes this program's own scheduling; packets of a flow
// that are sent together, because several were due, share a stamp.
//
// Prints one JSON object: per flow sent and received packets, bytes received in each window (of
// frames without their check sequence), and the delays' p50, p99 and maximum.
// frames without their check sequence), and the delays' p50, p99 and maximum.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "lib/report.h"
#include "lib/stat.h"
#include "traffic/load.h"
#include "traffic/receive_ring.h"

#define FLOWS_MAX 16u
#define WINDOWS_MAX 1024u
#define DELAYS_MAX (1u << 18)
#define BURST 16u
#define REST_NS (100 * NS_PER_MS) // after the last packet

struct flow {
    struct stream stream;
    struct frame_plan plan;
    double pps;
    uint64_t sent, received, bytes[WINDOWS_MAX];
    double *delay_us;
    unsigned n_delays;
};

static struct flow flow[FLOWS_MAX];
static unsigned n_flows, window_ms = 100;
static double seconds = 1;
static uint64_t begun; // wall time, like the receiving ring's

static _Noreturn void die(const char *what)
{
    bench_fail("%s: %s", what, strerror(errno));
}

// --- receiving ---

static void packet_count(const struct tpacket2_hdr *h)
{
    const uint64_t at = h->tp_sec * NS_PER_SECOND + h->tp_nsec;
    struct mark mark;

    if (frame_read((const uint8_t *)h + h->tp_mac, h->tp_snaplen, &mark) != FRAME_GOOD ||
        mark.trial / 2 >= n_flows)
        return;
    struct flow *f = &flow[mark.trial / 2];
    uint64_t window = at < begun ? 0 : (at - begun) / (window_ms * NS_PER_MS);
    f->received++;
    if (window < WINDOWS_MAX)
        f->bytes[window] += h->tp_len;
    if (f->n_delays < DELAYS_MAX)
        f->delay_us[f->n_delays++] = ((double)at - (double)mark.tsc) / NS_PER_US;
}

static void ring_drain(struct receive_ring *r)
{
    for (const struct tpacket2_hdr *h; (h = receive_ring_first(r)) != NULL; receive_ring_next(r))
        packet_count(h);
}

// --- sending ---

static unsigned flow_due(const struct flow *f, uint64_t elapsed_ns)
{
    uint64_t wanted;

    if (f->pps <= 0)
        return BURST;
    wanted = (uint64_t)((double)elapsed_ns * f->pps / NS_PER_SECOND);
    return wanted <= f->sent ? 0 : wanted - f->sent > BURST ? BURST : (unsigned)(wanted - f->sent);
}

static void flow_send(int fd, struct flow *f, unsigned n)
{
    static uint8_t frames[BURST][1518];
    struct iovec vector[BURST];
    struct mmsghdr message[BURST] = {0};
    uint64_t now = clock_wall_ns();

    for (unsigned i = 0; i < n; i++) {
        vector[i] = (struct iovec){
            frames[i], stream_write(&f->stream, &f->plan, frames[i], f->sent + i, now)};
        message[i].msg_hdr = (struct msghdr){.msg_iov = &vector[i], .msg_iovlen = 1};
    }
    int sent = sendmmsg(fd, message, n, MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != ENOBUFS)
        die("sending");
    f->sent += sent < 0 ? 0 : (unsigned)sent;
}

static void load_run(int out, struct receive_ring *in)
{
    uint64_t from = clock_now_ns(), now = from,
             end = from + (uint64_t)(seconds * NS_PER_SECOND);

    begun = clock_wall_ns();
    for (; now < end; now = clock_now_ns())
        for (unsigned i = 0; i < n_flows; i++) {
            unsigned n = flow_due(&flow[i], now - from);
            if (n)
                flow_send(out, &flow[i], n);
            ring_drain(in);
            now = clock_now_ns();
        }
    for (end = now + REST_NS; now < end; now = clock_now_ns())
        ring_drain(in);
}

// --- flows and the answer ---

static void flow_read(const char *text)
{
    unsigned dscp, bytes;
    struct flow *f = &flow[n_flows];

    bench_check(n_flows < FLOWS_MAX, "more than %u flows", FLOWS_MAX);
    bench_check(sscanf(text, "%u:%u:%lf", &dscp, &bytes, &f->pps) == 3 && dscp < 64 &&
                    bytes >= FRAME_SIZE_MIN && bytes <= 1518,
                "'%s': expected DSCP:BYTES:PPS", text);
    f->stream = load;
    f->stream.trial = (uint16_t)(2 * n_flows);
    f->plan = (struct frame_plan){.bytes = {(uint16_t)(bytes - FRAME_FCS)}, .n_sizes = 1};
    stream_begin(&f->stream, f->stream.trial);
    f->stream.head4.byte[15] = (uint8_t)(dscp << 2);
    // The sum is of 16-bit words in memory order: the byte is the second of its word.
    uint16_t word;
    memcpy(&word, (uint8_t[2]){0, (uint8_t)(dscp << 2)}, 2);
    f->stream.head4.ip_sum += word;
    f->delay_us = malloc(DELAYS_MAX * sizeof *f->delay_us);
    bench_check(f->delay_us, "no memory for delays");
    n_flows++;
}

static void flow_report(const struct flow *f)
{
    double bytes[WINDOWS_MAX];
    unsigned n = (unsigned)fmin(WINDOWS_MAX, seconds * 1000 / window_ms);

    for (unsigned w = 0; w < n; w++)
        bytes[w] = (double)f->bytes[w];
    report_open(NULL, '{');
    report_number("sent", 0, (double)f->sent);
    report_number("received", 0, (double)f->received);
    report_number("p50_us", 2, stat_quantile(f->delay_us, f->n_delays, 0.5));
    report_number("p99_us", 2, stat_quantile(f->delay_us, f->n_delays, 0.99));
    report_number("max_us", 2, stat_quantile(f->delay_us, f->n_delays, 1));
    report_series("bytes", 0, bytes, n);
    report_close();
}

static const struct bench_option options[] = {
    LOAD_OPTIONS, LOAD_RECEIVER_OPTIONS, OPTION_REAL("seconds", &seconds),
    OPTION_NUMBER("window-ms", &window_ms, 1, 10000), {0}};

int main(int argc, char **argv)
{
    struct receive_ring ring;
    int out, in, first = bench_options(argc, argv, options, "DSCP:BYTES:PPS...");

    bench_check(load_is_complete() && load_to.device[0] && load_destination.family && first < argc,
                "needs --send NS%%DEV --receive NS%%DEV --to ROUTER-MAC --source A --destination B "
                "and flows");
    load_set_destinations(load_destination.ip4, 1);
    out = load_open();
    for (int i = first; i < argc; i++)
        flow_read(argv[i]);
    in = netns_packet_socket(&load_to, ETH_P_IP, NULL);
    receive_ring_open(&ring, in);
    load_pin();
    load_run(out, &ring);
    report_begin(true);
    report_open("flows", '[');
    for (unsigned i = 0; i < n_flows; i++)
        flow_report(&flow[i]);
    report_close();
    report_end();
    return 0;
}
