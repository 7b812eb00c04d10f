// SPDX-License-Identifier: BSD-3-Clause
// gpu_bench.c - compares lookups on a device with the CPU: rate, CPU cycles, age
//
//     gpu_bench [--emulated] [--device 0] [--quick] [--routes N] [--json]
//
// Does one forwarder's part: fills batches, sends them, and reads the results. The CPU's part is
// counted in TSC ticks around its work (not while it waits for answers), median of the batches, so
// preemption does not count. The CPU alone looks up the same keys in bursts of 64. Every n-th
// answer is compared with the CPU's.
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include "gpu/queue.h"
#include "lib/bench.h"
#include "lib/report.h"
#include "lib/stat.h"
#include "poptrie/poptrie.h"

#define TABLES_MAX 256u
#define KEYS (1u << 20) // used in turn
#define GROUP 64u
#define SAMPLES (1u << 16)
#define BURST 64u
#define SAMPLE_EVERY 64u // one batch in so many is verified
#define TIMEOUT_NS 5000000000u // a loaded machine must not make the device fail
#define CHANGES 10u            // per millisecond
#define MIB ((size_t)1 << 20)

struct row {
    unsigned batch;
    bool updates;
    double rate, cpu_cycles, offload_cycles, age_p50_us, age_p99_us, copied_bytes;
};

static bool quick, emulated, json;
static unsigned case_ms = 400, device_number, routes = 20000, tables_now;

static struct gpu_device *device;
static struct gpu_mirror *mirror;
static struct poptrie *table[TABLES_MAX];
static uint32_t key[KEYS];
static uint16_t which[KEYS];
static double send_ticks[SAMPLES], receive_ticks[SAMPLES], cpu_ticks[SAMPLES], age_us[SAMPLES];

static uint64_t now_ns(void)
{
    return (uint64_t)(bench_wall_s() * 1e9);
}

static uint64_t next_ns; // of the changes

// --- tables ---

static void route_random(uint8_t address[16], unsigned *len)
{
    uint64_t r = bench_random();

    memcpy(address, &r, 4);
    address[0] = (uint8_t)(1 + address[0] % 223);
    *len = r >> 40 & 1 ? 24 : 16 + (unsigned)(r >> 41) % 9;
}

// Each table has its own routes: tables share nothing.
static void tables_make(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        table[i] = poptrie_new(&(struct poptrie_config){
            .key_bits = 32,
            .places = n < GROUP ? n : GROUP,
            .max_bytes = 256 * MIB,
            .beside = i % GROUP == 0 ? NULL : table[i - 1],
        });
        bench_check(table[i] != NULL, "no memory for %u tables", n);
        for (unsigned k = 0; k < routes; k++) {
            uint8_t address[16] = {0};
            unsigned len;

            route_random(address, &len);
            bench_check(poptrie_add(table[i], address, len, 1 + k % 64) == 0,
                        "no memory for %u routes in each of %u tables", routes, n);
        }
    }
    for (unsigned i = 0; i < KEYS; i++) {
        key[i] = (uint32_t)bench_random();
        which[i] = (uint16_t)(bench_random() % n);
    }
}

static void tables_free(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        poptrie_free(table[i]);
}

static struct gpu_device *device_open(void)
{
    char why[200] = "no thread";
    struct gpu_device *d = emulated ? gpu_emulated_open(&(struct gpu_emulated_settings){0})
                                    : gpu_open(device_number, why, sizeof(why));

    bench_check(d != NULL, "%s; or --emulated: a thread in its place", why);
    return d;
}

static void mirror_make(unsigned n)
{
    int rc = 0;

    device = device_open();
    mirror = gpu_mirror_new(device);
    bench_check(mirror != NULL, "no memory for a mirror");
    for (unsigned i = 0; i < n && rc >= 0; i++)
        rc = gpu_mirror_add(mirror, table[i]);
    bench_check(rc >= 0, "no memory for a mirror of %u tables", n);
}

static void copies_await(void)
{
    while (gpu_mirror_work(mirror))
        nanosleep(&(struct timespec){0, 100000}, NULL);
    bench_check(gpu_mirror_state(mirror) == GPU_ON, "%s", gpu_mirror_why(mirror));
}

static void mirror_free(void)
{
    gpu_mirror_free(mirror);
    device->ops->close(device);
}

// --- the CPU alone ---

static void cpu_burst(unsigned at)
{
    static const struct poptrie *each[BURST];
    static uint32_t value[BURST];

    for (unsigned k = 0; k < BURST; k++)
        each[k] = table[which[at + k]];
    poptrie_find4_each(each, &key[at], value, BURST);
}

// Cycles per address on the CPU alone.
static double cpu_measure(unsigned batch)
{
    unsigned n = 0;
    uint64_t end = now_ns() + case_ms * 250000ull;

    for (unsigned at = 0; n < SAMPLES && (n < 16 || now_ns() < end); n++) {
        uint64_t start = __rdtsc();

        for (unsigned i = 0; i < batch; i += BURST, at = (at + BURST) % KEYS)
            cpu_burst(at);
        cpu_ticks[n] = (double)(__rdtsc() - start);
    }
    return stat_median(cpu_ticks, n) / batch;
}

// --- the device ---

static void changes_make(void)
{
    const unsigned tables = tables_now;
    uint64_t now = now_ns();

    if (gpu_mirror_version(mirror) == 0) { // a batch goes between two copies
        gpu_mirror_work(mirror);
        return;
    }
    if (now < next_ns)
        return;
    next_ns = now + 1000000;
    for (unsigned k = 0; k < CHANGES; k++) {
        uint8_t address[16] = {0};
        unsigned len;

        route_random(address, &len);
        poptrie_add(table[k % tables], address, len, 1 + (uint32_t)bench_random() % 64);
    }
    for (unsigned i = 0; i < tables; i += GROUP)
        poptrie_reclaim(table[i], poptrie_epoch(table[i])); // this thread is the CPU's only reader
}

// False: the device lacks a change.
static bool batch_send(struct gpu_queue *q, unsigned batch, unsigned *at, unsigned n)
{
    uint64_t now = now_ns(), start = __rdtsc();
    struct gpu_batch b = {.kind = GPU_FIND4};

    if (!gpu_queue_begin(q, &b))
        return false;
    memcpy(b.key, &key[*at], batch * sizeof(*key));
    memcpy(b.which, &which[*at], batch * sizeof(*which));
    *at = (*at + batch) % KEYS;
    b.n = batch;
    if (!gpu_queue_send(q, &b, now))
        return false;
    send_ticks[n % SAMPLES] = (double)(__rdtsc() - start);
    return true;
}

static void must_be_right(const struct gpu_batch *b)
{
    uint32_t dst;

    memcpy(&dst, b->key, sizeof(dst));
    bench_check(b->value[0] == poptrie_find4(table[b->which[0]], dst) ||
                    !gpu_mirror_version_is(mirror, b->version),
                "the device answers wrongly");
}

static bool batch_receive(struct gpu_queue *q, unsigned n)
{
    uint64_t now = now_ns(), start = __rdtsc();
    struct gpu_batch b;
    unsigned sum = 0;

    if (!gpu_queue_receive(q, &b, now))
        return false;
    bench_check(b.value != NULL, "%s", gpu_mirror_why(mirror));
    for (unsigned i = 0; i < b.n; i++)
        sum += b.value[i];
    __asm__ volatile("" : : "r"(sum)); // keeps the result used
    receive_ticks[n % SAMPLES] = (double)(__rdtsc() - start);
    age_us[n % SAMPLES] = (double)b.age_ns / 1e3;
    if (n % SAMPLE_EVERY == 0)
        must_be_right(&b);
    return true;
}

static void row_measure(struct row *r)
{
    struct gpu_queue *q = gpu_queue_new(mirror, &(struct gpu_queue_settings){r->batch, TIMEOUT_NS});
    // Two batches in flight hide the device's time; more would only add age.
    unsigned at = 0, sent = 0, received = 0, most = 2;

    copies_await(); // also the changes of an earlier row
    uint64_t begin = now_ns(), end = begin + case_ms * 1000000ull;
    uint64_t copied = gpu_mirror_copied_bytes(mirror);

    bench_check(q != NULL, "no queue of the device: %s", gpu_mirror_why(mirror));
    while (now_ns() < end || received < 4) {
        if (gpu_queue_waiting(q) < most)
            sent += batch_send(q, r->batch, &at, sent);
        received += batch_receive(q, received);
        if (r->updates)
            changes_make();
        bench_check(gpu_mirror_state(mirror) == GPU_ON, "%s", gpu_mirror_why(mirror));
    }
    r->rate = (double)received * r->batch / ((double)(now_ns() - begin) / 1e9);
    while (gpu_queue_waiting(q) > 0)
        received += batch_receive(q, received);
    received = received < SAMPLES ? received : SAMPLES;
    r->offload_cycles =
        (stat_median(send_ticks, received) + stat_median(receive_ticks, received)) / r->batch;
    r->age_p50_us = stat_quantile(age_us, received, 0.5);
    r->age_p99_us = stat_quantile(age_us, received, 0.99);
    r->copied_bytes = (double)(gpu_mirror_copied_bytes(mirror) - copied);
    gpu_queue_free(q);
}

// --- the answer ---

static void row_report(unsigned tables, const struct row *r)
{
    report_open(NULL, '{');
    report_number("tables", 0, tables);
    report_number("batch", 0, r->batch);
    report_bool("updates", r->updates);
    report_number("mlps", 3, r->rate / 1e6);
    report_number("cpu_cycles", 2, r->cpu_cycles);
    report_number("offload_cycles", 2, r->offload_cycles);
    report_number("saved", 2, r->cpu_cycles - r->offload_cycles);
    report_number("age_p50_us", 1, r->age_p50_us);
    report_number("age_p99_us", 1, r->age_p99_us);
    report_number("copied_bytes", 0, r->copied_bytes);
    report_close();
}

static void tables_measure(unsigned tables)
{
    static const unsigned batches[] = {64, 256, 1024, 4096, 16384};
    unsigned step = quick ? 2 : 1;

    tables_now = tables;
    tables_make(tables);
    mirror_make(tables);
    for (unsigned i = 0; i < sizeof(batches) / sizeof(*batches); i += step) {
        double cpu_cycles = cpu_measure(batches[i]);

        for (unsigned updates = 0; updates < 2; updates++) {
            struct row r = {.batch = batches[i], .updates = updates, .cpu_cycles = cpu_cycles};

            row_measure(&r);
            row_report(tables, &r);
        }
    }
    mirror_free();
    tables_free(tables);
}

static void quick_set(const char *unused)
{
    quick = true;
    routes = 2000;
    case_ms = 100;
}

static const struct bench_option options[] = {OPTION_FLAG("emulated", &emulated),
                                              OPTION_NUMBER("device", &device_number, 0, 63),
                                              OPTION_DO("quick", quick_set),
                                              OPTION_NUMBER("routes", &routes, 1, 1000000),
                                              OPTION_FLAG("json", &json),
                                              {0}};

int main(int argc, char **argv)
{
    bench_options(argc, argv, options, NULL);
    if (!emulated) { // before tables are made
        mirror_make(0);
        mirror_free();
    }
    report_begin(json);
    report_text("device", "%s", emulated ? "emulated" : "gpu");
    report_number("routes", 0, routes);
    report_open("rows", '[');
    for (unsigned tables = 1; tables <= TABLES_MAX; tables *= 16)
        tables_measure(tables);
    report_close();
    report_end();
    return 0;
}
