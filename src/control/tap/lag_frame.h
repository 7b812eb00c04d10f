// SPDX-License-Identifier: BSD-3-Clause
// lag_frame.h - sends a frame through a member of a LAG
//
// The frame goes through the inject ring of the member's forwarder. Any manager may call it:
// lag_send.c does on control, lacp_repeat.c on tap_manager.
#ifndef TAP_LAG_FRAME_H
#define TAP_LAG_FRAME_H

#include <stdint.h>

// Bytes of a LACPDU or marker with its Ethernet header; a forwarder has checked received ones.
#define LAG_SLOW_FRAME 124

// Sends the frame through port `port` on behalf of interface `iface`.
void lag_frame_send(uint16_t port, uint16_t iface, const uint8_t *frame, uint16_t n);

// lacp_repeat.c: repeats LACPDUs while control is busy. A commit may keep control busy for longer
// than a partner waits for a LACPDU. So lag_send.c leaves the last LACPDU of each member with
// tap_manager, which repeats it when the next one is late. Its contents still hold, because only
// control changes the state. After REPEAT_MAX repeats, control is stuck rather than busy, and the
// partner should notice.
struct lacp_repeat {
    uint16_t port, iface; // as for lag_frame_send()
    uint64_t every_ns;    // interval after the last one; 0: stop
    uint8_t frame[LAG_SLOW_FRAME];
};

// --- control ---
void lacp_repeat_set(const struct lacp_repeat *k); // replaces the LACPDU of the port
uint64_t lacp_repeat_sent(uint16_t port);          // number of repeats since the last call

// --- tap_manager ---
void lacp_repeat_round(uint64_t now_ns); // sends LACPDUs that are due

#endif
