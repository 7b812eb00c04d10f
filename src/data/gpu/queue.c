// SPDX-License-Identifier: BSD-3-Clause
// queue.c - the host's side of a forwarder's mailbox (queue.h)
//
// The n-th batch uses slot n % GPU_SLOTS and carries n as its request; the device answers by
// storing n, so the order of answers does not matter. A batch counts as sent before the tables'
// version is compared: either it sees that a table has changed and is withdrawn, or the writer sees
// it and waits for it (partner: batches_are_back).
#include "gpu/queue.h"

#include <errno.h>
#include <stdlib.h>

// The host's data of a batch.
struct sent {
    void *user;
    uint64_t at_ns, version;
};

struct gpu_queue {
    struct gpu_reader reader; // batch number n is the n-th one sent
    struct gpu_mirror *mirror;
    struct gpu_device *device;
    struct gpu_mailbox *mailbox;
    struct gpu_queue_settings settings;
    bool served; // the device serves the mailbox
    struct sent sent[GPU_SLOTS];
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
    rc = rc == 0 ? q->device->ops->start(q->device, q->mailbox) : rc;
    q->served = rc == 0;
    return rc;
}

struct gpu_queue *gpu_queue_new(struct gpu_mirror *m, const struct gpu_queue_settings *settings)
{
    struct gpu_queue *q;
    int rc;

    errno = EINVAL;
    if (settings->batch == 0 || settings->batch > GPU_BATCH_MAX || settings->timeout_ns == 0)
        return NULL;
    q = calloc(1, sizeof(*q));
    if (q == NULL)
        return NULL;
    q->mirror = m;
    q->device = gpu_mirror_device(m);
    q->settings = *settings;
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
    free(q);
}

unsigned gpu_queue_waiting(const struct gpu_queue *q)
{
    return (unsigned)(q->reader.sent - q->reader.received);
}

// --- there ---

bool gpu_queue_begin(struct gpu_queue *q, struct gpu_batch *b)
{
    uint32_t place = q->reader.sent % GPU_SLOTS;

    b->version = gpu_mirror_version(q->mirror);
    if (gpu_queue_waiting(q) == GPU_SLOTS || gpu_mirror_state(q->mirror) != GPU_ON ||
        b->version == 0)
        return false;
    b->key = gpu_keys(q->mailbox, place);
    b->which = gpu_which(q->mailbox, place);
    b->n = 0;
    return true;
}

bool gpu_queue_send(struct gpu_queue *q, const struct gpu_batch *b, uint64_t now_ns)
{
    uint32_t place = q->reader.sent % GPU_SLOTS;
    uint64_t number = q->reader.sent + 1;
    struct gpu_slot *s = &q->mailbox->slot[place];

    // counted before looking for changes: partner: batches_are_back
    __atomic_store_n(&q->reader.sent, number, __ATOMIC_SEQ_CST);
    if (!gpu_mirror_version_is(q->mirror, b->version)) {
        __atomic_store_n(&q->reader.sent, number - 1, __ATOMIC_SEQ_CST);
        return false;
    }
    q->sent[place] = (struct sent){b->user, now_ns, b->version};
    s->at = gpu_mirror_tables(q->mirror);
    s->n = b->n;
    s->kind = b->kind;
    __atomic_store_n(&s->request, (uint32_t)number, __ATOMIC_RELEASE);
    return true;
}

// --- and back ---

static bool is_answered(const struct gpu_queue *q, uint32_t place)
{
    return gpu_mirror_state(q->mirror) == GPU_ON &&
           __atomic_load_n(&q->mailbox->slot[place].answer, __ATOMIC_ACQUIRE) ==
               (uint32_t)(q->reader.received + 1);
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
                            .version = sent->version,
                            .user = sent->user,
                            .age_ns = now_ns - sent->at_ns};
    if (is_answered(q, place))
        b->value = gpu_values(q->mailbox, place);
    else if (must_wait(q, b->age_ns))
        return false;
    // Partner: batches_are_back. The values are not the table's memory, so reading may continue.
    __atomic_store_n(&q->reader.received, q->reader.received + 1, __ATOMIC_RELEASE);
    return true;
}
