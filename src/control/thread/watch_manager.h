// SPDX-License-Identifier: BSD-3-Clause
// watch_manager.h - which frames are watched: adding and deleting captures, mirrors and samplers
//
// Writes table/watch.h and the watch words of struct port, and updates both when ports come and go.
// Called by captures, mirror_manager.c and the export of flows; control role.
#ifndef THREAD_WATCH_MANAGER_H
#define THREAD_WATCH_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/watch.h"
#include "thread/watch_filter.h"

struct watch_spec {
    unsigned points;    // bits of enum watch_point
    char port[16];      // only this port, "" = any
    char interface[16]; // only this interface, "" = any
    char vr[32];        // only interfaces of this virtual router, "" = any
    enum watch_to to;
    char to_port[16];
    // WATCH_TO_SLOTS:
    uint32_t snap;
    unsigned n_slots; // a power of two
    bool wakes;       // tap_manager reads
    uint32_t every;   // at rx: samples one packet in `every`, 0 = takes all
    uint8_t sample;   // only interfaces whose policy has this bit of enum iface_sample
};

// Starts a watch, which owns `filter` from then on. Returns its index, or -errno with a message in
// `err` (then the caller still owns the filter): -ENOENT no such port, interface or virtual router,
// -EBUSY too many watches.
int watch_manager_add(const struct watch_spec *spec, struct watch_filter *filter, char *err,
                      size_t err_size);
// Ends it: no forwarder uses it any more when this returns. Frames left in its slots are lost.
void watch_manager_del(unsigned index);
// A port, interface or virtual router was added, deleted or reopened.
void watch_manager_port_changed(void);
void watch_manager_vr_renamed(const char *from, const char *to);

#endif
