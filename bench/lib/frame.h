// SPDX-License-Identifier: BSD-3-Clause
// frame.h - frame headers for benchmarks
#ifndef BENCH_LIB_FRAME_H
#define BENCH_LIB_FRAME_H

#include <stdint.h>

#define FRAME_LINE 64u // prepared bytes of a frame: Ethernet, IP, UDP and some more

// To the router (02:00:00:01:00:00), the MAC of all ports. Returns the place after the addresses.
uint8_t *frame_ether(uint8_t *p);
// IPv4 header of a UDP datagram, `bytes` in total; TTL 64, right checksum.
void frame_ip4(uint8_t *ip, unsigned bytes, const void *src_be, const void *dst_be);

#endif
