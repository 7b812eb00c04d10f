// SPDX-License-Identifier: BSD-3-Clause
// tap_mirror.h - mirrored frames on their way from forwarders' slots into TAPs; tap_manager's
// helper and its thread's alone
#ifndef PORT_TAP_MIRROR_H
#define PORT_TAP_MIRROR_H

#include <stdbool.h>

void tap_mirror_set(unsigned watch, int fd); // fd: its own from now on; -1: no more of this watch
unsigned tap_mirror_round(void);             // writes a bounded number of frames: how many
bool tap_mirror_waiting(void);               // there are frames to write
void tap_mirror_end(void);

#endif
