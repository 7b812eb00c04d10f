// SPDX-License-Identifier: BSD-3-Clause
// acl_gpu.c - see acl_gpu.h
//
// Making an image takes some seconds, so it runs without the lock: acl_manager owns the list, and
// only handing the image over needs the lock.
#include "table/acl_gpu.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gpu/lists.h"
#include "table/acl_engine.h"

#define PAUSE 10u // pause between images, in units of the last image's build time

_Static_assert(ACL_LIST_MAX <= GPU_LIST_IDS, "a list's id names it on the device");

struct named {
    struct acl_gpu_state state;
    uint16_t id;       // 0: no such list
    uint32_t tried;    // epoch of the last image; 0: none
    uint64_t again_ns; // time of the earliest next image
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct gpu_lists *lists; // atomic, for checks without the lock
    struct named named[ACL_GPU_MAX];
    unsigned n;
} gpu;

// --- control ---

void acl_gpu_begin(struct gpu_lists *l, const char (*name)[ACL_NAME_SIZE], unsigned n)
{
    pthread_mutex_lock(&lock);
    memset(gpu.named, 0, sizeof gpu.named);
    for (unsigned i = 0; i < n && i < ACL_GPU_MAX; i++)
        snprintf(gpu.named[i].state.name, ACL_NAME_SIZE, "%s", name[i]);
    gpu.n = n < ACL_GPU_MAX ? n : ACL_GPU_MAX;
    __atomic_store_n(&gpu.lists, l, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

void acl_gpu_end(struct gpu_lists *l)
{
    pthread_mutex_lock(&lock);
    if (l && l == gpu.lists) {
        __atomic_store_n(&gpu.lists, NULL, __ATOMIC_RELEASE);
        gpu.n = 0;
    }
    pthread_mutex_unlock(&lock);
}

bool acl_gpu_state(unsigned i, struct acl_gpu_state *s)
{
    bool is;

    pthread_mutex_lock(&lock);
    is = i < gpu.n;
    if (is)
        *s = gpu.named[i].state;
    pthread_mutex_unlock(&lock);
    return is;
}

// --- acl_manager ---

void acl_gpu_stale(uint16_t id)
{
    if (!__atomic_load_n(&gpu.lists, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock(&lock);
    if (gpu.lists)
        gpu_list_stale(gpu.lists, id);
    pthread_mutex_unlock(&lock);
}

static uint16_t id_of(const char *name)
{
    for (uint16_t id = 1; id < ACL_LIST_MAX; id++)
        if (acl_table[id].content && !strcmp(acl_table[id].name, name))
            return id;
    return 0;
}

static void refuse(struct named *x, const char *why)
{
    x->state.status = ACL_GPU_REFUSED;
    x->state.rules = x->state.tuples = 0;
    x->state.bytes = 0;
    snprintf(x->state.why, sizeof x->state.why, "%s", why);
    if (x->id)
        gpu_list_want(gpu.lists, x->id, false); // packets need not wait for it
}

static void wait_for_it(struct named *x)
{
    x->state.status = ACL_GPU_WAITS;
    x->state.why[0] = 0;
}

// Looks the list up by name; it may have been replaced. Returns false if it has no rules.
static bool follow(struct named *x)
{
    uint16_t id = id_of(x->state.name);

    if (id != x->id && x->id)
        gpu_list_want(gpu.lists, x->id, false);
    if (id != x->id)
        x->tried = 0;
    x->id = id;
    if (id && acl_table[id].content->engine)
        return true;
    refuse(x, id ? "it has no rules" : "there is no such list");
    return false;
}

static const struct acl_content *content_now(const struct named *x)
{
    return acl_table[x->id].content;
}

// Does it need an image now? Sets *more if it will later.
static bool needs_image(struct named *x, uint64_t now_ns, bool *more)
{
    if (!follow(x))
        return false;
    if (gpu_list_version(gpu.lists, x->id) == content_now(x)->epoch) {
        x->state.status = ACL_GPU_ON;
        x->state.why[0] = 0;
        return false;
    }
    if (x->state.status == ACL_GPU_REFUSED && x->tried == content_now(x)->epoch)
        return false;
    if (gpu_mirror_state(gpu_lists_mirror(gpu.lists)) != GPU_ON)
        return false;
    wait_for_it(x);
    *more = true;
    return now_ns >= x->again_ns && gpu_list_may_put(gpu.lists, x->id);
}

static void hand_over(struct named *x, const struct gpu_list_image *image)
{
    int r = gpu_list_want(gpu.lists, x->id, true);

    r = r ? r
          : gpu_list_put(gpu.lists, x->id, image, acl_engine_list(content_now(x)->engine),
                         content_now(x)->epoch);
    if (r == -ENOMEM)
        refuse(x, "the device has no memory left for it");
    if (r)
        return;
    x->state.rules = image->rules[0] > image->rules[1] ? image->rules[0] : image->rules[1];
    x->state.tuples = image->tuples;
    x->state.bytes = image->n;
}

// Builds without the lock, which only the end takes: control may have changed the names meanwhile.
static void image_make(struct named *x, uint16_t id, struct gpu_lists *for_lists)
{
    uint64_t begun = clock_now_ns();
    struct gpu_list_image image;
    char why[200] = "kamueed has no memory left for its image";
    int r = gpu_list_image_make(&image, acl_engine_list(acl_table[id].content->engine), why,
                                sizeof why);

    pthread_mutex_lock(&lock);
    if (gpu.lists == for_lists && x->id == id) {
        x->tried = content_now(x)->epoch;
        x->again_ns = clock_now_ns() + PAUSE * (clock_now_ns() - begun);
        if (r)
            refuse(x, why);
        else
            hand_over(x, &image);
    }
    pthread_mutex_unlock(&lock);
    if (!r)
        gpu_list_image_free(&image);
}

bool acl_gpu_work(void)
{
    struct gpu_lists *lists = __atomic_load_n(&gpu.lists, __ATOMIC_ACQUIRE);
    struct named *next = NULL;
    uint16_t id = 0;
    bool more = false;

    if (!lists)
        return false;
    thread_must_be(ROLE_ACL_MANAGER);
    pthread_mutex_lock(&lock);
    lists = gpu.lists;
    if (lists)
        more = gpu_lists_poll(lists);
    for (unsigned i = 0; lists && i < gpu.n; i++)
        if (needs_image(&gpu.named[i], clock_now_ns(), &more) && !next)
            next = &gpu.named[i];
    if (next)
        id = next->id;
    pthread_mutex_unlock(&lock);
    if (next)
        image_make(next, id, lists);
    return more;
}
