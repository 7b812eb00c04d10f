// SPDX-License-Identifier: BSD-3-Clause
// tester.c - an RFC 2544 tester: sends into a device under test and receives from it
//
// Two DPDK ports and one thread, which spins. The ports may be any that DPDK drives: memif, vhost
// (net_virtio_user), af_packet, a NIC. They stay connected between trials: commands are lines on
// standard input, answers are lines of JSON. The first is {"ready": …}; then
//
//     port N to=MAC source=ADDRESS source=ADDRESS6 destinations=FILE
//         frames of port N: the device's MAC, our addresses, destinations one per line; answers
//         {"port": …}
//     trial rate=PPS seconds=S [then_rate=PPS then_seconds=S] [count=N] [from=0|1|both]
//           [sizes=64,1518,…] [percent6=P] [burst=32] [slice_ms=1000] [wait_ms=200] [live=1]
//           [histogram=1]
//         rates per direction, sizes with FCS, used in turn; answers the result
//         (trial.c:print_result), after a line {"live": …} per second with live=1
//
// An error in a line is answered by {"error": "…"}; the end of standard input ends the program.
//
//     tester EAL-OPTIONS -- [--frame-max 1518] [--link-wait SECONDS] [--queues 1]
//
// --queues: number of transmit queues per port, matching the receive queues of the device; a
// destination always uses the same queue.
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "base/text.h"
#include "throughput/trial.h"

#define DESCRIPTORS 1024
#define BUFFERS 8191
#define LINE_MAX_BYTES 8192

static struct trial trial;
static unsigned frame_max = 1518, link_wait_s = 10, queues = 1;

static void die(const char *what)
{
    rte_exit(1, "tester: %s\n", what);
}

static bool line_refuse(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    printf("{\"error\": \"");
    vprintf(format, args);
    printf("\"}\n");
    va_end(args);
    return false;
}

// --- ports ---

static void buffer_zero(struct rte_mempool *pool, void *arg, void *buffer, unsigned i)
{
    struct rte_mbuf *m = buffer;

    (void)pool, (void)arg, (void)i;
    memset(m->buf_addr, 0, m->buf_len);
}

static struct rte_mempool *make_pool(const char *name)
{
    unsigned room = RTE_PKTMBUF_HEADROOM + RTE_MAX(2048u, frame_max + 64u);
    struct rte_mempool *pool =
        rte_pktmbuf_pool_create(name, BUFFERS, 256, 0, (uint16_t)room, SOCKET_ID_ANY);

    if (!pool)
        die("no memory for packets: give DPDK more (-m MEGABYTES)");
    rte_mempool_obj_iter(pool, buffer_zero, NULL);
    return pool;
}

static bool is_memif(uint16_t p)
{
    struct rte_eth_dev_info info = {0};

    return !rte_eth_dev_info_get(p, &info) && !strcmp(info.driver_name, "net_memif");
}

static void open_port(uint16_t p, struct rte_mempool *pool)
{
    struct rte_eth_conf conf = {0};
    uint16_t rx = DESCRIPTORS, tx = DESCRIPTORS;

    if (rte_eth_dev_configure(p, 1, (uint16_t)queues, &conf) ||
        rte_eth_dev_adjust_nb_rx_tx_desc(p, &rx, &tx) ||
        rte_eth_rx_queue_setup(p, 0, rx, SOCKET_ID_ANY, NULL, pool))
        die("cannot set up a queue of a port");
    for (uint16_t q = 0; q < queues; q++)
        if (rte_eth_tx_queue_setup(p, q, tx, SOCKET_ID_ANY, NULL))
            die("a port has fewer transmit queues than --queues");
    if (frame_max > 1518 && rte_eth_dev_set_mtu(p, (uint16_t)(frame_max - 18)))
        fprintf(stderr, "tester: port %u does not accept MTU %u\n", p, frame_max - 18);
    if (rte_eth_dev_start(p))
        die("cannot start a port");
    rte_eth_promiscuous_enable(p); // fails if the port has no such mode
}

static void open_ports(void)
{
    struct rte_mempool *pool;
    uint16_t p;
    unsigned n = 0;

    if (rte_eth_dev_count_avail() != DIRECTIONS)
        die("needs two ports: --vdev net_memif0,… --vdev net_memif1,…, or -a PCI-ADDRESS twice");
    trial.pool = make_pool("send");
    pool = make_pool("receive");
    RTE_ETH_FOREACH_DEV(p)
    {
        open_port(p, pool);
        trial.starts_anew[n] = is_memif(p);
        trial.port[n++] = p;
    }
}

static void wait_connected(void)
{
    uint64_t end = rte_rdtsc() + link_wait_s * rte_get_tsc_hz();

    for (unsigned i = 0; i < DIRECTIONS; i++) {
        struct rte_eth_link l = {0};

        while (rte_eth_link_get_nowait(trial.port[i], &l) || l.link_status != RTE_ETH_LINK_UP) {
            if (rte_rdtsc() > end)
                die("a port has no link: is the device under test running and connected?");
            rte_delay_us_sleep(1000);
        }
    }
}

static void make_directions(void)
{
    for (unsigned i = 0; i < DIRECTIONS; i++) {
        struct direction *d = &trial.direction[i];
        struct rte_ether_addr mac;

        rte_eth_macaddr_get(trial.port[i], &mac);
        memcpy(d->stream.src_mac, mac.addr_bytes, 6);
        d->stream.queues = queues;
        d->slices.cap = TRIAL_SLICES_MAX;
        d->slices.first = calloc(d->slices.cap, sizeof(uint64_t));
        d->slices.refused = calloc(d->slices.cap, sizeof(uint64_t));
        d->slices.lost = calloc(d->slices.cap, sizeof(uint64_t));
        if (!d->slices.first || !d->slices.refused || !d->slices.lost)
            die("no memory for the slices of a trial");
    }
}

static void say_ready(void)
{
    char mac[DIRECTIONS][MAC_TEXT_MAX];

    for (unsigned i = 0; i < DIRECTIONS; i++)
        text_format_mac(trial.direction[i].stream.src_mac, mac[i]);
    printf("{\"ready\": true, \"tsc_hz\": %" PRIu64 ", \"macs\": [\"%s\", \"%s\"]}\n",
           rte_get_tsc_hz(), mac[0], mac[1]);
}

// --- words of a line: name=value ---

static bool take_source(struct stream *s, const char *text)
{
    struct ip_addr a;

    if (ip_parse(text, &a))
        return line_refuse("source=%s is not an address", text);
    s->src[a.family == IP6] = a;
    return true;
}

static bool take_port_word(struct stream *s, const char *name, const char *value)
{
    if (!strcmp(name, "to"))
        return !text_parse_mac(value, s->dst_mac) ||
               line_refuse("to=%s is not a MAC address", value);
    if (!strcmp(name, "source"))
        return take_source(s, value);
    if (!strcmp(name, "destinations"))
        return !stream_read_destinations(s, value) ||
               line_refuse("destinations=%s cannot be read, or has a line that is not an address",
                      value);
    return line_refuse("unknown port parameter %s", name);
}

static bool take_sizes(struct frame_plan *plan, const char *text)
{
    plan->n_sizes = 0;
    while (*text) {
        char *end;
        unsigned long size = strtoul(text, &end, 10);

        if (end == text || (*end && *end != ',') || size < FRAME_SIZE_MIN || size > frame_max ||
            plan->n_sizes == FRAME_SIZES_MAX)
            return line_refuse(
                "sizes: expected up to %u sizes of %u to %u bytes, separated by commas",
                FRAME_SIZES_MAX, FRAME_SIZE_MIN, frame_max);
        plan->bytes[plan->n_sizes++] = (uint16_t)(size - FRAME_FCS);
        text = *end ? end + 1 : end;
    }
    return plan->n_sizes || line_refuse("sizes: none given");
}

static bool take_from(struct trial_spec *spec, const char *text)
{
    bool both = !strcmp(text, "both");

    spec->from[0] = both || !strcmp(text, "0");
    spec->from[1] = both || !strcmp(text, "1");
    return spec->from[0] || spec->from[1] || line_refuse("from=%s: expected 0, 1 or both", text);
}

static bool take_trial_word(struct trial_spec *spec, const char *name, const char *value)
{
    double number = strtod(value, NULL);
    struct {
        const char *name;
        double *real;
        unsigned *whole;
        bool *yes;
    } word[] = {{"rate", &spec->rate, NULL, NULL}, {"seconds", &spec->seconds, NULL, NULL},
                {"then_rate", &spec->then_rate, NULL, NULL},
                {"then_seconds", &spec->then_seconds, NULL, NULL},
                {"burst", NULL, &spec->burst, NULL}, {"slice_ms", NULL, &spec->slice_ms, NULL},
                {"wait_ms", NULL, &spec->wait_ms, NULL},
                {"percent6", NULL, &spec->plan.percent6, NULL}, {"live", NULL, NULL, &spec->live},
                {"histogram", NULL, NULL, &spec->histogram}};

    if (!strcmp(name, "sizes"))
        return take_sizes(&spec->plan, value);
    if (!strcmp(name, "from"))
        return take_from(spec, value);
    if (!strcmp(name, "count")) {
        spec->count = strtoull(value, NULL, 10);
        return true;
    }
    for (unsigned i = 0; i < RTE_DIM(word); i++) {
        if (strcmp(name, word[i].name))
            continue;
        if (word[i].real)
            *word[i].real = number;
        else if (word[i].whole)
            *word[i].whole = (unsigned)number;
        else
            *word[i].yes = number != 0;
        return true;
    }
    return line_refuse("unknown trial parameter %s", name);
}

static bool can_run(const struct trial_spec *spec)
{
    if (spec->seconds <= 0 || spec->rate < 0 || spec->then_rate < 0)
        return line_refuse("a trial needs seconds, and rates of 0 or more");
    if (spec->burst < 1 || spec->burst > TRIAL_BURST_MAX || spec->slice_ms < 1 ||
        spec->plan.percent6 > 100)
        return line_refuse("expected burst 1 to %u, slice_ms 1 or more, percent6 0 to 100",
                      TRIAL_BURST_MAX);
    for (unsigned i = 0; i < DIRECTIONS; i++) {
        const struct stream *s = &trial.direction[i].stream;

        if (spec->from[i] && ((spec->plan.percent6 < 100 && (!s->n_dst4 || !s->src[0].family)) ||
                              (spec->plan.percent6 > 0 && (!s->n_dst6 || !s->src[1].family))))
            return line_refuse("port %u needs a source and destinations for each family to send",
                               i);
    }
    return true;
}

static void port_line(char *rest)
{
    char *save, *word = strtok_r(rest, " ", &save);
    unsigned n = word && !strcmp(word, "1");
    bool good = word && (!strcmp(word, "0") || n);

    if (!good) {
        line_refuse("expected port 0 or port 1");
        return;
    }
    while (good && (word = strtok_r(NULL, " ", &save))) {
        char *value = strchr(word, '=');

        if (value)
            *value++ = 0;
        good = value ? take_port_word(&trial.direction[n].stream, word, value)
                     : line_refuse("%s: expected name=value", word);
    }
    if (good)
        printf("{\"port\": %u, \"destinations4\": %u, \"destinations6\": %u}\n", n,
               trial.direction[n].stream.n_dst4, trial.direction[n].stream.n_dst6);
}

static void trial_line(char *rest)
{
    static struct trial_spec spec;
    char *save;
    bool good = true;

    spec = (struct trial_spec){.burst = 32, .slice_ms = 1000, .wait_ms = 200, .from = {true, false},
                               .plan = {.bytes = {FRAME_SIZE_MIN - FRAME_FCS}, .n_sizes = 1}};
    for (char *word = strtok_r(rest, " ", &save); good && word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');

        if (value)
            *value++ = 0;
        good = value ? take_trial_word(&spec, word, value)
                     : line_refuse("%s: expected name=value", word);
    }
    if (good && can_run(&spec))
        trial_run(&trial, &spec);
}

static void read_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"frame-max", 1, 0, 'f'}, {"link-wait", 1, 0, 'w'}, {"queues", 1, 0, 'q'}, {0, 0, 0, 0}};
    int c;

    optind = 1;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 'f': frame_max = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'w': link_wait_s = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'q': queues = (unsigned)strtoul(optarg, NULL, 10); break;
        default: die("unknown option, expected --frame-max, --link-wait or --queues");
        }
    }
    if (frame_max < 1518 || frame_max > FRAME_SIZE_MAX)
        die("expected --frame-max 1518 to 9618");
    if (queues < 1 || queues > QUEUES_MAX)
        die("expected --queues 1 to 16");
}

int main(int argc, char **argv)
{
    char line[LINE_MAX_BYTES];
    int n = rte_eal_init(argc, argv);

    if (n < 0)
        die("cannot start DPDK with these options");
    read_options(argc - n, argv + n);
    open_ports();
    wait_connected();
    make_directions();
    say_ready();
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\r\n")] = 0;
        if (!strncmp(line, "port ", 5))
            port_line(line + 5);
        else if (!strncmp(line, "trial ", 6))
            trial_line(line + 6);
        else
            line_refuse("expected port or trial");
        fflush(stdout);
    }
    // Ports are not closed: memif (DPDK 22.11) frees memory that DPDK's interrupt thread may still
    // use for the disconnecting peer. The kernel closes sockets, memory and devices.
    _exit(0);
}
