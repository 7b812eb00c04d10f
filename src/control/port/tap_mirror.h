// SPDX-License-Identifier: BSD-3-Clause
// tap_mirror.h - writes mirrored frames from forwarders' slots into TAPs
//
// tap_manager.c's helper; only its thread calls it.
#ifndef PORT_TAP_MIRROR_H
#define PORT_TAP_MIRROR_H

#include <stdbool.h>

void tap_mirror_set(unsigned watch, int fd); // takes the fd; -1: no more of this watch
unsigned tap_mirror_round(void);             // writes a bounded number of frames; their number
bool tap_mirror_waiting(void);               // there are frames to write
void tap_mirror_end(void);

#endif
