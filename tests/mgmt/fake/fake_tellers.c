// SPDX-License-Identifier: BSD-3-Clause
// fake_tellers.c - managers without state: each returns constants, or values set by a test
#include "fake/fake_managers.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "interface/tap_test.h"
#include "interface/vr_manager.h"
#include "lag/lag_manager.h"
#include "netlink/netns_use.h"
#include "port/gpu_manager.h"
#include "port/port_manager.h"
#include "rib/rib_manager.h"
#include "tap/mirror_manager.h"
#include "thread/thread_manager.h"
#include "thread/watch_manager.h"

uint32_t fake_journal_mib, fake_audit_interval_s;
bool fake_journal_fails;
uint64_t fake_link_changes, fake_offload_cut;
int fake_celsius;
bool fake_lag;
unsigned fake_missing;
int fake_readers;
uint64_t fake_waiting;
bool fake_down;
const char *fake_bgp_peer;

// --- rib_manager ---

void rib_manager_set_audit_interval(uint32_t seconds)
{
    fake_audit_interval_s = seconds;
}

int rib_manager_set_journal(uint32_t mib)
{
    if (fake_journal_fails)
        return -ENOMEM;
    fake_journal_mib = mib;
    return 0;
}

void rib_manager_set_receive_buffer(size_t bytes)
{
    text_printf(&fake_calls, "receive-buffer %zu\n", bytes);
}

int netlink_readers(int netns_fd, uint32_t own, struct netlink_reader *r, unsigned max)
{
    bug_on(own != 7);
    for (int i = 0; i < fake_readers; i++)
        r[i] = (struct netlink_reader){.port = 100, .inode = 5, .waiting_bytes = fake_waiting};
    return fake_readers;
}

int bgp_sessions(int netns_fd, struct ip_addr *peer, unsigned max)
{
    return fake_bgp_peer && !ip_parse(fake_bgp_peer, peer);
}

// --- port_manager ---

static void (*link_listener)(const char *port, bool up);

static void (*member_listener)(const char *lag, const char *port, const char *status,
                               const char *reason);

unsigned lag_list(char (*name)[16], unsigned max)
{
    if (fake_lag)
        snprintf(name[0], sizeof *name, "lag0");
    return fake_lag;
}

int lag_state(const char *name, struct lag_state *s)
{
    *s = (struct lag_state){.config = {.name = "lag0", .lag.mode = LAG_MODE_LACP},
                            .n_members = 2,
                            .n_active = 2 - fake_missing,
                            .n_missing = fake_missing};
    return fake_lag ? 0 : -ENOENT;
}

unsigned lag_members(const char *name, struct lag_member_state *m, unsigned max)
{
    m[0] = (struct lag_member_state){
        .name = "p0", .status = "active", .reason = "", .lacp.rx = LACP_RX_CURRENT};
    m[1] = (struct lag_member_state){.name = "p1",
                                     .status = fake_missing ? "inactive" : "active",
                                     .reason = fake_missing ? "link down" : "",
                                     .changes = 7,
                                     .lacp.rx = fake_missing ? LACP_RX_DISABLED : LACP_RX_CURRENT};
    return 2;
}

void lag_on_member(void (*fn)(const char *lag, const char *port, const char *status,
                              const char *reason))
{
    member_listener = fn;
}

void fake_member(const char *port, const char *status, const char *reason)
{
    if (member_listener)
        member_listener("lag0", port, status, reason);
}

const char *lacp_rx_name(enum lacp_rx rx)
{
    return (const char *[]){"disabled", "expired", "defaulted", "current"}[rx];
}

const char *lacp_mux_name(enum lacp_mux mux)
{
    return (const char *[]){"detached", "waiting", "attached", "collecting", "distributing"}[mux];
}

void port_manager_on_link(void (*fn)(const char *port, bool up))
{
    link_listener = fn;
}

void fake_link(const char *port, bool up)
{
    if (link_listener)
        link_listener(port, up);
}

struct counter_offload port_manager_offload(const char *name)
{
    return (struct counter_offload){.cut = fake_offload_cut};
}

bool port_manager_is_down(const char *name)
{
    return fake_down;
}

uint64_t port_manager_link_changes(const char *name)
{
    return fake_link_changes;
}

int port_manager_temperature(const char *name, int *celsius)
{
    *celsius = fake_celsius;
    return fake_celsius ? 0 : -ENODATA;
}

int port_manager_xstats(const char *name, void (*fn)(void *ctx, const char *stat, uint64_t value),
                        void *ctx)
{
    fn(ctx, "rx_good_packets", 1);
    fn(ctx, "tx_good_packets", UINT64_MAX);
    return 0;
}

// --- vr_manager, thread_manager ---

bool vr_manager_has_vrf(const char *netns, uint32_t table)
{
    return true;
}

int vr_manager_netns(uint16_t vr)
{
    return -1;
}

void vr_manager_check_namespaces(void)
{
}

void thread_manager_set_idle(enum idle_mode mode)
{
    text_printf(&fake_calls, "idle %d\n", mode);
}

int thread_manager_port_socket(uint16_t port)
{
    return 1; // the forwarder's is 0
}

unsigned thread_manager_list(struct thread_state *s, unsigned max)
{
    static struct plan plan = {.n_rx = 1, .rx = {{.port = 0, .queue = 1}}};

    bug_on(max < 2);
    s[0] = (struct thread_state){.name = "control",
                                 .role = "control",
                                 .core = -1,
                                 .socket = -1,
                                 .cpu_time_ns = 5,
                                 .forwarder = -1};
    s[1] = (struct thread_state){.name = "forwarder/0",
                                 .role = "forwarder",
                                 .core = 1,
                                 .slot = THREAD_SLOT_FORWARDER,
                                 .plan = &plan};
    return 2;
}

// --- tap_test ---

bool tap_test_step(void)
{
    static bool second;

    second = !second;
    return !second;
}

unsigned tap_test_results(const struct tap_test_result **r)
{
    static const struct tap_test_result result[] = {
        {"p0", "ipv4", "udp", true, ""}, {"p0", "ipv6", "tcp", false, "nothing came back"}};

    *r = result;
    return 2;
}

// --- watch_manager ---

int watch_filter_compile(const char *text,
                         void (*done)(void *ctx, struct watch_filter *f, const char *why),
                         void *ctx)
{
    done(ctx, NULL, "no filter is good enough");
    return 0;
}

void watch_filter_free(struct watch_filter *f)
{
}

int watch_manager_add(const struct watch_spec *spec, struct watch_filter *filter, char *err,
                      size_t err_size)
{
    int r = fake_called(err, err_size, "watch", spec->port);

    return r ? r
             : watch_new(&(struct watch){.to = spec->to, .snap = spec->snap, .port = PORT_NONE},
                         spec->n_slots);
}

void watch_manager_del(unsigned index)
{
    text_printf(&fake_calls, "unwatch\n");
    watch_free(index);
}

// --- mirror_manager ---

int mirror_manager_add(const struct mirror *m, char *err, size_t err_size)
{
    char what[64];

    snprintf(what, sizeof what, "%s %s", m->session[0] ? m->session : m->port,
             m->to_port[0] ? m->to_port : m->to_tap);
    return fake_called(err, err_size, "mirror", what);
}

void mirror_manager_del(const struct mirror *m)
{
    text_printf(&fake_calls, "unmirror %s %s\n", m->session[0] ? m->session : m->port,
                m->to_port[0] ? m->to_port : m->to_tap);
}

bool mirror_manager_at(unsigned i, struct mirror *m, struct watch_count *n)
{
    *m = i ? (struct mirror){.session = "ids", .to_port = "p1"}
           : (struct mirror){.port = "p0", .points = 3, .to_tap = "mon0"};
    *n = (struct watch_count){.taken = 7, .bytes = 700, .missed = 1};
    return i < 2;
}

// --- gpu_manager ---

int gpu_manager_start(const struct gpu_config *c, bool may_lack, char *err, size_t n)
{
    char what[96];

    snprintf(what, sizeof what, "%s device %d for %u", c->name, c->device, c->n_vrs);
    return fake_called(err, n, "gpu", what);
}

void gpu_manager_stop(void)
{
    text_printf(&fake_calls, "no gpu\n");
}

int gpu_manager_reopen(const char *name, char *err, size_t n)
{
    return fake_called(err, n, "gpu reopen", name);
}

void gpu_manager_fault(enum gpu_fault fault)
{
    text_printf(&fake_calls, "gpu fault %s\n", gpu_fault_name[fault]);
}

void gpu_manager_max_latency(uint32_t us)
{
    text_printf(&fake_calls, "gpu max-latency %u\n", us);
}

bool gpu_manager_state(struct gpu_manager_state *s)
{
    static struct gpu_use use = {
        .settings = {.name = "g0", .device = GPU_EMULATED, .always = true, .n_vrs = 1},
        .count = {{.batches = 3, .answered = 150, .by_cpu = {7}, .age = {[20] = 3},
                   .cost = {.cpu = 1100, .gpu = 1300, .measured = 1}}}};

    *s = (struct gpu_manager_state){
        .settings = &use.settings, .status = GPU_STATUS_ON, .why = "", .use = &use};
    return true;
}
