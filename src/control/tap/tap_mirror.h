// SPDX-License-Identifier: BSD-3-Clause
// tap_mirror.h - writes mirrored frames from the forwarders' slots to TAPs
//
// Used by tap_manager.c; only its thread calls it.
#ifndef TAP_TAP_MIRROR_H
#define TAP_TAP_MIRROR_H

#include <stdbool.h>

void tap_mirror_set(unsigned watch, int fd); // owns the fd; -1: stop this watch
unsigned tap_mirror_round(void);             // writes some frames; returns their number
bool tap_mirror_waiting(void);               // there are frames to write
void tap_mirror_end(void);

#endif
