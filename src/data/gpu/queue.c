// SPDX-License-Identifier: BSD-3-Clause
// queue.c - see queue.h
#include "gpu/queue.h"

#include "poptrie/poptrie.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The host's data of a batch.
struct sent {
    void *user;
    uint64_t at_ns;
    uint64_t version; // of the tables; 0: samples cannot be compared
};

struct gpu_queue {
    struct gpu_reader reader; // batch number n is the n-th one sent
    struct gpu_mirror *mirror;
    struct gpu_device *device;
    struct gpu_mailbox *mailbox;
    struct gpu_queue_settings settings;
    bool served; // the device serves the mailbox
    uint32_t until_sample;
    struct sent sent[GPU_SLOTS];
    struct gpu_queue_stats stats;
    uint16_t *own; // values from the CPU: a late device may still write to the mailbox
};

// --- life ---

static int mailbox_make(struct gpu_queue *q)
{
    int rc;

    q->mailbox = q->device->ops->share(q->device, GPU_MAILBOX_BYTES(q->settings.batch));
    if (q->mailbox == NULL)
        return -ENOMEM;
    q->mailbox->batch = q->settings.batch;
    rc = gpu_mirror_join(q->mirror, &q->reader);
    if (rc == 0 && q->settings.persistent) {
        rc = q->device->ops->start(q->device, q->mailbox);
        q->served = rc == 0;
    }
    return rc;
}

struct gpu_queue *gpu_queue_new(struct gpu_mirror *m, const struct gpu_queue_settings *settings)
{
    struct gpu_queue *q;
    int rc = -ENOMEM;

    errno = EINVAL;
    if (settings->batch == 0 || settings->batch > GPU_BATCH_MAX || settings->timeout_ns == 0)
        return NULL;
    q = calloc(1, sizeof(*q));
    if (q == NULL)
        return NULL;
    q->mirror = m;
    q->device = gpu_mirror_device(m);
    q->settings = *settings;
    q->until_sample = settings->sample;
    q->own = calloc(settings->batch, sizeof(*q->own));
    if (q->own != NULL)
        rc = mailbox_make(q);
    if (rc == 0)
        return q;
    gpu_queue_free(q);
    errno = -rc;
    return NULL;
}

// Memory that the device may still write to stays allocated until the device is closed.
void gpu_queue_free(struct gpu_queue *q)
{
    if (q == NULL)
        return;
    if (q->served)
        q->device->ops->stop(q->device, q->mailbox);
    gpu_mirror_leave(q->mirror, &q->reader);
    if (q->mailbox != NULL && gpu_mirror_state(q->mirror) == GPU_ON && gpu_queue_waiting(q) == 0)
        q->device->ops->unshare(q->device, q->mailbox);
    free(q->own);
    free(q);
}

unsigned gpu_queue_waiting(const struct gpu_queue *q)
{
    return (unsigned)(q->reader.sent - q->reader.received);
}

const struct gpu_queue_stats *gpu_queue_stats(const struct gpu_queue *q)
{
    return &q->stats;
}

// --- there ---

bool gpu_queue_begin(struct gpu_queue *q, struct gpu_batch *b)
{
    uint32_t place = q->reader.sent % GPU_SLOTS;

    if (gpu_queue_waiting(q) == GPU_SLOTS || gpu_mirror_state(q->mirror) != GPU_ON ||
        gpu_mirror_tables(q->mirror) == 0)
        return false;
    b->key = gpu_keys(q->mailbox, place);
    b->which = gpu_which(q->mailbox, place);
    b->n = 0;
    return true;
}

void gpu_queue_send(struct gpu_queue *q, const struct gpu_batch *b, uint64_t now_ns)
{
    uint32_t place = q->reader.sent % GPU_SLOTS;
    uint64_t number = q->reader.sent + 1;
    struct gpu_slot *s = &q->mailbox->slot[place];

    q->sent[place] = (struct sent){b->user, now_ns, gpu_mirror_version(q->mirror)};
    // counted before reading `at`: partner: copies_arrived
    __atomic_store_n(&q->reader.sent, number, __ATOMIC_SEQ_CST);
    s->at = gpu_mirror_tables(q->mirror);
    s->n = b->n;
    s->kind = b->kind;
    __atomic_store_n(&s->request, (uint32_t)number, __ATOMIC_RELEASE);
    if (!q->settings.persistent && q->device->ops->launch(q->device, q->mailbox, place) != 0)
        gpu_mirror_fail(q->mirror, GPU_LOST);
}

// --- and back ---

static uint32_t cpu_find(const struct gpu_queue *q, const struct gpu_batch *b, uint32_t i)
{
    const uint8_t *key = b->key + (size_t)i * gpu_key_bytes(b->kind);
    uint32_t dst;

    if (b->kind == GPU_FIND6)
        return poptrie_find6(gpu_mirror_table(q->mirror, b->which[i]), key);
    memcpy(&dst, key, sizeof(dst));
    return poptrie_find4(gpu_mirror_table(q->mirror, b->which[i]), dst);
}

static void cpu_answer(struct gpu_queue *q, struct gpu_batch *b)
{
    b->by_cpu = true;
    for (uint32_t i = 0; i < b->n; i++)
        q->own[i] = (uint16_t)cpu_find(q, b, i);
    b->value = q->own;
}

// Does every n-th answer agree with its table? A difference counts only if the tables have not
// changed since the batch was sent.
static bool sample_is_right(struct gpu_queue *q, const struct gpu_batch *b, uint64_t version)
{
    uint32_t step = q->settings.sample, i = q->until_sample;
    uint64_t wrong = 0;

    if (step == 0 || version == 0)
        return true;
    for (i -= 1; i < b->n; i += step) {
        wrong += b->value[i] != cpu_find(q, b, i);
        q->stats.sampled++;
    }
    q->until_sample = i - b->n + 1;
    if (wrong == 0 || !gpu_mirror_version_is(q->mirror, version))
        return true;
    q->stats.wrong += wrong;
    return false;
}

// The device's answer to the oldest batch, if it has arrived and can be trusted.
static bool device_answer(struct gpu_queue *q, struct gpu_batch *b, uint32_t place)
{
    uint32_t number = (uint32_t)(q->reader.received + 1);

    if (gpu_mirror_state(q->mirror) != GPU_ON ||
        __atomic_load_n(&q->mailbox->slot[place].answer, __ATOMIC_ACQUIRE) != number)
        return false;
    b->value = gpu_values(q->mailbox, place);
    if (sample_is_right(q, b, q->sent[place].version))
        return true;
    gpu_mirror_fail(q->mirror, GPU_WRONG);
    return false;
}

static bool must_wait(struct gpu_queue *q, uint64_t age_ns)
{
    if (gpu_mirror_state(q->mirror) == GPU_ON && q->device->ops->error(q->device) != 0)
        gpu_mirror_fail(q->mirror, GPU_LOST);
    else if (age_ns >= q->settings.timeout_ns)
        gpu_mirror_fail(q->mirror, GPU_LATE);
    return gpu_mirror_state(q->mirror) == GPU_ON;
}

bool gpu_queue_receive(struct gpu_queue *q, struct gpu_batch *b, uint64_t now_ns)
{
    uint32_t place = q->reader.received % GPU_SLOTS;
    const struct gpu_slot *s = &q->mailbox->slot[place];
    const struct sent *sent = &q->sent[place];

    if (gpu_queue_waiting(q) == 0)
        return false;
    *b = (struct gpu_batch){.key = gpu_keys(q->mailbox, place),
                            .which = gpu_which(q->mailbox, place),
                            .n = s->n,
                            .kind = s->kind,
                            .user = sent->user,
                            .age_ns = now_ns - sent->at_ns};
    if (!device_answer(q, b, place)) {
        if (must_wait(q, b->age_ns))
            return false;
        cpu_answer(q, b);
        q->stats.cpu_batches++;
    }
    q->stats.batches++;
    q->stats.keys += b->n;
    if (b->age_ns > q->stats.age_max_ns)
        q->stats.age_max_ns = b->age_ns;
    // Partner: gpu_mirror_are_back. The values are not the table's memory, so reading may continue.
    __atomic_store_n(&q->reader.received, q->reader.received + 1, __ATOMIC_RELEASE);
    return true;
}
