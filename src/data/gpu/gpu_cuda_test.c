// SPDX-License-Identifier: BSD-3-Clause
// gpu_cuda_test.c - cuda.c calls the driver as documented: tested with driver_fake.c, not with a
// GPU
//
// meson sets LD_LIBRARY_PATH to the directory of the fake libcuda.so.1.
#include "gpu/gpu_fixture.h"
#include "gpu/kernel_text.h"
#include "gpu/queue.h"
#include "tests/unit.h"

#include <dlfcn.h>
#include <errno.h>

#define BATCH 100u // not a multiple of a block's threads

static struct gpu_device *device_open(void)
{
    char why[200] = "";
    struct gpu_device *d = gpu_open(0, why, sizeof(why));

    if (d == NULL)
        fail_msg("%s", why);
    return d;
}

static int *fake(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int *at = library == NULL ? NULL : dlsym(library, name);

    assert_non_null(at);
    return at;
}

static void answers_are_the_tables(unsigned key_bits)
{
    struct gpu_device *d = device_open();
    struct gpu_mirror *m = gpu_mirror_new(d);
    struct poptrie *t = table_new(key_bits, NULL);
    struct gpu_queue *q;
    struct gpu_batch b;

    assert_int_equal(gpu_mirror_add(m, t), 0);
    q = gpu_queue_new(m, &(struct gpu_queue_settings){BATCH, UINT64_MAX});
    assert_non_null(q);
    for (unsigned round = 0; round < 100; round++) {
        change_at_random(t, key_bits, 50);
        wait_for(!gpu_mirror_work(m));
        b = (struct gpu_batch){.kind = key_bits == 32 ? GPU_FIND4 : GPU_FIND6};
        assert_true(gpu_queue_begin(q, &b));
        b.n = BATCH;
        for (unsigned i = 0; i < BATCH; i++) {
            uint8_t key[16];

            lpm_random_key(&seed, key_bits, key);
            memcpy(b.key + i * key_bits / 8, key, key_bits / 8);
            b.which[i] = 0;
        }
        assert_true(gpu_queue_send(q, &b, 0));
        wait_for(gpu_queue_receive(q, &b, 0));
        assert_non_null(b.value);
        for (unsigned i = 0; i < BATCH; i++)
            assert_int_equal(b.value[i], find(t, key_bits, b.key + i * key_bits / 8));
    }
    gpu_queue_free(q);
    gpu_mirror_free(m);
    assert_true(*fake("driver_fake_pieces") > 0);
    poptrie_free(t);
    d->ops->close(d);
}

unit_test(a_served_mailbox_is_answered)
{
    answers_are_the_tables(32);
    answers_are_the_tables(128);
}

unit_test(an_error_of_the_driver_is_told_in_its_words)
{
    struct gpu_device *d = device_open();
    uint64_t at = d->ops->alloc(d, 64);

    assert_true(at != 0);
    *fake("driver_fake_lost") = 1;
    assert_int_equal(d->ops->upload(d, at, &at, sizeof(at)), -ENODEV);
    assert_string_equal(d->why, "copy: an illegal memory access was encountered (error 700)");
    assert_int_equal(d->ops->error(d), -ENODEV);
    assert_null(d->ops->share(d, 64));
    *fake("driver_fake_lost") = 0;
    assert_int_equal(d->ops->upload(d, at, &at, sizeof(at)), -ENODEV); // permanently
    d->ops->close(d);
}

unit_test(a_gpu_that_is_not_there_is_named)
{
    char why[200] = "";

    assert_null(gpu_open(1, why, sizeof(why)));
    assert_string_equal(why, "no GPU 1: the driver has 1; choose a lower number");
}

int main(void)
{
    return gpu_kernel_text == NULL ? 77 : unit_tests_run(NULL, NULL); // 77: skipped
}
