// SPDX-License-Identifier: BSD-3-Clause
// watch_filter.h - filter expressions (pcap-filter(7)) as programs that forwarders run
//
// libpcap compiles the text; DPDK's rte_bpf turns the result into a checked program and, where it
// can, into machine code. A host name in an expression is looked up, which may take seconds: so
// libpcap runs on a thread of its own and posts the result to control. Called for captures; control
// role.
#ifndef PORT_WATCH_FILTER_H
#define PORT_WATCH_FILTER_H

#include <stdint.h>

struct rte_bpf;

#define WATCH_FILTER_MAX 1024 // bytes of the expression

struct watch_filter {
    struct rte_bpf *bpf;       // NULL: no expression, everything passes
    uint64_t (*code)(void *m); // machine code, or NULL
};

// Compiles `text` and calls done(ctx, f, why) later: f is the callee's to free; NULL: `why` is a
// sentence. 0, or -errno: done is not called.
int watch_filter_compile(const char *text,
                         void (*done)(void *ctx, struct watch_filter *f, const char *why),
                         void *ctx);
void watch_filter_free(struct watch_filter *f); // no forwarder runs it any more; may be NULL

#endif
