// SPDX-License-Identifier: BSD-3-Clause
// gpu_device_test.c - mailboxes, copies, and a device that fails
#include "gpu/device.h"
#include "gpu/gpu_fixture.h"
#include "gpu/kernel_text.h"
#include "tests/unit.h"

#include <errno.h>

#define BATCH 64u

static struct gpu_device *device_new(struct gpu_emulated_settings settings)
{
    struct gpu_device *d = gpu_emulated_open(&settings);

    assert_non_null(d);
    return d;
}

static struct gpu_mailbox *mailbox_new(struct gpu_device *d)
{
    struct gpu_mailbox *m = d->ops->share(d, GPU_MAILBOX_BYTES(BATCH));

    assert_non_null(m);
    m->batch = BATCH;
    return m;
}

// Copies a table's description to the emulated device, which reads the table's memory in place.
static uint64_t table_copy(struct gpu_device *d, const struct poptrie *t)
{
    struct poptrie_image image;
    struct gpu_table g;
    uint64_t at = d->ops->alloc(d, sizeof(g));

    poptrie_image(t, &image);
    g = (struct gpu_table){.dir = (uint64_t)(uintptr_t)image.dir,
                           .arena = (uint64_t)(uintptr_t)image.arena,
                           .key_bits = image.key_bits,
                           .outside = *image.outside};
    memcpy(g.floor, image.floor, sizeof(g.floor));
    assert_int_equal(d->ops->upload(d, at, &g, sizeof(g)), 0);
    memset(&g, 0xff, sizeof(g)); // an uploaded buffer can be reused
    wait_for(d->ops->copied(d) == 1);
    return at;
}

static void request(struct gpu_mailbox *m, uint32_t number, enum gpu_kind kind, uint64_t tables)
{
    uint32_t place = (number - 1) % GPU_SLOTS;
    struct gpu_slot *s = &m->slot[place];

    for (unsigned i = 0; i < BATCH; i++) {
        uint8_t key[16];

        lpm_random_key(&seed, kind == GPU_FIND4 ? 32 : 128, key);
        memcpy(gpu_keys(m, place) + i * gpu_key_bytes(kind), key, gpu_key_bytes(kind));
        gpu_which(m, place)[i] = 0;
    }
    s->n = BATCH;
    s->kind = kind;
    s->at = tables;
    __atomic_store_n(&s->request, number, __ATOMIC_RELEASE);
}

static bool is_answered(const struct gpu_mailbox *m, uint32_t number)
{
    return __atomic_load_n(&m->slot[(number - 1) % GPU_SLOTS].answer, __ATOMIC_ACQUIRE) == number;
}

static unsigned differences(struct gpu_mailbox *m, uint32_t number, const struct poptrie *t)
{
    uint32_t place = (number - 1) % GPU_SLOTS, kind = m->slot[place].kind;
    unsigned n = 0;

    for (unsigned i = 0; i < BATCH; i++)
        n += gpu_values(m, place)[i] != find(t, kind == GPU_FIND4 ? 32 : 128,
                                             gpu_keys(m, place) + i * gpu_key_bytes(kind));
    return n;
}

unit_test(a_served_mailbox_is_answered_in_turn)
{
    for (enum gpu_kind kind = GPU_FIND4; kind <= GPU_FIND6; kind++) {
        struct gpu_device *d = device_new((struct gpu_emulated_settings){0});
        struct gpu_mailbox *m = mailbox_new(d);
        struct poptrie *t = table_new(kind == GPU_FIND4 ? 32 : 128, NULL);
        uint64_t tables;

        change_at_random(t, kind == GPU_FIND4 ? 32 : 128, 1000);
        tables = table_copy(d, t);
        assert_int_equal(d->ops->start(d, m), 0);
        for (uint32_t first = 1; first < 10 * GPU_SLOTS; first += GPU_SLOTS) {
            for (uint32_t number = first; number < first + GPU_SLOTS; number++)
                request(m, number, kind, tables);
            for (uint32_t number = first; number < first + GPU_SLOTS; number++) {
                wait_for(is_answered(m, number));
                assert_int_equal(differences(m, number, t), 0);
            }
        }
        d->ops->stop(d, m);
        d->ops->close(d);
        poptrie_free(t);
    }
}

unit_test(copies_happen_in_order_and_later)
{
    struct gpu_device *d = device_new((struct gpu_emulated_settings){0});
    uint64_t at = d->ops->alloc(d, 64);
    const volatile uint32_t *seen = (const uint32_t *)(uintptr_t)at;

    assert_int_equal(d->ops->upload(d, at, &(uint32_t){1}, 4), 0);
    wait_for(d->ops->copied(d) == 1);
    assert_int_equal(*seen, 1);
    gpu_emulated_hold(d, 1);
    assert_int_equal(d->ops->upload(d, at, &(uint32_t){2}, 4), 0);
    assert_int_equal(d->ops->upload(d, at, &(uint32_t){3}, 4), 0);
    assert_int_equal(d->ops->copied(d), 0);
    gpu_emulated_hold(d, 0);
    wait_for(d->ops->copied(d) == 1);
    assert_int_equal(*seen, 3);
    d->ops->close(d);
}

unit_test(a_lost_device_refuses_everything_and_says_why)
{
    struct gpu_device *d = device_new((struct gpu_emulated_settings){0});
    struct gpu_mailbox *m = mailbox_new(d);
    uint64_t at = d->ops->alloc(d, 64);

    assert_int_equal(d->ops->start(d, m), 0);
    assert_int_equal(d->ops->error(d), 0);
    gpu_emulated_lose(d);
    assert_int_equal(d->ops->error(d), -ENODEV);
    assert_int_equal(d->ops->upload(d, at, &at, sizeof(at)), -ENODEV);
    assert_int_equal(d->ops->copied(d), -ENODEV);
    assert_int_equal(d->ops->start(d, m), -ENODEV);
    assert_string_not_equal(d->why, "");
    d->ops->stop(d, m);
    d->ops->close(d);
}

unit_test(wrong_values_can_be_asked_for)
{
    struct gpu_device *d = device_new((struct gpu_emulated_settings){.wrong_every = 16});
    struct gpu_mailbox *m = mailbox_new(d);
    struct poptrie *t = table_new(32, NULL);

    change_at_random(t, 32, 100);
    request(m, 1, GPU_FIND4, table_copy(d, t));
    assert_int_equal(d->ops->start(d, m), 0);
    wait_for(is_answered(m, 1));
    assert_int_equal(differences(m, 1, t), BATCH / 16);
    d->ops->stop(d, m);
    d->ops->close(d);
    poptrie_free(t);
}

unit_test(memory_ends)
{
    struct gpu_device *d = device_new((struct gpu_emulated_settings){.memory = 4096});
    uint64_t at = d->ops->alloc(d, 4096);

    assert_true(at != 0);
    assert_true(d->ops->alloc(d, 64) == 0);
    d->ops->free(d, at);
    assert_true(d->ops->alloc(d, 64) != 0);
    d->ops->close(d);
}

// Without a GPU the sentence names the missing part; with a GPU it opens.
unit_test(opening_a_gpu_succeeds_or_says_why_not)
{
    char why[200] = "";
    struct gpu_device *d = gpu_open(0, why, sizeof(why));

    if (d == NULL)
        assert_string_not_equal(why, "");
    else
        d->ops->close(d);
    d = gpu_open(999, why, sizeof(why));
    assert_null(d);
    assert_string_not_equal(why, "");
    print_message("GPU 999: %s\n", why);
}

unit_test(the_kernel_has_its_name)
{
    if (gpu_kernel_text == NULL)
        skip();
    assert_non_null(strstr(gpu_kernel_text, ".entry gpu_serve("));
    assert_null(strstr(gpu_kernel_text, ".extern"));
}
