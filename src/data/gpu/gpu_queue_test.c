// SPDX-License-Identifier: BSD-3-Clause
// gpu_queue_test.c - copies follow their tables, batches return in order, and a device fails
//
// The tests set the clock, so nothing depends on timing.
#include "gpu/gpu_fixture.h"
#include "gpu/queue.h"
#include "tests/unit.h"

#include <errno.h>
#include <pthread.h>

#define BATCH 64u
#define TIMEOUT 1000u

struct rig {
    struct gpu_device *device;
    struct gpu_mirror *mirror;
    struct gpu_queue *queue;
    struct poptrie *table[4];
    unsigned tables, key_bits;
};

static void rig_make(struct rig *r, unsigned key_bits, unsigned tables)
{
    *r = (struct rig){.tables = tables, .key_bits = key_bits};
    r->device = gpu_emulated_open(&(struct gpu_emulated_settings){0});
    assert_non_null(r->device);
    r->mirror = gpu_mirror_new(r->device);
    for (unsigned i = 0; i < tables; i++) {
        // two groups: the third table starts another one
        r->table[i] = table_new(key_bits, i % 2 == 0 ? NULL : r->table[i - 1]);
        change_at_random(r->table[i], key_bits, 300);
        assert_int_equal(gpu_mirror_add(r->mirror, r->table[i]), i);
    }
    r->queue = gpu_queue_new(r->mirror, &(struct gpu_queue_settings){BATCH, TIMEOUT});
    assert_non_null(r->queue);
}

static void rig_free(struct rig *r)
{
    gpu_queue_free(r->queue);
    gpu_mirror_free(r->mirror);
    r->device->ops->close(r->device);
    for (unsigned i = 0; i < r->tables; i++)
        poptrie_free(r->table[i]);
}

static void copies_arrive(struct rig *r)
{
    wait_for(!gpu_mirror_work(r->mirror));
    assert_int_equal(gpu_mirror_state(r->mirror), GPU_ON);
}

static bool send(struct rig *r, void *user, uint64_t now_ns)
{
    struct gpu_batch b = {.kind = r->key_bits == 32 ? GPU_FIND4 : GPU_FIND6};
    unsigned bytes = gpu_key_bytes(b.kind);

    if (!gpu_queue_begin(r->queue, &b))
        return false;
    b.n = BATCH - lpm_random(&seed) % 3;
    b.user = user;
    for (unsigned i = 0; i < b.n; i++) {
        uint8_t key[16];

        lpm_random_key(&seed, r->key_bits, key);
        memcpy(b.key + i * bytes, key, bytes);
        b.which[i] = (uint16_t)(lpm_random(&seed) % r->tables);
    }
    return gpu_queue_send(r->queue, &b, now_ns);
}

static void must_be_right(const struct rig *r, const struct gpu_batch *b)
{
    assert_non_null(b->value);
    for (unsigned i = 0; i < b->n; i++)
        assert_int_equal(b->value[i], find(r->table[b->which[i]], r->key_bits,
                                           b->key + i * (r->key_bits == 32 ? 4 : 16)));
}

static void receive(struct rig *r, struct gpu_batch *b)
{
    wait_for(gpu_queue_receive(r->queue, b, 0));
}

// --- tables ---

static void follow(unsigned key_bits)
{
    struct rig r;
    struct gpu_batch b;

    rig_make(&r, key_bits, 4);
    for (unsigned step = 0; step < 60; step++) {
        // few changes, copied in place; sometimes so many that everything is copied again
        for (unsigned i = 0; i < 4; i++) {
            change_at_random(r.table[i], key_bits, step % 20 == 19 ? 3000 : 5);
            poptrie_reclaim(r.table[i], poptrie_epoch(r.table[i]));
        }
        copies_arrive(&r);
        for (unsigned k = 0; k < 8; k++) {
            assert_true(send(&r, NULL, 0));
            receive(&r, &b);
            must_be_right(&r, &b);
        }
    }
    rig_free(&r);
}

unit_test(copies_follow_ipv4_tables)
{
    follow(32);
}

unit_test(copies_follow_ipv6_tables)
{
    follow(128);
}

unit_test(the_floor_and_the_default_route_follow)
{
    struct rig r;
    struct gpu_batch b;

    rig_make(&r, 128, 1);
    copies_arrive(&r);
    for (unsigned len = 0; len <= 8; len++) {
        assert_int_equal(poptrie_add(r.table[0], (const uint8_t[16]){0}, len, 700 + len), 0);
        copies_arrive(&r);
        assert_true(send(&r, NULL, 0));
        receive(&r, &b);
        must_be_right(&r, &b);
    }
    rig_free(&r);
}

unit_test(shared_trees_follow)
{
    struct rig r;
    struct gpu_batch b;

    rig_make(&r, 32, 2);
    for (unsigned step = 0; step < 20; step++) {
        for (unsigned i = 0; i < 2; i++) { // both tables change in the same way
            uint64_t again = seed;
            change_at_random(r.table[i], 32, 50);
            if (i == 0)
                seed = again;
        }
        poptrie_dedupe(r.table[0]);
        poptrie_dedupe(r.table[1]);
        copies_arrive(&r);
        poptrie_reclaim(r.table[0], poptrie_epoch(r.table[0]));
        change_at_random(r.table[step % 2], 32, 1);
        copies_arrive(&r);
        assert_true(send(&r, NULL, 0));
        receive(&r, &b);
        must_be_right(&r, &b);
    }
    rig_free(&r);
}

unit_test(few_changes_copy_few_bytes)
{
    struct rig r;
    uint64_t before;

    rig_make(&r, 32, 1);
    copies_arrive(&r);
    before = gpu_mirror_copied_bytes(r.mirror);
    assert_true(before > 1 << 20);
    assert_int_equal(poptrie_add(r.table[0], (const uint8_t[16]){10, 1, 2, 3}, 32, 9), 0);
    copies_arrive(&r);
    assert_in_range(gpu_mirror_copied_bytes(r.mirror) - before, 8, 4096);
    rig_free(&r);
}

unit_test(a_device_without_room_is_out_of_use)
{
    struct rig r;

    rig_make(&r, 32, 1);
    copies_arrive(&r);
    gpu_emulated_set(r.device, &(struct gpu_emulated_settings){.memory = 1});
    change_at_random(r.table[0], 32, 26000); // too many to record
    wait_for(!gpu_mirror_work(r.mirror));
    assert_int_equal(gpu_mirror_state(r.mirror), GPU_FULL);
    assert_false(send(&r, NULL, 0));
    rig_free(&r);
}

unit_test(a_table_ends)
{
    struct rig r;
    struct gpu_batch b;

    rig_make(&r, 32, 2);
    copies_arrive(&r);
    gpu_emulated_hold(r.device, 1);
    assert_true(send(&r, NULL, 0));
    poptrie_free(r.table[1]);
    assert_int_equal(gpu_mirror_state(r.mirror), GPU_GONE);
    assert_true(gpu_queue_receive(r.queue, &b, 0));
    assert_null(b.value);
    change_at_random(r.table[0], 32, 10); // is no longer watched
    poptrie_epoch(r.table[0]);
    assert_false(gpu_mirror_work(r.mirror));
    gpu_emulated_hold(r.device, 0);
    r.tables = 1;
    rig_free(&r);
}

// --- batches and copies ---

unit_test(no_batch_begins_before_copies_arrive)
{
    struct rig r;

    rig_make(&r, 32, 1);
    gpu_emulated_hold(r.device, 1);
    poptrie_epoch(r.table[0]);
    assert_true(gpu_mirror_work(r.mirror));
    assert_false(send(&r, NULL, 0)); // nothing is on the device yet
    gpu_emulated_hold(r.device, 0);
    copies_arrive(&r);
    assert_true(send(&r, NULL, 0));
    rig_free(&r);
}

unit_test(a_batch_is_not_sent_after_a_change)
{
    struct rig r;
    struct gpu_batch b = {.kind = GPU_FIND4};

    rig_make(&r, 32, 1);
    copies_arrive(&r);
    assert_true(gpu_queue_begin(r.queue, &b));
    assert_int_equal(poptrie_add(r.table[0], (const uint8_t[16]){10, 1}, 9, 7), 0);
    assert_false(gpu_queue_send(r.queue, &b, 0));
    assert_int_equal(gpu_queue_waiting(r.queue), 0);
    assert_false(send(&r, NULL, 0));
    copies_arrive(&r); // the batch that was not sent does not delay them
    assert_false(gpu_queue_send(r.queue, &b, 0));
    assert_true(send(&r, NULL, 0));
    rig_free(&r);
}

unit_test(nothing_is_copied_under_a_batch)
{
    struct rig r;
    struct gpu_batch b;
    uint64_t copied;

    rig_make(&r, 32, 1);
    copies_arrive(&r);
    assert_true(send(&r, NULL, 0));
    copied = gpu_mirror_copied_bytes(r.mirror);
    assert_int_equal(poptrie_add(r.table[0], (const uint8_t[16]){10, 1}, 9, 7), 0);
    poptrie_epoch(r.table[0]);
    assert_true(gpu_mirror_work(r.mirror));
    assert_int_equal(gpu_mirror_copied_bytes(r.mirror), copied);
    receive(&r, &b);
    assert_true(gpu_mirror_work(r.mirror));
    assert_true(gpu_mirror_copied_bytes(r.mirror) > copied);
    copies_arrive(&r);
    rig_free(&r);
}

// A writer that permanently changes tables and reuses memory, beside a forwarder: all routes in a
// net have one of two values, which no other net uses.
#define NETS 64u

static void *write_all_the_time(void *arg)
{
    struct rig *r = arg;
    uint64_t state = 7;

    for (unsigned step = 0; step < 4000; step++) {
        uint64_t rnd = lpm_random(&state) >> 8;
        unsigned net = rnd % NETS;
        uint8_t key[16] = {10, (uint8_t)(net / 8), (uint8_t)(net % 8 * 32), (uint8_t)(rnd >> 16)};
        unsigned len = rnd >> 24 & 1 ? 24 : 25 + (rnd >> 25) % 8;
        uint32_t value = 2 * (net + 1) + (rnd >> 40 & 1);

        if (len > 24 && (rnd >> 32 & 1) != 0)
            poptrie_del(r->table[0], key, len);
        else
            poptrie_add(r->table[0], key, len, value);
        if (step % 4 == 0) // this thread is the CPU's only reader
            poptrie_reclaim(r->table[0], poptrie_epoch(r->table[0]));
    }
    return NULL;
}

unit_test(memory_is_not_reused_under_a_batch)
{
    struct rig r;
    pthread_t writer;
    struct gpu_batch b;
    uint64_t wrong = 0, received = 0;

    rig_make(&r, 32, 1);
    assert_int_equal(poptrie_load(r.table[0], NULL, 0), 0);
    for (unsigned net = 0; net < NETS; net++)
        assert_int_equal(poptrie_add(r.table[0],
                                     (uint8_t[16]){10, (uint8_t)(net / 8), (uint8_t)(net % 8 * 32)},
                                     24, 2 * (net + 1)),
                         0);
    copies_arrive(&r);
    assert_int_equal(pthread_create(&writer, NULL, write_all_the_time, &r), 0);
    for (unsigned k = 0; k < 2000; k++) {
        b = (struct gpu_batch){.kind = GPU_FIND4};
        if (gpu_queue_begin(r.queue, &b)) {
            b.n = BATCH;
            for (unsigned i = 0; i < BATCH; i++) {
                unsigned net = i % NETS;
                memcpy(b.key + i * 4,
                       (uint8_t[4]){10, (uint8_t)(net / 8), (uint8_t)(net % 8 * 32), (uint8_t)k},
                       4);
                b.which[i] = 0;
            }
            gpu_queue_send(r.queue, &b, 0);
        }
        for (; gpu_queue_receive(r.queue, &b, 0); received++)
            for (unsigned i = 0; i < b.n; i++)
                wrong += b.value[i] / 2 != i % NETS + 1;
        if (gpu_queue_waiting(r.queue) == GPU_SLOTS)
            nanosleep(&(struct timespec){0, 20000}, NULL);
    }
    while (gpu_queue_waiting(r.queue) > 0)
        receive(&r, &b);
    pthread_join(writer, NULL);
    assert_int_equal(wrong, 0);
    assert_int_equal(gpu_mirror_state(r.mirror), GPU_ON);
    print_message("%lu batches beside the changes\n", (unsigned long)received);
    copies_arrive(&r);
    assert_true(send(&r, NULL, 0));
    receive(&r, &b);
    must_be_right(&r, &b);
    rig_free(&r);
}

// --- batches ---

unit_test(batches_come_back_in_order)
{
    struct rig r;
    struct gpu_batch b;
    uintptr_t sent = 0, received = 0;

    rig_make(&r, 32, 2);
    copies_arrive(&r);
    while (received < 200) {
        while (sent < 200 && send(&r, (void *)(sent + 1), 0))
            sent++;
        assert_in_range(gpu_queue_waiting(r.queue), 1, GPU_SLOTS);
        receive(&r, &b);
        assert_int_equal((uintptr_t)b.user, ++received);
        must_be_right(&r, &b);
    }
    assert_int_equal(gpu_queue_waiting(r.queue), 0);
    rig_free(&r);
}

unit_test(a_full_ring_takes_no_more)
{
    struct rig r;
    struct gpu_batch b;

    rig_make(&r, 32, 1);
    copies_arrive(&r);
    for (unsigned i = 0; i < GPU_SLOTS; i++)
        assert_true(send(&r, NULL, 0));
    assert_false(send(&r, NULL, 0));
    receive(&r, &b);
    assert_true(send(&r, NULL, 0));
    rig_free(&r);
}

static void the_rest_has_no_values(struct rig *r, unsigned n, enum gpu_state why, uint64_t now_ns)
{
    struct gpu_batch b;

    for (uintptr_t i = 1; i <= n; i++) {
        assert_true(gpu_queue_receive(r->queue, &b, now_ns));
        assert_null(b.value);
        assert_int_equal((uintptr_t)b.user, i);
    }
    assert_false(gpu_queue_receive(r->queue, &b, now_ns));
    assert_int_equal(gpu_mirror_state(r->mirror), why);
    assert_string_not_equal(gpu_mirror_why(r->mirror), "");
    assert_false(gpu_queue_begin(r->queue, &b));
}

unit_test(a_late_device_is_given_up)
{
    struct rig r;
    struct gpu_batch b;

    rig_make(&r, 32, 2);
    copies_arrive(&r);
    gpu_emulated_hold(r.device, 1);
    for (uintptr_t i = 1; i <= 3; i++)
        assert_true(send(&r, (void *)i, 5000));
    assert_false(gpu_queue_receive(r.queue, &b, 5000 + TIMEOUT - 1));
    assert_int_equal(poptrie_add(r.table[0], (const uint8_t[16]){10, 1}, 9, 7), 0);
    assert_true(gpu_mirror_work(r.mirror));
    the_rest_has_no_values(&r, 3, GPU_LATE, 5000 + TIMEOUT);
    assert_false(gpu_mirror_work(r.mirror)); // nothing waits for the device any more
    gpu_emulated_hold(r.device, 0); // it comes back and writes answers that nobody reads
    rig_free(&r);
}

unit_test(a_device_lost_in_the_middle_loses_no_batch)
{
    struct rig r;

    rig_make(&r, 128, 2);
    copies_arrive(&r);
    gpu_emulated_hold(r.device, 1);
    for (uintptr_t i = 1; i <= 5; i++)
        assert_true(send(&r, (void *)i, 0));
    gpu_emulated_lose(r.device);
    the_rest_has_no_values(&r, 5, GPU_LOST, 1);
    rig_free(&r);
}

unit_test(bad_settings_are_refused)
{
    struct rig r;

    rig_make(&r, 32, 1);
    assert_null(gpu_queue_new(r.mirror, &(struct gpu_queue_settings){0, TIMEOUT}));
    assert_int_equal(errno, EINVAL);
    assert_null(gpu_queue_new(r.mirror, &(struct gpu_queue_settings){GPU_BATCH_MAX + 1, TIMEOUT}));
    assert_int_equal(errno, EINVAL);
    assert_null(gpu_queue_new(r.mirror, &(struct gpu_queue_settings){64, 0}));
    assert_int_equal(errno, EINVAL);
    gpu_emulated_lose(r.device);
    assert_null(gpu_queue_new(r.mirror, &(struct gpu_queue_settings){64, TIMEOUT}));
    assert_int_equal(errno, ENODEV);
    rig_free(&r);
}
