// SPDX-License-Identifier: BSD-3-Clause
// gpu_fixture.h - for path tests: an emulated GPU for the rig's forwarders, numbered frames
#ifndef GPU_PATH_FIXTURE_H
#define GPU_PATH_FIXTURE_H

#include "harness.h"

#include <stdio.h>
#include <time.h>

#include "core/rcu.h"
#include "gpu/stage.h"

#define LONG_US 1000000u
#define LONG_MS 10000u

static struct gpu_use *use;
static uint16_t out, out2;
static unsigned number; // number of the next frame

static void pause_ms(unsigned ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000l}, NULL);
}

static void copies_arrive(void)
{
    for (unsigned k = 0;; k++) {
        router_role(ROLE_RIB_MANAGER);
        if (!use->lookaside.work(&use->lookaside))
            return;
        if (k == 2000)
            fail_msg("the copies have not arrived within 2 s");
        rig_step(0); // completes earlier batches
        pause_ms(1);
    }
}

// An emulated device gets the lookups of the default virtual router.
static void gpu_on(uint32_t max_latency_us, uint32_t timeout_ms)
{
    const struct gpu_settings s = {.name = "g",
                                   .device = GPU_EMULATED,
                                   .max_latency_us = max_latency_us,
                                   .timeout_ms = timeout_ms,
                                   .always = true,
                                   .n_vrs = 1,
                                   .vr = {VR_DEFAULT}};
    char err[256] = "";

    router_role(ROLE_CONTROL);
    if (gpu_use_open(&use, &s, err, sizeof err) || gpu_use_mirror(use, err, sizeof err))
        fail_msg("%s", err);
    use->rest_tsc = UINT64_MAX / 2; // no grace period unless the test asks for one
    copies_arrive();
    router_role(ROLE_CONTROL);
    rcu_publish(&lookaside_published, &use->lookaside);
}

static void gpu_off(void)
{
    router_role(ROLE_CONTROL);
    rcu_publish(&lookaside_published, NULL);
    use->rest_tsc = 0;
    for (unsigned i = 0; i < RIG_FORWARDERS; i++)
        rig_step(i); // releases it
    router_role(ROLE_CONTROL);
    gpu_use_close(use);
    use = NULL;
}

static inline int teardown(void **state)
{
    if (use)
        gpu_off();
    return rig_teardown(state);
}

// Sends n frames to `dst` on port 0, numbered by their UDP source port. A packet with options is
// not plain.
static inline void send_n(unsigned n, const char *dst, unsigned options)
{
    for (unsigned i = 0; i < n; i++) {
        struct frame f =
            frame_ip(&(struct ip_spec){.src = strchr(dst, ':') ? "2001:db8::9" : "192.0.2.1",
                                       .dst = dst,
                                       .sport = (uint16_t)(1000 + number++),
                                       .options = options});
        rig_send(0, &f);
    }
}

static inline unsigned number_of(struct frame *f)
{
    const uint8_t *ip = frame_l3(f);
    const uint8_t *udp = ip[0] >> 4 == 6 ? ip + 40 : ip + (ip[0] & 15) * 4;

    return (unsigned)(udp[0] << 8 | udp[1]) - 1000;
}

// Number of frames that left by port 1 since then; asserts that they are in order from `first` on.
static inline unsigned received_in_order(unsigned first)
{
    struct frame f;
    unsigned n = 0;

    for (; rig_receive(1, &f); n++)
        if (number_of(&f) != first + n)
            fail_msg("frame %u came as number %u", number_of(&f), first + n);
    return n;
}

static inline struct gpu_count sum(void)
{
    struct gpu_count c;

    gpu_use_sum(use, &c);
    return c;
}

static inline uint64_t held(void)
{
    struct ledger l;

    ledger_read(&l, 1);
    assert_int_equal(l.imbalance, 0);
    return l.held;
}

// Steps until the device has answered everything.
static inline void answered(void)
{
    for (unsigned k = 0; use->parked[0].n; k++) {
        if (k == 2000)
            fail_msg("%u bursts still wait after 2 s", use->parked[0].n);
        rig_step(0);
        if (use->parked[0].n)
            pause_ms(1);
    }
}

#endif
