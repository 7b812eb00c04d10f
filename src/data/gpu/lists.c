// SPDX-License-Identifier: BSD-3-Clause
// lists.c - see lists.h
#include "gpu/lists.h"

#include <errno.h>
#include <stdlib.h>

#define PIECE ((size_t)1 << 20) // of a copy: in between, the device can do other work

struct memory {
    uint64_t at;
    size_t room;
};

struct list {
    // readers; atomic
    bool wanted;
    uint32_t version;
    uint64_t at;
    const struct acl *acl;
    // writer
    struct memory memory[2];
    unsigned current;                 // index of the memory with the image
    uint64_t before[GPU_READERS_MAX]; // batches that may read the other memory
};

struct gpu_lists {
    struct gpu_mirror *mirror;
    struct gpu_device *device;
    struct list *list[GPU_LIST_IDS]; // atomic
    // the copy in progress
    struct list *copying; // NULL: none
    const struct acl *acl;
    uint32_t version; // 0: became stale before it arrived
    uint64_t mark;
    uint64_t bytes, copied_bytes; // atomic
};

static struct list *list_of(const struct gpu_lists *l, uint32_t id)
{
    return __atomic_load_n(&l->list[id], __ATOMIC_ACQUIRE);
}

// --- readers ---

bool gpu_list_is_wanted(const struct gpu_lists *l, uint32_t id)
{
    const struct list *x = list_of(l, id);

    return x != NULL && __atomic_load_n(&x->wanted, __ATOMIC_RELAXED);
}

uint32_t gpu_list_version(const struct gpu_lists *l, uint32_t id)
{
    const struct list *x = list_of(l, id);

    // also after reading the list's data: partner: gpu_list_stale
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return x == NULL ? 0 : __atomic_load_n(&x->version, __ATOMIC_SEQ_CST);
}

uint64_t gpu_list_at(const struct gpu_lists *l, uint32_t id)
{
    return __atomic_load_n(&list_of(l, id)->at, __ATOMIC_SEQ_CST);
}

const struct acl *gpu_list_acl(const struct gpu_lists *l, uint32_t id)
{
    return __atomic_load_n(&list_of(l, id)->acl, __ATOMIC_ACQUIRE);
}

uint64_t gpu_lists_bytes(const struct gpu_lists *l)
{
    return __atomic_load_n(&l->bytes, __ATOMIC_RELAXED);
}

uint64_t gpu_lists_copied_bytes(const struct gpu_lists *l)
{
    return __atomic_load_n(&l->copied_bytes, __ATOMIC_RELAXED);
}

// --- life ---

struct gpu_lists *gpu_lists_new(struct gpu_mirror *m)
{
    struct gpu_lists *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    l->mirror = m;
    l->device = gpu_mirror_device(m);
    return l;
}

void gpu_lists_free(struct gpu_lists *l)
{
    for (unsigned i = 0; l != NULL && i < GPU_LIST_IDS; i++)
        free(l->list[i]);
    free(l);
}

int gpu_list_want(struct gpu_lists *l, uint32_t id, bool wanted)
{
    struct list *x = list_of(l, id);

    if (x == NULL && wanted) {
        x = calloc(1, sizeof(*x));
        if (x == NULL)
            return -ENOMEM;
        __atomic_store_n(&l->list[id], x, __ATOMIC_RELEASE);
    }
    if (x != NULL)
        __atomic_store_n(&x->wanted, wanted, __ATOMIC_RELAXED);
    if (!wanted)
        gpu_list_stale(l, id);
    return 0;
}

// --- the writer ---

void gpu_list_stale(struct gpu_lists *l, uint32_t id)
{
    struct list *x = list_of(l, id);

    if (x == NULL)
        return;
    __atomic_store_n(&x->version, 0, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); // before later changes that readers see
    if (l->copying == x)
        l->version = 0;
}

static int room_make(struct gpu_lists *l, struct memory *m, size_t bytes)
{
    size_t room = bytes + bytes / 2;
    uint64_t at;

    if (m->room >= bytes)
        return 0;
    at = l->device->ops->alloc(l->device, room);
    if (at == 0)
        return -ENOMEM;
    if (m->at != 0)
        l->device->ops->free(l->device, m->at);
    __atomic_add_fetch(&l->bytes, room - m->room, __ATOMIC_RELAXED);
    *m = (struct memory){at, room};
    return 0;
}

static int pieces_copy(struct gpu_lists *l, uint64_t to, const uint8_t *from, size_t bytes)
{
    int rc = 0;

    for (size_t at = 0; at < bytes && rc == 0; at += PIECE) {
        size_t n = bytes - at < PIECE ? bytes - at : PIECE;

        rc = l->device->ops->upload(l->device, to + at, from + at, n);
        __atomic_add_fetch(&l->copied_bytes, n, __ATOMIC_RELAXED);
    }
    return rc;
}

bool gpu_list_may_put(const struct gpu_lists *l, uint32_t id)
{
    const struct list *x = list_of(l, id);

    return l->copying == NULL && (x == NULL || gpu_mirror_are_back(l->mirror, x->before));
}

struct gpu_mirror *gpu_lists_mirror(const struct gpu_lists *l)
{
    return l->mirror;
}

int gpu_list_put(struct gpu_lists *l, uint32_t id, const struct gpu_list_image *image,
                 const struct acl *a, uint32_t version)
{
    struct list *x = list_of(l, id);
    struct memory *other = &x->memory[!x->current];
    int rc;

    if (gpu_mirror_state(l->mirror) != GPU_ON)
        return -ENODEV;
    if (!gpu_list_may_put(l, id))
        return -EAGAIN;
    rc = room_make(l, other, image->n);
    if (rc == 0)
        rc = pieces_copy(l, other->at, image->bytes, image->n);
    if (rc == 0)
        rc = l->device->ops->mark(l->device, &l->mark);
    if (rc == -ENODEV)
        gpu_mirror_fail(l->mirror, GPU_LOST);
    if (rc != 0)
        return rc;
    l->copying = x;
    l->acl = a;
    l->version = version;
    return 0;
}

static void image_arrived(struct gpu_lists *l)
{
    struct list *x = l->copying;

    l->copying = NULL;
    if (l->version == 0) // the old image is stale too, and stays
        return;
    x->current = !x->current;
    __atomic_store_n(&x->acl, l->acl, __ATOMIC_RELEASE);
    __atomic_store_n(&x->at, x->memory[x->current].at, __ATOMIC_SEQ_CST);
    // Partner: gpu_queue_send, which counts a batch before it reads `at`.
    gpu_mirror_sent(l->mirror, x->before);
    __atomic_store_n(&x->version, l->version, __ATOMIC_SEQ_CST);
}

bool gpu_lists_poll(struct gpu_lists *l)
{
    int rc;

    if (l->copying == NULL || gpu_mirror_state(l->mirror) != GPU_ON)
        return false;
    rc = l->device->ops->passed(l->device, l->mark);
    if (rc < 0)
        gpu_mirror_fail(l->mirror, GPU_LOST);
    else if (rc == 1)
        image_arrived(l);
    return l->copying != NULL;
}
