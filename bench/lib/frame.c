// SPDX-License-Identifier: BSD-3-Clause
// frame.c - see frame.h
#include "lib/frame.h"

#include <string.h>

#include "base/checksum.h"

uint8_t *frame_ether(uint8_t *p)
{
    memcpy(p, (uint8_t[12]){2, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0}, 12);
    return p + 12;
}

void frame_ip4(uint8_t *ip, unsigned bytes, const void *src_be, const void *dst_be)
{
    memcpy(ip, (uint8_t[12]){0x45, 0, (uint8_t)(bytes >> 8), (uint8_t)bytes, 0, 0, 0x40, 0, 64, 17},
           12);
    memcpy(ip + 12, src_be, 4);
    memcpy(ip + 16, dst_be, 4);
    uint16_t sum = checksum(ip, 20);
    memcpy(ip + 10, &sum, 2);
}
