// SPDX-License-Identifier: BSD-3-Clause
// tap_mirror.c - see tap_mirror.h
// Writes one batch of each mirror per round, so that busy mirrors do not delay packets of the
// control plane. A frame that a TAP rejects, because its reader is too slow, is missed.
#include "tap/tap_mirror.h"

#include <linux/virtio_net.h>
#include <sys/uio.h>
#include <unistd.h>

#include "table/watch.h"

#define BATCH 32

static struct {
    bool used;
    int fd;
} mirrors[WATCH_MAX];
static unsigned n_mirrors;

void tap_mirror_set(unsigned watch, int fd)
{
    if (mirrors[watch].used) {
        close(mirrors[watch].fd);
        n_mirrors--;
    }
    mirrors[watch].used = fd >= 0;
    mirrors[watch].fd = fd;
    n_mirrors += fd >= 0;
}

static bool write_slot(int fd, struct watch_slot *s)
{
    struct virtio_net_hdr header = {0};
    struct iovec iov[2] = {{&header, sizeof header}, {s->data, s->kept}};

    return writev(fd, iov, 2) >= 0;
}

static unsigned write_batch(unsigned watch)
{
    struct watch_count *c = &watch_count[thread_slot()][watch];
    struct watch_slot *slot[BATCH];
    unsigned n = watch_take(watch, slot, BATCH);

    for (unsigned i = 0; i < n; i++)
        if (!write_slot(mirrors[watch].fd, slot[i])) {
            c->taken--; // forwarders counted it; readers add up all threads
            c->bytes -= slot[i]->len;
            c->missed++;
        }
    watch_give_back(watch, slot, n);
    return n;
}

unsigned tap_mirror_round(void)
{
    unsigned n = 0;

    for (unsigned i = 0; n_mirrors && i < WATCH_MAX; i++)
        if (mirrors[i].used)
            n += write_batch(i);
    return n;
}

bool tap_mirror_waiting(void)
{
    for (unsigned i = 0; n_mirrors && i < WATCH_MAX; i++)
        if (mirrors[i].used && !rte_ring_empty(watch_table[i].full))
            return true;
    return false;
}

void tap_mirror_end(void)
{
    for (unsigned i = 0; i < WATCH_MAX; i++)
        if (mirrors[i].used)
            tap_mirror_set(i, -1);
}
