// SPDX-License-Identifier: BSD-3-Clause
// pcapng.h - frames as a pcapng file (draft-ietf-opsawg-pcapng), into a text
//
// DPDK 22.11's rte_pcapng knows no comments, one interface for each port only, and waits for a file
// to take what it writes; so the three blocks a capture needs are made here. Byte order is this
// machine's, as the format allows. Any thread; no state.
#ifndef FEATURE_PCAPNG_H
#define FEATURE_PCAPNG_H

#include <stdint.h>

#include "base/text.h"

enum pcapng_direction { PCAPNG_UNKNOWN, PCAPNG_IN, PCAPNG_OUT };

struct pcapng_packet {
    uint32_t interface; // its number, in the order of pcapng_interface()
    uint64_t time_ns;   // since 1970
    const void *data;
    uint32_t kept, len; // bytes of data, of the frame
    enum pcapng_direction direction;
    uint64_t missed;     // frames since the one before that are not here
    const char *comment; // NULL = none
};

void pcapng_begin(struct text *t, const char *application);
void pcapng_interface(struct text *t, const char *name, const char *description,
                      const char *filter /* "" = none */, uint32_t snap);
void pcapng_packet(struct text *t, const struct pcapng_packet *p);

#endif
