// SPDX-License-Identifier: BSD-3-Clause
// gpu_lists_test.c - lists on an emulated device: batches of packets, new images, and failures
#include "acl/acl_fixture.h"
#include "gpu/classify.h"
#include "gpu/gpu_wait.h"
#include "gpu/queue.h"

#define BATCH 64u
#define TIMEOUT 1000u
#define RULES 300u
#define ID 7u

static struct rig {
    struct gpu_device *device;
    struct gpu_mirror *mirror;
    struct gpu_lists *lists;
    struct gpu_queue *queue;
    struct acl *acl;
    struct acl_rule rule[RULES];
    uint32_t n, version;
    struct kit_key key[GPU_SLOTS][BATCH]; // of batches in progress
    uint32_t want[GPU_SLOTS][BATCH];      // slots of rules
} rig;

static void rules_load(uint32_t n)
{
    rig.n = n;
    for (uint32_t i = 0; i < n; i++)
        rig.rule[i] = kit_rule_without_sets(1 + i);
    rig.acl = acl_new(&kit_config);
    assert_int_equal(acl_load(rig.acl, rig.rule, n), 0);
}

static int put(void)
{
    struct gpu_list_image i;
    char why[200];
    int rc;

    assert_int_equal(gpu_list_image_make(&i, rig.acl, why, sizeof(why)), 0);
    rc = gpu_list_put(rig.lists, ID, &i, rig.acl, rig.version);
    gpu_list_image_free(&i);
    return rc;
}

static void put_and_wait(void)
{
    assert_int_equal(put(), 0);
    wait_for(!gpu_lists_poll(rig.lists));
    assert_int_equal(gpu_list_version(rig.lists, ID), rig.version);
}

static void rig_make(bool persistent, struct gpu_emulated_settings settings)
{
    memset(&rig, 0, sizeof(rig));
    rig.version = 1;
    rig.device = gpu_emulated_open(&settings);
    rig.mirror = gpu_mirror_new(rig.device);
    rig.lists = gpu_lists_new(rig.mirror);
    rig.queue = gpu_queue_new(
        rig.mirror, &(struct gpu_queue_settings){BATCH, persistent, TIMEOUT, 1, rig.lists});
    assert_non_null(rig.queue);
    assert_int_equal(gpu_list_want(rig.lists, ID, true), 0);
    rules_load(RULES);
}

static int rig_free(void **state)
{
    gpu_queue_free(rig.queue);
    gpu_lists_free(rig.lists);
    gpu_mirror_free(rig.mirror);
    rig.device->ops->close(rig.device);
    acl_free(rig.acl);
    return 0;
}

// Sends packets of one family. False: they must be classified on the CPU.
static bool send(void *user)
{
    bool v6 = kit_random(2);
    struct gpu_batch b = {
        .kind = v6 ? GPU_CLASSIFY6 : GPU_CLASSIFY4, .list = ID, .version = rig.version};
    unsigned at = (uintptr_t)user % GPU_SLOTS;

    if (!gpu_queue_begin(rig.queue, &b))
        return false;
    for (b.n = 0; b.n < BATCH; b.n++) {
        struct kit_key *k = &rig.key[at][b.n];

        *k = kit_key(&rig.rule[kit_random(rig.n)]);
        k->v6 = v6;
        rig.want[at][b.n] = acl_slot_of(rig.acl, kit_first(rig.rule, rig.n, k));
        memcpy(b.key + b.n * gpu_key_bytes(b.kind), v6 ? (void *)&k->k6 : (void *)&k->k4,
               gpu_key_bytes(b.kind));
    }
    b.user = user;
    gpu_queue_send(rig.queue, &b, 0);
    return true;
}

static void must_be_right(const struct gpu_batch *b)
{
    assert_false(b->by_cpu);
    for (unsigned i = 0; i < b->n; i++)
        assert_int_equal(b->rule[i], rig.want[(uintptr_t)b->user % GPU_SLOTS][i]);
}

static void receive(struct gpu_batch *b, uintptr_t user)
{
    wait_for(gpu_queue_receive(rig.queue, b, 0));
    assert_int_equal((uintptr_t)b->user, user);
}

static void change_rules(void)
{
    gpu_list_stale(rig.lists, ID);
    for (unsigned k = 0; k < 20; k++) {
        uint32_t i = kit_random(rig.n), number = rig.rule[i].number;

        assert_int_equal(acl_del(rig.acl, number), 0);
        rig.rule[i] = kit_rule_without_sets(number);
        assert_int_equal(acl_add(rig.acl, &rig.rule[i]), 0);
    }
    acl_reclaim(rig.acl, acl_epoch(rig.acl)); // the CPU has no reader
    rig.version++;
}

static void images_follow(bool persistent)
{
    struct gpu_batch b;

    rig_make(persistent, (struct gpu_emulated_settings){0});
    for (unsigned round = 0; round < 40; round++) {
        put_and_wait();
        for (uintptr_t k = 0; k < GPU_SLOTS; k++)
            assert_true(send((void *)k));
        assert_false(send(NULL)); // all places are in use
        for (uintptr_t k = 0; k < GPU_SLOTS; k++) {
            receive(&b, k);
            must_be_right(&b);
        }
        change_rules();
        assert_false(send(NULL)); // the image is old
    }
    assert_int_equal(gpu_queue_stats(rig.queue)->sampled, 40 * GPU_SLOTS * BATCH);
    assert_int_equal(gpu_queue_stats(rig.queue)->wrong, 0);
    assert_int_equal(gpu_mirror_state(rig.mirror), GPU_ON);
}

static void batches_are_answered_and_images_follow(void **state)
{
    images_follow(true);
}

static void launches_answer_alike(void **state)
{
    images_follow(false);
}

// Batches in progress use the rules of their sending time, despite later changes.
static void a_batch_has_the_rules_of_its_time(void **state)
{
    struct gpu_batch b;

    rig_make(true, (struct gpu_emulated_settings){0});
    put_and_wait();
    gpu_emulated_hold(rig.device, 1);
    assert_true(send((void *)1));
    change_rules();
    assert_int_equal(put(), 0);
    gpu_emulated_hold(rig.device, 0);
    wait_for(!gpu_lists_poll(rig.lists));
    receive(&b, 1);
    must_be_right(&b);
    assert_int_equal(gpu_mirror_state(rig.mirror), GPU_ON); // the samples were of another version
    assert_int_equal(gpu_queue_stats(rig.queue)->sampled, 0);
}

static void memory_is_written_again_only_when_batches_are_back(void **state)
{
    struct gpu_batch b;

    rig_make(true, (struct gpu_emulated_settings){0});
    put_and_wait();
    gpu_emulated_hold(rig.device, 1);
    assert_true(send((void *)1)); // reads the first memory
    change_rules();
    assert_int_equal(put(), 0); // into the second one
    change_rules();
    assert_int_equal(put(), -EAGAIN); // a copy is in progress
    gpu_emulated_hold(rig.device, 0);
    wait_for(!gpu_lists_poll(rig.lists));
    assert_int_equal(gpu_list_version(rig.lists, ID), 0); // it was stale when it arrived
    put_and_wait();                                       // into the second one again
    change_rules();
    assert_int_equal(put(), -EAGAIN); // the batch has not been received
    receive(&b, 1);
    put_and_wait();
    for (unsigned k = 0; k < 10; k++) {
        assert_true(send((void *)2));
        receive(&b, 2);
        must_be_right(&b);
    }
}

static void the_cpu_has_what_the_device_has_no_room_for(void **state)
{
    rig_make(true, (struct gpu_emulated_settings){.memory = GPU_MAILBOX_BYTES(BATCH) +
                                                            sizeof(struct gpu_image)});
    assert_int_equal(put(), -ENOMEM);
    assert_false(send(NULL));
    assert_int_equal(gpu_mirror_state(rig.mirror), GPU_ON); // tables may still be there
}

static void a_wrong_rule_is_noticed(void **state)
{
    struct gpu_batch b;

    rig_make(true, (struct gpu_emulated_settings){.wrong_every = 50});
    put_and_wait();
    assert_true(send((void *)1));
    receive(&b, 1);
    assert_true(b.by_cpu);
    assert_null(b.rule);
    assert_int_equal(gpu_mirror_state(rig.mirror), GPU_WRONG);
    assert_int_equal(gpu_queue_stats(rig.queue)->wrong, 1);
    assert_false(send(NULL));
    change_rules();
    assert_int_equal(put(), -ENODEV);
}

static void a_lost_device_gives_batches_back(void **state)
{
    struct gpu_batch b;

    rig_make(true, (struct gpu_emulated_settings){0});
    put_and_wait();
    gpu_emulated_hold(rig.device, 1);
    for (uintptr_t k = 0; k < 3; k++)
        assert_true(send((void *)k));
    gpu_emulated_lose(rig.device);
    for (uintptr_t k = 0; k < 3; k++) {
        receive(&b, k);
        assert_true(b.by_cpu);
        assert_null(b.rule);
    }
    assert_int_equal(gpu_mirror_state(rig.mirror), GPU_LOST);
}

#define lists_test(f) cmocka_unit_test_teardown(f, rig_free)

int main(void)
{
    const struct CMUnitTest tests[] = {
        lists_test(batches_are_answered_and_images_follow),
        lists_test(launches_answer_alike),
        lists_test(a_batch_has_the_rules_of_its_time),
        lists_test(memory_is_written_again_only_when_batches_are_back),
        lists_test(the_cpu_has_what_the_device_has_no_room_for),
        lists_test(a_wrong_rule_is_noticed),
        lists_test(a_lost_device_gives_batches_back),
    };

    return cmocka_run_group_tests(tests, sets_new, sets_free);
}
