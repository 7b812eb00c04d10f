// SPDX-License-Identifier: BSD-3-Clause
// mirror_manager.h - mirrors: copies of a port's frames, or of packets that access-list rules match
//
// A mirror is a watch (watch_manager.h) whose target is another port or a TAP. A mirror TAP is
// created for its first mirror, lives in kamueed's own namespace and goes with the last mirror or
// with kamueed. Called by the steps of a change; control role.
#ifndef TAP_MIRROR_MANAGER_H
#define TAP_MIRROR_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch_count;

struct mirror {
    char port[16];
    unsigned points;  // bits WATCH_RX, WATCH_TX of enum watch_point
    char session[32]; // of access-list rules (table/acl_target.h): no port, no points
    char to_port[16]; // "": the target is a TAP
    char to_tap[16];
};

// Returns 0, or -errno with a message in `err`.
int mirror_manager_add(const struct mirror *m, char *err, size_t err_size);
void mirror_manager_del(const struct mirror *m);
// Reads the i-th mirror and its counters; false if there are fewer.
bool mirror_manager_at(unsigned i, struct mirror *m, struct watch_count *n);

#endif
