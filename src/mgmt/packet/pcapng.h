// SPDX-License-Identifier: BSD-3-Clause
// pcapng.h - writes frames as a pcapng file (draft-ietf-opsawg-pcapng) into a text
//
// DPDK's rte_pcapng has only one interface per port, waits until a file takes its output, and in
// 22.11 has no comments; so the three block types that a capture needs are written here. Host byte
// order, as the format allows. Any thread; no state.
#ifndef PACKET_PCAPNG_H
#define PACKET_PCAPNG_H

#include <stdint.h>

#include "base/text.h"

enum pcapng_direction { PCAPNG_UNKNOWN, PCAPNG_IN, PCAPNG_OUT };

struct pcapng_packet {
    uint32_t interface; // number, in the order of pcapng_interface()
    uint64_t time_ns;   // since 1970
    const void *data;
    uint32_t kept, len; // bytes of `data`, bytes of the frame
    enum pcapng_direction direction;
    uint64_t missed;     // frames lost since the previous one
    const char *comment; // NULL = none
};

void pcapng_begin(struct text *t, const char *application);
void pcapng_interface(struct text *t, const char *name, const char *description,
                      const char *filter /* "" = none */, uint32_t snap);
void pcapng_packet(struct text *t, const struct pcapng_packet *p);

#endif
