// SPDX-License-Identifier: BSD-3-Clause
// lacp_repeat.h - LACPDUs while control is busy
//
// Control runs LACP, and a commit may hold it for longer than a partner waits for a LACPDU. So the
// last one of each member is left with tap_manager, which sends it again when control is late with
// the next. What it says still holds: nothing changes without control. A control that is silent for
// KEEP_MAX of them is not busy but stuck, and the partner is to know.
#ifndef PORT_LACP_REPEAT_H
#define PORT_LACP_REPEAT_H

#include <stdint.h>

#include "port/lag_manager.h"

struct lacp_repeat {
    uint16_t port, iface; // as of lag_send_frame()
    uint64_t every_ns;    // since the last one; 0: no more
    uint8_t frame[LAG_SLOW_FRAME];
};

// --- control ---
void lacp_repeat_set(const struct lacp_repeat *k);     // in place of what was kept for the port
uint64_t lacp_repeat_sent(uint16_t port);        // so many were, since control asked last

// --- tap_manager ---
void lacp_repeat_round(uint64_t now_ns); // sends what is due

#endif
