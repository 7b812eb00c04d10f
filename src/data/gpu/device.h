// SPDX-License-Identifier: BSD-3-Clause
// device.h - a device for lookups: a GPU, or a thread that behaves like one
//
// All that the rest of Kamuee knows of a device. mirror.h fills its memory, queue.h sends it
// batches. After the first error a device is lost: every call returns -ENODEV, `why` describes the
// error, and the device can only be closed. Memory and mailboxes stay valid until then.
//
// Calls may come from several threads, except open and close; calls for a mailbox come from one
// thread.
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/mailbox.h"

struct gpu_device;

struct gpu_device_ops {
    const char *name;
    void (*close)(struct gpu_device *d);
    // zeroed host memory that the device can access; NULL if there is none
    void *(*share)(struct gpu_device *d, size_t bytes);
    void (*unshare)(struct gpu_device *d, void *p);
    // device memory, not zeroed; 0 if there is none
    uint64_t (*alloc)(struct gpu_device *d, size_t bytes);
    void (*free)(struct gpu_device *d, uint64_t at);
    // Copies happen in the order of the calls; `from` may be changed after the return. 0 or an
    // error.
    int (*upload)(struct gpu_device *d, uint64_t at, const void *from, size_t bytes);
    // 1: all copies have happened; 0: not yet; or an error
    int (*copied)(struct gpu_device *d);
    // serves the mailbox until its `stop` is set; stop() sets it and waits
    int (*start)(struct gpu_device *d, struct gpu_mailbox *m);
    void (*stop)(struct gpu_device *d, struct gpu_mailbox *m);
    // 0, or -ENODEV: it has been lost
    int (*error)(struct gpu_device *d);
};

struct gpu_device {
    const struct gpu_device_ops *ops;
    char why[200]; // why it was lost or could not be opened
};

// Opens a GPU of this machine through its vendor's driver (libcuda.so.1). NULL: *why describes the
// reason and the remedy.
struct gpu_device *gpu_open(unsigned number, char *why, size_t n);

// A thread in place of a GPU, for tests and experiments. Its speed tells nothing about a GPU's.
struct gpu_emulated_settings {
    uint64_t latency_ns;   // from request to answer, and of each copy
    unsigned wrong_every;  // every n-th answer is wrong; 0: none
    size_t memory;         // bytes; 0: as much as the host has
};
struct gpu_device *gpu_emulated_open(const struct gpu_emulated_settings *settings);
// Faults at run time: _lose makes it fail as if it had fallen off the bus; while held, it does
// nothing, beginning with the return of gpu_emulated_hold.
void gpu_emulated_lose(struct gpu_device *d);
void gpu_emulated_hold(struct gpu_device *d, int hold);
void gpu_emulated_set(struct gpu_device *d, const struct gpu_emulated_settings *settings);

#endif
