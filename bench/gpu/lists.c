// SPDX-License-Identifier: BSD-3-Clause
// lists.c - access lists on a device: lists like a server's (acl/rules.c), with packets that all
// match a rule and never repeat a flow, so that no cache helps
#include <string.h>
#include <time.h>

#include "acl/acl_bench.h"
#include "gpu/gpu_bench.h"
#include "gpu/list_image.h"
#include "lib/bench.h"
#include "lib/report.h"

#define LIST 1u

static struct acl *acl;
static struct packets packets;

static void cpu_burst(unsigned at)
{
    static uint32_t slot[BURST];

    acl_classify4(acl, (const struct acl_key4 *)packets.key + at, slot, BURST);
}

static struct gpu_list_image image_make(unsigned n, double *ms)
{
    struct gpu_list_image i;
    char why[200] = "no memory";
    uint64_t begin = bench_now_ns();
    int rc = gpu_list_image_make(&i, acl, why, sizeof(why));

    bench_check(rc == 0, "a list of %u rules stays on the CPU: %s", n, why);
    *ms = (double)(bench_now_ns() - begin) / 1e6;
    return i;
}

static void image_copy(struct gpu_lists *l, const struct gpu_list_image *i)
{
    bench_check(gpu_list_want(l, LIST, true) == 0, "no memory");
    bench_check(gpu_list_put(l, LIST, i, acl, 1) == 0, "no room for the list on the device");
    while (gpu_lists_poll(l))
        nanosleep(&(struct timespec){0, 100000}, NULL);
    bench_check(gpu_list_version(l, LIST) == 1, "%s", gpu_mirror_why(bench_mirror));
}

static void rows_measure(const struct gpu_lists *l)
{
    static const unsigned batches[] = {64, 256, 1024, 4096};
    const struct asked a = {.like = {.kind = GPU_CLASSIFY4, .list = LIST, .version = 1},
                            .key = packets.key};

    report_open("rows", '[');
    for (unsigned i = 0; i < sizeof(batches) / sizeof(*batches); i += bench_quick ? 2 : 1) {
        double cpu_cycles = bench_cpu(batches[i], cpu_burst);

        for (unsigned launch = 0; launch < 2; launch++) {
            struct row r = {.batch = batches[i], .persistent = !launch, .cpu_cycles = cpu_cycles};

            bench_row(&r, &a, l);
            report_open(NULL, '{');
            bench_row_report(&r);
            report_close();
        }
    }
    report_close();
}

void lists_measure(unsigned n)
{
    struct gpu_device *device = bench_device();
    struct gpu_list_image image;
    struct gpu_lists *lists;
    struct rules rules;
    double image_ms;

    rules_make(&rules, SHAPE_ACL, 4, n, 1);
    acl = acl_new(&(struct acl_config){0});
    bench_check(acl != NULL && acl_load(acl, rules.rule, rules.n) == 0, "no memory for %u rules",
                n);
    if (packets.key == NULL)
        packets_init(&packets, 4);
    packets_make(&packets, &rules, TRAFFIC_SCATTER);
    image = image_make(n, &image_ms);
    bench_mirror = gpu_mirror_new(device);
    lists = bench_mirror == NULL ? NULL : gpu_lists_new(bench_mirror);
    bench_check(lists != NULL, "no memory");
    image_copy(lists, &image);
    report_open(NULL, '{');
    report_number("rules", 0, n);
    report_number("image_mib", 1, (double)image.n / (1 << 20));
    report_number("image_ms", 0, image_ms);
    report_number("tuples", 0, image.tuples);
    report_number("chain", 0, image.chain);
    rows_measure(lists);
    report_close();
    gpu_lists_free(lists);
    gpu_mirror_free(bench_mirror);
    device->ops->close(device);
    gpu_list_image_free(&image);
    acl_free(acl);
    rules_free(&rules);
}
