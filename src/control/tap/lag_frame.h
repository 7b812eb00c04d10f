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

#endif
