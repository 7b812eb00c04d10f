// SPDX-License-Identifier: BSD-3-Clause
// receive_ring.h - reads frames of a packet socket from a ring shared with the kernel
//
//     while ((h = receive_ring_first(&r))) {
//         ... (const uint8_t *)h + h->tp_mac, h->tp_snaplen bytes; h->tp_sec, h->tp_nsec ...
//         receive_ring_next(&r);
//     }
//
// Reading it costs no system call. One thread.
#ifndef BENCH_TRAFFIC_RECEIVE_RING_H
#define BENCH_TRAFFIC_RECEIVE_RING_H

#include <stdint.h>
#include <linux/if_packet.h>

struct receive_ring {
    uint8_t *map;
    unsigned at, n;
};

void receive_ring_open(struct receive_ring *r, int fd); // or ends the program
const struct tpacket2_hdr *receive_ring_first(const struct receive_ring *r); // NULL = empty
void receive_ring_next(struct receive_ring *r); // the kernel may reuse the first frame's place

#endif
