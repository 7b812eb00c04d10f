// SPDX-License-Identifier: BSD-3-Clause
// memory_test.c - a thousand packet programs are affordable: only programs with traffic use memory
#include "fixture.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "forwarder/burst.h"

#define PROGRAMS 1000u
#define OF_A_NET (3 * PROGRAM_SET_MAX) // hooks ether, input, output
#define KIB 1024

struct memory {
    long resident, mapped; // KiB
};

static struct memory memory_now(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long mapped = 0, resident = 0, page = sysconf(_SC_PAGESIZE) / KIB;

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &mapped, &resident), 2);
    fclose(f);
    return (struct memory){resident * page, mapped * page};
}

static uint64_t goes_on(struct kamuee_packet *p)
{
    return KAMUEE_CONTINUE;
}

static void add_program(unsigned k)
{
    struct program_config c = {.hook = (uint8_t)(PROGRAM_ETHER + k / PROGRAM_SET_MAX % 3)};
    char err[1024] = "";

    native_next = (struct native_next){.declared = "counter a", .code = goes_on};
    router_role(ROLE_CONTROL);
    snprintf(c.name, sizeof c.name, "p%u", k);
    snprintf(c.vr, sizeof c.vr, k < OF_A_NET ? "default" : "v%u", k / OF_A_NET);
    snprintf(c.file, sizeof c.file, "%s", NATIVE);
    if (program_manager_add(&c, err, sizeof err))
        fail_msg("%s", err);
}

static void send_bursts(void)
{
    for (unsigned i = 0; i < 2 * BURST_MAX; i++) {
        struct frame f = packet(DEFAULT, false, i, 60);
        rig_send(0, &f);
    }
    assert_int_equal(rig_poll_out(1), 2 * BURST_MAX);
}

program_path_test(a_thousand_programs_take_little_until_packets_come)
{
    char name[16];

    log_set_level(LOG_LEVEL_WARNING);
    for (unsigned k = 1; k <= PROGRAMS / OF_A_NET; k++) {
        snprintf(name, sizeof name, "v%u", k);
        rig_vr(name);
    }
    send_bursts(); // touches the router's own memory
    struct memory before = memory_now();
    for (unsigned k = 0; k < PROGRAMS; k++)
        add_program(k);
    struct memory loaded = memory_now();
    send_bursts();
    struct memory used = memory_now();
    double of_each = (double)(loaded.resident - before.resident) / PROGRAMS,
           with_packets = (double)(used.resident - loaded.resident) / OF_A_NET;
    print_message("%u programs: %.1f KiB resident each, %.0f KiB mapped; %.1f KiB more of each "
                  "that packets come to on a forwarder\n",
                  PROGRAMS, of_each, (double)(loaded.mapped - before.mapped) / PROGRAMS,
                  with_packets);
#ifndef __SANITIZE_ADDRESS__
    assert_true(of_each < 120 && with_packets < 48);
#endif
}
