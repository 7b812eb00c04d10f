// SPDX-License-Identifier: BSD-3-Clause
// label_stack.h - the MPLS labels that a next hop pushes (RFC 3032)
//
// A plain value: unused labels are zero, so equal stacks have equal bytes. Any thread; no state.
#ifndef BASE_LABEL_STACK_H
#define BASE_LABEL_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LABEL_STACK_MAX 8

enum label_ttl { // between the packet's TTL and that of the labels (RFC 3443)
    LABEL_TTL_DEFAULT, // as the sysctl net.mpls.ip_ttl_propagate says
    LABEL_TTL_UNIFORM, // copied
    LABEL_TTL_PIPE     // a TTL of their own
};

struct label_stack {
    uint8_t n;
    bool swaps;       // takes the packet's label off first: next hop of a label, not of a prefix
    uint8_t ttl_mode; // enum label_ttl
    uint8_t ttl;      // of pushed labels with LABEL_TTL_PIPE, 0 = the sysctl net.mpls.default_ttl
    uint32_t label[LABEL_STACK_MAX]; // outermost first
};

static inline bool label_stack_equal(const struct label_stack *a, const struct label_stack *b)
{
    return !memcmp(a, b, sizeof *a);
}

#endif
