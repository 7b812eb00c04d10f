// SPDX-License-Identifier: BSD-3-Clause
// kernel_state.h - Linux settings that change the path of packets and that kamueed does not follow
//
// iface_follow.c and vr_manager.c report them and withdraw them; the alarm kernel-state and the
// audit show them (docs/features/kernel-state.md). Few at a time. Control role.
#ifndef INTERFACE_KERNEL_STATE_H
#define INTERFACE_KERNEL_STATE_H

#include <stdbool.h>

struct kernel_state {
    char subject[32];   // the interface, or the virtual router
    char attribute[10]; // "master"
    char sentence[280]; // the problem and the remedy
};

// Sets the sentence; is: false = the problem is resolved. Logs a new problem.
void kernel_state_set(const char *subject, const char *attribute, bool is, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void kernel_state_forget(const char *subject); // the subject is deleted
void kernel_state_each(void (*fn)(void *ctx, const struct kernel_state *s), void *ctx);

#endif
