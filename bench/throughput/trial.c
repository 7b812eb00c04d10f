// SPDX-License-Identifier: BSD-3-Clause
// trial.c - see trial.h
#include "throughput/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "throughput/answer.h"

#define CLOCK_BITS 16 // of a cycle's fraction: 2^48 cycles are more than a day
#define FLOOD_BURST 32
#define NUMBERS 0x8000u
#define AWAY_US 50

static double ns_of(uint64_t cycles)
{
    return (double)cycles * 1e9 / (double)rte_get_tsc_hz();
}

// --- beginning ---

static void set_rate(struct direction *d, double rate, uint64_t elapsed)
{
    d->interval = rate > 0 ? (uint64_t)((double)rte_get_tsc_hz() / rate * (1 << CLOCK_BITS)) : 0;
    d->due_at = elapsed << CLOCK_BITS;
}

static void begin_direction(struct trial *t, unsigned from, const struct trial_spec *spec)
{
    struct direction *d = &t->direction[from];
    struct slices *s = &d->slices;

    memset(s->refused, 0, s->cap * sizeof(*s->refused));
    memset(s->lost, 0, s->cap * sizeof(*s->lost));
    s->n = s->at = 0;
    d->sent = d->refused = d->skipped = 0;
    d->received_bytes = d->corrupted = d->foreign = d->unseen = 0;
    d->quiet = d->came_at = 0;
    d->latency_before = 0;
    d->number_before = UINT64_MAX - 1; // no predecessor
    arrival_begin(&d->arrival, s);
    histogram_clear(&d->latency);
    histogram_clear(&d->jitter);
    set_rate(d, spec->rate, 0);
    stream_begin(&d->stream, (uint16_t)(t->number << 1 | from));
}

// --- sending ---

// Bursts use the transmit queues in turn, each with its own destinations.
static void next_queue(struct stream *s)
{
    s->queue = s->queue + 1 < s->queues ? s->queue + 1 : 0;
}

// Number of packets that are due, at most a burst.
static unsigned packets_due(struct direction *d, uint64_t elapsed, const struct trial_spec *spec)
{
    uint64_t now = elapsed << CLOCK_BITS, n;

    if (!d->interval)
        return FLOOD_BURST;
    if (now < d->due_at)
        return 0;
    n = (now - d->due_at) / d->interval + 1;
    d->due_at += n * d->interval;
    if (n > spec->burst) {
        d->skipped += n - spec->burst;
        n = spec->burst;
    }
    return (unsigned)n;
}

static unsigned within_count(const struct direction *d, unsigned n, uint64_t count)
{
    uint64_t tried = d->sent + d->refused;

    if (!count || tried + n <= count)
        return n;
    return tried < count ? (unsigned)(count - tried) : 0;
}

// `elapsed`: cycles since the start of the trial.
static void note_slice(struct slices *s, uint64_t number, uint64_t elapsed, uint64_t slice)
{
    while (s->n < s->cap && elapsed >= s->n * slice)
        s->first[s->n++] = number;
}

static void note_refused(struct direction *d, unsigned n)
{
    d->refused += n;
    d->slices.refused[d->slices.n - 1] += n;
}

static void send_burst(struct trial *t, unsigned from, unsigned n, const struct trial_spec *spec)
{
    struct direction *d = &t->direction[from];
    struct rte_mbuf *m[TRIAL_BURST_MAX];
    uint64_t now;
    uint16_t taken;

    if (rte_pktmbuf_alloc_bulk(t->pool, m, n)) { // all buffers wait in a ring of the port
        note_refused(d, n);
        return;
    }
    now = rte_rdtsc();
    for (unsigned i = 0; i < n; i++) {
        uint8_t *frame = rte_pktmbuf_mtod(m[i], uint8_t *);
        uint16_t bytes = stream_write(&d->stream, &spec->plan, frame, d->sent + i, now);

        m[i]->data_len = bytes;
        m[i]->pkt_len = bytes;
    }
    taken = rte_eth_tx_burst(t->port[from], (uint16_t)d->stream.queue, m, (uint16_t)n);
    next_queue(&d->stream);
    for (unsigned i = taken; i < n; i++)
        rte_pktmbuf_free(m[i]);
    d->sent += taken;
    if (taken < n)
        note_refused(d, n - taken);
}

// --- receiving ---

static void note_latency(struct direction *d, uint64_t number, uint64_t latency)
{
    histogram_note(&d->latency, latency);
    if (number == d->number_before + 1)
        histogram_note(&d->jitter, latency > d->latency_before ? latency - d->latency_before
                                                               : d->latency_before - latency);
    d->latency_before = latency;
    d->number_before = number;
}

// Whether it is a test frame of this trial.
static bool frame_take(const struct trial *t, struct direction *d, const struct rte_mbuf *m,
                       uint64_t now)
{
    struct mark mark;
    enum frame_is is =
        frame_read(rte_pktmbuf_mtod(m, const uint8_t *), rte_pktmbuf_data_len(m), &mark);
    uint64_t number;

    if (is == FRAME_FOREIGN || mark.trial != d->stream.trial) {
        d->foreign++;
        return false;
    }
    number = arrival_number(&d->arrival, mark.number);
    if (is == FRAME_CORRUPT || number >= d->sent) {
        d->corrupted++;
        return true;
    }
    if (!arrival_note(&d->arrival, number))
        return true;
    d->received_bytes += m->pkt_len + FRAME_FCS;
    if (mark.tsc < t->back_at)
        d->unseen++;
    else
        note_latency(d, number, now - mark.tsc);
    return true;
}

// Port `p` answers ARP and neighbor solicitations for its addresses.
static void answer_burst(struct trial *t, unsigned p, struct rte_mbuf **m, uint16_t n)
{
    const struct stream *own = &t->direction[p].stream;

    for (uint16_t i = 0; i < n; i++) {
        if (!neighbor_answer(rte_pktmbuf_mtod(m[i], uint8_t *), rte_pktmbuf_data_len(m[i]),
                             own->src_mac, own->src))
            continue;
        rte_mbuf_refcnt_update(m[i], 1);
        if (!rte_eth_tx_burst(t->port[p], 0, &m[i], 1))
            rte_mbuf_refcnt_update(m[i], -1);
    }
}

// After each received burst and each round of the loop.
static void note_away(struct trial *t, uint64_t now)
{
    uint64_t away = now - t->polled_at;

    if (away > t->away)
        t->away = away;
    if (away > rte_get_tsc_hz() / 1000000 * AWAY_US)
        t->back_at = now;
    t->polled_at = now;
}

static void receive_burst(struct trial *t, unsigned from)
{
    struct direction *d = &t->direction[from];
    struct rte_mbuf *m[TRIAL_BURST_MAX];
    uint16_t n = rte_eth_rx_burst(t->port[!from], 0, m, TRIAL_BURST_MAX);
    uint64_t now;

    if (!n)
        return;
    now = rte_rdtsc();
    note_away(t, now);
    if (d->came_at && now - d->came_at > d->quiet)
        d->quiet = now - d->came_at;
    d->came_at = now;
    for (uint16_t i = 0; i < n; i++) {
        if (i + 4 < n)
            rte_prefetch0(rte_pktmbuf_mtod(m[i + 4], void *));
        if (!frame_take(t, d, m[i], now))
            answer_burst(t, !from, &m[i], 1);
    }
    rte_pktmbuf_free_bulk(m, n);
}

static bool all_came(const struct trial *t)
{
    for (unsigned from = 0; from < DIRECTIONS; from++)
        if (t->direction[from].arrival.received < t->direction[from].sent)
            return false;
    return true;
}

// Until all packets have arrived, or none has for a while.
static void trial_drain(struct trial *t, unsigned wait_ms)
{
    uint64_t wait = rte_get_tsc_hz() / 1000 * wait_ms, last = rte_rdtsc(), before = 0, now;

    do {
        uint64_t received = 0;

        note_away(t, rte_rdtsc());
        for (unsigned from = 0; from < DIRECTIONS; from++) {
            receive_burst(t, from);
            received += t->direction[from].arrival.received;
        }
        now = rte_rdtsc();
        if (received != before)
            last = now;
        before = received;
    } while (!all_came(t) && now - last < wait);
}

// --- the result ---

static void print_live(struct trial *t, uint64_t now)
{
    uint64_t sent = 0, received = 0, lost = 0;

    if (now < t->seconds_at)
        return;
    t->seconds_at += rte_get_tsc_hz();
    for (unsigned from = 0; from < DIRECTIONS; from++) {
        const struct direction *d = &t->direction[from];

        sent += d->sent;
        received += d->arrival.received;
        lost += d->arrival.lost;
    }
    printf("{\"live\": %.3f, \"sent\": %" PRIu64 ", \"received\": %" PRIu64 ", \"lost\": %" PRIu64
           "}\n",
           ns_of(now - t->begun) / 1e9, sent, received, lost);
    fflush(stdout);
}

static void print_all_steps(const struct histogram *h)
{
    const char *separator = "";

    printf(", \"steps\": [");
    for (uint32_t step = 0; step < HISTOGRAM_STEPS; step++) {
        if (!h->count[step])
            continue;
        printf("%s[%.0f, %" PRIu64 "]", separator, ns_of(histogram_value(step)), h->count[step]);
        separator = ", ";
    }
    printf("]");
}

static void print_histogram(const char *name, const struct histogram *h, bool all)
{
    static const struct {
        const char *name;
        double percent;
    } point[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}};

    printf(", \"%s\": {\"n\": %" PRIu64, name, h->n);
    if (h->n) {
        printf(", \"min\": %.0f, \"mean\": %.0f, \"max\": %.0f", ns_of(h->min),
               ns_of(h->sum) / (double)h->n, ns_of(h->max));
        for (unsigned i = 0; i < RTE_DIM(point); i++)
            printf(", \"%s\": %.0f", point[i].name,
                   ns_of(histogram_percentile(h, point[i].percent)));
        if (all)
            print_all_steps(h);
    }
    printf("}");
}

// [[start of the slice in seconds, packets sent in it that never arrived, packets refused in it],
// …]
static void print_lost_at(const struct slices *s, unsigned slice_ms)
{
    const char *separator = "";

    printf(", \"lost_at\": [");
    for (uint32_t i = 0; i < s->n; i++) {
        if (!s->lost[i] && !s->refused[i])
            continue;
        printf("%s[%.3f, %" PRIu64 ", %" PRIu64 "]", separator, i * slice_ms / 1e3, s->lost[i],
               s->refused[i]);
        separator = ", ";
    }
    printf("]");
}

static void print_direction(const struct trial *t, unsigned from, const struct trial_spec *spec)
{
    const struct direction *d = &t->direction[from];
    const struct arrival *a = &d->arrival;
    double seconds = ns_of(t->sending) / 1e9;

    printf("{\"from\": %u, \"offered_pps\": %.1f, \"received_pps\": %.1f, \"sent\": %" PRIu64
           ", \"received\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"duplicated\": %" PRIu64
           ", \"reordered\": %" PRIu64 ", \"late\": %" PRIu64,
           from, (double)d->sent / seconds, (double)a->received / seconds, d->sent, a->received,
           a->lost, a->duplicated, a->reordered, a->late);
    printf(", \"unseen\": %" PRIu64 ", \"corrupted\": %" PRIu64 ", \"foreign\": %" PRIu64
           ", \"refused\": %" PRIu64 ", \"skipped\": %" PRIu64 ", \"received_bytes\": %" PRIu64
           ", \"quiet_ms\": %.3f, \"last_at\": %.3f",
           d->unseen, d->corrupted, d->foreign, d->refused, d->skipped, d->received_bytes,
           ns_of(d->quiet) / 1e6, d->came_at ? ns_of(d->came_at - t->begun) / 1e9 : 0.0);
    print_lost_at(&d->slices, spec->slice_ms);
    print_histogram("latency_ns", &d->latency, spec->histogram);
    print_histogram("jitter_ns", &d->jitter, spec->histogram);
    printf("}");
}

static void print_result(const struct trial *t, const struct trial_spec *spec)
{
    const char *separator = "";

    printf("{\"trial\": %u, \"intended_pps\": %.1f, \"seconds\": %.6f, \"away_us\": %.1f, "
           "\"directions\": [",
           t->number, spec->rate, ns_of(t->sending) / 1e9, ns_of(t->away) / 1e3);
    for (unsigned from = 0; from < DIRECTIONS; from++) {
        if (!spec->from[from])
            continue;
        printf("%s", separator);
        print_direction(t, from, spec);
        separator = ", ";
    }
    printf("]}\n");
    fflush(stdout);
}

// --- the loop ---

// Discards packets from before the trial, but answers ARP and neighbor solicitations.
static void throw_away_what_waits(struct trial *t)
{
    struct rte_mbuf *m[TRIAL_BURST_MAX];

    for (unsigned p = 0; p < DIRECTIONS; p++)
        for (uint16_t n; (n = rte_eth_rx_burst(t->port[p], 0, m, TRIAL_BURST_MAX));) {
            answer_burst(t, p, m, n);
            rte_pktmbuf_free_bulk(m, n);
        }
}

// After its peer went away, a memif reconnects only when it is started.
static void links_reconnect(struct trial *t, uint64_t now)
{
    if (now < t->link_at)
        return;
    t->link_at = now + rte_get_tsc_hz() / 20;
    for (unsigned p = 0; p < DIRECTIONS; p++) {
        struct rte_eth_link link = {.link_status = RTE_ETH_LINK_UP};

        if (t->starts_anew[p] && !rte_eth_link_get_nowait(t->port[p], &link) && !link.link_status) {
            rte_eth_dev_stop(t->port[p]);
            rte_eth_dev_start(t->port[p]); // fails until the peer is there
        }
    }
}

// Sends for `duration` cycles from `elapsed` on; returns the elapsed time afterwards.
static uint64_t send_phase(struct trial *t, const struct trial_spec *spec, uint64_t elapsed,
                      uint64_t duration)
{
    uint64_t end = elapsed + duration, slice = rte_get_tsc_hz() / 1000 * spec->slice_ms;
    bool more = true;

    while (more && elapsed < end) {
        more = !spec->count;
        for (unsigned from = 0; from < DIRECTIONS; from++) {
            struct direction *d = &t->direction[from];
            unsigned n = spec->from[from] ? packets_due(d, elapsed, spec) : 0;

            n = within_count(d, n, spec->count);
            note_slice(&d->slices, d->sent, elapsed, slice);
            if (n)
                send_burst(t, from, n, spec);
            receive_burst(t, from);
            more |= spec->from[from] && d->sent + d->refused < spec->count;
        }
        elapsed = rte_rdtsc() - t->begun;
        note_away(t, t->begun + elapsed);
        links_reconnect(t, t->begun + elapsed);
        if (spec->live)
            print_live(t, t->begun + elapsed);
    }
    return elapsed;
}

void trial_run(struct trial *t, const struct trial_spec *spec)
{
    double hz = (double)rte_get_tsc_hz();

    throw_away_what_waits(t);
    t->number = (uint16_t)((t->number + 1) % NUMBERS);
    t->away = 0;
    for (unsigned from = 0; from < DIRECTIONS; from++)
        begin_direction(t, from, spec);
    t->begun = rte_rdtsc();
    t->polled_at = t->back_at = t->begun;
    t->seconds_at = t->link_at = t->begun + rte_get_tsc_hz();
    t->sending = send_phase(t, spec, 0, (uint64_t)(spec->seconds * hz));
    if (spec->then_seconds > 0) {
        for (unsigned from = 0; from < DIRECTIONS; from++)
            set_rate(&t->direction[from], spec->then_rate, t->sending);
        t->sending = send_phase(t, spec, t->sending, (uint64_t)(spec->then_seconds * hz));
    }
    trial_drain(t, spec->wait_ms);
    for (unsigned from = 0; from < DIRECTIONS; from++)
        arrival_end(&t->direction[from].arrival, t->direction[from].sent);
    print_result(t, spec);
}
