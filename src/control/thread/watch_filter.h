// SPDX-License-Identifier: BSD-3-Clause
// watch_filter.h - filter expressions (pcap-filter(7)) as programs that forwarders run
//
// libpcap compiles the text; DPDK's rte_bpf turns the result into a checked program and, where it
// can, into machine code. Resolving a host name in an expression may take seconds, so libpcap runs
// on its own thread and posts the result to control. Used for captures; control role.
#ifndef THREAD_WATCH_FILTER_H
#define THREAD_WATCH_FILTER_H

#include <stdint.h>

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
