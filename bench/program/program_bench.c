// SPDX-License-Identifier: BSD-3-Clause
// program_bench.c - measures the extra cost of a packet program per packet
//
//     program_bench [OPTIONS] TARGET:PROGRAM:FILE...     dscp, syn-guard: their tables are filled
//
// A burst goes through one forwarder again and again (lib/loop.h). Each program is at hook input of
// its own virtual router; a case is compared with a virtual router without a program: the same
// packets, each by a default route. So all costs of a program count: copying packets into the
// sandbox, the call, the program, and its verdicts.
//
// Program syn-guard has a million sources in its table, and receives SYNs from all of them.
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "forwarder/packet.h"
#include "lib/eal.h"
#include "lib/frame.h"
#include "lib/loop.h"
#include "lib/router.h"
#include "program_manager/program_manager.h"
#include "table/vr.h"

#define FLOWS 65536u
#define SOURCES 1000000u
#define BYTES 60u // per frame
#define CASES_MAX 17
#define SYN 2

static uint16_t way_in;
static unsigned n_cases = 1;
static uint8_t (*frame)[64];

static struct loop_case cases[CASES_MAX] = {{.name = {"none", "none"}}}; // the first: no program

// --- the router ---

static void routers_make(void)
{
    uint32_t adjacency = router_adjacency_new(way_in, (uint8_t[6]){2, 0, 0, 2, 0, 0});
    char name[16];

    router_role(ROLE_CONTROL);
    for (unsigned k = 0; k < n_cases; k++) {
        snprintf(name, sizeof name, "v%u", k);
        bench_check(vr_new(name), "no memory for the virtual routers");
        loop_route_all(vr_find(name)->id, adjacency);
    }
    vr_count = 1; // a process that waits for its core looks overloaded: no shares, no drops
}

// --- packets ---

// Source k, in 10.0.0.0/8, also as the key of the program's table.
static uint32_t source_of(unsigned k)
{
    return rte_cpu_to_be_32(0x0a000000 + k);
}

static void frames_make(void)
{
    frame = calloc(FLOWS, sizeof *frame);
    bench_check(frame, "no memory for packets");
    for (unsigned i = 0; i < FLOWS; i++) {
        uint8_t *ip = frame[i] + ETHER_HDR;
        uint32_t src = source_of((unsigned)(bench_random() % SOURCES)),
                 dst = rte_cpu_to_be_32(0x14000000 + i * 4096);
        memcpy(frame[i], iface_get(way_in)->mac, 6);
        store16(ip - 2, ETHER_TYPE_IP4);
        frame_ip4(ip, BYTES - ETHER_HDR, (const uint8_t *)&src, &dst);
        ip[9] = PROTO_TCP;
        ip[IP4_HDR + 12] = 5 << 4;
        ip[IP4_HDR + 13] = SYN;
        store16(ip + 10, 0);
        store16(ip + 10, checksum(ip, IP4_HDR));
    }
}

// --- programs ---

static struct program_table *table_of(const struct program_status *s, const char *name)
{
    for (unsigned t = 0; t < s->declared->n_tables; t++)
        if (!strcmp(s->declared->table[t].name, name))
            return s->table[t];
    return NULL;
}

static void tables_fill(const char *name)
{
    struct program_status s;
    struct program_table *t;

    bench_check(program_manager_find(name, &s), "no program %s", name);
    if ((t = table_of(&s, "limit")))
        program_table_put(t, 0, UINT32_MAX);
    if ((t = table_of(&s, "syn")))
        for (unsigned k = 0; k < SOURCES; k++)
            program_table_put(t, source_of(k), 0);
    if ((t = table_of(&s, "class")))
        for (unsigned dscp = 0; dscp < 64; dscp++)
            program_table_put(t, dscp, dscp >> 3);
}

static void program_add(unsigned k, const char *file)
{
    struct program_config c = {.hook = PROGRAM_INPUT, .fault_drops = true};
    char err[1024];

    snprintf(c.name, sizeof c.name, "%u", k);
    snprintf(c.vr, sizeof c.vr, "v%u", k);
    snprintf(c.file, sizeof c.file, "%s", file);
    bench_check(!program_manager_add(&c, err, sizeof err), "%s", err);
    tables_fill(c.name);
}

static const char *case_read(struct loop_case *c, const char *text)
{
    const char *second = strchr(text, ':'), *third = second ? strchr(second + 1, ':') : NULL;

    bench_check(third, "'%s': expected TARGET:PROGRAM:FILE", text);
    snprintf(c->name[0], sizeof c->name[0], "%.*s", (int)(second - text), text);
    snprintf(c->name[1], sizeof c->name[1], "%.*s", (int)(third - second - 1), second + 1);
    return third + 1;
}

static void case_begin(unsigned k)
{
    char name[16];

    snprintf(name, sizeof name, "v%u", k);
    iface_set_vr(iface_get(way_in), vr_find(name)->id);
}

static const struct bench_option options[] = {LOOP_OPTIONS, {0}};

int main(int argc, char **argv)
{
    int first = bench_options(argc, argv, options, "TARGET:PROGRAM:FILE...");

    loop.word = "program";
    loop.key[0] = "target";
    loop.key[1] = "program";
    n_cases += (unsigned)(argc - first);
    bench_check(n_cases <= CASES_MAX, "too many cases");
    bench_eal_router(512, false, NULL);
    way_in = loop_router();
    routers_make();
    frames_make();
    for (unsigned k = 1; k < n_cases; k++)
        program_add(k, case_read(&cases[k], argv[first + (int)k - 1]));
    for (unsigned k = 0; k < n_cases; k++) {
        cases[k].frame = *frame;
        cases[k].n = FLOWS;
        cases[k].bytes = BYTES;
        cases[k].stride = sizeof *frame;
    }
    loop_measure(cases, n_cases, case_begin);
    loop_report(cases, n_cases);
    return 0;
}
