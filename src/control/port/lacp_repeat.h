// SPDX-License-Identifier: BSD-3-Clause
// lacp_repeat.h - LACPDUs while control is busy
//
// A commit may keep control from LACP for longer than a partner waits for a LACPDU. So lag_send.c
// leaves the last one of each member with tap_manager, which repeats it when the next is late. Its
// contents still hold: only control changes the state. After REPEAT_MAX repeats control is stuck
// rather than busy, and the partner should notice.
#ifndef PORT_LACP_REPEAT_H
#define PORT_LACP_REPEAT_H

#include <stdint.h>

#include "port/lag_manager.h"

struct lacp_repeat {
    uint16_t port, iface; // of lag_frame_send()
    uint64_t every_ns;    // since the last one; 0: stop
    uint8_t frame[LAG_SLOW_FRAME];
};

// --- control ---
void lacp_repeat_set(const struct lacp_repeat *k); // replaces the port's
uint64_t lacp_repeat_sent(uint16_t port);          // number of repeats since the last call

// --- tap_manager ---
void lacp_repeat_round(uint64_t now_ns); // sends what is due

#endif
