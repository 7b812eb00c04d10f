// SPDX-License-Identifier: BSD-3-Clause
// cuda.c - an NVIDIA GPU, through the driver functions that we need, found with dlopen
//
// Uses no header or library of the vendor: the declarations below are ours, written from the
// driver's documented interface. Without a driver, a GPU or our kernel, gpu_open says which one is
// missing.
//
// Never run on a GPU, because no machine with one was available: tested only with a fake driver
// (gpu_cuda_test.c, docs/features/gpu.md).
//
// Streams: one for copies, and one for each served mailbox, because its kernel never ends.
// cuMemFree waits for all kernels, so memory is freed when the device is closed.
#include "gpu/device.h"

#include "base/vec.h"
#include "gpu/kernel_text.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAILBOXES 64u
#define THREADS 128u // per block

typedef void *handle;

// CUresult is an int, 0 = success; CUdeviceptr 64 bits; CUdevice an int.
#define CUDA_CALLS(X)                                                                              \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGetCount, (int *))                                                                   \
    X(cuDeviceGet, (int *, int))                                                                   \
    X(cuDevicePrimaryCtxRetain, (handle *, int))                                                   \
    X(cuDevicePrimaryCtxRelease_v2, (int))                                                         \
    X(cuCtxSetCurrent, (handle))                                                                   \
    X(cuModuleLoadData, (handle *, const void *))                                                  \
    X(cuModuleUnload, (handle))                                                                    \
    X(cuModuleGetFunction, (handle *, handle, const char *))                                       \
    X(cuMemAlloc_v2, (uint64_t *, size_t))                                                         \
    X(cuMemFree_v2, (uint64_t))                                                                    \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                                 \
    X(cuMemFreeHost, (void *))                                                                     \
    X(cuMemHostGetDevicePointer_v2, (uint64_t *, void *, unsigned))                                \
    X(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, handle))                              \
    X(cuStreamCreate, (handle *, unsigned))                                                        \
    X(cuStreamSynchronize, (handle))                                                               \
    X(cuStreamQuery, (handle))                                                                     \
    X(cuStreamDestroy_v2, (handle))                                                                \
    X(cuGetErrorString, (int, const char **))                                                      \
    X(cuLaunchKernel, (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, handle, void **, void **))

#define CUDA_NOT_READY 600
#define CUDA_HOST_PORTABLE_MAPPED 3u
#define CUDA_STREAM_NON_BLOCKING 1u

#define MEMBER(name, args) int (*name) args;
struct calls {
    CUDA_CALLS(MEMBER)
};

struct cuda {
    struct gpu_device device;
    struct calls call;
    void *library;
    int number;
    bool retained;
    handle context, module, serve, copies;
    pthread_mutex_t lock; // mailboxes, memory
    struct {
        struct gpu_mailbox *m;
        handle stream;
    } served[MAILBOXES];
    VEC(uint64_t) memory; // freed at the end
    int lost; // atomic
};

static struct cuda *cuda(struct gpu_device *d)
{
    return (struct cuda *)d;
}

// Keeps the first error in `why`; 0 or -ENODEV.
static int rc_check(struct cuda *c, int rc, const char *what)
{
    const char *text = NULL;
    int none = 0;

    if (rc == 0)
        return 0;
    if (__atomic_compare_exchange_n(&c->lost, &none, 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        if (c->call.cuGetErrorString != NULL)
            c->call.cuGetErrorString(rc, &text);
        snprintf(c->device.why, sizeof(c->device.why), "%s: %s (error %d)", what,
                 text != NULL ? text : "the driver has no text for it", rc);
    }
    return -ENODEV;
}

static int error(struct gpu_device *d)
{
    return __atomic_load_n(&cuda(d)->lost, __ATOMIC_ACQUIRE) != 0 ? -ENODEV : 0;
}

// Each thread that calls the driver must set the context.
static bool ready(struct cuda *c)
{
    return error(&c->device) == 0 &&
           rc_check(c, c->call.cuCtxSetCurrent(c->context), "cuCtxSetCurrent") == 0;
}

// --- parts of it ---

static bool stream_make(struct cuda *c, handle *stream)
{
    return rc_check(c, c->call.cuStreamCreate(stream, CUDA_STREAM_NON_BLOCKING), "stream") == 0;
}

// --- memory ---

static void *share(struct gpu_device *d, size_t bytes)
{
    void *p;

    if (!ready(cuda(d)) ||
        cuda(d)->call.cuMemHostAlloc(&p, bytes, CUDA_HOST_PORTABLE_MAPPED) != 0)
        return NULL;
    return memset(p, 0, bytes);
}

static void unshare_it(struct gpu_device *d, void *p)
{
    cuda(d)->call.cuCtxSetCurrent(cuda(d)->context);
    cuda(d)->call.cuMemFreeHost(p);
}

static uint64_t alloc(struct gpu_device *d, size_t bytes)
{
    struct cuda *c = cuda(d);
    uint64_t at = 0;

    if (!ready(c))
        return 0;
    pthread_mutex_lock(&c->lock);
    if (c->call.cuMemAlloc_v2(&at, bytes) == 0)
        *vec_push(&c->memory) = at;
    else
        at = 0;
    pthread_mutex_unlock(&c->lock);
    return at;
}

static void free_later(struct gpu_device *d, uint64_t at)
{
}

static int upload(struct gpu_device *d, uint64_t at, const void *from, size_t bytes)
{
    struct cuda *c = cuda(d);

    // from pageable memory the driver copies before it returns
    if (!ready(c))
        return -ENODEV;
    return rc_check(c, c->call.cuMemcpyHtoDAsync_v2(at, from, bytes, c->copies), "copy");
}

static int copied(struct gpu_device *d)
{
    struct cuda *c = cuda(d);
    int rc = ready(c) ? c->call.cuStreamQuery(c->copies) : 0;

    if (rc == CUDA_NOT_READY)
        return 0;
    rc_check(c, rc, "copy");
    return error(d) != 0 ? -ENODEV : 1;
}

// --- mailboxes ---

static int mailbox_start(struct gpu_device *d, struct gpu_mailbox *m)
{
    struct cuda *c = cuda(d);
    unsigned i = 0;
    uint64_t at;
    int rc;

    if (!ready(c) ||
        rc_check(c, c->call.cuMemHostGetDevicePointer_v2(&at, m, 0), "address of a mailbox") != 0)
        return -ENODEV;
    pthread_mutex_lock(&c->lock);
    while (i < MAILBOXES && c->served[i].m != NULL)
        i++;
    rc = i == MAILBOXES ? -ENOSPC : stream_make(c, &c->served[i].stream) ? 0 : -ENODEV;
    if (rc == 0)
        rc = rc_check(c,
                      c->call.cuLaunchKernel(c->serve, 1, 1, 1, THREADS, 1, 1, 0,
                                             c->served[i].stream, (void *[]){&at}, NULL),
                      "launch");
    if (rc == 0)
        c->served[i].m = m;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static void mailbox_stop(struct gpu_device *d, struct gpu_mailbox *m)
{
    struct cuda *c = cuda(d);

    __atomic_store_n(&m->stop, 1, __ATOMIC_RELEASE);
    c->call.cuCtxSetCurrent(c->context);
    for (unsigned i = 0; i < MAILBOXES; i++)
        if (c->served[i].m == m) {
            c->call.cuStreamSynchronize(c->served[i].stream);
            c->call.cuStreamDestroy_v2(c->served[i].stream);
            c->served[i].m = NULL;
        }
}

// --- life ---

static void close_it(struct gpu_device *d)
{
    struct cuda *c = cuda(d);

    if (c->context != NULL)
        c->call.cuCtxSetCurrent(c->context);
    for (unsigned i = 0; i < MAILBOXES; i++)
        if (c->served[i].m != NULL)
            mailbox_stop(d, c->served[i].m);
    vec_foreach (&c->memory, at)
        c->call.cuMemFree_v2(*at);
    if (c->copies != NULL)
        c->call.cuStreamDestroy_v2(c->copies);
    if (c->module != NULL)
        c->call.cuModuleUnload(c->module);
    if (c->retained)
        c->call.cuDevicePrimaryCtxRelease_v2(c->number);
    if (c->library != NULL)
        dlclose(c->library);
    pthread_mutex_destroy(&c->lock);
    vec_free(&c->memory);
    free(c);
}

static const struct gpu_device_ops ops = {
    "cuda", close_it, share,         unshare_it,   alloc, free_later,
    upload, copied,   mailbox_start, mailbox_stop, error,
};

static bool library_open(struct cuda *c)
{
    c->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (c->library == NULL) {
        snprintf(c->device.why, sizeof(c->device.why),
                 "no driver of a GPU (libcuda.so.1): install NVIDIA's driver");
        return false;
    }
#define FIND(name, args)                                                                           \
    *(void **)&c->call.name = dlsym(c->library, #name);                                            \
    if (c->call.name == NULL) {                                                                    \
        snprintf(c->device.why, sizeof(c->device.why),                                             \
                 "libcuda.so.1 has no " #name ": install a newer driver of the GPU");              \
        return false;                                                                              \
    }
    CUDA_CALLS(FIND)
    return true;
}

static bool device_take(struct cuda *c, unsigned number)
{
    int n = 0;

    if (rc_check(c, c->call.cuInit(0), "the GPU's driver does not start") != 0 ||
        rc_check(c, c->call.cuDeviceGetCount(&n), "number of GPUs") != 0)
        return false;
    if (number >= (unsigned)n) {
        snprintf(c->device.why, sizeof(c->device.why),
                 "no GPU %u: the driver has %d; choose a lower number", number, n);
        return false;
    }
    if (rc_check(c, c->call.cuDeviceGet(&c->number, (int)number), "the GPU") != 0 ||
        rc_check(c, c->call.cuDevicePrimaryCtxRetain(&c->context, c->number), "context") != 0)
        return false;
    return c->retained = true;
}

static bool kernels_load(struct cuda *c)
{
    return rc_check(c, c->call.cuModuleLoadData(&c->module, gpu_kernel_text), "our kernel") == 0 &&
           rc_check(c, c->call.cuModuleGetFunction(&c->serve, c->module, "gpu_serve"),
                    "gpu_serve") == 0 &&
           stream_make(c, &c->copies);
}

struct gpu_device *gpu_open(unsigned number, char *why, size_t n)
{
    struct cuda *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        snprintf(why, n, "no memory");
        return NULL;
    }
    c->device.ops = &ops;
    pthread_mutex_init(&c->lock, NULL);
    if (gpu_kernel_text == NULL)
        snprintf(c->device.why, sizeof(c->device.why),
                 "built without kernels for GPUs: install clang and build again");
    else if (library_open(c) && device_take(c, number) && ready(c) && kernels_load(c))
        return &c->device;
    snprintf(why, n, "%s", c->device.why);
    close_it(&c->device);
    return NULL;
}
