// SPDX-License-Identifier: BSD-3-Clause
// capability.h - the kernel capabilities of this process (capabilities(7))
//
// Check before an action that needs a capability, so that the error names it instead of "Operation
// not permitted". docs/features/rights.md lists the actions and their capabilities.
#ifndef BASE_CAPABILITY_H
#define BASE_CAPABILITY_H

#include <stdbool.h>
#include <stddef.h>

enum capability { // the kernel's numbers
    CAPABILITY_NET_ADMIN = 12,
    CAPABILITY_NET_RAW = 13,
    CAPABILITY_IPC_LOCK = 14,
    CAPABILITY_SYS_ADMIN = 21,
    CAPABILITY_BPF = 39,
};

// Cached at the first call: nobody adds or removes capabilities while we run.
bool capability_is_held(enum capability c);
// 0, or -EPERM and a sentence: the missing capability, `what` needs it, the remedy.
int capability_check(enum capability c, const char *what, char *err, size_t err_size);

// May a driver lock unlimited memory? 0, or an error as in capability_check().
int capability_check_locking(const char *what, char *err, size_t err_size);

#endif
