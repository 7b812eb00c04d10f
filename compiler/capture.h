// SPDX-License-Identifier: BSD-3-Clause
// capture.h - reads Ethernet frames of a capture file as a router hook sees them
//
// Used by offline.c. Files of tcpdump, Wireshark and `kamuee capture`.
#ifndef COMPILER_CAPTURE_H
#define COMPILER_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "program/program.h"

#define CAPTURE_FRAME_MAX 65536

struct capture_frame {
    uint64_t number, time; // from 1; nanoseconds
    uint16_t ether_type;   // after VLAN tags
    uint8_t family;        // 4, 6 or 0
    uint32_t length;       // bytes after the EtherType, without padding of IP packets
    uint8_t data[CAPTURE_FRAME_MAX];
};

struct capture;

struct capture *capture_open(const char *path, char *why, size_t n); // NULL, and `why`
bool capture_next(struct capture *c, struct capture_frame *f);       // false: end of file
void capture_close(struct capture *c);

#endif
