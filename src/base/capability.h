// SPDX-License-Identifier: BSD-3-Clause
// capability.h - the kernel's capabilities that this process has (capabilities(7))
//
// Ask here before an action that needs one, so that the error names the capability rather than
// "Operation not permitted". docs/features/rights.md lists what needs which.
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

// As at the first question: nobody takes one from us, or gives us one, while we run.
bool capability_is_held(enum capability c);
// 0; or -EPERM and "CAP_X is missing, which WHAT needs: …".
int capability_check(enum capability c, const char *what, char *err, size_t err_size);

// May a driver lock as much memory as it likes? Else as capability_check().
int capability_check_locking(const char *what, char *err, size_t err_size);

#endif
