// SPDX-License-Identifier: BSD-3-Clause
// answer.h - answers for the tester's addresses: ARP (RFC 826) and neighbor solicitations (RFC
// 4861, 7.2.4)
//
// So a device needs no permanent neighbors. Pure: a request becomes its answer in place, with the
// same length.
#ifndef BENCH_THROUGHPUT_ANSWER_H
#define BENCH_THROUGHPUT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

// If the frame is a request for `own[0]` (IPv4) or `own[1]` (IPv6; families may be IP_NONE), turns
// it into the answer with `mac` and returns true.
bool neighbor_answer(uint8_t *frame, size_t bytes, const uint8_t mac[6],
                     const struct ip_addr own[2]);

#endif
