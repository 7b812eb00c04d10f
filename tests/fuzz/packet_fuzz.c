// SPDX-License-Identifier: BSD-3-Clause
// packet_fuzz.c - any bytes as a frame, through the whole forwarder
//
// Input: byte 0 chooses port, hardware-stripped tag, checksum flags, and whether the
// frame is given the router's MAC and a right IPv4 checksum, which chance would
// seldom find; byte 1 the size of the segments, byte 2 the tag; the rest is the frame. The router is the one
// of the random-frames test. After each input the ledger must be at 0 with
// nothing inside the router and no buffer missing; sanitizers watch the rest.
#include "random.h"

#include <rte_mbuf.h>
#include <stdlib.h>

const char *__asan_default_options(void);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The tables hang on mapped memory, where the leak checker does not look; missing buffers are found below.
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    if (rig_group_setup(NULL) || rig_setup(NULL))
        abort();
    random_router();
    rig_icmp_rate(1000000, 1000000);
    return 0;
}

static void settle(void)
{
    static struct frame f;

    rig_poll();
    for (struct rte_mbuf *m; (m = rig_held());)
        rig_release(m);
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        while (rig_punted(c, &f, NULL))
            ;
    for (unsigned p = 0; p < RIG_PORTS; p++)
        rig_discard(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct frame f;
    struct ledger l;

    if (size < 4 || size - 3 > FRAME_MAX)
        return 0;
    f.n = (unsigned)(size - 3);
    memcpy(f.b, data + 3, f.n);
    if (data[0] & 16)
        memcpy(f.b, iface_get(port_get(data[0] & 3)->untagged ? port_get(data[0] & 3)->untagged : 1)->mac, 6);
    if (data[0] & 32)
        ip4_fix_checksum(&f);
    unsigned segment = f.n / 64 + 1 + data[1] * 8u; // at most 64 segments
    struct rte_mbuf *m = rig_mbuf(&f, segment > 2048 ? 2048 : segment);
    if (data[0] & 4) {
        m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
        m->vlan_tci = data[2];
    }
    if (data[0] & 8)
        m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
    rig_send_mbuf(data[0] & 3, 0, m);
    settle();
    ledger_read(&l, 2);
    if (l.imbalance || l.held || rig_buffers_in_use())
        abort();
    return 0;
}
