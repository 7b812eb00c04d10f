// SPDX-License-Identifier: BSD-3-Clause
// receive_ring.c - see receive_ring.h
#include "traffic/receive_ring.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "lib/bench.h"

#define FRAME_ROOM 2048u
#define BLOCK_BYTES (1u << 16)
#define BLOCKS 1024u // 64 MiB, 32768 frames
#define SOL_PACKET_LEVEL 263

static _Noreturn void die(const char *what)
{
    bench_fail("%s: %s", what, strerror(errno));
}

void receive_ring_open(struct receive_ring *r, int fd)
{
    struct tpacket_req q = {.tp_block_size = BLOCK_BYTES, .tp_block_nr = BLOCKS,
                            .tp_frame_size = FRAME_ROOM,
                            .tp_frame_nr = BLOCK_BYTES / FRAME_ROOM * BLOCKS};
    int version = TPACKET_V2;

    if (setsockopt(fd, SOL_PACKET_LEVEL, PACKET_VERSION, &version, sizeof(version)) ||
        setsockopt(fd, SOL_PACKET_LEVEL, PACKET_RX_RING, &q, sizeof(q)))
        die("receive ring");
    r->map = mmap(NULL, (size_t)BLOCK_BYTES * BLOCKS, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_POPULATE, fd, 0);
    if (r->map == MAP_FAILED)
        die("mapping the receive ring");
    r->at = 0;
    r->n = q.tp_frame_nr;
}

static struct tpacket2_hdr *place(const struct receive_ring *r)
{
    return (void *)(r->map + (size_t)r->at * FRAME_ROOM);
}

const struct tpacket2_hdr *receive_ring_first(const struct receive_ring *r)
{
    struct tpacket2_hdr *h = place(r);

    // Acquire: partner is the kernel's barrier before it hands over the frame.
    return __atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER ? h : NULL;
}

void receive_ring_next(struct receive_ring *r)
{
    __atomic_store_n(&place(r)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    r->at = r->at + 1 == r->n ? 0 : r->at + 1;
}
