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

struct watch_filter;

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
    bool flows;       // the sample of flows: all interfaces of devices
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

// watch_filter.c: filter expressions (pcap-filter(7)) as programs that forwarders run. libpcap
// compiles the text; DPDK's rte_bpf turns the result into a checked program and, where it can,
// into machine code. Resolving a host name in an expression may take seconds, so libpcap runs on
// its own thread and posts the result to control.
struct rte_bpf;

#define WATCH_FILTER_MAX 1024 // bytes of the expression

struct watch_filter {
    struct rte_bpf *bpf;       // NULL: no expression, everything passes
    uint64_t (*code)(void *m); // machine code, or NULL
};

// Compiles `text` and calls done(ctx, f, why) later. The callee owns f; if f is NULL, `why` is a
// message. Returns 0, or -errno if done will not be called.
int watch_filter_compile(const char *text,
                         void (*done)(void *ctx, struct watch_filter *f, const char *why),
                         void *ctx);
void watch_filter_free(struct watch_filter *f); // no forwarder may run it any more; NULL is allowed

#endif
