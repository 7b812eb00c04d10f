// SPDX-License-Identifier: BSD-3-Clause
// kernel_state.h - what Linux has been told that is not followed here, although it changes where
// packets go
//
// Few at a time. Who finds one says so, and says when it is over; alarm and audit tell it
// (docs/features/kernel-state.md). Control role.
#ifndef PORT_KERNEL_STATE_H
#define PORT_KERNEL_STATE_H

struct kernel_state {
    char subject[32];   // the interface, or the virtual router
    char attribute[10]; // "master"
    char sentence[280]; // what it is, and the remedy
};

// NULL: it is not so (any more). Logged when that is news.
void kernel_state_set(const char *subject, const char *attribute, const char *sentence);
void kernel_state_forget(const char *subject); // it is gone, with all that was wrong with it
void kernel_state_each(void (*fn)(void *ctx, const struct kernel_state *s), void *ctx);

#endif
