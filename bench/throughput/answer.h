// SPDX-License-Identifier: BSD-3-Clause
// answer.h - the tester answers for its addresses: ARP (RFC 826) and neighbor solicitations (RFC
// 4861, 7.2.4)
//
// So that a device needs no permanent neighbors. Pure: a question becomes its answer in place, of
// the same length.
#ifndef BENCH_THROUGHPUT_ANSWER_H
#define BENCH_THROUGHPUT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

// Is it a question for `own[0]` (IPv4) or `own[1]` (IPv6; their families may be IP_NONE)? Then it
// is now the answer with `mac`.
bool neighbor_answer(uint8_t *frame, size_t bytes, const uint8_t mac[6],
                     const struct ip_addr own[2]);

#endif
