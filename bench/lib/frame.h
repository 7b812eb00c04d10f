// SPDX-License-Identifier: BSD-3-Clause
// frame.h - headers of the frames that measuring programs make
#ifndef BENCH_LIB_FRAME_H
#define BENCH_LIB_FRAME_H

#include <stdint.h>

#define FRAME_LINE 64u // bytes of a frame that are made beforehand: Ethernet, IP, UDP and some more

// To the router (02:00:00:01:00:00), which all ports answer to. Returns what follows the addresses.
uint8_t *frame_ether(uint8_t *p);
// An IPv4 header of a UDP datagram, `bytes` long in all; TTL 64, checksum right.
void frame_ip4(uint8_t *ip, unsigned bytes, const void *src_be, const void *dst_be);

#endif
