// SPDX-License-Identifier: BSD-3-Clause
// kept_engine.c - see kept_engine.h
#include "queue/kept_engine.h"


#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_sched.h>

#include "lib/bench.h"
#include "queue/queue.h"

#define WAITING_BYTES (512 * KEPT_FRAME)
#define BATCH 64u
#define PIPE_QUEUE 512u

static struct rte_mempool *pool;
static char client_place[KEPT_CLIENTS]; // their addresses stand for packets

void kept_init(struct rte_mempool *p)
{
    pool = p;
}

const char *kept_name(unsigned engine)
{
    return kept_engine[engine].name;
}

// --- ours ----------------------------------------------------------------------------------------

static struct queue_manager *ours;

static struct queue_client_config client_of(enum kept_case which, uint64_t rate_bps, unsigned i)
{
    struct queue_client_config c = {.weight = 1, .limit_bytes = WAITING_BYTES};

    c.class[0] = (struct queue_class_config){.weight = 1, .limit_bytes = WAITING_BYTES};
    if (which == KEPT_RATE) {
        c.guarantee_bps = rate_bps / 20;
    } else if (which == KEPT_SHARE) {
        c.weight = (uint8_t)(1u << i);
    } else {
        c.guarantee_bps = i ? 0 : rate_bps / 10;
        c.weight = i ? QUEUE_WEIGHT_MAX : 0;
    }
    return c;
}

static void ours_make(enum kept_case which, uint64_t rate_bps)
{
    const struct queue_config config = {
        rte_get_tsc_hz(), rate_bps, KEPT_CLIENTS, 1u << 14, KEPT_FRAME};

    ours = queue_make(&config);
    bench_check(ours, "no memory");
    for (unsigned i = 0; i < KEPT_CLIENTS; i++) {
        struct queue_client_config c = client_of(which, rate_bps, i);

        bench_check(!queue_configure(ours, (uint16_t)i, &c, 0), "a client is refused");
    }
}

static bool ours_put(unsigned i, uint64_t now)
{
    struct queue_packet p = {&client_place[i], KEPT_FRAME, (uint16_t)i, 0, 0, 0};
    uint8_t refusal;

    return queue_put(ours, &p, 1, now, &refusal);
}

static unsigned ours_take(unsigned *client, unsigned n, uint64_t now)
{
    void *packet[BATCH];
    uint8_t verdict[BATCH];

    n = queue_take(ours, now, packet, verdict, n < BATCH ? n : BATCH);
    for (unsigned i = 0; i < n; i++)
        client[i] = (unsigned)((char *)packet[i] - client_place);
    return n;
}

static void ours_end(void)
{
    queue_free(ours, NULL, NULL);
}

// --- rte_sched -----------------------------------------------------------------------------------

static struct rte_sched_port *sched;

static uint64_t cap_of(enum kept_case which, uint64_t rate, unsigned i)
{
    if (which == KEPT_SHARE)
        return rate * (1u << i) / 255;
    if (which == KEPT_DELAY)
        return i ? rate * 9 / 10 / (KEPT_CLIENTS - 1) : rate / 10;
    return rate / KEPT_CLIENTS;
}

static void pipes_fill(struct rte_sched_pipe_params *pipe, enum kept_case which, uint64_t rate)
{
    for (unsigned i = 0; i < KEPT_CLIENTS; i++) {
        pipe[i] = (struct rte_sched_pipe_params){.tb_rate = cap_of(which, rate, i),
                                                 .tb_size = 2 * KEPT_FRAME,
                                                 .tc_period = 10,
                                                 .tc_ov_weight = 1};
        for (unsigned c = 0; c < RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE; c++)
            pipe[i].tc_rate[c] = pipe[i].tb_rate;
        for (unsigned q = 0; q < RTE_SCHED_BE_QUEUES_PER_PIPE; q++)
            pipe[i].wrr_weights[q] = 1;
    }
}

static void sched_make(enum kept_case which, uint64_t rate_bps)
{
    struct rte_sched_pipe_params pipe[KEPT_CLIENTS];
    struct rte_sched_subport_profile_params share = {
        .tb_rate = rate_bps / 8, .tb_size = 20000, .tc_period = 10};
    struct rte_sched_subport_params subport = {.n_pipes_per_subport_enabled = KEPT_CLIENTS,
                                               .pipe_profiles = pipe,
                                               .n_pipe_profiles = KEPT_CLIENTS,
                                               .n_max_pipe_profiles = KEPT_CLIENTS};
    struct rte_sched_port_params params = {.name = "kept",
                                           .rate = rate_bps / 8,
                                           .mtu = KEPT_FRAME,
                                           .n_subports_per_port = 1,
                                           .n_subport_profiles = 1,
                                           .n_max_subport_profiles = 1,
                                           .subport_profiles = &share,
                                           .n_pipes_per_subport = KEPT_CLIENTS};

    pipes_fill(pipe, which, rate_bps / 8);
    for (unsigned c = 0; c < RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE; c++) {
        share.tc_rate[c] = rate_bps / 8;
        subport.qsize[c] = PIPE_QUEUE;
    }
    sched = rte_sched_port_config(&params);
    bench_check(sched && !rte_sched_subport_config(sched, 0, &subport, 0), "rte_sched is refused");
    for (unsigned i = 0; i < KEPT_CLIENTS; i++)
        bench_check(!rte_sched_pipe_config(sched, 0, i, (int)i), "a pipe is refused");
}

static bool sched_put(unsigned i, uint64_t now)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

    (void)now;
    if (!m)
        return false;
    m->data_len = m->pkt_len = KEPT_FRAME;
    *(unsigned *)rte_mbuf_to_priv(m) = i;
    rte_sched_port_pkt_write(sched, m, 0, i, RTE_SCHED_TRAFFIC_CLASS_BE, 0, RTE_COLOR_GREEN);
    return rte_sched_port_enqueue(sched, &m, 1); // it frees packets that it refuses
}

static unsigned sched_take(unsigned *client, unsigned n, uint64_t now)
{
    struct rte_mbuf *m[BATCH];

    (void)now;
    n = (unsigned)rte_sched_port_dequeue(sched, m, n < BATCH ? n : BATCH);
    for (unsigned i = 0; i < n; i++)
        client[i] = *(unsigned *)rte_mbuf_to_priv(m[i]);
    rte_pktmbuf_free_bulk(m, n);
    return n;
}

static void sched_end(void)
{
    rte_sched_port_free(sched); // with waiting packets
}

const struct kept_engine kept_engine[KEPT_ENGINES] = {
    {"kamuee", false, ours_make, ours_put, ours_take, ours_end},
    {"rte_sched", true, sched_make, sched_put, sched_take, sched_end},
};
