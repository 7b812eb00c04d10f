// SPDX-License-Identifier: BSD-3-Clause
// device.h - something that looks up and classifies for us: a GPU, or a thread that acts like one
//
// What the rest of Kamuee may know of a device. mirror.h fills its memory, queue.h sends it
// batches. After the first error a device is lost: every call returns -ENODEV and `why` says what
// happened; it can only be closed. Memory and mailboxes stay valid until then.
//
// Calls may come from several threads, but open and close alone, and each mailbox's from one.
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/mailbox.h"

struct gpu_device;

struct gpu_device_ops {
    const char *name;
    void (*close)(struct gpu_device *d);
    // zeroed memory of the host that the device sees; NULL if there is none
    void *(*share)(struct gpu_device *d, size_t bytes);
    void (*unshare)(struct gpu_device *d, void *p);
    // memory of the device, not zeroed; 0 if there is none
    uint64_t (*alloc)(struct gpu_device *d, size_t bytes);
    void (*free)(struct gpu_device *d, uint64_t at);
    // Copies happen in the order of the calls; `from` may be changed on return. 0 or an error.
    int (*upload)(struct gpu_device *d, uint64_t at, const void *from, size_t bytes);
    // *mark: for gpu_passed
    int (*mark)(struct gpu_device *d, uint64_t *mark);
    // 1: all copies before the mark have happened; 0: not yet; or an error
    int (*passed)(struct gpu_device *d, uint64_t mark);
    // serves the mailbox until its `stop`, which stop() sets and waits for
    int (*start)(struct gpu_device *d, struct gpu_mailbox *m);
    void (*stop)(struct gpu_device *d, struct gpu_mailbox *m);
    // one batch of a mailbox that is not being served, whose request has been written
    int (*launch)(struct gpu_device *d, struct gpu_mailbox *m, uint32_t place);
    // 0, or -ENODEV: it has been lost
    int (*error)(struct gpu_device *d);
};

struct gpu_device {
    const struct gpu_device_ops *ops;
    char why[200]; // it was lost, or could not be opened
};

// A GPU of this machine, through its vendor's driver (libcuda.so.1). NULL: *why says why not, and
// what to do.
struct gpu_device *gpu_open(unsigned number, char *why, size_t n);

// A thread in a GPU's place, for tests and for trying out. Its speed says nothing of a GPU's.
struct gpu_emulated_settings {
    uint64_t latency_ns;   // from request to answer, and of each copy
    unsigned wrong_every;  // each n-th answer is wrong; 0: none
    size_t memory;         // bytes; 0: as much as the host has
};
struct gpu_device *gpu_emulated_open(const struct gpu_emulated_settings *settings);
// Meanwhile: as if it had fallen off the bus; and it does nothing while it is held, from the return
// of that call on.
void gpu_emulated_lose(struct gpu_device *d);
void gpu_emulated_hold(struct gpu_device *d, int hold);
void gpu_emulated_set(struct gpu_device *d, const struct gpu_emulated_settings *settings);

#endif
