// SPDX-License-Identifier: BSD-3-Clause
// driver_fake.c - for gpu_cuda_test.c: a libcuda.so.1 whose "GPU" is the host
//
// It shows that cuda.c finds and calls the driver's functions as documented: with valid handles, in
// a context, on a stream. It proves nothing about a GPU. Built as libcuda.so.1 beside the test.
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/mailbox.h"

#define INVALID 1  // CUDA_ERROR_INVALID_VALUE
#define NO_CONTEXT 201 // CUDA_ERROR_INVALID_CONTEXT
#define DEVICE_LOST 700
#define STREAMS 16u

typedef void *handle;
struct stream {
    bool used, busy;
    pthread_t thread;
};

static __thread handle context;
static struct stream streams[STREAMS];
static char the_context, the_module;
static const char serving[] = "gpu_serve";
int driver_fake_lost, driver_fake_pieces; // for the test; pieces of memory

#define CALL(name, ...) __attribute__((visibility("default"))) int name(__VA_ARGS__);              \
    int name(__VA_ARGS__)
#define NEEDS_CONTEXT                                                                              \
    if (context != &the_context)                                                                   \
        return NO_CONTEXT;                                                                         \
    if (driver_fake_lost)                                                                          \
    return DEVICE_LOST

CALL(cuInit, unsigned flags)
{
    return flags == 0 ? 0 : INVALID;
}

CALL(cuDeviceGetCount, int *n)
{
    *n = 1;
    return 0;
}

CALL(cuDeviceGet, int *device, int number)
{
    *device = 0;
    return number == 0 ? 0 : INVALID;
}

CALL(cuDevicePrimaryCtxRetain, handle *c, int device)
{
    *c = &the_context;
    return 0;
}

CALL(cuDevicePrimaryCtxRelease_v2, int device)
{
    return 0;
}

CALL(cuCtxSetCurrent, handle c)
{
    context = c;
    return 0;
}

CALL(cuGetErrorString, int error, const char **text)
{
    *text = error == DEVICE_LOST ? "an illegal memory access was encountered" : "invalid";
    return 0;
}

// --- kernels ---

CALL(cuModuleLoadData, handle *module, const void *text)
{
    NEEDS_CONTEXT;
    *module = &the_module;
    return strstr(text, ".entry gpu_serve(") != NULL ? 0 : INVALID;
}

CALL(cuModuleUnload, handle module)
{
    return module == &the_module ? 0 : INVALID;
}

CALL(cuModuleGetFunction, handle *function, handle module, const char *name)
{
    *function = (handle)serving;
    return module == &the_module && strcmp(serving, name) == 0 ? 0 : INVALID;
}

static void *serve(void *arg)
{
    struct gpu_mailbox *m = arg;

    for (uint32_t number = 1;; number++) {
        uint32_t place = (number - 1) % GPU_SLOTS;
        struct gpu_slot *s = &m->slot[place];

        while (__atomic_load_n(&s->request, __ATOMIC_ACQUIRE) != number)
            if (__atomic_load_n(&m->stop, __ATOMIC_ACQUIRE) != 0)
                return NULL;
            else
                sched_yield();
        for (uint32_t i = 0; i < s->n; i++)
            gpu_serve_one(m, place, i);
        __atomic_store_n(&s->answer, number, __ATOMIC_RELEASE);
    }
}

CALL(cuLaunchKernel, handle function, unsigned x, unsigned y, unsigned z, unsigned threads,
     unsigned threads_y, unsigned threads_z, unsigned shared, handle stream, void **args,
     void **extra)
{
    struct stream *s = stream;
    struct gpu_mailbox *m = (struct gpu_mailbox *)(uintptr_t)*(uint64_t *)args[0];

    NEEDS_CONTEXT;
    if (s == NULL || !s->used || s->busy || x != 1 || y != 1 || z != 1 || threads_y != 1 ||
        threads_z != 1 || function != serving)
        return INVALID;
    s->busy = true;
    return pthread_create(&s->thread, NULL, serve, m);
}

// --- memory ---

CALL(cuMemAlloc_v2, uint64_t *at, size_t bytes)
{
    NEEDS_CONTEXT;
    *at = (uint64_t)(uintptr_t)malloc(bytes);
    driver_fake_pieces++;
    return 0;
}

CALL(cuMemFree_v2, uint64_t at)
{
    free((void *)(uintptr_t)at);
    driver_fake_pieces--;
    return 0;
}

CALL(cuMemHostAlloc, void **p, size_t bytes, unsigned flags)
{
    NEEDS_CONTEXT;
    *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    return flags == 3 ? 0 : INVALID; // portable, mapped
}

CALL(cuMemFreeHost, void *p)
{
    free(p);
    return 0;
}

CALL(cuMemHostGetDevicePointer_v2, uint64_t *at, void *p, unsigned flags)
{
    NEEDS_CONTEXT;
    *at = (uint64_t)(uintptr_t)p;
    return flags == 0 ? 0 : INVALID;
}

CALL(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, handle stream)
{
    NEEDS_CONTEXT;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return ((struct stream *)stream)->used ? 0 : INVALID;
}

// --- streams ---

CALL(cuStreamCreate, handle *stream, unsigned flags)
{
    NEEDS_CONTEXT;
    for (unsigned i = 0; i < STREAMS; i++)
        if (!streams[i].used) {
            streams[i] = (struct stream){.used = true};
            *stream = &streams[i];
            return flags == 1 ? 0 : INVALID; // not synchronized with the default stream
        }
    return INVALID;
}

CALL(cuStreamSynchronize, handle stream)
{
    struct stream *s = stream;

    if (s->busy)
        pthread_join(s->thread, NULL);
    s->busy = false;
    return 0;
}

CALL(cuStreamDestroy_v2, handle stream)
{
    ((struct stream *)stream)->used = false;
    return 0;
}

CALL(cuStreamQuery, handle stream)
{
    NEEDS_CONTEXT;
    return ((struct stream *)stream)->used ? 0 : INVALID;
}
