// SPDX-License-Identifier: BSD-3-Clause
// neigh_feed.h - ring that tells control of resolved, failed and removed neighbors
//
// rib_manager writes, control reads, neither waits. When the ring is full, entries are dropped and
// counted. Nothing is written unless control wants it.
#ifndef RIB_NEIGH_FEED_H
#define RIB_NEIGH_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"

#define NEIGH_FEED_ROOM 1024 // rows; a power of two

enum neigh_change { NEIGH_RESOLVED = 1, NEIGH_FAILED, NEIGH_GONE };

struct neigh_news {
    uint16_t vr;
    uint8_t change; // enum neigh_change
    uint8_t mac[6]; // if resolved
    char iface[16];
    struct ip_addr addr;
};

// --- writer: rib_manager ---
struct neigh;
void neigh_feed_look(struct neigh *n); // its state may have changed
void neigh_feed_gone(struct neigh *n); // its record is about to be freed

// --- reader: control ---
void neigh_feed_want(bool on); // clears the ring
bool neigh_feed_take(struct neigh_news *row);
uint64_t neigh_feed_missed(void); // since the last call

#endif
