// SPDX-License-Identifier: BSD-3-Clause
// mirror_manager.h - mirrors: what a port receives or sends, or what rules of access lists match,
// once more out of another port or into a TAP
//
// A mirror is a watch (watch_manager.h). A TAP of mirrors is made with the first that leads to it,
// lives in kamueed's own namespace and goes with the last, or with kamueed. Control role.
#ifndef PORT_MIRROR_MANAGER_H
#define PORT_MIRROR_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mirror {
    char port[16];
    unsigned points;  // bits WATCH_RX, WATCH_TX of enum watch_point
    char session[32]; // or its name, for rules (table/acl_target.h); then no port and no points
    char to_port[16]; // "" = to a TAP
    char to_tap[16];
};

int mirror_manager_add(const struct mirror *m, char *err,
                       size_t err_size); // 0, or -errno with a sentence
void mirror_manager_del(const struct mirror *m);
// The i-th mirror and what it has done; false: there are not so many.
struct watch_count;
bool mirror_manager_at(unsigned i, struct mirror *m, struct watch_count *n);

#endif
